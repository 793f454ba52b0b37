"""Words in which a compiled function has told containers, read as the keys and items of Python's.

All words are looked at as numbers of a type, the first time that a container asks for some, and its keys and items are
slices of these: each step that NumPy is asked for takes as long as Python to copy the few words of a small container.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jitflow.ir.types import Container, Item, NoneKind, Reference, Scalar, Several, words_of
from jitflow.runtime.objects.remade_natively import recipe_of
from jitflow.runtime.objects.returned_containers import (
    array_of_words,
    numbers_of_words,
    put_into,
    rows_of_words,
    tuples_of,
)

__all__ = ["Entries", "Told", "entries_of"]


class Told:
    """What was told, in ``words``. ``objects`` are the containers by their numbers, and objects in pools by theirs."""

    def __init__(self, words: Any, objects: Any) -> None:
        self.words, self.objects = words, objects
        self._numbers: dict[str, Any] = {}

    def column(self, column: int, places: range) -> Any:
        """One word of entries that begin at some places."""
        return self.words[places.start + column : places.stop + column : places.step]

    def numbers(self, kind: Scalar, column: int, places: range) -> list[Any]:
        """One word of entries as numbers of a type."""
        found = self._all(kind)[places.start + column : places.stop + column : places.step]
        return found.tolist() if kind.weak else [*found]

    def array(self, held: Container, places: range) -> Any:
        """The elements of an array."""
        assert isinstance(held.item, Scalar)
        if held.item.dtype.is_complex:
            return array_of_words(held, self.words[places.start : places.stop])
        return self._all(held.item)[places.start : places.stop].copy()

    def _all(self, kind: Scalar) -> Any:
        """All words as numbers of a type."""
        found = self._numbers.get(kind.dtype.name)
        if found is None:
            found = self._numbers[kind.dtype.name] = numbers_of_words(self.words, kind)
        return found


_Reader = Callable[[Told, range], Sequence[Any]]
"""Gives the items that begin at some places in what was told."""


class Entries:
    """How the entries of containers of a type are read: asking the type in each call takes longer than reading them."""

    def __init__(self, held: Container) -> None:
        self.held, self.width = held, len(held.words)
        self.recipe = recipe_of(held)
        self.keys = _reader(held.key, 0)
        self.items = _reader(held.item, len(held.keys))
        self.inner = [(column, word, entries_of(word) if isinstance(word, Container) else None)
                      for column, word in enumerate(held.words) if isinstance(word, Container | Reference)]  # fmt: skip
        """The words that are references, and what reads the containers that they lead to."""

    def places(self, start: int, rows: int) -> range:
        """Where so many entries begin."""
        step = self.width or 1
        return range(start, start + step * rows, step)

    def fill(self, made: Any, told: Told, places: range) -> Any:
        """Put entries into what holds nothing yet; a tuple or an array of them."""
        if self.held.kind == "array":
            return told.array(self.held, places)
        return put_into(made, self.held, self.keys(told, places), self.items(told, places))


entries_of = cache(Entries)


def _reader(item: Item | None, column: int) -> _Reader:
    """What gives items whose first word is in that column."""
    if item is None or isinstance(item, NoneKind):
        return lambda told, places: () if item is None else [item.thing] * len(places)
    if isinstance(item, tuple) and item:
        columns = [column + len(words_of(item[:number])) for number in range(len(item))]
        parts = [*map(_reader, item, columns)]
        make = tuples_of(item)
        return lambda told, places: make(zip(*[part(told, places) for part in parts], strict=True))
    if isinstance(item, Container):
        return lambda told, places: [told.objects[number] for number in told.column(column, places).tolist()]
    if isinstance(item, Several):
        return _reader_of_several(item, column)
    if isinstance(item, tuple | Reference) or item.dtype.is_complex:
        every = range(column, column + len(words_of(item)))
        return lambda told, places: rows_of_words(item, [told.column(one, places) for one in every], told.objects)
    return lambda told, places: told.numbers(item, column, places)


def _reader_of_several(item: Several, column: int) -> _Reader:
    """Every kind is read at all places, since what is of another one has words of 0 there."""
    readers = [_reader_of_kind(item, number, column + 1) for number in range(len(item.kinds))]

    def read(told: Told, places: range) -> list[Any]:
        tags = told.column(column, places).tolist()
        found = {number: readers[number](told, places) for number in {*tags}}
        return [found[number][place] for place, number in enumerate(tags)]

    return read


def _reader_of_kind(item: Several, number: int, column: int) -> _Reader:
    kind, places = item.kinds[number], item.places[number]
    first = column + places[0] if places else column
    if not isinstance(kind, Scalar) or not places or item.carriers[places[0]].dtype == kind.dtype or len(places) > 1:
        return _reader(kind, first)
    numbers, make = _reader(Scalar(item.carriers[places[0]].dtype, True), first), kind.dtype.numpy.type
    return lambda told, places: [*map(bool if kind.weak else make, numbers(told, places))]
