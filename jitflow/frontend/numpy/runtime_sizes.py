"""Integers that only the running program knows, where NumPy wants a size, a position or a bound of a slice.

Each becomes a named size of the IR: the op ``to_index`` binds it, behind the checks and the clamping that NumPy would
do. So whatever is computed from it (dims, offsets, loops) is the same as for sizes that arguments bind.
"""

from __future__ import annotations

import jitflow.frontend.tracers as tracers
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.values import emit
from jitflow.frontend.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64

__all__ = ["bind", "clamped", "from_front", "integer", "is_running", "position"]


def is_running(item: object) -> bool:
    """Whether an integer of the program is known only when it runs, its sign included."""
    if isinstance(item, tracers.SizeTracer):
        dim = tracers.dim_of(item)
        return current_trace().is_open(dim) and current_trace().known(dim, ">=", 0) is None
    if isinstance(item, tracers.ArrayTracer):
        return item.ndim == 0
    return isinstance(item, tracers.ScalarTracer)


def integer(item: object) -> Value:
    """The integer as an i64 of the IR."""
    value = item if isinstance(item, Value) else tracers.lift(item)
    return values.cast(values.as_scalar(value), I64)


def bind(number: Value, name: str, at_most: Dim | None = None) -> Dim:
    """A new size that is ``number``, which is not negative, nor above ``at_most`` if that is given."""
    trace = current_trace()
    size = trace.size(name)
    emit("to_index", number, binds=str(size))
    if at_most is not None:
        trace.knowledge.at_most[str(size)] = at_most
    return size


def clamped(item: object, size: Dim, *, backwards: bool = False) -> Dim:
    """A bound of a slice of an axis: counted from the front, inside the axis.

    ``backwards``: for a negative step, where bounds lie between -1 and ``size - 1``.
    """
    number, length = integer(item), values.size_value(size)
    zero, one = values.constant(0, I64), values.constant(1, I64)
    number = from_front(number, length)
    if backwards:  # one more, so that it is not negative
        number = emit("add", number, one)
    inside = emit("minimum", emit("maximum", number, zero), length)
    found = bind(inside, "bound", size)
    return found - 1 if backwards else found


def position(item: object, size: Dim, axis: int) -> Dim:
    """An index of an axis, counted from the front. The compiled code raises IndexError if it is out of range."""
    number, length = integer(item), values.size_value(size)
    front = from_front(number, length)
    inside = emit(
        "logical_and",
        emit("greater_equal", front, values.constant(0, I64)),
        emit("less", front, length),
    )
    values.check(
        inside, IndexError, f"index {{}} is out of bounds for axis {axis} with size {{}}", number, values.size(size)
    )
    return bind(front, "position", size - 1)


def from_front(number: Value, length: Value) -> Value:
    """A position that counts from the end if it is negative, counted from the front."""
    negative = emit("less", number, values.constant(0, I64))
    return values.select(negative, emit("add", number, length), number)
