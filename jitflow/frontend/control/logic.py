"""Truth: decisions that Python would make on a value that only the running program knows."""

from __future__ import annotations

import operator
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.control.implications import note_opposite, note_same
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.special_methods import TRUTH, answer_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import BOOL

__all__ = ["SEVERAL", "as_bool", "as_python_bool", "not_", "truth"]

_EMPTY = "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
SEVERAL = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"


def truth(thing: Any) -> bool | Value:
    """Whether Python takes ``thing`` as true: an answer, or a bool of the running program."""
    if not isinstance(thing, tracers.Tracer):
        if isinstance(thing, Recorded | ArraySource):
            own: bool | Value = thing.truth()
            return own
        answer: Any = answer_of(thing, *TRUTH)
        return bool(thing) if answer is None else truth(answer)
    if type(thing) is tracers.Alternatives:
        number = surface.strong(thing)  # whose number it is makes no difference
        return truth(thing.each(as_bool) if number is None else number)
    if isinstance(thing, tracers.SizeTracer):
        answer = operator.ne(thing, 0)
        return tracers.lift(answer) if isinstance(answer, tracers.Tracer) else bool(answer)
    if isinstance(thing, tracers.NumberTracer) and thing.pinned() is not None:
        return bool(thing)
    value = thing.value
    if values.rank(value):
        others = [dim for dim in values.dims(value) if not broadcasting.is_one(dim)]
        trace = current_trace()
        if others and not any(map(trace.is_open, others)):
            is_empty = any(trace.decide(dim, "==", 0, "the truth value of an array") for dim in others)
            raise located(UserValueError(_EMPTY if is_empty else SEVERAL))
        if others:
            count = values.size(product(others))
            values.check(values.emit("greater_equal", count, values.size(1)), ValueError, _EMPTY)
            values.check(values.emit("less_equal", count, values.size(1)), ValueError, SEVERAL)
        value = values.reshape(value, (), assumed=True)
    value = values.as_scalar(value)
    dtype = values.dtype_of_value(value)
    return value if dtype == BOOL else values.emit("not_equal", value, _zero_like(value))


def _zero_like(value: Value) -> Value:
    dtype = values.dtype_of_value(value)
    zero = {"i": 0, "u": 0, "f": 0.0, "c": 0j}[dtype.kind]
    return values.emit("constant", value=zero, type=value.type)


def not_(thing: Any) -> Any:
    """``not thing``."""
    answer = truth(thing)
    if isinstance(answer, bool):
        return not answer
    opposite = values.emit("logical_not", answer)
    note_opposite(opposite, answer)
    return as_python_bool(opposite)


def as_python_bool(value: Value) -> Any:
    """A bool of the IR as Python's ``bool``."""
    made = values.emit("cast", value, dtype=BOOL, weak=True)
    note_same(made, value)
    return tracers.wrap(made)


def as_bool(thing: Any) -> Any:
    """``bool(thing)``."""
    answer = truth(thing)
    return answer if isinstance(answer, bool) else as_python_bool(answer)


surface.install(opposite=not_)
