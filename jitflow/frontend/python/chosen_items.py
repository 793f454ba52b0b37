"""Items of Python's lists, tuples and dicts at an index that only the running program knows: ``weights[n]``.

What the list holds is known while the program is traced, so one of its items is chosen: numbers of one type by
selections or out of a table, all else in branches, where what is chosen may be of several kinds. In a loop that may be
written out turn by turn, it is asked for the number first, which each of its turns knows.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.arrays.runtime_sizes import from_front, integer
from jitflow.frontend.containers import conversions
from jitflow.frontend.containers.item_types import containers_in, type_of_container
from jitflow.frontend.containers.made_containers import list_of_program
from jitflow.frontend.containers.running_keys import restart_keyed
from jitflow.frontend.control.asked_items import asks_for_number
from jitflow.frontend.control.branch import choose_path
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.control.local_types import converted, kind_of
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.raising import fail, raise_
from jitflow.frontend.outside.proxies import OutsideDict, OutsideList
from jitflow.frontend.recording import values
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace, current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.texts.building import is_text
from jitflow.frontend.texts.characters import character
from jitflow.frontend.texts.traced import is_text_value, waits
from jitflow.frontend.tracers import (
    Alternatives,
    ArrayTracer,
    NumberTracer,
    ScalarTracer,
    SizeTracer,
    VariableTracer,
    type_of,
    wrap,
)
from jitflow.frontend.tracers.base import located, may_be_pinned
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Scalar

__all__ = ["indexed"]

_LARGEST = (1 << 63) - 1
_MOST_ITEMS = 16
"""Of how many items one is chosen in branches, and how many a store may change."""


def indexed(thing: Any) -> Any:
    """What stands for ``thing`` in ``thing[index]``."""
    if active_trace() is None:
        return thing
    if type(thing) is Alternatives and any(type(held) in _PLAIN for held in thing.options.values()):
        return _IndexedKinds(thing)
    return _Indexed(thing) if type(thing) in _PLAIN else thing


_PLAIN = (list, tuple, dict, str, OutsideList, OutsideDict, defaultdict, Counter, OrderedDict, deque)


class _IndexedKinds:
    """What may be one of several lists, tuples or dicts, and is asked for an item."""

    __slots__ = ("_kinds",)

    def __init__(self, kinds: Alternatives) -> None:
        self._kinds = kinds

    def __getitem__(self, index: Any) -> Any:
        return self._kinds.each(lambda items: indexed(items)[index], index)

    def __setitem__(self, index: Any, item: Any) -> None:
        def store(items: Any) -> None:
            indexed(items)[index] = item

        self._kinds.each(store, index, item)

    def __delitem__(self, index: Any) -> None:
        def delete(items: Any) -> None:
            del indexed(items)[index]

        self._kinds.each(delete, index)


class _Indexed:
    """A list, tuple or dict that is asked for an item."""

    __slots__ = ("_items",)

    def __init__(self, items: Any) -> None:
        self._items = items

    @raising_for_the_program
    def __getitem__(self, index: Any) -> Any:
        items = self._items
        if type(items) is str and type(index) is slice and any(map(_is_running, (index.start, index.stop, index.step))):
            return surface.program_text(items)[index]
        if type(index) is slice:
            return _sliced(items, index)
        if not items or type(items) is not dict:
            restart_keyed(items, index)
        if type(index) is Alternatives:
            return index.each(partial(_item, items), items)
        return _item(items, index) if _is_running(index, items) else items[index]

    @raising_for_the_program
    def __setitem__(self, index: Any, item: Any) -> None:
        restart_keyed(self._items, index, item)
        if type(index) is Alternatives:
            index.each(partial(_store, self._items, item), self._items, item)
        elif _is_running(index, self._items):
            _store(self._items, item, index)
        else:
            self._items[index] = item

    @raising_for_the_program
    def __delitem__(self, index: Any) -> None:
        if _is_running(index):
            begin_anew_with(self._items)
        del self._items[index]


def _sliced(items: Any, index: slice) -> Any:
    """``items[start:stop]``: of a list, one of the running program if it is told only there where that begins."""
    is_open = isinstance(items, list) and any(map(_is_running, (index.start, index.stop, index.step)))
    if is_open and type_of_container([*items]) is not None:
        begin_anew_with(items)
        return list_of_program(items)[index]
    return items[index]


def _is_running(index: Any, items: Any = None) -> bool:
    """Whether an index of ``items`` is to be one that only the running program knows."""
    if type(index) is tuple:
        return any(map(_is_running, index))
    if is_text_value(index) or (type(index) is TracedText and waits(index)):
        return True
    if isinstance(index, SizeTracer):
        return current_trace().is_open(index.dim) and not asks_for_number(index.dim, items)
    if not isinstance(index, ScalarTracer | ArrayTracer) or isinstance(index, VariableTracer):
        return False  # a variable is a key by its identity
    if asks_for_number(index._value, items):
        return False
    return not isinstance(index, NumberTracer) or index.pinned() is None


@raising_for_the_program
def _item(items: Any, index: Any) -> Any:
    """``items[index]``."""
    if not _is_running(index):
        return items[index]
    if isinstance(items, dict):
        if isinstance(index, ArrayTracer):
            raise located(UserTypeError("unhashable type: 'numpy.ndarray'"))
        wanted = type(kind_of(index))
        pairs = [
            pair for pair in items.items() if is_text(pair[0]) == is_text(index) and type(kind_of(pair[0])) is wanted
        ]
        if len(pairs) > _MOST_ITEMS and type(index) is TracedText and _is_of_positions(index):
            return items[index]  # which the turns of a loop know that is written out
        if len(pairs) > _MOST_ITEMS and (found := _under_one_of_many(pairs, index)) is not None:
            return found
        _require_few(pairs)
        return _under_key(pairs, index)
    name = "string" if type(items) is str else type(items).__name__
    front = _front(items, index, f"{name} index out of range")
    if type(items) is str:
        return character(_number([*map(ord, items)], Scalar(I64, True), front))
    kinds = {kind_of(item) for item in items}
    if len(kinds) == 1 and isinstance(kind := kinds.pop(), Scalar):
        return _number(items, kind, front)
    _require_few(items)
    return _one_of(items, 0, len(items), front)


def _chosen_item(items: Sequence[Any], position: Any) -> Any:
    """One of numbers of one type, or of tuples of such, at a position that is inside; None of all else."""
    lengths = {len(item) if type(item) is tuple else 0 for item in items}
    kinds = {kind_of(item) for item in items}
    if lengths == {0}:
        kind = kinds.pop() if len(kinds) == 1 else None
        return _number(items, kind, integer(position)) if isinstance(kind, Scalar) else None
    if len(lengths) > 1 or any(type(item) is not tuple for item in items):
        return None
    parts = [_chosen_item(column, position) for column in zip(*items, strict=True)]
    return None if any(part is None for part in parts) else tuple(parts)


surface.install(chosen_item=_chosen_item)


def _is_of_positions(text: TracedText) -> bool:
    """Whether only positions of loops, or sizes, are missing in a text."""
    return all(isinstance(operand, SizeTracer) for operand in text.operands)


def _under_key(pairs: Sequence[tuple[Any, Any]], key: Any) -> Any:
    """What a dict holds under a number: what is there under the known one that is equal to it."""
    if not pairs:
        raise_(KeyError(key))
    (known, item), *others = pairs
    answer = truth(known == key)
    if isinstance(answer, bool):
        return item if answer else _under_key(others, key)
    return choose_path(answer, lambda: item, lambda: _under_key(others, key), [held for _, held in pairs])


def _under_one_of_many(pairs: Sequence[tuple[Any, Any]], key: Any) -> Any:
    """The same for many integers that numbers of one type are under, or tuples of such; None of all else.

    The place of the key among those that are known, in their order, is looked up, and then what stands there.
    """
    if not all(type(known) is int and abs(known) <= _LARGEST for known, _ in pairs):
        return None
    keys, items = zip(*sorted(pairs, key=lambda pair: pair[0]), strict=True)
    table = surface.apply_function(np.array, ([*keys],), {})
    found = integer(surface.apply_function(np.searchsorted, (table, key), {}))
    place = wrap(values.emit("minimum", found, values.constant(len(keys) - 1, I64)))
    item = _chosen_item(items, place)
    if item is None:
        return None
    answer = truth(table[place] == key)
    assert not isinstance(answer, bool)
    return choose_path(answer, lambda: item, lambda: raise_(KeyError(key)), [item])


def _number(items: Sequence[Any], kind: Scalar, front: Value) -> Any:
    """One of numbers of one type."""
    if len(items) > _MOST_ITEMS:
        number = surface.apply_function(np.array, (list(items),), {})[wrap(front)]
        return conversions.item(number) if kind.weak else number
    found, *others = (converted(item, kind) for item in items)
    for place, other in enumerate(others, 1):
        found = values.select(_is_before(front, place), found, other)
    return wrap(found)


def _one_of(items: Sequence[Any], start: int, stop: int, front: Value) -> Any:
    """The item at a position that is ``start`` at the least and before ``stop``."""
    if stop - start == 1:
        return items[start]
    middle = (start + stop) // 2
    return choose_path(
        _is_before(front, middle),
        lambda: _one_of(items, start, middle, front),
        lambda: _one_of(items, middle, stop, front),
        items,
    )


def _store(items: Any, item: Any, index: Any) -> None:
    """``items[index] = item``: each of them is what it was, or the new one."""
    if type(items) is deque:
        begin_anew_with(items)
    if type(items) not in (list, OutsideList) or not _is_running(index):
        items[index] = item
        return
    _hold_several(items, item)
    if kind_of(item) is None and isinstance(index, ScalarTracer):
        number = _pinned(index)
        if number is not None:
            items[number] = item
            return
    front = _front(items, index, "list assignment index out of range")
    _require_few(items)
    for place, before in enumerate(items):
        is_here = values.emit("equal", front, values.constant(place, I64))
        items[place] = _chosen(is_here, item, before)


def _pinned(index: ScalarTracer) -> Any:
    """The number that says where a slice or the like is stored, if it is an argument: branches would multiply."""
    found = pinned(index)
    if found is not index:
        return found
    error = UserNotImplementedError("an index that only the running program knows")
    if may_be_pinned(error, index).pin is not None:
        raise error
    return None


def _hold_several(items: Any, item: Any) -> None:
    """Start the trace anew if the items would be of several kinds: branches for each would multiply."""
    held = type_of_container([*items, item]) if type(items) is list else None
    if held is None or isinstance(held.item, Scalar) or next(containers_in(held.item), None) is not None:
        return
    if not any(scope.is_differentiated for scope in current_trace().scope.around()):
        begin_anew_with(items, held)


def _chosen(test: Value, one: Any, other: Any) -> Any:
    kind = kind_of(one)
    if isinstance(kind, Scalar) and kind == kind_of(other):
        return wrap(values.select(test, converted(one, kind), converted(other, kind)))
    return choose_path(test, lambda: one, lambda: other, (one, other))


def _front(items: Any, index: Any, message: str) -> Value:
    """The index, counted from the front; checked."""
    kind = type_of(index)
    if not kind.dtype.is_integer and not (isinstance(index, NumberTracer) and kind.dtype == BOOL):
        name = "float" if isinstance(index, NumberTracer) else f"numpy.{kind.dtype.numpy}"
        kind_name = "string" if type(items) is str else type(items).__name__
        expected = f"integers, not '{name}'" if type(items) is str else f"integers or slices, not {name}"
        words = f"{kind_name} indices must be {expected}"
        if isinstance(index, ArrayTracer):
            words = "only integer scalar arrays can be converted to a scalar index"
        raise located(UserTypeError(words))
    if not items:
        fail(IndexError, message)
    length = values.constant(len(items), I64)
    front = from_front(integer(index), length)
    inside = values.emit("greater_equal", front, values.constant(0, I64)), _is_before(front, len(items))
    values.check(values.emit("logical_and", *inside), IndexError, message)
    return front


def _is_before(front: Value, place: int) -> Value:
    return values.emit("less", front, values.constant(place, I64))


def _require_few(items: Any) -> None:
    """Raise if the items are too many for branches, unless the list can be one of the running program."""
    if len(items) > _MOST_ITEMS:
        begin_anew_with(items)
        raise located(UserNotImplementedError(
            f"one of {len(items)} items of a list, tuple or dict that only the running program chooses",
            mend="stack them to an array before, or name the index in static=, which compiles anew for each value",
        ))  # fmt: skip
