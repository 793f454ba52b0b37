"""Containers of Python's, made of the arrays of words that a compiled function returns.

`frontend/python/returned_containers.py` says how they are told.
"""

from __future__ import annotations

import builtins
import collections
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jitflow.ir.types import TEXT, Container, Item, Reference, Scalar, Several, words_of
from jitflow.runtime.set_orders import fill_in_order, frozen_in_order
from jitflow.runtime.texts import text_of_characters

__all__ = ["FACTORIES", "deque_of", "dict_of", "dict_of_slots", "entries_of_words", "filled", "item_of_words",
           "list_of_slots", "numbers_of_words", "of_columns", "of_words", "set_of", "unfilled",
           "words_as_column"]  # fmt: skip

FACTORIES: Mapping[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
"""Python's classes of numbers, by name."""


def set_of(like: Any, keys: Sequence[Any]) -> Any:
    """A set of these keys, which it goes through in this order; ``like`` is one of what stood for them."""
    if len(like) == len(keys) and all(map(operator.is_, like, keys)):
        return like.copy()
    made: set[Any] = set()
    fill_in_order(made, [*keys])
    if type(like) is set:
        return made
    return frozen_in_order(made, [*keys])


def deque_of(maxlen: int | None, _: Any, *items: Any) -> Any:
    """A deque of these items. It has no keys, which come first as for `dict_of`."""
    return collections.deque(items, maxlen)


def dict_of(make: Callable[[], Any], keys: Sequence[Any], *items: Any) -> Any:
    """What ``make`` makes, with these keys and items."""
    made = make()
    for key, item in zip(keys, items, strict=True):
        made[key] = item
    return made


def dict_of_slots(make: Callable[[], dict[Any, Any]], keys: Sequence[Any], *parts: Any) -> dict[Any, Any]:
    """What ``make`` makes, with those keys that are there.

    The parts are for each whether it is, its number in their order, and what is under it.
    """
    entries = zip(parts[::3], parts[1::3], keys, parts[2::3], strict=True)
    found = sorted((entry for entry in entries if entry[0]), key=_order)
    made = make()
    dict.update(made, ((key, item) for _, _, key, item in found))
    return made


def list_of_slots(*parts: Any) -> list[Any]:
    """A list of those items that are there, the same."""
    found = sorted((entry for entry in zip(parts[::3], parts[1::3], parts[2::3], strict=True) if entry[0]), key=_order)
    return [item for _, _, item in found]


def _order(entry: Sequence[Any]) -> int:
    return int(entry[1])


def unfilled(held: Container) -> Any:
    """An object of Python's that holds nothing yet."""
    if held.most is not None:
        return collections.deque(maxlen=held.most)
    if held.kind != "defaultdict":
        return (getattr(builtins, held.kind, None) or getattr(collections, held.kind))()
    item = held.item
    if isinstance(item, Container):
        return collections.defaultdict(getattr(builtins, item.kind, None) or getattr(collections, item.kind))
    return collections.defaultdict(FACTORIES[held.factory])


def filled(made: Any, held: Container, columns: Iterator[Any]) -> Any:
    """What entries, of a column for each of their words, are put into; a tuple of them."""
    keys = None if held.key is None else _rows(held.key, columns)
    items = None if held.item is None else _rows(held.item, columns)
    if keys is not None and items is not None:
        dict.update(made, zip(keys, items, strict=True))
    elif keys is not None:
        fill_in_order(made, keys)
    elif items is not None and held.kind == "tuple":
        return tuple(items)
    elif items is not None:
        made.extend(items)
    return made


_BY_NUMBERS = Container, Reference
"""Types of which words are numbers of objects. A union would be made anew each time that it is asked for."""


def _rows(item: Item, columns: Iterator[Any]) -> list[Any]:
    """The items of which the words stand in columns: arrays of numbers, and lists of containers."""
    if isinstance(item, tuple):
        return [*zip(*[_rows(part, columns) for part in item], strict=True)]
    if isinstance(item, Several):
        return _rows_of_several(item, columns)
    column = next(columns)
    if isinstance(item, _BY_NUMBERS):
        return [*column]
    assert isinstance(item, Scalar)
    if item.dtype.is_complex:
        parts, column = (column, next(columns)), np.empty(len(column), item.dtype.numpy)
        column.real, column.imag = parts
    dtype = item.dtype.numpy
    column = column if column.dtype is dtype else column.astype(dtype)
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


def of_columns(held: Container, *columns: Any) -> Any:
    """A container of numbers, or a text, of an array for each word of its entries."""
    if held.kind == TEXT.kind:
        return text_of_characters(columns[0])
    return filled(unfilled(held), held, iter(columns))


class _Made(threading.local):
    """What was made of the words of one call, until all that it returns is made."""

    words: Any = None
    objects: Mapping[int, Any] = {}
    left = 0


_MADE = _Made()


def of_words(held: Container, place: int, count: int, words: Any) -> Any:
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
        objects[0] = [*entries_of_words(words, roots)]
    waiting, fresh = [(held, number)], dict[int, Container]()

    def table_of(one: int) -> Any:
        start, width, rows = objects[0][one - 1]
        return words[start : start + width * rows].reshape(rows, width)

    def fill(one: int, kind: Container) -> None:
        table = table_of(one)
        for column, word in enumerate(kind.words):
            if isinstance(word, Container) and word.kind == "tuple":  # which is made with all that is in it
                for inner in table[:, column].tolist():
                    if inner in fresh:
                        fill(inner, fresh.pop(inner))
        columns = (words_as_column(table[:, column], word, objects) for column, word in enumerate(kind.words))
        objects[one] = filled(objects[one], kind, columns)

    for kind, one in waiting:  # which grows
        if one in objects:
            continue
        table = table_of(one)
        if kind == TEXT:
            objects[one] = text_of_characters(table[:, 0])
            continue
        objects[one], fresh[one] = unfilled(kind), kind
        for column, word in enumerate(kind.words):
            if isinstance(word, Container):
                waiting += [(word, inner) for inner in table[:, column].tolist() if inner]
    while fresh:
        fill(*fresh.popitem())
    return objects[number]


def words_as_column(column: Any, word: Scalar, objects: Mapping[Any, Any]) -> Any:
    """The numbers, or the ``objects``, that are told by words."""
    if isinstance(word, Container):
        return [objects[number] if number else None for number in column.tolist()]
    if isinstance(word, Reference):
        return [objects[word.name, number] for number in column.tolist()]
    dtype = word.dtype.numpy
    narrow = np.ascontiguousarray(column).view(f"u{dtype.itemsize}" if dtype.kind != "b" else "u1")
    return narrow[:: 8 // dtype.itemsize].view(dtype)


def numbers_of_words(words: Any, kind: Scalar) -> list[Any]:
    """The numbers of a type that lie in words."""
    return _rows(kind, iter([words_as_column(words, kind, {})]))


def item_of_words(item: Item, words: Any, objects: Any) -> Any:
    """The item of a type that has these words, where ``objects`` are the containers by their numbers."""
    columns = [words_as_column(words[place : place + 1], word, objects) for place, word in enumerate(words_of(item))]
    return _rows(item, iter(columns))[0]


def entries_of_words(words: Any, start: int) -> Iterator[tuple[int, int, int]]:
    """Where the entries of each container begin, how wide they are, and how many there are."""
    while start < len(words):
        width, rows = int(words[start]), int(words[start + 1])
        yield start + 2, width, rows
        start += 2 + width * rows
