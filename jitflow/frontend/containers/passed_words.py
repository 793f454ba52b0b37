"""Containers that the caller passes, as words and back: what a call does with them in front of the program and behind.

The words are those of `jitflow.backends.llvm.heap.passed`. All containers of one type are a group, which is converted
at once: what they hold is put one behind the other, and native code reads it (`runtime.objects.object_words`) into
Python's own arrays: most calls pass a few small containers, and NumPy takes a microsecond for each array. Where an
object is not of the type that it has in the compiled code, the call does not fit.

Behind the program a container that has changed gets those items that are others than they were, and all others stay the
very objects; a reference to a container of the caller's becomes that very object.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, combinations
from operator import itemgetter
from typing import Any
from zlib import crc32

import numpy as np

from jitflow.frontend.containers.passed_types import has_factory, is_as_long
from jitflow.ir.types import TEXT, Container, containers_in
from jitflow.runtime.entry.python_results import pool_free
from jitflow.runtime.objects.object_words import Shape, read_words
from jitflow.runtime.objects.python_set_tables import table_of
from jitflow.runtime.objects.returned_containers import elements_of_array, unfilled
from jitflow.runtime.objects.stores import MetOtherwise
from jitflow.runtime.objects.told_words import Entries, Told, entries_of
from jitflow.runtime.objects.written_back import lay_out_set, write_back

__all__ = ["PassedWords"]

_FAMILIES = ("list", "deque", "dict", "set")
_FIRST_WORD = {"list": 0, "deque": 0, "dict": 1, "set": 2}


def _depth(held: Container) -> int:
    return 1 + max((_depth(word) for word in held.words if isinstance(word, Container)), default=0)


# -- objects to words -----------------------------------------------------------------------------------------


class _Layout:
    """What is known of a type without any container: asking it for each call took longer than small containers take."""

    def __init__(self, held: Container) -> None:
        self.held = held
        self.kind: type = _class_of(held)
        self.key, self.item = Shape(held.key, _class_of), Shape(held.item, _class_of)
        self.first = _FIRST_WORD[held.family]
        self.first_item = self.first + self.key.width
        self.width = self.first_item + self.item.width
        self.words = len(held.words)
        self.inner = [(self.first_item + word, way, _layout(inner)) for word, way, inner in self.item.inner]
        """Which words of an entry are containers, in which parts of an item."""
        references = sum(1 << word for word, _, _ in self.inner)
        name = crc32(str(held).encode())
        self.head = (8 * self.width, references, _FAMILIES.index(held.family), name)
        self.entries = entries_of(held)
        self.floats = [number for number, word in enumerate(held.keys) if word.dtype.kind == "f"]
        """Which words of a key may be nan."""


_layout = cache(_Layout)


def _class_of(held: Container) -> type:
    found: type | None = getattr(builtins, held.kind, None) or getattr(collections, held.kind, None)
    if found is None:
        raise TypeError(f"expected a container without arrays, got {held}")
    return found


@cache
def _layouts(kinds: tuple[Container, ...]) -> tuple[tuple[_Layout, ...], tuple[_Layout, ...]]:
    """The layouts of some types; and those of all types in them, those that hold others first."""
    inside = dict.fromkeys(inner for kind in kinds for inner in containers_in(kind))
    return tuple(map(_layout, kinds)), tuple(map(_layout, sorted(inside, key=_depth, reverse=True)))


class _Group:
    """The containers of one type: the objects by identity, in the order of their numbers."""

    sizes: array[int]
    """Of each how many rows, keys, and places taken."""
    entries: array[int]
    first = 0
    """How many containers have smaller numbers."""
    ends: Sequence[int] | None = None
    before: Sequence[int] = ()
    _places: Mapping[int, int] | None = None

    def __init__(self, layout: _Layout) -> None:
        self.layout, self.held = layout, layout.held
        self.objects: dict[int, Any] = {}

    def words_of(self, number: int) -> Sequence[int]:
        """What a container held at first, without hashes; nothing of a set."""
        if self.held.kind == "set":
            return []
        if self.ends is None:
            self.ends = [*accumulate(self.sizes[::3])]
            self.before = before = self.entries.tolist()
            if self.layout.first:  # the hashes, which are none yet
                del before[:: self.layout.width]
        place, width = number - 1 - self.first, self.layout.words
        return self.before[width * (self.ends[place - 1] if place else 0) : width * self.ends[place]]

    def numbers(self, identities: Sequence[int]) -> Any:
        """The numbers of objects among all containers of the call."""
        first = self.first + 1
        if identities == [*self.objects]:  # most often each is found once
            return array("q", range(first, first + len(identities)))
        if self._places is None:
            self._places = dict(zip(self.objects, range(first, first + len(self.objects)), strict=True))
        return array("q", map(self._places.__getitem__, identities))


class PassedWords:
    """What one call is passed, and the words of it.

    ``roots`` are objects and their types, ``apart`` those that the program knows otherwise, ``returned`` the types of
    containers that it returns. Raises an exception where an object is not of its type.
    """

    def __init__(
        self, roots: Sequence[tuple[Any, Container]], apart: Iterable[Any] = (), returned: Sequence[Container] = ()
    ) -> None:
        layouts, inside = _layouts(tuple(held for _, held in roots))
        self._groups = {layout: _Group(layout) for layout in inside}
        for (thing, held), layout in zip(roots, layouts, strict=True):
            if type(thing) is not layout.kind:
                raise TypeError(f"expected {held}")
            self._groups[layout].objects[id(thing)] = thing
        for group in self._groups.values():
            self._gather(group)
        self._number(apart)
        numbers = [self._groups[layout].numbers([id(thing)])[0]
                   for (thing, _), layout in zip(roots, layouts, strict=True)]  # fmt: skip
        self.words = array("q", (id(self), len(self._objects), len(self._groups), 4 + len(roots), *numbers))
        for group in self._groups.values():
            self._append(group)
        self._fresh: dict[int, tuple[Any, Entries]] = {}
        self._told: dict[int, Sequence[int]] = {}
        """What was told of containers last."""
        self._returned: list[int] = []
        self._returned_types = returned
        self._known: Sequence[Any] = ()

    @property
    def address(self) -> int:
        """Where the words lie."""
        return self.words.buffer_info()[0]

    def _gather(self, group: _Group) -> None:
        layout, things = group.layout, [*group.objects.values()]
        held = layout.held
        if held.kind == "deque" and not all(is_as_long(thing, held) for thing in things):
            raise TypeError(f"expected {held}")
        group.sizes = array("q", bytes(24 * len(things)))
        if held.kind == "set":
            group.entries = _tables(things, group.sizes, layout)
            return
        group.sizes[::3] = lengths = array("q", map(len, things))
        flat = [*chain.from_iterable(things)]
        if sum(lengths) != len(flat):  # as another thread has changed one
            raise TypeError("expected containers that stay as they are")
        group.entries = words = array("q", bytes(8 * layout.width * len(flat)))
        if held.key is not None:
            if held.kind == "defaultdict" and not all(has_factory(thing, held) for thing in things):
                raise TypeError("expected another factory")
            group.sizes[1::3] = lengths
            read_words(flat, layout.key, words, layout.first, layout.width)
            keys = [words[layout.first + number :: layout.width] for number in layout.floats]
            if any(np.isnan(np.frombuffer(column)).any() for column in keys):
                raise TypeError("nan as a key")
            flat = [*chain.from_iterable(map(dict.values, things))]
        read_words(flat, layout.item, words, layout.first_item, layout.width)
        for _, way, inner in layout.inner:
            found = flat
            for place in way:
                found = [*map(itemgetter(place), found)]
            self._groups[inner].objects.update(zip(map(id, found), found, strict=True))

    def _number(self, apart: Iterable[Any]) -> None:
        self._objects: list[Any] = []
        for group in self._groups.values():
            group.first = len(self._objects)
            self._objects += group.objects.values()
        self._in_order = [*self._groups.values()]
        self._last = [group.first + len(group.objects) for group in self._in_order]
        for one, other in combinations(self._in_order, 2):
            fewer, more = sorted((one.objects, other.objects), key=len)
            if not more.keys().isdisjoint(fewer):
                raise TypeError("one object has two types")
        if any(id(thing) in group.objects for thing in apart for group in self._groups.values()):
            raise MetOtherwise

    def _append(self, group: _Group) -> None:
        """Put the words of a group behind those that are there."""
        width = group.layout.width
        for word, _, inner in group.layout.inner:
            group.entries[word::width] = self._groups[inner].numbers(group.entries[word::width].tolist())
        self.words.extend((*group.layout.head, len(group.objects), len(group.entries)))
        self.words.extend(group.sizes)
        self.words.extend(group.entries)

    # -- words to objects -----------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Let the caller's containers have what the program has put into them by now."""
        address = self.words[0]
        if address in (0, id(self)):
            return
        if address == 1:
            raise MemoryError
        length = ctypes.c_int64.from_address(address).value
        told = np.frombuffer(ctypes.string_at(address, 8 * length), np.int64)
        pool_free()(address, 0)
        self.words[0] = 0
        self._read(told)

    def _read(self, told: Any) -> None:
        words = told.tolist()
        place = 2 + words[1]
        self._returned = words[2:place]
        tables: dict[int, tuple[int, int]] = {}
        set_tables: dict[int, int] = {}
        """Where the tables of sets are told."""
        while number := words[place]:
            width, rows = words[place + 1 : place + 3]
            tables[number] = place + 3, rows
            place += 3 + width * rows
            if number <= len(self._objects) and self._group_of(number).held.kind == "set":
                set_tables[number] = place
                place += 3 + words[place]
        self._make_fresh(words, tables)
        objects = [None, *self._objects, *(self._fresh[number][0] for number in sorted(self._fresh))]
        reader = Told(told, objects)  # which reads them as they become whole
        tuples = [(entries, number) for number, (_, entries) in self._fresh.items()
                  if entries.held.kind == "tuple" and number in tables and number not in self._told]  # fmt: skip
        for entries, number in sorted(tuples, key=lambda one: _depth(one[0].held)):  # what is in them first
            objects[number] = entries.fill((), reader, entries.places(*tables[number]))
            self._fresh[number] = objects[number], entries
        for number, (start, rows) in tables.items():
            entries = self._entries_of(number)
            if entries.held.kind in ("str", "tuple"):
                continue
            if entries.held.kind == "array":
                objects[number].reshape(-1)[:] = reader.array(entries.held, entries.places(start, rows))
                continue
            if number in set_tables:
                lay_out_set(objects[number], entries, reader, entries.places(start, rows), words[set_tables[number] :])
                continue
            now = words[start : start + rows * entries.width]
            write_back(objects[number], entries, reader, entries.places(start, rows), self._before(number), now)
            self._told[number] = now
        self._told.update((number, []) for _, number in tuples)
        self._known = objects

    def _before(self, number: int) -> Sequence[int]:
        """What a container held when it was told last, or at first; a list of words, those of sets left out."""
        known = self._told.get(number)
        if known is None and number <= len(self._objects):
            known = self._group_of(number).words_of(number)
        return known or []

    def _make_fresh(self, words: list[int], tables: Mapping[int, tuple[int, int]]) -> None:
        """Make the objects that are told of for the first time, empty."""
        if not tables or max(max(tables), *self._returned, 0) <= len(self._objects):
            return
        waiting: list[tuple[int, Entries]] = []

        def meet(number: int, entries: Entries) -> None:
            if number <= len(self._objects) or number in self._fresh:
                return
            if entries.held.kind == TEXT.kind:
                start, rows = tables[number]
                self._fresh[number] = "".join(map(chr, words[start : start + rows])), entries
            elif entries.held.kind == "array":
                self._fresh[number] = elements_of_array(entries.held, tables.get(number, (0, 0))[1]), entries
            else:
                self._fresh[number] = unfilled(entries.held), entries
                waiting.append((number, entries))

        for number, held in zip(self._returned, self._returned_types, strict=False):
            meet(number, entries_of(held))
        waiting += [(number, self._entries_of(number)) for number in tables
                    if number <= len(self._objects) or number in self._fresh]  # fmt: skip
        for number, entries in waiting:  # which grows
            start, rows = tables.get(number, (0, 0))
            for column, _, inside in entries.inner:
                if inside is not None:
                    for inner in words[start + column : start + rows * entries.width : entries.width]:
                        meet(inner, inside)

    def returned(self, place: int) -> Any:
        """The container at a place among those that the program returns."""
        self.collect()
        return self._known[self._returned[place]]

    def _group_of(self, number: int) -> _Group:
        return self._in_order[bisect_left(self._last, number)]

    def _entries_of(self, number: int) -> Entries:
        return self._group_of(number).layout.entries if number <= len(self._objects) else self._fresh[number][1]


# -- numbers and tables ---------------------------------------------------------------------------------------


def _tables(things: list[Any], sizes: array[int], layout: _Layout) -> array[int]:
    """The tables of sets, one behind the other: of each place its state, the hash and the words of the key.

    The order of a set is that of its table, and how it was filled is seen nowhere else.
    """
    found = array("q")
    for number, thing in enumerate(things):
        if (known := table_of(thing)) is None:
            raise TypeError("expected sets as CPython has them")
        fill, finger, entries = known
        sizes[3 * number + 2] = fill | finger << 32
        if not fill:
            continue
        places, used = np.frombuffer(entries, np.int64).reshape(-1, 2), len(thing)
        table = np.zeros((len(places), 2 + layout.words), np.int64)
        table[:, 0] = np.where(places[:, 0] == 0, 0, np.where(places[:, 1] == -1, 2, 1))
        filled = table[:, 0] == 1
        if np.count_nonzero(filled) != used or fill >= len(places):
            raise TypeError("expected sets as CPython has them")
        table[filled, 1] = places[filled, 1]
        keys = array("q", bytes(8 * layout.words * used))
        read_words([*thing], layout.key, keys, 0, layout.words)
        table[filled, 2:] = np.frombuffer(keys, np.int64).reshape(used, layout.words)
        sizes[3 * number : 3 * number + 2] = array("q", (len(places), used))
        found.frombytes(table.tobytes())
    return found
