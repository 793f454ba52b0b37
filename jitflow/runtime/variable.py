"""`Variable`: an array that outlives the calls that read and write it.

Compiled code reads and writes its memory in place. Nobody else gets hold of that memory: what a variable hands out are
snapshots, read-only copies that stay what they were. So a variable overlaps no other array, and code that updates it
needs to look for none.

The memory is one block: a header of `HEADER` bytes, which belongs to whoever orders the calls, and the elements behind
it, in C order. It stays where it is as long as the variable lives, so compiled code takes its address from the object.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.ir.dtypes import dtype_of

__all__ = ["HEADER", "Variable"]

HEADER = 64
"""Bytes in front of the first element, and what elements are aligned to."""

Array = np.ndarray[Any, Any]


class Variable:
    """An array that compiled functions read and write, and that lives on between their calls.

    ``value`` is copied; its dtype and shape are the variable's for good. In a compiled function a variable behaves as
    an array does: operators, methods, views and ``w[...] = ``, ``w[i] += ``, ``w -= ``. It may be a global, a closure
    variable, an argument, an attribute or an item of the program's objects. Outside, it computes as an array of its
    value does; `numpy` and ``np.asarray(w)`` give read-only snapshots.

    ``name`` is for messages and checkpoints. ``trainable`` says whether an optimiser may update it. Two variables are
    equal where their elements are, as arrays; as keys of a dict they are different objects.

    Raises TypeError for values that are no arrays of numbers.
    """

    __slots__ = ("__weakref__", "_array", "_name", "_trainable")

    def __init__(self, value: Any, name: str | None = None, trainable: bool = True) -> None:
        given = value._array if type(value) is Variable else np.asarray(value)
        dtype = dtype_of(given.dtype) if given.dtype.kind not in "OSUVMmT" or given.dtype.names is None else None
        if dtype is None:
            raise UserTypeError(
                f"a variable of dtype {given.dtype} is not compiled",
                expected="bool, integers, floats of up to 64 bits or complex numbers",
                mend="convert the value with .astype(...)",
            )
        self._array: Array = _memory(dtype.numpy, given.shape)
        self._array[...] = given
        self._name = name
        self._trainable = bool(trainable)

    def __init_subclass__(cls, **keywords: Any) -> None:
        raise UserTypeError("a class of its own for variables is not compiled", mend="keep a variable in an attribute")

    @property
    def name(self) -> str | None:
        """What the variable is called."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether an optimiser may update it."""
        return self._trainable

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self._array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._array.dtype
        return dtype

    def numpy(self) -> Array:
        """A snapshot: a read-only array of what the variable holds now."""
        snapshot = self._array.copy()
        snapshot.flags.writeable = False
        return snapshot


def _memory(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Memory for an array, aligned, with a header of zeros in front of it."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = np.zeros(size + 2 * HEADER, np.uint8)
    start = HEADER - block.ctypes.data % HEADER + HEADER
    return np.ndarray(shape, dtype, block, start)
