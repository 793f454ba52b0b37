"""Containers that the program returns: arrays of words, of which Python's objects are made.

Of one container of numbers each word of an entry has an array of its own. Several, and what holds others, are told in
one array (`pack_containers`), so that an object that is found in several places is one there, too.
"""

from __future__ import annotations

import builtins
import collections
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.leaves import parts_of
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.python.containers import ProgramContainer, columns_of
from jitflow.frontend.python.held_items import standing_for
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import TEXT, Container, Item, Scalar
from jitflow.runtime.stores import Call

__all__ = ["Returned", "numbers_of_words", "returned_containers", "unfilled"]

Returned = tuple[Callable[..., Any], list[Any]]
"""What makes Python's object, and the arrays, or the objects in registers, that it makes it of."""


def returned_containers(result: Any) -> Mapping[Any, Returned]:
    """How each container in a result is returned, by its reference; by its class if nobody knows what it holds."""
    found: dict[Any, Returned] = {}
    held: dict[Value, Container] = {}
    is_chosen = False
    for thing, chosen in _containers_in(result, {}, chosen=False):
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
    elif (parts := parts_of(result)) is not None:
        seen[id(result)] = result
        for item in parts.items:
            yield from _containers_in(item, seen, chosen=chosen)


def _passed_back(place: int, call: Call) -> Any:
    """A container that may be one of the caller's, at a place among those that are returned."""
    return call.passed.returned(place)


# -- Python's objects -----------------------------------------------------------------------------------------


def unfilled(held: Container) -> Any:
    """An object of Python's that holds nothing yet."""
    if held.kind != "defaultdict":
        return (getattr(builtins, held.kind, None) or getattr(collections, held.kind))()
    item = held.item
    name = item.kind if isinstance(item, Container) else {"b": "bool", "i": "int", "f": "float"}[_letter(item)]
    return collections.defaultdict(getattr(builtins, name, None) or getattr(collections, name))


def _letter(item: Item | None) -> str:
    return item.dtype.kind if isinstance(item, Scalar) else "i"


def _fill(made: Any, held: Container, parts: list[list[Any]]) -> None:
    """Put entries there, of the lists of their words."""
    words = iter(parts)
    keys = None if held.key is None else _rows(held.key, words)
    items = None if held.item is None else _rows(held.item, words)
    if keys is not None and items is not None:
        dict.update(made, zip(keys, items, strict=True))
    elif keys is not None:
        made.update(keys)
    elif items is not None:
        made.extend(items)


def _rows(item: Item, parts: Iterator[list[Any]]) -> list[Any]:
    """The items of lists of their words."""
    if isinstance(item, tuple):
        return [*zip(*[_rows(part, parts) for part in item], strict=True)]
    return next(parts)


def _of_columns(held: Container, *columns: Any) -> Any:
    if held == TEXT:
        return "".join(map(chr, columns[0].tolist()))
    made = unfilled(held)
    _fill(made, held, [_numbers(column, word) for column, word in zip(columns, held.words, strict=True)])
    return made


def _numbers(column: Any, word: Scalar) -> list[Any]:
    return column.tolist() if word.weak else [*column]


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
            objects[one] = "".join(map(chr, table[:, 0].tolist()))
            continue
        objects[one], fresh[one] = unfilled(kind), kind
        for column, word in enumerate(kind.words):
            if isinstance(word, Container):
                waiting += [(word, inner) for inner in table[:, column].tolist() if inner]
    for one, kind in fresh.items():
        start, width, rows = objects[0][one - 1]
        table = words[start : start + width * rows].reshape(rows, width)
        parts = [_column(table[:, column], word, objects) for column, word in enumerate(kind.words)]
        _fill(objects[one], kind, parts)
    return objects[number]


def _column(column: Any, word: Scalar, objects: Mapping[int, Any]) -> list[Any]:
    if isinstance(word, Container):
        return [objects[number] if number else None for number in column.tolist()]
    return numbers_of_words(column, word)


def numbers_of_words(words: Any, kind: Scalar) -> list[Any]:
    """The numbers of a type that lie in words."""
    dtype = kind.dtype.numpy
    narrow = np.ascontiguousarray(words).view(f"u{dtype.itemsize}" if dtype.kind != "b" else "u1")
    return _numbers(narrow[:: 8 // dtype.itemsize].view(dtype), kind)


def _entries(words: Any, start: int) -> Iterator[tuple[int, int, int]]:
    """Where the entries of each container begin, how wide they are, and how many there are."""
    while start < len(words):
        width, rows = int(words[start]), int(words[start + 1])
        yield start + 2, width, rows
        start += 2 + width * rows
