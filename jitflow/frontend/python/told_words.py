"""What is told of the caller's containers, written back: see `jitflow.frontend.python.passed_words`.

An item is written where its words are others than they were; all others stay the very objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from jitflow.ir.types import Container, Item, NoneKind, Scalar, Several, words_of
from jitflow.runtime.returned_containers import item_of_words, numbers_of_words
from jitflow.runtime.set_orders import fill_in_order
from jitflow.runtime.stores import replace_content

__all__ = ["Told"]


class Told:
    """Writes containers as they were told, in ``told``, which are ``words`` as well.

    ``objects`` are those of the call, by their numbers.
    """

    def __init__(self, told: Any, words: list[int], objects: Sequence[Any]) -> None:
        self.told, self.words, self.objects = told, words, objects
        self.numbers: dict[Scalar, list[Any]] = {}
        """What all words are as numbers of a type."""
        self._entries: dict[int, Entries] = {}

    def write(self, thing: Any, held: Container, before: list[int], start: int, rows: int) -> None:
        """Let an object hold so many entries, of which it held those ``before``."""
        entries = self._entries_of(held)
        entries.write(thing, entries, before, range(start, start + entries.width * rows, entries.width))

    def tuple_of(self, held: Container, start: int, rows: int) -> tuple[Any, ...]:
        """A tuple of so many entries."""
        entries = self._entries_of(held)
        return tuple(map(entries.item, range(start, start + entries.width * rows, entries.width)))

    def _entries_of(self, held: Container) -> Entries:
        entries = self._entries.get(id(held))  # a type has no hash that is kept
        if entries is None:
            entries = self._entries[id(held)] = Entries(self, held)
        return entries


class Entries:
    """Gives the keys and items of containers of one type, at places in the words that were told."""

    def __init__(self, told: Told, held: Container) -> None:
        self.words, self.width, self.keys = told.words, len(held.words), len(held.keys)
        self._told, self._held = told, held
        self.write = _WRITERS[held.family]
        self.key = self._part(held.key, 0)
        self.item = self._part(held.item, self.keys)

    def _part(self, item: Item | None, column: int) -> Callable[[int], Any]:
        if item is None:
            return lambda place: None
        if isinstance(item, tuple):
            columns = [column + len(words_of(item[:number])) for number in range(len(item))]
            parts = [*map(self._part, item, columns)]
            return lambda place: tuple(part(place) for part in parts)
        if isinstance(item, Container):
            words, objects = self.words, self._told.objects
            return lambda place: objects[words[place + column]]
        if isinstance(item, NoneKind):
            return lambda place: None
        if isinstance(item, Several) or item.dtype.is_complex:
            kind, number, given = item, len(words_of(item)), self._told
            return lambda place: item_of_words(
                kind, given.told[place + column : place + column + number], given.objects
            )
        known = self._told.numbers
        if item not in known:
            known[item] = numbers_of_words(self._told.told, item)
        numbers = known[item]
        return lambda place: numbers[place + column]

    def others(self, before: list[int], places: range, first: int = 0) -> list[tuple[int, int]]:
        """The entries that are others than before, from a word on: their numbers, and their places."""
        words, width = self.words, self.width
        if width == 1 and places:
            now = words[places[0] : places[-1] + 1]
            return [(number, place) for number, place, one, other in zip(count(), places, now, before) if one != other]
        return [
            (number, place)
            for number, place in enumerate(places[: len(before) // width])
            if words[place + first : place + width] != before[number * width + first : (number + 1) * width]
        ]


def _write_list(thing: Any, reader: Entries, before: list[int], places: range) -> None:
    same = min(len(before) // reader.width, len(places), len(thing))
    for number, place in reader.others(before, places[:same]):
        thing[number] = reader.item(place)
    while len(thing) > same:
        thing.pop()
    thing.extend(map(reader.item, places[same:]))


def _write_dict(thing: Any, reader: Entries, before: list[int], places: range) -> None:
    known = len(before) // reader.width
    keys_are_there = (
        known == len(thing)
        and known <= len(places)
        and all(
            reader.words[place : place + reader.keys] == before[number * reader.width :][: reader.keys]
            for number, place in enumerate(places[:known])
        )
    )
    if keys_are_there:
        for _, place in reader.others(before, places[:known], reader.keys):
            thing[reader.key(place)] = reader.item(place)
        for place in places[known:]:
            thing[reader.key(place)] = reader.item(place)
    else:
        replace_content(thing, {reader.key(place): reader.item(place) for place in places})


def _write_set(thing: Any, reader: Entries, before: list[int], places: range) -> None:
    """In the order that the program knows, if a set can come to it; one of the caller's has its keys in any case."""
    known = {key: key for key in thing}
    keys = [known.get(key, key) for key in map(reader.key, places)]
    thing.clear()
    try:
        fill_in_order(thing, keys)
    except NotImplementedError:
        if not known:
            raise
        thing.clear()
        thing.update(keys)


_WRITERS: Mapping[str, Callable[[Any, Entries, list[int], range], None]] = {
    "list": _write_list, "deque": _write_list, "dict": _write_dict, "set": _write_set,
}  # fmt: skip
