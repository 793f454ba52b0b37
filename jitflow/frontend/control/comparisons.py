"""Comparisons whose answer only the running program knows: chains of them, ``is``, ``in``, and of lists and tuples."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, ItemsView, Iterator, Sequence, ValuesView
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.control.branch import and_, choose, or_
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.leaves import can_change
from jitflow.frontend.control.logic import as_bool, as_python_bool, not_, truth
from jitflow.frontend.control.possible_kinds import is_among
from jitflow.frontend.control.ranges import Range, contains_number, start_stop_step
from jitflow.frontend.control.steps import Stepwise
from jitflow.frontend.control.told import is_merged, is_one
from jitflow.frontend.outside.made_objects import known_as, users_class
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.pooled_objects import is_pooled, is_same_object
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList, are_same
from jitflow.frontend.outside.records import fields_compared
from jitflow.frontend.outside.sets import OutsideSet
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.special_methods import has_method, written_method
from jitflow.frontend.recording import values
from jitflow.frontend.recording.heap_arrays import are_one_array
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.characters import contains_text
from jitflow.frontend.texts.traced import is_text_value, waits
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Scalar

__all__ = ["chain", "compared", "contains", "equal", "is_", "is_decided_by_run", "is_traced"]

_SEQUENCES: dict[type, type] = {tuple: tuple, list: list, OutsideList: list}
_DICTS = (dict, OutsideDict)
_DATACLASSES_COMPARE_TUPLES = sys.version_info < (3, 13)
"""Whether their ``==`` takes fields that are one object for equal, and gives bools; it asks field by field since."""


def chain(first: Any, comparisons: Sequence[tuple[str, Callable[[], Any]]]) -> Any:
    """``first < second < third``: each operand is evaluated once, and only if all before it hold."""
    (symbol, operand), *rest = comparisons
    right = operand()
    answer = _COMPARISONS[symbol](first, right)
    return and_(answer, lambda: chain(right, rest)) if rest else answer


def compared(symbol: str, left: Any, right: Any) -> Any:
    """``left < right``, of lists and tuples item by item."""
    return _COMPARISONS[symbol](left, right)


def is_(left: Any, right: Any) -> Any:
    """``left is right``."""
    if type(left) is tracers.Alternatives and right is None:
        answers = {number: is_(held, None) for number, held in left.options.items()}
        if all(type(answer) is bool for answer in answers.values()):  # which the number of the kind tells
            return is_among(left, [number for number, answer in answers.items() if answer])
    if type(left) is tracers.Alternatives or type(right) is tracers.Alternatives:
        return tracers.distributed(is_, (left, right), {})
    if left is not right and all(isinstance(thing, Recorded) and thing.flows for thing in (left, right)):
        return left.is_same(right)
    if left is not right and is_pooled(left) and is_pooled(right):
        return is_same_object(left, right)
    if left is not right and type(left) is type(right) is tracers.ArrayTracer:
        references = are_one_array(left._value, right._value)
        if references is not None:
            return tracers.wrap(as_weak(values.emit("equal", *references), BOOL))
    kind = _bool_kind(left)
    if left is not right and kind is not None and kind is _bool_kind(right):
        return as_bool(left == right)
    answer = is_one(left, right)
    return are_same(known_as(left), known_as(right)) if answer is False else answer


def _bool_kind(thing: Any) -> type | None:
    """The class of a bool, Python's or NumPy's, of which there are but two; None for all others."""
    if isinstance(thing, tracers.ScalarTracer) and thing.value.type in (Scalar(BOOL, True), Scalar(BOOL)):
        return bool if thing.weak else np.bool_
    return type(thing) if isinstance(thing, bool | np.bool_) else None


@tracers.kind_by_kind
def contains(container: Any, item: Any) -> Any:
    """``item in container``."""
    if isinstance(container, tracers.ArrayTracer):
        return as_bool((container == item).any())
    if type(container) is str and type(item) is TracedText:
        return contains_text(container, item)
    if type(container) in (str, TracedText) and (is_text_value(item) or type(container) is TracedText):
        whole: Any = surface.program_text(container) if type(container) is str or waits(container) else str(container)
        return whole.contains(item) if is_text_value(whole) else contains(whole, item)
    if isinstance(container, Recorded) and (container.flows or isinstance(container, Slotted)):
        return container.contains(item)
    if type(container) is Range or (type(container) is range and is_traced(item)):
        return contains_number(container, item)
    is_keyed = isinstance(container, dict | set | frozenset)
    if is_keyed and is_traced(item):
        _require_hash(item)
        begin_anew_with(container)
    if isinstance(container, OutsideSet):
        return contains(tuple(_hashed_alike(container, item)), item) if is_traced(item) else item in container
    if isinstance(container, Stepwise):
        raise located(UserNotImplementedError(
            f"in of {container.stands_for.__name__}(...), which ends at the item",
            mend="make a list of it before: x in list(...)",
        ))  # fmt: skip
    method = written_method(container, "__contains__")
    if method is not None:
        return as_bool(method(item))
    is_listed = is_keyed or isinstance(container, list | tuple | ItemsView | ValuesView)
    if not is_listed or not (is_decided_by_run(item) or any(map(is_decided_by_run, container))):
        return item in container
    answer: Any = False
    for other in container:
        if other is item:
            return True
        answer = or_(answer, partial(_equal_items, other, item))
    return answer


def _hashed_alike(container: OutsideSet, item: Any) -> Iterator[Any]:
    """The items of a set that Python would compare with a thing, if their hashes were one."""
    for one in container.members:
        if isinstance(item, tracers.ScalarTracer | tracers.SizeTracer):
            may_be = isinstance(one, int | float | complex | np.number | np.bool_)
        else:
            may_be = type(item) is not tuple or (isinstance(one, tuple) and len(one) == len(item))
        if may_be:
            yield one


def _require_hash(key: Any) -> None:
    """Raise for what is no key: an array, or a list with a number of the run in it."""
    if isinstance(key, tuple):
        for part in key:
            _require_hash(part)
    elif (kind := key.__class__).__hash__ is None:
        module = "numpy." * isinstance(key, tracers.ArrayTracer)
        raise tracers.located(UserTypeError(f"unhashable type: '{module}{kind.__name__}'"))


def is_traced(thing: Any) -> bool:
    """Whether a thing, or an item of a tuple or list, is known to the running program alone."""
    if (
        isinstance(thing, tracers.Tracer)
        or is_pooled(thing)
        or is_text_value(thing)
        or (type(thing) is TracedText and waits(thing))
    ):
        return True
    return _kind_of_sequence(thing) is not None and any(map(is_traced, thing))


def _is_equal_to_itself_alone(thing: Any) -> bool:
    """Whether it is an object of a class that does not say what its objects are equal to."""
    return can_change(thing) and not has_method(users_class(type(thing)), "__eq__")


@tracers.kind_by_kind
def _are_one(left: Any, right: Any) -> Any:
    """``left == right`` where one may be an object that is equal to itself alone, or to those with equal fields."""
    if _is_equal_to_itself_alone(left) and _is_equal_to_itself_alone(right):
        return is_(left, right)
    fields = fields_compared(left, right, "__eq__")
    if fields is None:
        return left == right
    if _DATACLASSES_COMPARE_TUPLES:
        return equal(*fields)
    answer: Any = True
    for one, other in zip(*fields, strict=True):
        answer = and_(answer, partial(equal, one, other))
    return answer


def _may_be_one_alone(thing: Any) -> bool:
    several = thing.options.values() if type(thing) is tracers.Alternatives else (thing,)
    return any(_is_equal_to_itself_alone(one) or fields_compared(one, one, "__eq__") is not None for one in several)


def is_decided_by_run(thing: Any, *methods: str) -> bool:
    """Whether only the run may know how a thing compares: it is traced, or has ``__eq__`` or one of the ``methods``.

    Or it is a dataclass with traced fields, or the run knows which of several objects it is.
    """
    if type(thing) in (list, tuple):
        return any(is_decided_by_run(item, *methods) for item in thing)
    if is_traced(thing) or is_merged(thing):
        return True
    names = methods or ("__eq__",)
    is_written = any(written_method(thing, name) is not None for name in names)
    return is_written or any(is_traced((fields_compared(thing, thing, name) or [None])[0]) for name in names)


def equal(left: Any, right: Any) -> Any:
    """``left == right``, of tuples and lists item by item."""
    left, right = _taken_apart(left, right)
    if _may_be_one_alone(left) and _may_be_one_alone(right):
        return _are_one(left, right)
    if type(left) in _DICTS and type(right) in _DICTS and (is_traced([*left.values()]) or is_traced([*right.values()])):
        return left.keys() == right.keys() and equal([*left.values()], [right[key] for key in left])
    if _may_be_none(left) or _may_be_none(right):
        return _compared_to_none(operator.eq, left, right)
    if not _are_sequences(left, right):
        return left == right
    if len(left) != len(right):
        return False
    answer: Any = True
    for one, other in zip(left, right, strict=True):
        if one is not other:
            answer = and_(answer, partial(_equal_items, one, other))
    return answer


def _may_be_none(thing: Any) -> bool:
    """Whether it is None, or of several kinds, one of which is that."""
    return thing is None or (type(thing) is tracers.Alternatives and any(one is None for one in thing.options.values()))


@tracers.kind_by_kind
def _compared_to_none(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Numbers are not equal to None, though NumPy's functions do not take it."""
    if left is not None and right is not None:
        return (equal if compare is operator.eq else _unequal)(left, right)
    is_number = any(isinstance(one, tracers.ScalarTracer | tracers.SizeTracer) for one in (left, right))
    return compare is operator.ne if is_number else compare(left, right)


def _in_order(compare: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Sequences compare as their first items that differ, or as their lengths; dataclasses as their fields do."""
    left, right = fields_compared(left, right, f"__{compare.__name__}__") or (left, right)
    if not (_are_sequences(left, right) and (is_traced(left) or is_traced(right))):
        return compare(left, right)

    def behind(place: int) -> Any:
        if place == min(len(left), len(right)):
            return compare(len(left), len(right))
        one, other = left[place], right[place]
        same = one is other or _equal_items(one, other)
        return choose(same, lambda: behind(place + 1), lambda: _in_order(compare, one, other), one, other)

    return behind(0)


def _unequal(left: Any, right: Any) -> Any:
    """``left != right``."""
    left, right = _taken_apart(left, right)
    if _may_be_none(left) or _may_be_none(right):
        return _compared_to_none(operator.ne, left, right)
    is_told = type(left) in _DICTS or _are_sequences(left, right) or _may_be_one_alone(left)
    return not_(equal(left, right)) if is_told else left != right


def _taken_apart(left: Any, right: Any) -> tuple[Any, Any]:
    """Two things whose items Python compares as tuples and lists, if they have items."""
    if type(left) is slice and type(right) is slice:
        return start_stop_step(left), start_stop_step(right)
    return _written_out(left), _written_out(right)


def _written_out(thing: Any) -> Any:
    """A list of which the trace knows how many items it has as one of Python's."""
    if not isinstance(thing, Recorded) or thing.flows or thing.may_change:
        return thing
    source = thing.settled()
    count = getattr(source, "count", None)
    return [source.item(place) for place in range(count)] if isinstance(count, int) else thing


def _are_sequences(left: Any, right: Any) -> bool:
    kind = _kind_of_sequence(left)
    return kind is not None and _kind_of_sequence(right) is kind


def _kind_of_sequence(thing: Any) -> type | None:
    """As which of Python's sequences a thing is compared, if it is: named tuples as tuples."""
    kind: Any = type(thing)
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__eq__ is tuple.__eq__
    return tuple if is_named else _SEQUENCES.get(kind)


def _equal_items(left: Any, right: Any) -> Any:
    """What Python takes of two items' comparison is its truth."""
    answer = truth(equal(left, right))
    return answer if isinstance(answer, bool) else as_python_bool(answer)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": partial(_in_order, operator.lt),
    "<=": partial(_in_order, operator.le),
    ">": partial(_in_order, operator.gt),
    ">=": partial(_in_order, operator.ge),
    "==": equal,
    "!=": _unequal,
    "is": is_,
    "is not": lambda left, right: not_(is_(left, right)),
    "in": lambda item, container: contains(container, item),
    "not in": lambda item, container: not_(contains(container, item)),
}
