"""Truth: decisions that Python would make on a value that only the running program knows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.errors import ExceptionName, UserNotImplementedError, UserValueError
from jitflow.frontend.numpy import values
from jitflow.frontend.trace import active_trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Scalar

__all__ = ["EndOfPath", "assert_", "chain", "contains", "fail", "not_", "raise_", "truth"]


class EndOfPath(BaseException):
    """The program raises here, on a path that only the running program decides to take: there is no more of it."""


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


# -- errors that the program raises -----------------------------------------------------------------------


def fail(error: type[BaseException], message: str) -> NoReturn:
    """The running program raises ``error`` if it comes here."""
    never = values.emit("constant", value=False, type=Scalar(BOOL))
    current_trace().add("check", never, error=ExceptionName.of(error), message=_escaped(message))
    raise EndOfPath


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message()``."""
    answer = truth(test)
    if isinstance(answer, bool):
        if not answer:
            raise_(AssertionError(*_arguments(message)))
        return
    texts = _arguments(message)
    current_trace().add("check", answer, error="AssertionError", message=_plain(texts))


def _arguments(message: Callable[[], Any] | None) -> tuple[Any, ...]:
    return () if message is None else (message(),)


def _plain(texts: tuple[Any, ...]) -> str:
    return _escaped(str(texts[0])) if texts else ""


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def raise_(error: Any, *cause: Any) -> NoReturn:
    """``raise error from cause``: at once, or when the running program comes here."""
    trace = active_trace()
    if trace is None or trace.scope is trace.root:
        if not cause:
            raise error
        raise error from cause[0]
    raised = error() if isinstance(error, type) else error
    kind = type(raised)
    if len(raised.args) > 1 or (raised.args and not isinstance(raised.args[0], str | int | float)):
        raise located(
            UserNotImplementedError(
                f"raising {kind.__name__} with these arguments on a decision that only the running program makes",
                expected="an exception with a message that is known, or without one",
                mend=f'raise {kind.__name__}("a message")',
            )
        )
    fail(kind, str(raised.args[0]) if raised.args else "")
