"""The small words in which everything here is said: one function per IR op, on values, with the casts made for you.

A *value* is a result in the IR (`jitflow.ir.core.Value`); a *dim* is a size. Functions here append to the current
trace and give values back. They know the IR's rules but nothing of NumPy's: promotion, broadcasting and NumPy's
signatures are the business of the modules that stand on this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, I64, DType
from jitflow.ir.types import Index, Scalar, Tensor, dims_of

__all__ = [
    "as_array",
    "as_scalar",
    "as_strong",
    "broadcast_in",
    "cast",
    "check",
    "constant",
    "constant_like",
    "dims",
    "dtype_of_value",
    "emit",
    "fill",
    "iota",
    "is_weak",
    "maker",
    "rank",
    "reshape",
    "select",
    "size",
    "size_value",
    "slice_axes",
    "transpose",
    "unless",
]  # fmt: skip


_PYTHON_KINDS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"b": bool, "i": int, "u": int, "f": float, "c": complex}
)


def emit(name: str, *operands: Value, **attributes: Any) -> Value:
    """Append the op ``name``, which has one result, to the current trace."""
    return current_trace().make(name, *operands, **attributes)


def dims(value: Value) -> tuple[Dim, ...]:
    """The value's dims; none for scalars."""
    return dims_of(value.type)


def rank(value: Value) -> int:
    """How many axes the value has."""
    return len(dims(value))


def dtype_of_value(value: Value) -> DType:
    """The value's element type; a size counts as i64."""
    if isinstance(value.type, Index):
        return I64
    assert isinstance(value.type, Tensor | Scalar), value.type
    return value.type.dtype


def maker(value: Value) -> Op | None:
    """The op that made a number, in this region or one around it."""
    ops = (op for scope in current_trace().scope.around() for op in reversed(scope.builder.ops))
    return next((op for op in ops if value in op.results), None)


def is_weak(value: Value) -> bool:
    """Whether the value is a Python number, which adopts the dtype of what it meets (NEP 50)."""
    return isinstance(value.type, Index) or (isinstance(value.type, Scalar) and value.type.weak)


def constant(number: Any, dtype: DType) -> Value:
    """A NumPy scalar that is known now. ``number`` must be exact in ``dtype``; the caller has converted it."""
    return emit("constant", value=_PYTHON_KINDS[dtype.kind](number), type=Scalar(dtype))


def known_int(number: int) -> Value:
    """A Python integer that is known now."""
    return emit("constant", value=number, type=Scalar(I64, weak=True))


def constant_like(number: Any, value: Value) -> Value:
    """A scalar of the dtype of ``value``."""
    return constant(number, dtype_of_value(value))


def size(dim: Dim) -> Value:
    """A dim as an ``index`` value."""
    return emit("size", dim=dim)


def size_value(dim: Dim) -> Value:
    """A dim as a strong i64."""
    return constant(dim, I64) if isinstance(dim, int) else emit("cast", size(dim), dtype=I64)


def cast(value: Value, dtype: DType) -> Value:
    """The value converted as ``astype`` does it, and strong; the value itself where it is both already.

    A 0-d array that is converted becomes a scalar, as every op on one does.
    """
    if isinstance(value.type, Tensor | Scalar) and value.type.dtype == dtype and not is_weak(value):
        return value
    return emit("cast", value, dtype=dtype)


def as_strong(value: Value) -> Value:
    """A Python number as the NumPy scalar of its own type; other values unchanged."""
    return cast(value, dtype_of_value(value)) if is_weak(value) else value


def as_scalar(value: Value) -> Value:
    """A 0-d array as the NumPy scalar in it, which is what NumPy's functions return; other values unchanged."""
    if isinstance(value.type, Tensor) and value.type.rank == 0:
        return emit("cast", value, dtype=value.type.dtype)
    return value


def as_array(value: Value) -> Value:
    """A scalar as a 0-d array; other values unchanged."""
    value = as_strong(value)
    return emit("reshape", value, dims=()) if isinstance(value.type, Scalar) else value


def reshape(value: Value, to: tuple[Dim, ...], *, assumed: bool = False) -> Value:
    """The same elements in C order with other dims. ``assumed``: a run-time check has compared the sizes."""
    if isinstance(value.type, Tensor) and dims(value) == to:
        return value
    extra = {"assumed": True} if assumed and product(dims(value)) != product(to) else {}
    return emit("reshape", value, dims=to, **extra)


def transpose(value: Value, axes: Sequence[int]) -> Value:
    """Axes in another order; nothing where the order stays."""
    return value if list(axes) == list(range(rank(value))) else emit("transpose", value, axes=tuple(axes))


def slice_axes(value: Value, starts: Sequence[Dim], sizes: Sequence[Dim], steps: Sequence[Dim]) -> Value:
    """A slice per axis; nothing where every axis is taken whole."""
    if tuple(sizes) == dims(value) and all(step == 1 for step in steps) and all(start == 0 for start in starts):
        return value
    return emit("slice", value, starts=tuple(starts), sizes=tuple(sizes), steps=tuple(steps))


def broadcast_in(value: Value, to: tuple[Dim, ...], axes: Sequence[int], *, assumed: bool = False) -> Value:
    """Operand axis k becomes axis ``axes[k]`` of ``to``; other axes repeat."""
    if isinstance(value.type, Tensor) and dims(value) == to:
        return value
    extra = {"assumed": True} if assumed else {}
    return emit("broadcast", as_strong(value), dims=to, axes=tuple(axes), **extra)


def fill(value: Value, to: tuple[Dim, ...]) -> Value:
    """A rank-0 value repeated over ``to``."""
    return broadcast_in(value, to, ()) if to else as_array(value)


def iota(dtype: DType, to: tuple[Dim, ...], axis: int = 0) -> Value:
    """Each element's index along ``axis``."""
    return emit("iota", dtype=dtype, dims=to, axis=axis)


def select(condition: Value, yes: Value, no: Value) -> Value:
    """``yes`` where ``condition`` holds, else ``no``; shapes and dtypes meet already."""
    return emit("select", condition, yes, no)


def check(condition: Value, error: type[Exception], message: str, *operands: Value) -> None:
    """Raise ``error`` at run time unless the scalar ``condition`` holds. ``message`` is formatted with ``operands``.

    What Python and NumPy would not raise is a user error.
    """
    assert isinstance(condition.type, Scalar), condition.type
    assert condition.type.dtype == BOOL, condition.type
    current_trace().add("check", condition, *operands, error=error.__name__, message=message)


def unless(condition: Value, otherwise: Callable[[], None]) -> None:
    """Record ``otherwise`` for where ``condition`` does not hold: checks that say what is wrong, out of the way."""
    trace = current_trace()
    with trace.region() as nothing:
        pass
    with trace.region() as failing:
        otherwise()
    trace.add("if", condition, types=(), regions=(nothing.close((), ()), failing.close((), ())))
