"""Containers of Python's, made of the arrays of words that a compiled function returns.

`frontend/containers/returned_containers.py` says how they are told; `returned_objects` makes those that hold others.
"""

from __future__ import annotations

import builtins
import collections
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitflow.ir.array_items import is_array_item
from jitflow.ir.named_types import Named
from jitflow.ir.types import TEXT, Container, Item, NoneKind, Reference, Scalar, Several, words_of
from jitflow.runtime.objects.set_orders import fill_in_order, frozen_in_order
from jitflow.runtime.objects.texts import text_of_characters

__all__ = ["FACTORIES", "array_of_words", "deque_of", "dict_of", "dict_of_slots", "elements_of_array", "list_of_slots",
           "numbers_of_words", "of_columns", "put_into", "rows_of_words", "set_of", "shaped", "told_array",
           "told_arrays", "tuples_of", "unfilled"]  # fmt: skip

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


def told_array(told: dict[int, Any], array: Any, number: int) -> Any:
    """An array, or the one of its number that has been made before; 0 is of none."""
    return told.setdefault(number, array) if number else array


def told_arrays(told: dict[int, Any], array: Any, numbers: Any) -> list[Any]:
    """Its items as arrays of their own, of which those of one number are one."""
    return [told_array(told, told[number] if number in told else item.copy(), number)
            for item, number in zip(array, numbers.tolist(), strict=True)]  # fmt: skip


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
    """An object of Python's that holds nothing yet; None where it is made with all that it holds."""
    if held.kind == "array":
        return None
    if held.kind == "list":
        return []
    if held.most is not None:
        return collections.deque(maxlen=held.most)
    if held.kind != "defaultdict":
        return (getattr(builtins, held.kind, None) or getattr(collections, held.kind))()
    item = held.item
    if isinstance(item, Container):
        return collections.defaultdict(getattr(builtins, item.kind, None) or getattr(collections, item.kind))
    return collections.defaultdict(FACTORIES[held.factory])


def put_into(made: Any, held: Container, keys: Sequence[Any], items: Sequence[Any]) -> Any:
    """Put keys and items into what holds nothing yet; a tuple of the items."""
    family = held.family
    if held.kind == "tuple":
        return tuple(items)
    if held.kind == "OrderedDict":  # which has an order of its own beside that of dicts
        made.update(zip(keys, items, strict=True))
    elif family == "dict":
        dict.update(made, zip(keys, items, strict=True))
    elif family == "set":
        fill_in_order(made, keys)
    else:
        made.extend(items)
    return made


_BY_NUMBERS = Container, Reference
"""Types of which words are numbers of objects. A union would be made anew each time that it is asked for."""


def tuples_of(item: tuple[Item, ...]) -> Callable[[Iterable[tuple[Any, ...]]], list[Any]]:
    """What makes a list of tuples of a type of their items: named ones of a class, if it says so."""
    if not isinstance(item, Named):
        return list
    if is_array_item(item):
        return lambda rows: [*map(_shaped, rows)]
    make: Any = partial(tuple.__new__, item.kind)  # type: ignore[arg-type]
    return lambda rows: [*map(make, rows)]


def shaped(make: Callable[..., Any], *parts: Any) -> Any:
    """The very array that is made of all parts but the last, which is its shape."""
    *others, shape = parts
    return _shaped((make(*others), *shape.tolist()))


def _shaped(parts: tuple[Any, ...]) -> Any:
    """The very array of a row of elements and sizes, which several items may be."""
    elements, *sizes = parts
    if elements is not None:  # as what is of another kind has words of 0
        elements.shape = sizes
    return elements


def elements_of_array(held: Container, count: int) -> Any:
    """So many elements, in which nothing is yet."""
    assert isinstance(held.item, Scalar)
    return np.zeros(count, held.item.dtype.numpy)


def array_of_words(held: Container, words: Any) -> Any:
    """The elements of an array, which these words are."""
    assert isinstance(held.item, Scalar)
    dtype = held.item.dtype
    return (words.view(dtype.numpy) if dtype.is_complex else numbers_of_words(words, held.item)).copy()


def _rows(item: Item, columns: Iterator[Any]) -> list[Any]:
    """The items of which the words stand in columns: arrays of numbers, and lists of containers."""
    if isinstance(item, tuple):
        return tuples_of(item)(zip(*[_rows(part, columns) for part in item], strict=True))
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
        if isinstance(kind, NoneKind):
            for row in rows.tolist():
                found[row] = kind.thing
        elif len(rows) and places:
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
    given = iter(columns)
    keys = () if held.key is None else _rows(held.key, given)
    items = () if held.item is None else _rows(held.item, given)
    return put_into(unfilled(held), held, keys, items)


def _words_as_column(column: Any, word: Scalar, objects: Mapping[Any, Any]) -> Any:
    """The numbers, or the ``objects``, that are told by words."""
    if isinstance(word, Container):
        return [objects[number] for number in column.tolist()]
    if isinstance(word, Reference):
        return [objects[word.name, number] for number in column.tolist()]
    return numbers_of_words(np.ascontiguousarray(column), word)


def numbers_of_words(words: Any, kind: Scalar) -> Any:
    """The numbers of a type that lie in words: an array that shows them."""
    dtype = kind.dtype.numpy
    narrow = words.view(f"u{dtype.itemsize}" if dtype.kind != "b" else "u1")
    return narrow[:: 8 // dtype.itemsize].view(dtype)


def rows_of_words(item: Item, columns: Iterable[Any], objects: Any) -> list[Any]:
    """Items of a type that have these words, a column each; ``objects`` are those that numbers stand for."""
    words = zip(columns, words_of(item), strict=True)
    return _rows(item, iter([_words_as_column(column, word, objects) for column, word in words]))
