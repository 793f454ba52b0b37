"""Truth: decisions that Python would make on a value that only the running program knows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError, UserValueError
from jitflow.frontend.numpy import values
from jitflow.frontend.objects import Recorded
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Scalar

__all__ = ["chain", "contains", "equal", "is_", "is_bool", "not_", "truth", "unequal"]


def truth(thing: Any) -> bool | Value:
    """Whether Python takes ``thing`` as true: an answer, or a bool of the running program."""
    if not isinstance(thing, tracers.Tracer):
        return thing.truth() if isinstance(thing, Recorded) else bool(thing)
    if type(thing) is tracers.Alternatives:
        return truth(thing.each(as_bool))
    if isinstance(thing, tracers.SizeTracer):
        answer: Any = operator.ne(thing, 0)
        return tracers.lift(answer) if isinstance(answer, tracers.Tracer) else bool(answer)
    if isinstance(thing, tracers.NumberTracer) and thing.pinned() is not None:
        return bool(thing)
    value = thing.value
    if values.rank(value):
        if any(dim != 1 for dim in values.dims(value)):
            message = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            is_open = any(map(current_trace().is_open, values.dims(value)))  # perhaps there is one element
            raise located(UserValueError(message, found=thing._describe() if is_open else ""))
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
    if isinstance(answer, bool):
        return not answer
    opposite = values.emit("logical_not", answer)
    implied = current_trace().implied
    if answer in implied:
        tag, numbers, others = implied[answer]
        implied[opposite] = tag, others, numbers
    return as_python_bool(opposite)


def as_python_bool(value: Value) -> Any:
    """A bool of the IR as Python's ``bool``."""
    made = values.emit("cast", value, dtype=BOOL, weak=True)
    implied = current_trace().implied
    if value in implied:
        implied[made] = implied[value]
    return tracers.wrap(made)


def as_bool(thing: Any) -> Any:
    """``bool(thing)``."""
    answer = truth(thing)
    return answer if isinstance(answer, bool) else as_python_bool(answer)


class OnlyTruth(Recorded):
    """What ``a and b`` gives where one of the two is a list of the running program: it has a truth, and no more."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def truth(self) -> Any:
        return truth(self._answer)

    def settled(self) -> Any:
        raise _refusal()

    def returned(self) -> Any:
        raise _refusal()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else _refusal()

    def _refuse(self, *_: Any) -> NoReturn:
        raise _refusal()

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __mul__ = __getitem__ = __iter__ = _refuse
    __len__ = __bool__ = __str__ = __repr__ = _refuse
    __hash__ = object.__hash__


def _refusal() -> UserError:
    return located(
        UserNotImplementedError(
            "the value of `and` or `or` with a list that the running program changes",
            expected="a condition, which asks for its truth alone",
            mend="write `if items:`, or compare len(items) with 0",
        )
    )


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": lambda left, right: is_(left, right),
    "is not": lambda left, right: not_(is_(left, right)),
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


def is_(left: Any, right: Any) -> Any:
    """``left is right``."""
    if type(left) is tracers.Alternatives or type(right) is tracers.Alternatives:
        return tracers.distributed(is_, (left, right), {})
    return is_bool(left, right) if type(right) is bool else left is right


@tracers.kind_by_kind
def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    if isinstance(container, tracers.ArrayTracer):
        return (container == item).any()
    if not isinstance(container, list | tuple | range) or not (_is_traced(item) or any(map(_is_traced, container))):
        return item in container
    answer: Any = False
    from jitflow.frontend.control.branch import or_

    for other in container:
        if other is item:
            return True
        answer = or_(answer, partial(equal, other, item))
    return answer


def is_bool(thing: Any, wanted: bool) -> Any:
    """``thing is True`` or ``thing is False``."""
    if isinstance(thing, tracers.ScalarTracer) and thing.value.type == Scalar(BOOL, True):
        return thing if wanted else not_(thing)
    return thing is wanted


def _is_traced(thing: Any) -> bool:
    return isinstance(thing, tracers.Tracer) or (type(thing) in (tuple, list) and any(map(_is_traced, thing)))


def equal(left: Any, right: Any) -> Any:
    """``left == right``, of tuples and lists item by item."""
    if not _are_sequences(left, right):
        return left == right
    if len(left) != len(right):
        return False
    from jitflow.frontend.control.branch import and_

    answer: Any = True
    for one, other in zip(left, right, strict=True):
        if one is not other:
            answer = and_(answer, partial(_equal_items, one, other))
    return answer


def unequal(left: Any, right: Any) -> Any:
    """``left != right``, of tuples and lists item by item."""
    return not_(equal(left, right)) if _are_sequences(left, right) else left != right


def _are_sequences(left: Any, right: Any) -> bool:
    return type(left) in (tuple, list) and type(right) is type(left)


def _equal_items(left: Any, right: Any) -> Any:
    """What Python takes of two items' comparison is its truth."""
    answer = truth(equal(left, right))
    return answer if isinstance(answer, bool) else as_python_bool(answer)
