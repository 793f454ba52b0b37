"""Containers that the program returns: arrays of words, of which Python's objects are made.

Of one container of numbers each word of an entry has an array of its own. Several, and what holds others, are told in
one array (`pack_containers`), so that an object that is found in several places is one there, too.
"""

from __future__ import annotations

import builtins
import collections
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import parts_of
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python.containers import ProgramContainer, columns_of
from jitflow.frontend.python.held_items import standing_for
from jitflow.frontend.python.item_types import FACTORIES
from jitflow.frontend.python.set_orders import fill_in_order
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import TEXT, Container, Item, Scalar, Several, words_of
from jitflow.runtime.stores import Call
from jitflow.runtime.texts import text_of_characters

__all__ = ["Returned", "item_of_words", "kind_of_container", "numbers_of_words", "returned_containers", "unfilled"]

Returned = tuple[Callable[..., Any], list[Any]]
"""What makes Python's object, and the arrays, or the objects in registers, that it makes it of."""


def returned_containers(result: Any, stored: Sequence[Any]) -> Mapping[Any, Returned]:
    """How each container in a result is returned, by its reference; by its class if nobody knows what it holds.

    So is what may have been ``stored``.
    """
    found: dict[Any, Returned] = {}
    held: dict[Value, Container] = {}
    is_chosen = False
    seen: dict[int, Any] = {}
    made = [*_containers_in(result, seen, chosen=False)]
    for thing, chosen in (*made, *(pair for one in stored for pair in _containers_in(one, seen, chosen=True))):
        if thing.is_known:
            held[thing.value] = thing.held
            is_chosen |= chosen
        else:
            found[type(thing)] = partial(unfilled, thing.held), []
    stores = current_trace().state(Stores)
    if held and stores.passed:
        call = stores.return_containers(held)
        return found | {value: (partial(_passed_back, place), [call]) for place, value in enumerate(held)}
    return found | _returned_alone(held, is_chosen=is_chosen)


def _returned_alone(held: Mapping[Value, Container], *, is_chosen: bool = False) -> dict[Any, Returned]:
    """How containers are returned of which none is the caller's."""
    if len(held) == 1 and not is_chosen:
        ((value, kind),) = held.items()
        if not any(isinstance(word, Container) for word in kind.words):
            thing = standing_for(kind, iter([value]))
            return {value: (partial(_of_columns, kind), columns_of(thing.in_order()))}
    found: dict[Any, Returned] = {}
    if held:
        packed = current_trace().make("pack_containers", *held)
        words = standing_for(Container(item=Scalar(I64)), iter([packed])).array
        for place, (value, kind) in enumerate(held.items()):
            found[value] = partial(_of_words, kind, place, len(held)), [words]
    return found


def _alone(thing: ProgramContainer) -> Returned:
    if not thing.is_known:
        return partial(unfilled, thing.held), []
    return _returned_alone({thing.value: thing.held})[thing.value]


surface.install(returned_container=_alone)


def _containers_in(result: Any, seen: dict[int, Any], *, chosen: bool) -> Iterator[tuple[ProgramContainer, bool]]:
    """The containers in a result, and whether the running program may have chosen something else in their place.

    What stands in several places is looked at once: what was ``seen`` is not looked at again.
    """
    if id(result) in seen:
        return
    if isinstance(result, ProgramContainer):
        if result.register is None:
            yield result, chosen
    elif type(result) is Alternatives:
        for number, thing in result.options.items():
            if thing is not UNBOUND:
                yield from _containers_in(option(result, number), seen, chosen=True)
    elif (items := _items_of(result)) is not None:
        seen[id(result)] = result
        for item in items:
            yield from _containers_in(item, seen, chosen=chosen)


def _items_of(result: Any) -> Sequence[Any] | None:
    """What is in a structure or container of Python's."""
    if (parts := parts_of(result)) is not None:
        return parts.items
    of_kind = kind_of_container(result)
    return None if of_kind is None else of_kind[1]


def kind_of_container(thing: Any) -> tuple[Callable[..., Any], Sequence[Any]] | None:
    """What makes a container of Python's, no list or dict, of its keys and its items; and these."""
    kind = type(thing)
    if kind in (set, frozenset):
        return partial(_set_of, kind), ()
    if kind is collections.deque:
        return partial(_deque_of, thing.maxlen), [*thing]
    if kind is collections.defaultdict:
        factory = thing.default_factory
        named = getattr(builtins, getattr(factory, "__name__", ""), None)
        if factory is not None and not (isinstance(named, type) and factory == named):
            return None
        return partial(_dict_of, partial(kind, named)), [*thing.values()]
    if kind in (collections.Counter, collections.OrderedDict):
        return partial(_dict_of, kind), [*thing.values()]
    return None


def _set_of(kind: Any, keys: Sequence[Any]) -> Any:
    made: set[Any] = set()
    fill_in_order(made, [*keys])
    return kind(made)


def _deque_of(maxlen: int | None, _: Any, *items: Any) -> Any:
    return collections.deque(items, maxlen)


def _dict_of(make: Callable[[], Any], keys: Sequence[Any], *items: Any) -> Any:
    made = make()
    for key, item in zip(keys, items, strict=True):
        made[key] = item
    return made


def _passed_back(place: int, call: Call) -> Any:
    """A container that may be one of the caller's, at a place among those that are returned."""
    return call.passed.returned(place)


# -- Python's objects -----------------------------------------------------------------------------------------


def unfilled(held: Container) -> Any:
    """An object of Python's that holds nothing yet."""
    if held.kind != "defaultdict":
        return (getattr(builtins, held.kind, None) or getattr(collections, held.kind))()
    item = held.item
    if isinstance(item, Container):
        return collections.defaultdict(getattr(builtins, item.kind, None) or getattr(collections, item.kind))
    return collections.defaultdict(FACTORIES[held.factory])


def _fill(made: Any, held: Container, columns: Iterator[Any]) -> None:
    """Put entries there, of a column for each of their words."""
    keys = None if held.key is None else _rows(held.key, columns)
    items = None if held.item is None else _rows(held.item, columns)
    if keys is not None and items is not None:
        dict.update(made, zip(keys, items, strict=True))
    elif keys is not None:
        fill_in_order(made, keys)
    elif items is not None:
        made.extend(items)


def _rows(item: Item, columns: Iterator[Any]) -> list[Any]:
    """The items of which the words stand in columns: arrays of numbers, and lists of containers."""
    if isinstance(item, tuple):
        return [*zip(*[_rows(part, columns) for part in item], strict=True)]
    if isinstance(item, Several):
        return _rows_of_several(item, columns)
    if isinstance(item, Container):
        return [*next(columns)]
    assert isinstance(item, Scalar)
    column = next(columns)
    if item.dtype.is_complex:
        parts, column = (column, next(columns)), np.empty(len(column), item.dtype.numpy)
        column.real, column.imag = parts
    column = column.astype(item.dtype.numpy, copy=False)
    return column.tolist() if item.weak else [*column]


def _rows_of_several(item: Several, columns: Iterator[Any]) -> list[Any]:
    tags = next(columns)
    carried = [next(columns) for _ in item.carriers]
    found: list[Any] = [None] * len(tags)
    for number, (kind, places) in enumerate(zip(item.kinds, item.places, strict=True)):
        rows = np.flatnonzero(tags == number)
        if len(rows) and places:
            mine = [_at(carried[place], rows) for place in places]
            for row, thing in zip(rows.tolist(), _rows(kind, iter(mine)), strict=True):
                found[row] = thing
    return found


def _at(column: Any, rows: Any) -> Any:
    return [column[row] for row in rows] if isinstance(column, list) else column[rows]


def _of_columns(held: Container, *columns: Any) -> Any:
    if held == TEXT:
        return text_of_characters(columns[0])
    made = unfilled(held)
    _fill(made, held, iter(columns))
    return made


class _Made(threading.local):
    """What was made of the words of one call, until all that it returns is made."""

    words: Any = None
    objects: Mapping[int, Any] = {}
    left = 0


_MADE = _Made()


def _of_words(held: Container, place: int, count: int, words: Any) -> Any:
    """The container at a place among those that a call returns."""
    if _MADE.words is not words:
        _MADE.words, _MADE.left = words, count
        _MADE.objects = {}
    objects: dict[int, Any] = dict(_MADE.objects)
    found = _unpacked(held, int(words[place]), words, count, objects)
    _MADE.objects, _MADE.left = objects, _MADE.left - 1
    if not _MADE.left:
        _MADE.words, _MADE.objects = None, {}
    return found


def _unpacked(held: Container, number: int, words: Any, roots: int, objects: dict[int, Any]) -> Any:
    if number == 0:
        return None
    if not objects:
        objects[0] = [*_entries(words, roots)]
    waiting, fresh = [(held, number)], dict[int, Container]()
    for kind, one in waiting:  # which grows
        if one in objects:
            continue
        start, width, rows = objects[0][one - 1]
        table = words[start : start + width * rows].reshape(rows, width)
        if kind == TEXT:
            objects[one] = text_of_characters(table[:, 0])
            continue
        objects[one], fresh[one] = unfilled(kind), kind
        for column, word in enumerate(kind.words):
            if isinstance(word, Container):
                waiting += [(word, inner) for inner in table[:, column].tolist() if inner]
    for one, kind in fresh.items():
        start, width, rows = objects[0][one - 1]
        table = words[start : start + width * rows].reshape(rows, width)
        _fill(objects[one], kind, (_column(table[:, column], word, objects) for column, word in enumerate(kind.words)))
    return objects[number]


def _column(column: Any, word: Scalar, objects: Mapping[int, Any]) -> Any:
    if isinstance(word, Container):
        return [objects[number] if number else None for number in column.tolist()]
    dtype = word.dtype.numpy
    narrow = np.ascontiguousarray(column).view(f"u{dtype.itemsize}" if dtype.kind != "b" else "u1")
    return narrow[:: 8 // dtype.itemsize].view(dtype)


def numbers_of_words(words: Any, kind: Scalar) -> list[Any]:
    """The numbers of a type that lie in words."""
    return _rows(kind, iter([_column(words, kind, {})]))


def item_of_words(item: Item, words: Any, objects: Any) -> Any:
    """The item of a type that has these words, where ``objects`` are the containers by their numbers."""
    columns = [_column(words[place : place + 1], word, objects) for place, word in enumerate(words_of(item))]
    return _rows(item, iter(columns))[0]


def _entries(words: Any, start: int) -> Iterator[tuple[int, int, int]]:
    """Where the entries of each container begin, how wide they are, and how many there are."""
    while start < len(words):
        width, rows = int(words[start]), int(words[start + 1])
        yield start + 2, width, rows
        start += 2 + width * rows
