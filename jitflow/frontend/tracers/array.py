"""Arrays while a program is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import CompilerBug, UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.recording.trace import Trace
from jitflow.frontend.tracers.base import Tracer, located, ufunc_binary, ufunc_in_place, ufunc_unary
from jitflow.frontend.tracers.operators import define_operators
from jitflow.frontend.tracers.size import size_of
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.types import Tensor

__all__ = ["ArrayTracer"]


class ArrayTracer(Tracer):
    """An array of rank 0 or more.

    The tracer is the array object: ``x += 1`` gives the same tracer another IR value (`assign`), so every name that the
    program has for this array sees it. That is right only while no view of it exists and no caller can see it.
    """

    __slots__ = ("__weakref__", "owned")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Value, trace: Trace | None = None, *, owned: bool = False) -> None:
        super().__init__(value, trace)
        self.owned = owned

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.ndarray

    @property
    def value(self) -> Value:
        """What the array holds now. Raises `UserRuntimeError` if its trace is over."""
        shown = super().value
        return self._trace.storage.read(shown)

    @property
    def type(self) -> Tensor:
        """The type of the IR value."""
        found = super().value.type
        assert isinstance(found, Tensor)
        return found

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(size_of(dim) for dim in self.type.dims)

    @property
    def ndim(self) -> int:
        return self.type.rank

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype.numpy

    @property
    def itemsize(self) -> int:
        return self.type.dtype.itemsize

    def finish(self) -> None:
        """The region that is being recorded is about to close: record what is left to be recorded of the array."""

    def __copy__(self) -> Any:
        return self.__getattr__("copy")()

    def __len__(self) -> int:
        # The compiled function's own `len` keeps sizes symbolic; this is for C code that asks.
        if not self.ndim:
            raise located(UserTypeError("len() of unsized object"))
        return self._trace.fix(self.type.dims[0], "len() from outside the compiled function")

    def __iter__(self) -> Any:
        if not self.ndim:
            raise located(UserTypeError("iteration over a 0-d array"))
        length = self._trace.fix_turns(self.type.dims[0], "an iteration over an array by Python")
        return iter([self[position] for position in range(length)])

    def __getitem__(self, index: Any) -> Any:
        return surface.get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        surface.set_item(self, index, value)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_value", "_trace", "owned"):
            object.__setattr__(self, name, value)
        elif name in ("shape", "real", "imag", "flat", "T"):
            surface.set_attribute(self, name, value)
        else:
            raise located(
                UserNotImplementedError(
                    f"assigning to the attribute {name!r} of an array is not compiled",
                    mend="use the function that returns a new array (x.reshape(...), x.astype(...))",
                )
            )

    def assign(self, value: Value) -> ArrayTracer:
        """Make the array be ``value``, of the same type, for everybody who shows its memory.

        An array that nobody else shows, made in the region that is being recorded, just becomes another value. One that
        went into a branch or loop, or came out of one, may be what another name shows; one of which the program has a
        part is, and an imitated view.
        """
        if value.type != self._value.type:
            raise CompilerBug(f"expected a value of type {self._value.type} to assign, got {value.type}")
        storage, shown = self._trace.storage, self._value
        alone = self.owned and not storage.is_shared(shown) and storage.is_local(shown)
        alone = alone and not storage.came_shared(shown) and not storage.is_seen_otherwise(shown)
        alone = alone and not storage.imitations.shows(shown) and shown not in storage.copied
        if alone and not storage.is_variable(shown) and not storage.is_held(value):
            self._value = value
            storage.hold(value)
        else:
            storage.write(shown, value)
        return self


def _binary(name: str, left: Any, right: Any) -> Any:
    if _is_square(name, left, right):
        return surface.apply_ufunc(np.square, "__call__", (left,), {})
    if name in ("eq", "ne") and (right is None or isinstance(right, str | bytes)):
        found = ufunc_binary("eq", left, left) & False  # no element is None or a text
        return found if name == "eq" else ~found
    return ufunc_binary(name, left, right)


def _in_place(name: str, target: Any, operand: Any) -> Any:
    if _is_square(name, target, operand):
        return surface.apply_ufunc(np.square, "__call__", (target,), {"out": (target,)})
    if name == "matmul" and (not target.ndim or np.ndim(operand) < 2):
        raise located(UserValueError(
            "inplace matrix multiplication requires the first operand to have at least one and the second at least "
            "two dimensions."
        ))  # fmt: skip
    return ufunc_in_place(name, target, operand)


def _is_square(name: str, left: Any, right: Any) -> bool:
    """Whether NumPy's operator takes another function than the one it stands for, which has another dtype for bools."""
    if name != "pow" or not isinstance(left, ArrayTracer) or left.dtype != bool:
        return False
    kind: type = right.__class__
    if kind is int and isinstance(right, Tracer):
        raise located(UserNotImplementedError(
            "a power of a bool array by a number that only the running program knows, which decides on the dtype",
            mend="convert the array before: x.astype(np.int64) ** n",
        ))  # fmt: skip
    return type(right) is int and right == 2


define_operators(ArrayTracer, _binary, ufunc_unary, _in_place)
