"""`Variable`: an array that outlives the calls that read and write it.

Compiled code reads and writes its memory in place. Nobody else gets hold of that memory: what a variable hands out are
snapshots, read-only copies that stay what they were. So a variable overlaps no other array, and code that updates it
needs to look for none.

The memory is one block: a header of `HEADER` bytes, which belongs to whoever orders the calls, and the elements behind
it, in C order. It stays where it is as long as the variable lives, so compiled code takes its address from the object.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from jitflow.config import CONFIG
from jitflow.errors import UserNotImplementedError, UserRuntimeError, UserTypeError
from jitflow.ir.dtypes import dtype_of
from jitflow.loaded import is_tracing
from jitflow.machines.hardware import HOME, Device, device_named, is_elsewhere, is_gpu

__all__ = ["HEADER", "Variable", "memory", "using"]

HEADER = 64
"""Bytes in front of the first element, and what elements are aligned to."""

Array = np.ndarray[Any, Any]


class Variable(NDArrayOperatorsMixin):
    """An array that compiled functions read and write, and that lives on between their calls.

    ``value`` is copied; its dtype and shape are the variable's for good. In a compiled function a variable behaves as
    an array does: operators, methods, views and ``w[...] = ``, ``w[i] += ``, ``w -= ``. It may be a global, a closure
    variable, an argument, an attribute or an item of the program's objects. Outside, it computes as an array of its
    value does; `numpy`, ``np.asarray(w)`` and ``w[index]`` give read-only snapshots.

    ``name`` is for messages and checkpoints. ``trainable`` says whether an optimiser may update it. ``device`` is where
    it lives (`jitflow.devices`), the host if nothing is said, and what compiled code does with it is done there. Two
    variables are equal where their elements are, as arrays; as keys of a dict they are different objects.

    Raises TypeError for values that are no arrays of numbers, and ValueError for a device that there is not.
    """

    __module__ = "jitflow"  # where it is found, by those who unpickle one
    __slots__ = (
        "__weakref__", "_at_home", "_device", "_elements", "_elsewhere", "_header", "_name", "_resident", "_trainable",
    )  # fmt: skip

    def __init__(
        self, value: Any, name: str | None = None, trainable: bool = True, device: str | Device = HOME
    ) -> None:
        if is_tracing():
            raise UserNotImplementedError(
                "a variable made in a compiled function would be made once, while tracing",
                mend="make it outside; an array that lives as long as the call is np.zeros(...)",
            )
        given = np.asarray(value)
        dtype = None if given.dtype.kind in "OSUmMT" or given.dtype.names else dtype_of(given.dtype.newbyteorder("="))
        if dtype is None:
            raise UserTypeError(
                f"a variable of dtype {given.dtype} is not compiled",
                expected="bool, integers, floats of up to 64 bits or complex numbers",
                mend="convert the value with .astype(...)",
            )
        self._device = device_named(device)
        self._elements: Array = _memory_on(self._device)(dtype.numpy, given.shape)
        self._elements[...] = given
        self._header: int = self._elements.ctypes.data - HEADER
        self._at_home: Array | None = self._elements if self._device == HOME else None
        """What code reads that expects the variable on the host: that of a device finds nothing there."""
        self._resident = _resident(self) if is_gpu(self._device) and not CONFIG.disable else None
        """Its memory on a GPU, which ``_elements`` then mirror while somebody uses them."""
        there = self._elements if self._resident is None else self._resident
        self._elsewhere: dict[str, Any] | None = None if self._device == HOME else {self._device: there}
        self._name = name
        self._trainable = bool(trainable)

    def __init_subclass__(cls, **keywords: Any) -> None:
        raise UserTypeError("a class of its own for variables is not compiled", mend="keep a variable in an attribute")

    # -- what it is ------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """What the variable is called."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether an optimiser may update it."""
        return self._trainable

    @property
    def device(self) -> str:
        """The name of the device on which the variable lives."""
        return self._device

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self._elements.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        dtype: np.dtype[Any] = self._elements.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self._elements.ndim)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._elements.size)

    def __len__(self) -> int:
        return len(self._elements)

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __repr__(self) -> str:
        more = "" if self._name is None else f", name={self._name!r}"
        more += "" if self._trainable else ", trainable=False"
        more += "" if self._device == HOME else f", device={self._device!r}"
        return f"jitflow.Variable({np.array2string(self.numpy(), separator=', ', prefix='jitflow.Variable(')}{more})"

    def __str__(self) -> str:
        return str(self.numpy())

    def __format__(self, specification: str) -> str:
        return format(self.numpy(), specification)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is unpickled, is a variable of its own that starts with this one's value."""
        return Variable, (self.numpy(), self._name, self._trainable, self._device)

    # -- reading ---------------------------------------------------------------------------------------

    def numpy(self) -> Array:
        """A snapshot: a read-only array of what the variable holds now."""
        with using([self]):
            return _read_only(self._elements.copy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        snapshot = self.numpy()
        if copy:
            snapshot.flags.writeable = True
        return snapshot if dtype is None else snapshot.astype(dtype, copy=False)

    def __getitem__(self, index: Any) -> Any:
        if CONFIG.disable:  # the program runs as plain Python, and a view is one
            return self._elements[index]
        with using([self]):
            part = self._elements[index]
            return _read_only(part.copy()) if isinstance(part, np.ndarray) else part

    def __iter__(self) -> Iterator[Any]:
        return iter(self[...] if CONFIG.disable else self.numpy())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'jitflow.Variable' object has no attribute {name!r}")
        if name in _IN_PLACE:
            return _InPlace(self, name)
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'jitflow.Variable' object has no attribute {name!r}")
        return getattr(self[...] if CONFIG.disable else self.numpy(), name)

    # -- writing ---------------------------------------------------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        with using(_variables_in(value), [self]):
            self._elements[index] = _arrays_of(value)

    def assign(self, value: Any) -> Variable:
        """Make the variable be ``value``, broadcast and cast as ``np.copyto`` does."""
        with using(_variables_in(value), [self]):
            np.copyto(self._elements, _arrays_of(value))
        return self

    def assign_add(self, value: Any) -> Variable:
        """Add ``value`` in place."""
        self += value
        return self

    def assign_sub(self, value: Any) -> Variable:
        """Subtract ``value`` in place."""
        self -= value
        return self

    def scatter_add(self, indices: Any, values: Any) -> Variable:
        """Add ``values`` at ``indices``, as ``np.add.at`` does: indices that occur twice add twice."""
        np.add.at(self, indices, values)
        return self

    # -- NumPy's functions -----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        outputs = keywords.get("out", ())
        written = [*_variables_in(outputs), *(_variables_in(inputs[0]) if method == "at" else ())]
        with using(_variables_in((inputs, keywords)), written):
            result = getattr(ufunc, method)(*map(_arrays_of, inputs), **_arrays_of(keywords))
        return _as_given(result, outputs)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        outputs = keywords.get("out", ())
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        target = args[:1] if function in _WRITING else ()
        with using(_variables_in((args, keywords)), _variables_in((outputs, target))):
            given = (*_arrays_of(target), *_snapshots_of(args[len(target) :]))
            rest = {key: _arrays_of(item) if key == "out" else _snapshots_of(item) for key, item in keywords.items()}
            result = function(*given, **rest)
        return _as_given(result, outputs)


_IN_PLACE = ("fill", "partition", "put", "sort")
"""Methods of arrays that write to them."""

_WRITING = frozenset([np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask])
"""Functions that write to their first argument."""


class _InPlace:
    """A method of arrays that writes to the variable."""

    def __init__(self, variable: Variable, name: str) -> None:
        self._variable = variable
        self._name = name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        with using(_variables_in((args, keywords)), [self._variable]):
            return getattr(self._variable._elements, self._name)(*_arrays_of(args), **_arrays_of(keywords))


def _of_the_value(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *rest: function(self.numpy(), *rest)


for _function in (bool, float, int, complex, operator.index, operator.contains):
    setattr(Variable, f"__{_function.__name__}__", _of_the_value(_function))


class using:  # noqa: N801  it reads as a statement
    """``with using(read, written):`` no call that conflicts runs; all are taken at once, as compiled functions do."""

    __slots__ = ("_frame", "_read", "_written")

    def __init__(self, read: Iterable[Variable], written: Iterable[Variable] = ()) -> None:
        if is_tracing():
            raise UserRuntimeError(
                "a variable was reached in a way that is not traced",
                mend="read it from a global, a closure variable, an attribute or an argument",
            )
        self._read, self._written = [*read], [*written]
        uses = {variable._header: False for variable in self._read}
        uses.update((variable._header, True) for variable in self._written)
        self._frame = _locks().frame_of([*uses.items()])

    def __enter__(self) -> None:
        try:
            _locks().lock(self._frame)
            for resident in _residents([*self._read, *self._written]):
                resident.fetch()
        except BaseException:
            _locks().unlock(self._frame)
            raise

    def __exit__(self, *_: object) -> None:
        try:
            for resident in _residents(self._written):
                resident.store()
        finally:
            _locks().unlock(self._frame)


def _residents(variables: Iterable[Variable]) -> Iterator[Any]:
    """What several variables have on GPUs, each once."""
    seen = {id(one._resident): one._resident for one in variables if one._resident is not None}
    return iter(seen.values())


def _resident(variable: Variable) -> Any:
    from jitflow.runtime.residents import Resident

    return Resident(variable._device, variable._elements, variable._header)


@cache
def _locks() -> Any:
    from jitflow.runtime.native import locks  # which makes machine code, when a variable is first used

    return locks


def _memory_on(device: str) -> Callable[[np.dtype[Any], tuple[int, ...]], Array]:
    """What makes memory for a variable there: another process of this machine works on the memory of this one."""
    if not is_elsewhere(device):
        return memory
    from jitflow.cluster.memory import can_share
    from jitflow.cluster.parcels import memory_for

    return memory_for if can_share() else memory


def memory(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Memory for an array, aligned, with a header of zeros in front of it."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = np.zeros(size + 2 * HEADER, np.uint8)
    start = HEADER - block.ctypes.data % HEADER + HEADER
    return np.ndarray(shape, dtype, block, start)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


# -- variables in arguments ------------------------------------------------------------------------


def _variables_in(thing: Any) -> Iterator[Variable]:
    """The variables in a structure of tuples, lists and dicts."""
    if type(thing) is Variable:
        yield thing
    elif isinstance(thing, tuple | list):
        for item in thing:
            yield from _variables_in(item)
    elif isinstance(thing, dict):
        yield from _variables_in([*thing.values()])


def _replaced(thing: Any, replace: Callable[[Variable], Any]) -> Any:
    if type(thing) is Variable:
        return replace(thing)
    if type(thing) in (tuple, list):
        return type(thing)(_replaced(item, replace) for item in thing)
    if type(thing) is dict:
        return {key: _replaced(item, replace) for key, item in thing.items()}
    return thing


def _arrays_of(thing: Any) -> Any:
    """The structure with the memory of variables in their place; never for what may give out views of it."""
    return _replaced(thing, lambda variable: variable._elements)


def _snapshots_of(thing: Any) -> Any:
    return _replaced(thing, lambda variable: _read_only(variable._elements.copy()))


def _as_given(result: Any, outputs: tuple[Any, ...]) -> Any:
    """The result with the variables that were given as outputs in the place of their memory."""
    known = {id(variable._elements): variable for variable in _variables_in(outputs)}
    if isinstance(result, tuple):
        return tuple(known.get(id(item), item) for item in result)
    return known.get(id(result), result)
