"""Containers that the caller passes, as words and back: what a call does with them in front of the program and behind.

The words are those of `jitflow.backends.llvm.heap.passed`. All containers of one type are a group, which is converted
at once: what they hold is put one behind the other and checked and converted by Python's loops in C, into its own
arrays: most calls pass a few small containers, and NumPy takes a microsecond for each array. Where an object is not of
the type that it has in the compiled code, the call does not fit.

Behind the program a container that has changed gets those items that are others than they were, and all others stay the
very objects; a reference to a container of the caller's becomes that very object.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, combinations
from typing import Any
from zlib import crc32

import numpy as np

from jitflow.frontend.containers.passed_types import has_factory, is_as_long
from jitflow.ir.types import TEXT, Container, Item, Scalar, containers_in
from jitflow.runtime.entry.python_results import pool_free
from jitflow.runtime.objects.returned_containers import unfilled
from jitflow.runtime.objects.stores import MetOtherwise
from jitflow.runtime.objects.told_words import Told, entries_of
from jitflow.runtime.objects.written_back import write_back

__all__ = ["PassedWords"]

_FAMILIES = ("list", "deque", "dict", "set")
_FIRST_WORD = {"list": 0, "deque": 0, "dict": 1, "set": 2}


def _are_all(kind: type, things: list[Any]) -> bool:
    """Whether all things are of exactly this class."""
    return [*map(type, things)].count(kind) == len(things)


def _depth(held: Container) -> int:
    return 1 + max((_depth(word) for word in held.words if isinstance(word, Container)), default=0)


# -- objects to words -----------------------------------------------------------------------------------------


class _Layout:
    """What is known of a type without any container: asking it for each call took longer than small containers take."""

    def __init__(self, held: Container) -> None:
        self.held = held
        self.kind: type = getattr(builtins, held.kind, None) or getattr(collections, held.kind)
        self.key, self.item = _parts_of(held.key), _parts_of(held.item)
        self.first = _FIRST_WORD[held.family]
        self.words = len(held.words)
        references = sum(1 << (self.first + n) for n, word in enumerate(held.words) if isinstance(word, Container))
        name = crc32(str(held).encode())
        self.head = (8 * (self.first + self.words), references, _FAMILIES.index(held.family), name)
        self.floats = [number for number, word in enumerate(held.keys) if word.dtype.kind == "f"]
        """Which words of a key may be nan."""


_layout = cache(_Layout)


def _parts_of(item: Item | None) -> Any:
    """An item's type with layouts in the place of containers."""
    if isinstance(item, tuple):
        return tuple(map(_parts_of, item))
    if isinstance(item, Container) and item != TEXT:
        return _layout(item)
    if item is not None and (type(item) is not Scalar or item.dtype.is_complex):
        raise TypeError("expected numbers of one kind")
    return item


@cache
def _layouts(kinds: tuple[Container, ...]) -> tuple[tuple[_Layout, ...], tuple[_Layout, ...]]:
    """The layouts of some types; and those of all types in them, those that hold others first."""
    inside = dict.fromkeys(inner for kind in kinds for inner in containers_in(kind))
    return tuple(map(_layout, kinds)), tuple(map(_layout, sorted(inside, key=_depth, reverse=True)))


class _Group:
    """The containers of one type: the objects by identity, in the order of their numbers."""

    columns: Sequence[Any] = ()
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
                del before[:: self.layout.words + 1]
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
        for (thing, _), layout in zip(roots, layouts, strict=True):
            self._groups[layout].objects[id(thing)] = thing
        for group in self._groups.values():
            self._gather(group)
        self._number(apart)
        numbers = [self._groups[layout].numbers([id(thing)])[0]
                   for (thing, _), layout in zip(roots, layouts, strict=True)]  # fmt: skip
        self.words = array("q", (id(self), len(self._objects), len(self._groups), 4 + len(roots), *numbers))
        for group in self._groups.values():
            self._append(group)
        self._fresh: dict[int, tuple[Any, Container]] = {}
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
        are_all = _are_all(layout.kind, things)
        if not are_all or (held.kind == "deque" and not all(is_as_long(thing, held) for thing in things)):
            raise TypeError(f"expected {held}")
        group.sizes = array("q", bytes(24 * len(things)))
        if held.kind == "set":
            group.columns = [_tables(things, group.sizes, layout, self._columns)]
            return
        group.sizes[::3] = lengths = array("q", map(len, things))
        flat = [*chain.from_iterable(things)]
        if held.key is None:
            group.columns = [*self._columns(layout.item, flat)]
            return
        if held.kind == "defaultdict" and not all(has_factory(thing, held) for thing in things):
            raise TypeError("expected another factory")
        group.sizes[1::3] = lengths
        keys = [*self._columns(layout.key, flat)]
        if any(np.isnan(np.frombuffer(keys[number])).any() for number in layout.floats):
            raise TypeError("nan as a key")
        items = self._columns(layout.item, [*chain.from_iterable(map(dict.values, things))])
        group.columns = [array("q", bytes(8 * len(flat))), *keys, *items]

    def _columns(self, item: Any, things: list[Any]) -> Iterator[Any]:
        """The words of items, a column each; of containers the layout and their identities."""
        if isinstance(item, tuple):
            if not _are_all(tuple, things) or not {*map(len, things)} <= {len(item)}:
                raise TypeError("expected tuples")
            columns = zip(*things, strict=True) if things else ((),) * len(item)
            for part, column in zip(item, columns, strict=True):
                yield from self._columns(part, [*column])
        elif isinstance(item, _Layout):
            identities = [*map(id, things)]
            self._groups[item].objects.update(zip(identities, things, strict=True))
            yield item, identities
        else:
            yield _bits(item, things)

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
        columns = [self._groups[column[0]].numbers(column[1]) if type(column) is tuple else column
                   for column in group.columns]  # fmt: skip
        if len(columns) == 1:
            (group.entries,) = columns
        else:
            group.entries = array("q", bytes(sum(map(len, columns)) * 8))
            for number, column in enumerate(columns):
                group.entries[number :: len(columns)] = column
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
        told = np.ctypeslib.as_array((ctypes.c_int64 * length).from_address(address)).copy()
        pool_free()(address, 0)
        self.words[0] = 0
        self._read(told)

    def _read(self, told: Any) -> None:
        place = 2 + int(told[1])
        words = told.tolist()
        self._returned = words[2:place]
        tables: dict[int, tuple[int, int]] = {}
        while number := words[place]:
            width, rows = words[place + 1 : place + 3]
            tables[number] = place + 3, rows
            place += 3 + width * rows
        self._make_fresh(words, tables)
        objects = [None, *self._objects, *(self._fresh[number][0] for number in sorted(self._fresh))]
        reader = Told(told, objects)  # which reads them as they become whole
        tuples = [(held, number) for number, (_, held) in self._fresh.items()
                  if held.kind == "tuple" and number in tables and number not in self._told]  # fmt: skip
        for held, number in sorted(tuples, key=lambda one: _depth(one[0])):  # what is in them first
            entries = entries_of(held)
            objects[number] = entries.fill((), reader, entries.places(*tables[number]))
            self._fresh[number] = objects[number], held
        for number, (start, rows) in tables.items():
            held = self._type_of(number)
            if held.kind in ("str", "tuple"):
                continue
            entries = entries_of(held)
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
        waiting: list[tuple[int, Container]] = []

        def meet(number: int, held: Container) -> None:
            if number <= len(self._objects) or number in self._fresh:
                return
            if held.kind == TEXT.kind:
                start, rows = tables[number]
                self._fresh[number] = "".join(map(chr, words[start : start + rows])), held
            else:
                self._fresh[number] = unfilled(held), held
                waiting.append((number, held))

        for number, held in zip(self._returned, self._returned_types, strict=False):
            meet(number, held)
        waiting += [(number, self._type_of(number)) for number in tables
                    if number <= len(self._objects) or number in self._fresh]  # fmt: skip
        for number, held in waiting:  # which grows
            start, rows = tables.get(number, (0, 0))
            for column, word in enumerate(held.words):
                if isinstance(word, Container):
                    for inner in words[start + column : start + rows * len(held.words) : len(held.words)]:
                        meet(inner, word)

    def returned(self, place: int) -> Any:
        """The container at a place among those that the program returns."""
        self.collect()
        return self._known[self._returned[place]]

    def _group_of(self, number: int) -> _Group:
        return self._in_order[bisect_left(self._last, number)]

    def _type_of(self, number: int) -> Container:
        return self._group_of(number).held if number <= len(self._objects) else self._fresh[number][1]


# -- numbers and tables ---------------------------------------------------------------------------------------


@cache
def _class_of(item: Scalar) -> tuple[np.dtype[Any], type]:
    dtype = item.dtype.numpy
    return dtype, type(dtype.type(0).item()) if item.weak else dtype.type


def _bits(item: Scalar, things: list[Any]) -> array[int]:
    """Numbers as words of 64 bits. Raises TypeError for other things, and OverflowError for ints beyond 64 bits."""
    dtype, kind = _class_of(item)
    if not _are_all(kind, things):
        raise TypeError(f"expected {item}")
    if kind is int or kind is bool:
        return array("q", things)
    if kind is float:
        return array("q", array("d", things).tobytes())
    numbers = np.fromiter(things, dtype, len(things))
    if dtype.kind == "f":
        numbers = numbers.view(f"u{dtype.itemsize}")
    words = numbers.astype(np.int64) if numbers.dtype.kind in "ib" else numbers.astype(np.uint64)
    return array("q", words.tobytes())


def _tables(things: list[Any], sizes: array[int], layout: _Layout, columns: Callable[..., Iterator[Any]]) -> Any:
    """The tables of sets, one behind the other: of each place its state, the hash and the words of the key.

    The order of a set is that of its table, and how it was filled is seen nowhere else.
    """
    found = array("q")
    for number, thing in enumerate(things):
        fill, used, mask, address = (ctypes.c_int64 * 4).from_address(id(thing) + object.__basicsize__)
        if used != len(thing) or mask < fill:
            raise TypeError("expected sets as CPython has them")
        if not fill:
            continue
        places = np.ctypeslib.as_array((ctypes.c_int64 * (2 * mask + 2)).from_address(address)).reshape(-1, 2)
        table = np.zeros((mask + 1, 2 + layout.words), np.int64)
        table[:, 0] = np.where(places[:, 0] == 0, 0, np.where(places[:, 1] == -1, 2, 1))
        filled = table[:, 0] == 1
        if np.count_nonzero(filled) != used:
            raise TypeError("expected sets as CPython has them")
        table[filled, 1] = places[filled, 1]
        for column, words in enumerate(columns(layout.key, [*thing]), 2):
            table[filled, column] = words
        sizes[3 * number : 3 * number + 3] = array("q", (mask + 1, used, fill))
        found.frombytes(table.tobytes())
    return found
