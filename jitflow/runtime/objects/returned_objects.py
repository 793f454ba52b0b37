"""Containers that hold others, and objects of the user's classes that lie in pools of the running program, as Python's.

They are told with all containers of a call (`pack_containers`), the entries of each pool being one of these. What one
object is in the program is one here, until all that the call returns is made: `of_words` counts that, and where there
are objects in pools, `as_returned` ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from jitflow.ir.types import TEXT, Container, Reference
from jitflow.runtime.objects.remade_natively import Remaking
from jitflow.runtime.objects.returned_containers import unfilled
from jitflow.runtime.objects.texts import text_of_characters
from jitflow.runtime.objects.told_words import Entries, Told, entries_of

__all__ = ["PoolTable", "as_returned", "container_with_objects", "object_of_words", "of_words"]

PoolTable = tuple[type, tuple[str, ...], tuple[str, ...], int, Container]
"""Of a pool: the class, the attributes, those that may be missing, its place among the containers, and their type."""

_NO_POOLS: Mapping[str, PoolTable] = {}

_Fresh = tuple[Container | Reference, Entries, range]
"""Of an object in which nothing is yet: its type, and where its entries are."""


class _Objects(dict[Any, Any]):
    """Objects by the number of a container, or by the name and the number of one in a pool."""

    def __init__(self, words: Any, count: int, pools: Mapping[str, PoolTable]) -> None:
        super().__init__()
        self.words, self.left = words, count
        self._pools = pools
        self._read = {name: entries_of(pool[4]) for name, pool in pools.items()}
        self._told = Told(words, self)
        self._count = count

    def __missing__(self, key: Any) -> None:
        return None  # in the place of None, and of what is of another kind

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        return [*_entries_of_words(self.words, self._count)]

    @cached_property
    def _native(self) -> Remaking:
        return Remaking(self.words, self._count)

    def _places(self, kind: Container | Reference, number: int, entries: Entries) -> range | None:
        """Where the entries of a container or an object begin; None where there is none."""
        if isinstance(kind, Container):
            return entries.places(*self._tables[number - 1]) if number else None
        start, rows = self._tables[int(self.words[self._pools[kind.name][3]]) - 1]
        return entries.places(start + entries.width * number, 1) if number < rows else None

    def of(self, kind: Container | Reference, number: int) -> Any:
        """One object, with all that it leads to."""
        waiting = [(kind, number, entries_of(kind) if isinstance(kind, Container) else None)]
        fresh = dict[Any, _Fresh]()
        for each, one, known in waiting:  # which grows
            key = one if isinstance(each, Container) else (each.name, one)
            entries = self._read[each.name] if isinstance(each, Reference) else known
            assert entries is not None
            if isinstance(each, Container) and entries.recipe is not None:
                self[key] = self._native.make(entries.recipe, one)
                continue
            places = None if key in self else self._places(each, one, entries)
            if places is None:
                continue
            if isinstance(each, Reference):
                self[key] = object.__new__(self._pools[each.name][0])
            elif each.kind == TEXT.kind:
                self[key] = text_of_characters(self._told.column(0, places))
                continue
            else:
                self[key] = unfilled(each)
                if not entries.inner:
                    self[key] = entries.fill(self[key], self._told, places)
                    continue
            fresh[key] = each, entries, places
            for column, word, inside in entries.inner:
                waiting += [(word, inner, inside) for inner in self._told.column(column, places).tolist()]
        while fresh:
            self._fill(next(iter(fresh)), fresh)
        return self[number if isinstance(kind, Container) else (kind.name, number)]

    def _fill(self, key: Any, fresh: dict[Any, _Fresh]) -> None:
        """Put into an object what belongs there; tuples first, which are made with all that is in them."""
        each, entries, places = fresh.pop(key)
        for column, word, _ in entries.inner:
            if isinstance(word, Container) and word.kind == "tuple":
                for inner in self._told.column(column, places).tolist():
                    if inner in fresh:
                        self._fill(inner, fresh)
        if isinstance(each, Reference):
            self._give_attributes(each.name, self[key], entries.items(self._told, places)[0])
        else:
            self[key] = entries.fill(self[key], self._told, places)

    def _give_attributes(self, name: str, thing: Any, parts: tuple[Any, ...]) -> None:
        _, names, missing, _, _ = self._pools[name]
        is_there = dict(zip(missing, parts[len(parts) - len(missing) :], strict=True))
        first = len(parts) - len(missing) - len(names)
        for attribute, part in zip(names, parts[first:], strict=False):
            if is_there.get(attribute, True):
                object.__setattr__(thing, attribute, part)


def _entries_of_words(words: Any, start: int) -> Iterator[tuple[int, int]]:
    """Where the entries of each container begin, and how many there are."""
    told, end = memoryview(words), len(words)
    while start < end:
        width, rows = told[start : start + 2]
        yield start + 2, rows
        start += 2 + width * rows


class _Made(threading.local):
    """What was made of the words of one call."""

    objects: _Objects | None = None


_MADE = _Made()


def _objects(words: Any, count: int, pools: Mapping[str, PoolTable]) -> _Objects:
    found = _MADE.objects
    if found is None or found.words is not words:
        found = _MADE.objects = _Objects(words, count, pools)
    return found


def of_words(held: Container, place: int, count: int, words: Any) -> Any:
    """The container at a place among those that a call returns, in which there are no objects in pools."""
    objects = _objects(words, count, _NO_POOLS)
    objects.left -= 1
    if not objects.left:
        _MADE.objects = None
    return objects.of(held, int(words[place]))


def container_with_objects(pools: Mapping[str, PoolTable], held: Container, place: int, count: int, words: Any) -> Any:
    """The container at a place among those that a call returns, with the objects in it."""
    return _objects(words, count, pools).of(held, int(words[place]))


def object_of_words(pools: Mapping[str, PoolTable], kind: Reference, count: int, words: Any, number: Any) -> Any:
    """The object with a number in a pool."""
    return _objects(words, count, pools).of(kind, int(number))


def as_returned(result: Any) -> Any:
    """What a call returns, which is whole now: its objects are the caller's alone."""
    _MADE.objects = None
    return result
