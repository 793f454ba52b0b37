"""Integers that only the running program knows, where NumPy wants a size, a position or a bound of a slice.

Each becomes a named size of the IR: the op ``to_index`` binds it, behind the checks and the clamping that NumPy would
do. So whatever is computed from it (dims, offsets, loops) is the same as for sizes that arguments bind.
"""

from __future__ import annotations

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.operands import require_integer
from jitflow.frontend.arrays.promotion import check_range
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.sizes import is_long
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64, U64

__all__ = ["bind", "clamped", "from_front", "integer", "is_running", "position", "shortened", "sum_of"]


class _Clamped(dict[tuple[tuple[Value, int], Dim, bool], tuple[Scope, Dim]]):
    """The bounds of slices that sums of integers have become, each with the region that knows it.

    By the sum, the size, and whether the slice steps backwards.
    """


def is_running(item: object) -> bool:
    """Whether an integer of the program is known only when it runs, its sign included."""
    if isinstance(item, tracers.SizeTracer):
        dim = tracers.dim_of(item)
        return current_trace().is_open(dim) and current_trace().known(dim, ">=", 0) is None
    if isinstance(item, tracers.ArrayTracer):
        return item.ndim == 0
    return isinstance(item, tracers.ScalarTracer)


def integer(item: object) -> Value:
    """The integer as an i64 of the IR. Raises TypeError for what is none, OverflowError for what is too large."""
    if type(item) is tracers.Alternatives:
        item = item.each(lambda one: tracers.wrap(integer(one)))
    value = values.as_scalar(item if isinstance(item, Value) else tracers.lift(item))
    if not isinstance(item, Value):
        require_integer(item, value)
    if values.rank(value):
        raise UserTypeError("only integer scalar arrays can be converted to a scalar index")
    if values.dtype_of_value(value) == U64:
        check_range(value, I64)
    return values.cast(value, I64)


class _Named(dict[Dim, Dim]):
    """Long sizes that were given a name, by what they are."""


def bind(number: Value, name: str, at_most: Dim | None = None) -> Dim:
    """A new size that is ``number``, which is not negative, nor above ``at_most`` if that is given."""
    trace = current_trace()
    size = trace.size(name)
    emit("to_index", number, binds=str(size))
    if at_most is not None:
        trace.knowledge.at_most[str(size)] = at_most
    return size


def shortened(size: Dim) -> Dim:
    """A size, or a number that is not negative, with few words: see `Trace.shortened`; else a new one that it is."""
    trace = current_trace()
    short = trace.shortened(size)
    if not is_long(short):
        return short
    around = trace.is_visible_in(trace.scope)
    named = trace.state(_Named)
    if short not in named or not around(named[short]):
        named[short] = bind(values.size_value(short), "size")
    return named[short]


def clamped(item: object, size: Dim, *, backwards: bool = False) -> Dim:
    """A bound of a slice of an axis: counted from the front, inside the axis, and the same for the same integer.

    ``backwards``: for a negative step, where bounds lie between -1 and ``size - 1``.
    """
    trace = current_trace()
    value = item if isinstance(item, Value) else tracers.lift(item)
    sum_, around = sum_of(value), set(trace.scope.around())
    for (other, length, way), (scope, known) in trace.state(_Clamped).items():
        is_same = other == sum_ and way == backwards and scope in around
        if is_same and trace.are_one_size(size, length, "slices by the same bounds"):
            return known
    trace.state(_Clamped)[sum_, size, backwards] = trace.scope, _clamped(value, size, backwards)
    return trace.state(_Clamped)[sum_, size, backwards][1]


def sum_of(value: Value) -> tuple[Value, int]:
    """An integer as another one and the number that the program has added to it."""
    maker = values.maker(value)
    if maker is not None and maker.name == "add":
        for base, other in zip(maker.operands, maker.operands[::-1], strict=True):
            added = values.maker(other)
            if added is not None and added.name == "constant":
                return base, added.attributes["value"]
    return value, 0


def _clamped(item: Value, size: Dim, backwards: bool) -> Dim:
    if values.dtype_of_value(item) == U64:  # what is beyond all sizes is clamped as well
        item = emit("minimum", values.as_scalar(item), values.constant(2**63 - 1, U64))
    number, length = integer(item), values.size_value(size)
    zero, one = values.constant(0, I64), values.constant(1, I64)
    number = from_front(number, length)
    if backwards:  # one more, so that it is not negative
        number = emit("add", emit("minimum", number, length), one)
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
