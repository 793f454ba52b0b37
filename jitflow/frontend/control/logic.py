"""Truth: decisions that Python would make on a value that only the running program knows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.numpy import values
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL

__all__ = ["chain", "contains", "not_", "truth"]


def truth(thing: Any) -> bool | Value:
    """Whether Python takes ``thing`` as true: an answer, or a bool of the running program."""
    if not isinstance(thing, tracers.Tracer):
        return bool(thing)
    if isinstance(thing, tracers.SizeTracer):
        answer: Any = operator.ne(thing, 0)
        return tracers.lift(answer) if isinstance(answer, tracers.Tracer) else bool(answer)
    if isinstance(thing, tracers.NumberTracer) and thing.pinned() is not None:
        return bool(thing)
    value = thing.value
    if values.rank(value):
        if any(dim != 1 for dim in values.dims(value)):
            message = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            raise located(UserValueError(message, found=thing._describe()))
        value = values.reshape(value, ())
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
    return not answer if isinstance(answer, bool) else as_python_bool(values.emit("logical_not", answer))


def as_python_bool(value: Value) -> Any:
    """A bool of the IR as Python's ``bool``."""
    return tracers.wrap(values.emit("cast", value, dtype=BOOL, weak=True))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not,
    "in": lambda item, container: contains(container, item),
    "not in": lambda item, container: not_(contains(container, item)),
}  # fmt: skip


def chain(first: Any, comparisons: Sequence[tuple[str, Callable[[], Any]]]) -> Any:
    """``first < second < third``: each operand is evaluated once, and only if all before it hold."""
    from jitflow.frontend.control.branch import and_

    (symbol, operand), *rest = comparisons
    right = operand()
    answer = _COMPARISONS[symbol](first, right)
    return and_(answer, lambda: chain(right, rest)) if rest else answer


def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    if isinstance(container, tracers.ArrayTracer):
        return (container == item).any()
    if not isinstance(container, list | tuple | range) or not (
        isinstance(item, tracers.Tracer) or any(isinstance(other, tracers.Tracer) for other in container)
    ):
        return item in container
    answer: Any = False
    from jitflow.frontend.control.branch import or_

    for other in container:
        if other is item:
            return True
        answer = or_(answer, partial(operator.eq, other, item))
    return answer
