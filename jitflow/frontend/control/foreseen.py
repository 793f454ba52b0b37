"""What an op would raise, known before it runs: a condition of the running program, under which it raises nothing."""

from __future__ import annotations

from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.control.telling import Moments
from jitflow.frontend.control.trying import Handlers, raised_by
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.routine_table import SUCCEEDS
from jitflow.ir.types import Scalar, dims_of

__all__ = ["can_be_foreseen", "can_follow", "foretold", "raises_nothing"]


def can_be_foreseen(op: Op, handlers: Handlers) -> bool:
    """Whether there is a way to know what an op would raise, and so which handler is for it."""
    if op.name == "host_call":
        numbers = {handlers.number_for(kind) for kind in raised_by(op)} - {0}
        is_one = len(numbers) == 1 and -1 not in numbers
        return is_one and op.attributes["effect"] == "check" and type(op.attributes["routine"]) is str
    return op.name in _CONDITIONS


def raises_nothing(op: Op, errors: tuple[str, ...]) -> Value:
    """Whether an op raises none of some errors."""
    return _succeeds(op, errors) if op.name == "host_call" else _CONDITIONS[op.name](op)


def foretold(op: Op) -> Value | None:
    """A condition under which an op raises nothing; None if nobody knows one before it is done."""
    if op.name == "power":
        return _is_a_number(op)
    return _CONDITIONS[op.name](op) if op.name in _CONDITIONS else None


def can_follow(op: Op) -> bool:
    """Whether a call may be made behind an op, where that fails: behind functions of libraries, outside of ``try``."""
    trace = current_trace()
    if trace.state(Moments) or any(scope.is_differentiated for scope in trace.scope.around()):
        return False
    return op.name == "host_call" and type(op.attributes["routine"]) is str


def _holds(op: Op) -> Value:
    return op.operands[0]


def _succeeds(op: Op, errors: tuple[str, ...]) -> Value:
    """Whether a library function raises nothing: it is called once more."""
    inner = {key: op.attributes[key] for key in ("routine", "keywords", "options")} | {"errors": errors}
    return current_trace().make("host_call", *op.operands, types=[Scalar(BOOL)], routine=SUCCEEDS, keywords=(),
                                options=tuple(inner.items()), effect="none")  # fmt: skip


def _divides(op: Op) -> Value:
    """Whether the divisor is not 0."""
    number = op.operands[-1]
    return values.cast(emit("not_equal", number, _zero(number)), BOOL)


def _zero(number: Value) -> Value:
    assert isinstance(number.type, Scalar)
    return emit("constant", value=0.0 if number.type.dtype.is_float else 0, type=number.type)


def _is_a_number(op: Op) -> Value:
    """Whether a power of floats is finite, and one of integers an integer: it may raise nothing where it is not."""
    base, exponent = op.operands
    if base.type == Scalar(I64, True):
        return values.cast(emit("greater_equal", exponent, _zero(exponent)), BOOL)
    return values.cast(emit("isfinite", emit("power", base, exponent)), BOOL)


def _is_inside(op: Op) -> Value:
    """Whether all positions are on their axes."""
    source, *positions = op.operands if op.name == "gather" else op.operands[:-1]
    sizes = values.dims(source)[op.attributes["axis"] :]
    found: Value | None = None
    for position, size in zip(positions, sizes, strict=False):
        number, length = values.cast(position, I64), values.size_value(size)
        above = emit("greater_equal", number, _like(emit("negative", length), number))
        inside = emit("logical_and", above, emit("less", number, _like(length, number)))
        if dims := dims_of(inside.type):
            inside = emit("reduce_logical_and", inside, axes=tuple(range(len(dims))))
        found = inside if found is None else emit("logical_and", found, inside)
    assert found is not None
    return found


def _like(number: Value, other: Value) -> Value:
    return values.broadcast_in(number, dims, ()) if (dims := values.dims(other)) else number


def _meets(op: Op) -> Value:
    """Whether sizes are one size, apart from those that are 1."""
    one = values.constant(1, I64)
    found, common = values.constant(True, BOOL), one
    for size in map(integer, op.operands):
        fits = emit("logical_or", emit("equal", size, one), emit("equal", size, common))
        is_first = emit("equal", common, one)
        found = emit("logical_and", found, emit("logical_or", is_first, fits))
        common = values.select(is_first, size, common)
    return found


_CONDITIONS = {
    "check": _holds,
    **dict.fromkeys(("floor_divide", "remainder", "divide"), _divides),
    **dict.fromkeys(("gather", "scatter"), _is_inside),
    "broadcast_dims": _meets,
}
