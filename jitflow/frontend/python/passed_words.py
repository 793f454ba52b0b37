"""Containers that the caller passes, as words and back: what a call does with them in front of the program and behind.

The words are those of `jitflow.backends.llvm.passed`. All containers of one type are a group, which is converted at
once: what they hold is put one behind the other and checked and converted by Python's and NumPy's loops in C. Where an
object is not of the type that it has in the compiled code, the call does not fit.

Behind the program a container that has changed gets those items that are others than they were, and all others stay the
very objects; a reference to a container of the caller's becomes that very object.
"""

from __future__ import annotations

import builtins
import collections
import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any
from zlib import crc32

import numpy as np

from jitflow.frontend.python.returned_containers import unfilled
from jitflow.frontend.python.told_words import Told
from jitflow.ir.dtypes import BOOL, F64, I64, dtype_of
from jitflow.ir.types import TEXT, Container, Item, Scalar, containers_in
from jitflow.runtime.entry_python import pool_free
from jitflow.runtime.stores import MetOtherwise

__all__ = ["PassedWords", "type_of_passed"]

_NUMBERS = {bool: Scalar(BOOL, True), int: Scalar(I64, True), float: Scalar(F64, True)}
_KINDS: Mapping[type, str] = {
    list: "list", collections.deque: "deque", dict: "dict", set: "set", collections.defaultdict: "defaultdict",
    collections.Counter: "Counter",
}  # fmt: skip
_FAMILIES = ("list", "deque", "dict", "set")
_FIRST_WORD = {"list": 0, "deque": 0, "dict": 1, "set": 2}
_DEEPEST = 8
"""Levels of containers in containers."""


# -- types ----------------------------------------------------------------------------------------------------


def type_of_passed(thing: Any) -> tuple[Container | None, list[Container]]:
    """The type of a container of the caller's, None for what is none of the running program's; and what is guessed.

    Containers of which none holds anything are taken for some of ints.
    """
    guesses: list[Container] = []
    return _container_type(type(thing), [thing], 0, guesses), guesses


def _container_type(kind: type, things: Sequence[Any], depth: int, guesses: list[Container]) -> Container | None:
    name = _KINDS.get(kind)
    if name is None or depth > _DEEPEST or _are_bounded(kind, things):
        return None
    held = Container(kind=name)
    key: Item | None
    item: Item | None
    if not any(things):
        key = None if held.family in ("list", "deque") else _NUMBERS[int]
        item = None if name == "set" else _made_item(things, guesses)
        guesses.append(replace(held, key=key, item=item))
        return guesses[-1] if all(_has_factory(thing, item) for thing in things) else None
    if held.family != "dict":
        item = _item_type([*chain.from_iterable(things)], depth, guesses)
        if item is None:
            return None
        return Container(kind=name, key=item) if name == "set" and is_key(item) else _of_items(name, item)
    key = _item_type([*chain.from_iterable(things)], depth, guesses)
    item = _item_type([*chain.from_iterable(map(dict.values, things))], depth, guesses)
    found = None if key is None or item is None or not is_key(key) else Container(kind=name, key=key, item=item)
    return found if found is None or all(_has_factory(thing, found.item) for thing in things) else None


def _made_item(things: Sequence[Any], guesses: list[Container]) -> Item:
    """What containers without anything in them are going to hold: what a defaultdict makes."""
    factory: Any = next((thing.default_factory for thing in things if type(thing) is collections.defaultdict), int)
    if factory not in _KINDS:
        return _NUMBERS.get(factory, _NUMBERS[int])
    made = _container_type(factory, [factory()], 1, guesses)
    return _NUMBERS[int] if made is None else made


def _of_items(name: str, item: Item) -> Container | None:
    return None if name == "set" else Container(kind=name, item=item)


def is_key(item: Item) -> bool:
    """Whether items of a type are keys."""
    return all(map(is_key, item)) if isinstance(item, tuple) else not isinstance(item, Container)


def _are_all(kind: type, things: list[Any]) -> bool:
    """Whether all things are of exactly this class."""
    return [*map(type, things)].count(kind) == len(things)


def _are_bounded(kind: type, things: Sequence[Any]) -> bool:
    """Whether some are deques that drop what is too much."""
    return kind is collections.deque and any(thing.maxlen is not None for thing in things)


def _has_factory(thing: Any, item: Any) -> bool:
    """Whether a defaultdict makes what those of the running program do."""
    if type(thing) is not collections.defaultdict:
        return True
    known: Mapping[Any, Any] = _KINDS if isinstance(item, Container) else _NUMBERS
    return bool(known.get(thing.default_factory) == (item.kind if isinstance(item, Container) else item))


def _item_type(things: list[Any], depth: int, guesses: list[Container]) -> Item | None:
    kinds = {*map(type, things)}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if issubclass(kind, np.number | np.bool_):
        dtype = dtype_of(np.dtype(kind))
        return None if dtype is None or dtype.is_complex or dtype.name == "bf16" else Scalar(dtype)
    if kind is tuple:
        lengths = {*map(len, things)}
        parts = (
            [_item_type([*column], depth, guesses) for column in zip(*things, strict=True)] if len(lengths) == 1 else []
        )
        return tuple(part for part in parts if part is not None) if parts and None not in parts else None
    held = _container_type(kind, things, depth + 1, guesses)
    return held if held is not None and held.words else None


def _depth(held: Container) -> int:
    return 1 + max((_depth(word) for word in held.words if isinstance(word, Container)), default=0)


# -- objects to words -----------------------------------------------------------------------------------------


class _Group:
    """The containers of one type: the objects by identity, in the order of their numbers."""

    def __init__(self, held: Container) -> None:
        self.held = held
        self.objects: dict[int, Any] = {}
        self.columns: list[Any] = []
        self.sizes = np.empty((0, 3), np.int64)
        self.first = 0
        """How many containers have smaller numbers."""
        self.places: dict[int, int] = {}
        self.ends: list[int] | None = None
        self.before: list[int] = []
        self.entries = np.empty((0, 0), np.int64)

    def words_of(self, number: int) -> list[int]:
        """What a container held at first, without hashes; nothing of a set."""
        if self.held.kind == "set":
            return []
        if self.ends is None:
            self.ends = np.cumsum(self.sizes[:, 0]).tolist()
            self.before = self.entries[:, _FIRST_WORD[self.held.family] :].reshape(-1).tolist()
        place, width = number - 1 - self.first, len(self.held.words)
        return self.before[width * (self.ends[place - 1] if place else 0) : width * self.ends[place]]

    def numbers(self, identities: Sequence[int]) -> Any:
        """The numbers of objects among all containers of the call."""
        first = self.first + 1
        if identities == [*self.objects]:  # most often each is found once
            return np.arange(first, first + len(identities))
        if not self.places:
            self.places = dict(zip(self.objects, range(first, first + len(self.objects)), strict=True))
        return np.fromiter(map(self.places.__getitem__, identities), np.int64, len(identities))


class PassedWords:
    """What one call is passed, and the words of it.

    ``roots`` are objects and their types, ``apart`` those that the program knows otherwise, ``returned`` the types of
    containers that it returns. Raises an exception where an object is not of its type.
    """

    def __init__(
        self, roots: Sequence[tuple[Any, Container]], apart: Iterable[Any] = (), returned: Sequence[Container] = ()
    ) -> None:
        kinds = dict.fromkeys(kind for _, held in roots for kind in containers_in(held))
        self._groups = {held: _Group(held) for held in sorted(kinds, key=_depth, reverse=True)}
        for thing, held in roots:
            self._groups[held].objects[id(thing)] = thing
        for group in self._groups.values():
            self._gather(group)
        self._number(apart)
        parts = [self._words_of(group) for group in self._groups.values()]
        numbers = [int(self._groups[held].numbers([id(thing)])[0]) for thing, held in roots]
        head = [id(self), len(self._objects), len(parts), 4 + len(roots), *numbers]
        self.words = np.concatenate([np.array(head, np.int64), *chain.from_iterable(parts)])
        self._fresh: dict[int, tuple[Any, Container]] = {}
        self._told: dict[int, list[int]] = {}
        """What was told of containers last."""
        self._returned: list[int] = []
        self._returned_types = returned
        self._known: Sequence[Any] = ()

    @property
    def address(self) -> int:
        """Where the words lie."""
        return int(self.words.ctypes.data)

    def _gather(self, group: _Group) -> None:
        held, things = group.held, [*group.objects.values()]
        kind = getattr(builtins, held.kind, None) or getattr(collections, held.kind)
        if not _are_all(kind, things) or _are_bounded(kind, things):
            raise TypeError(f"expected {held}")
        group.sizes = np.zeros((len(things), 3), np.int64)
        if held.kind == "set":
            group.columns = [_tables(things, group.sizes, held, self._columns)]
            return
        lengths = np.fromiter(map(len, things), np.int64, len(things))
        group.sizes[:, 0] = lengths
        flat = [*chain.from_iterable(things)]
        if held.key is None:
            assert held.item is not None
            group.columns = [*self._columns(held.item, flat)]
            return
        assert held.item is not None
        if held.kind == "defaultdict" and not all(_has_factory(thing, held.item) for thing in things):
            raise TypeError("expected another factory")
        group.sizes[:, 1] = lengths
        keys = [*self._columns(held.key, flat)]
        if any(word.dtype.kind == "f" and np.isnan(key.view(np.float64)).any()
               for word, key in zip(held.keys, keys, strict=True)):  # fmt: skip
            raise TypeError("nan as a key")
        items = self._columns(held.item, [*chain.from_iterable(map(dict.values, things))])
        group.columns = [np.zeros(len(flat), np.int64), *keys, *items]

    def _columns(self, item: Item, things: list[Any]) -> Iterator[Any]:
        """The words of items, a column each; of containers the type and their identities."""
        if isinstance(item, tuple):
            if not _are_all(tuple, things) or not {*map(len, things)} <= {len(item)}:
                raise TypeError("expected tuples")
            columns = zip(*things, strict=True) if things else ((),) * len(item)
            for part, column in zip(item, columns, strict=True):
                yield from self._columns(part, [*column])
        elif isinstance(item, Container):
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
        for one, other in combinations(self._groups.values(), 2):
            fewer, more = sorted((one.objects, other.objects), key=len)
            if not more.keys().isdisjoint(fewer):
                raise TypeError("one object has two types")
        if any(id(thing) in group.objects for thing in apart for group in self._groups.values()):
            raise MetOtherwise

    def _words_of(self, group: _Group) -> list[Any]:
        held = group.held
        columns = [self._groups[column[0]].numbers(column[1]) if type(column) is tuple else column
                   for column in group.columns]  # fmt: skip
        first = _FIRST_WORD[held.family]
        width = first + len(held.words)
        if held.kind == "set":
            (group.entries,) = columns
        else:
            group.entries = columns[0].reshape(-1, 1) if len(columns) == 1 else np.stack(columns, axis=1)
        references = sum(1 << (first + n) for n, word in enumerate(held.words) if isinstance(word, Container))
        kind = _FAMILIES.index(held.family)
        name = crc32(str(held).encode())
        head = [8 * width, references, kind, name, len(group.objects), group.entries.size]
        return [np.array(head, np.int64), group.sizes.reshape(-1), group.entries.reshape(-1)]

    # -- words to objects -----------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Let the caller's containers have what the program has put into them by now."""
        address = int(self.words[0])
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
        reader = Told(told, words, objects)
        for number, (start, rows) in tables.items():
            held = self._type_of(number)
            if held == TEXT:
                continue
            reader.write(objects[number], held, self._before(number), start, rows)
            self._told[number] = words[start : start + rows * len(held.words)]
        self._known = objects

    def _before(self, number: int) -> list[int]:
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
            if held == TEXT:
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
        return next(group for group in self._groups.values() if number <= group.first + len(group.objects))

    def _type_of(self, number: int) -> Container:
        return self._group_of(number).held if number <= len(self._objects) else self._fresh[number][1]


# -- numbers and tables ---------------------------------------------------------------------------------------


def _bits(item: Scalar, things: list[Any]) -> Any:
    """Numbers as words of 64 bits. Raises TypeError for other things, and OverflowError for ints beyond 64 bits."""
    dtype = item.dtype.numpy
    kind = type(dtype.type(0).item()) if item.weak else dtype.type
    if not _are_all(kind, things):
        raise TypeError(f"expected {item}")
    numbers = np.fromiter(things, dtype, len(things))
    if dtype.kind == "f":
        numbers = numbers.view(f"u{dtype.itemsize}")
    return numbers.astype(np.int64) if numbers.dtype.kind in "ib" else numbers.astype(np.uint64).view(np.int64)


def _tables(things: list[Any], sizes: Any, held: Container, columns: Callable[..., Iterator[Any]]) -> Any:
    """The tables of sets, one behind the other: of each place its state, the hash and the words of the key.

    The order of a set is that of its table, and how it was filled is seen nowhere else.
    """
    found = [np.empty((0, 2 + len(held.words)), np.int64)]
    for number, thing in enumerate(things):
        fill, used, mask, address = (ctypes.c_int64 * 4).from_address(id(thing) + object.__basicsize__)
        if used != len(thing) or mask < fill:
            raise TypeError("expected sets as CPython has them")
        if not fill:
            continue
        places = np.ctypeslib.as_array((ctypes.c_int64 * (2 * mask + 2)).from_address(address)).reshape(-1, 2)
        table = np.zeros((mask + 1, 2 + len(held.words)), np.int64)
        table[:, 0] = np.where(places[:, 0] == 0, 0, np.where(places[:, 1] == -1, 2, 1))
        filled = table[:, 0] == 1
        if np.count_nonzero(filled) != used:
            raise TypeError("expected sets as CPython has them")
        table[filled, 1] = places[filled, 1]
        for column, words in enumerate(columns(held.key, [*thing]), 2):
            table[filled, column] = words
        sizes[number] = mask + 1, used, fill
        found.append(table)
    return np.concatenate(found)
