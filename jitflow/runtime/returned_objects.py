"""Objects of the user's classes that lie in pools of the running program, and what holds them, as Python's objects.

They are told with the containers of a call (`pack_containers`), the entries of each pool being one of these. What one
object is in the program is one here, as long as what the call returns is made; `as_returned` ends that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from jitflow.ir.types import TEXT, Container, Reference
from jitflow.runtime.returned_containers import entries_of_words, filled, item_of_words, unfilled, words_as_column
from jitflow.runtime.texts import text_of_characters

__all__ = ["PoolTable", "as_returned", "container_with_objects", "object_of_words"]

PoolTable = tuple[type, tuple[str, ...], tuple[str, ...], int, Container]
"""Of a pool: the class, the attributes, those that may be missing, its place among the containers, and their type."""


class _Told(threading.local):
    """What was made of the words of one call."""

    words: Any = None
    objects: Any = None


_TOLD = _Told()


class _Objects(dict[Any, Any]):
    """Objects by the number of a container, or by the name and the number of one in a pool."""

    def __init__(self, words: Any, count: int, pools: Mapping[str, PoolTable]) -> None:
        super().__init__()
        self._words, self._pools = words, pools
        self._tables = [*entries_of_words(words, count)]

    def __missing__(self, key: Any) -> None:
        return None  # in the place of what is of another kind

    def _table(self, number: int) -> Any:
        start, width, rows = self._tables[number - 1]
        return self._words[start : start + width * rows].reshape(rows, width)

    def _entry(self, name: str, number: int) -> Any:
        """The words of an object in a pool; None where there is no object."""
        table = self._table(int(self._words[self._pools[name][3]]))
        return table[number : number + 1] if number < len(table) else None

    def of(self, kind: Container | Reference, number: int) -> Any:
        """One object, with all that it leads to."""
        waiting: list[tuple[Container | Reference, int]] = [(kind, number)]
        fresh: dict[Any, tuple[Container | Reference, int]] = {}
        for each, one in waiting:  # which grows
            key = one if isinstance(each, Container) else (each.name, one)
            table = self._table(one) if isinstance(each, Container) else self._entry(each.name, one)
            if key in self or table is None:
                continue
            if each == TEXT:
                self[key] = text_of_characters(table[:, 0])
                continue
            held = each if isinstance(each, Container) else self._pools[each.name][4]
            self[key] = unfilled(each) if isinstance(each, Container) else object.__new__(self._pools[each.name][0])
            fresh[key] = each, one
            waiting += _inside(held, table)
        while fresh:
            self._fill(next(iter(fresh)), fresh)
        return self[number if isinstance(kind, Container) else (kind.name, number)]

    def _fill(self, key: Any, fresh: dict[Any, tuple[Container | Reference, int]]) -> None:
        """Put into an object what belongs there; tuples first, which are made with all that is in them."""
        each, one = fresh.pop(key)
        held = each if isinstance(each, Container) else self._pools[each.name][4]
        table = self._table(one) if isinstance(each, Container) else self._entry(each.name, one)
        for place, word in enumerate(held.words):
            if isinstance(word, Container) and word.kind == "tuple":
                for inner in table[:, place].tolist():
                    if inner in fresh:
                        self._fill(inner, fresh)
        if isinstance(each, Container):
            columns = (words_as_column(table[:, place], word, self) for place, word in enumerate(each.words))
            self[one] = filled(self[one], each, columns)
        else:
            self._give_attributes(each.name, one)

    def _give_attributes(self, name: str, number: int) -> None:
        _, names, missing, _, held = self._pools[name]
        assert held.item is not None
        parts = item_of_words(held.item, self._entry(name, number)[0], self)
        is_there = dict(zip(missing, parts[len(parts) - len(missing) :], strict=True))
        first = len(parts) - len(missing) - len(names)
        for attribute, part in zip(names, parts[first:], strict=False):
            if is_there.get(attribute, True):
                object.__setattr__(self[name, number], attribute, part)


def _inside(held: Container, table: Any) -> Iterator[tuple[Container | Reference, int]]:
    """The containers and objects that entries lead to, and such as are none."""
    for place, word in enumerate(held.words):
        if isinstance(word, Container):
            yield from ((word, number) for number in table[:, place].tolist() if number)
        elif isinstance(word, Reference):
            yield from ((word, number) for number in table[:, place].tolist())


def _objects(words: Any, count: int, pools: Mapping[str, PoolTable]) -> _Objects:
    if _TOLD.words is not words:
        _TOLD.words, _TOLD.objects = words, _Objects(words, count, pools)
    found: _Objects = _TOLD.objects
    return found


def container_with_objects(pools: Mapping[str, PoolTable], held: Container, place: int, count: int, words: Any) -> Any:
    """The container at a place among those that a call returns, with the objects in it."""
    return _objects(words, count, pools).of(held, int(words[place]))


def object_of_words(pools: Mapping[str, PoolTable], kind: Reference, count: int, words: Any, number: Any) -> Any:
    """The object with a number in a pool."""
    return _objects(words, count, pools).of(kind, int(number))


def as_returned(result: Any) -> Any:
    """What a call returns, which is whole now: its objects are the caller's alone."""
    _TOLD.words = _TOLD.objects = None
    return result
