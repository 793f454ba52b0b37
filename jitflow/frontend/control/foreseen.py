"""What an op would raise, known before it runs: a condition of the running program, under which it raises nothing.

What is raised again behind a ``finally`` has a number below 0 until then, and tells up to two numbers of its message.
"""

from __future__ import annotations

import operator
from typing import Any

from jitflow.frontend.arrays.runtime_sizes import integer
from jitflow.frontend.control.trying import Handlers, raised_by
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.python_numbers import as_weak, division_words
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.routine_table import SUCCEEDS
from jitflow.ir.types import Index, Scalar, dims_of

__all__ = ["again", "can_be_foreseen", "foretold", "number_of_error", "raises_nothing", "told_by"]


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
    return _CONDITIONS[op.name](op) if op.name in _CONDITIONS else None


class _RaisedAgain(dict[tuple[str, str, int], int]):
    """The number of each error that a ``finally`` may keep waiting: its class, its message and how much that tells."""


def number_of_error(op: Op) -> int:
    """The number of what an op raises, if that can be raised again; 0 if it cannot."""
    found = _error_of(op)
    if found is None:
        return 0
    known = current_trace().state(_RaisedAgain)
    return known.setdefault(found, -1 - len(known))


def told_by(op: Op) -> list[Value]:
    """What an error tells: two ints."""
    numbers = [as_weak(integer(number), I64) for number in op.operands[1:]] if op.name == "check" else []
    return [*numbers, *(as_weak(values.constant(0, I64), I64) for _ in range(_MOST_TOLD - len(numbers)))]


def again(waiting: Any) -> None:
    """Raise what has waited: the number of an error, 0 if there is none, and what it tells."""
    number, told = waiting
    if type(number) is int and number == 0:
        return
    for (error, message, count), known in current_trace().state(_RaisedAgain).items():
        another = emit("not_equal", integer(number), values.constant(known, I64))
        current_trace().add("check", another, *map(integer, told[:count]), error=error, message=message)


def _error_of(op: Op) -> tuple[str, str, int] | None:
    if op.name == "check":
        told: list[Any] = [number.type for number in op.operands[1:]]
        if len(told) > _MOST_TOLD or not all(
            isinstance(kind, Index) or kind == Scalar(I64, kind.weak) for kind in told
        ):
            return None
        return op.attributes["error"], op.attributes["message"], len(told)
    if op.name in _DIVISIONS and isinstance(kind := op.operands[0].type, Scalar):
        return "ZeroDivisionError", division_words(_DIVISIONS[op.name], kind.dtype), 0
    return None


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
    assert isinstance(number.type, Scalar)
    zero = emit("constant", value=0.0 if number.type.dtype.is_float else 0, type=number.type)
    return values.cast(emit("not_equal", number, zero), BOOL)


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


_MOST_TOLD = 2
_DIVISIONS = {"floor_divide": operator.floordiv, "remainder": operator.mod, "divide": operator.truediv}
_CONDITIONS = {
    "check": _holds,
    **dict.fromkeys(_DIVISIONS, _divides),
    **dict.fromkeys(("gather", "scatter"), _is_inside),
    "broadcast_dims": _meets,
}
