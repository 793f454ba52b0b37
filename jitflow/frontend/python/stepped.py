"""``zip``, ``map`` and ``enumerate`` of iterators of the program's own classes."""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.sources import traced_enumerate, traced_zip
from jitflow.frontend.control.steps import Source, Stepwise
from jitflow.frontend.control.stepwise import is_stepwise, iterator_of, step
from jitflow.frontend.control.woven import Woven
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.python.iterated import map_, source_of

__all__ = ["Positions", "enumerate_", "stepping", "stepwise_map", "zip_"]


class _Enumerated(Stepwise):
    stands_for = enumerate

    def __init__(self, iterator: Any, start: Any) -> None:
        self._iterator, self.number = iterator, start

    def step(self) -> Any:
        item = step(self._iterator)
        self.number += 1
        return self.number - 1, item


class _Mapped(Stepwise):
    stands_for = map

    def __init__(self, function: Any, iterators: list[Any]) -> None:
        self._function, self._iterators = function, iterators

    def step(self) -> Any:
        return self._function(*map(step, self._iterators))


class _Zipped(Stepwise):
    stands_for = zip

    def __init__(self, iterators: list[Any]) -> None:
        self._iterators = iterators

    def step(self) -> Any:
        return tuple(map(step, self._iterators))


class Positions(Stepwise):
    """The items of a source, one by one."""

    def __init__(self, source: Source) -> None:
        self._source, self.taken = source, 0

    def has_next(self) -> Any:
        """Whether there is another item."""
        return self.taken < tracers.size_of(self._source.count)

    def following(self) -> Any:
        """The next item, which is there."""
        place, self.taken = self.taken, self.taken + 1
        return self._source.item(place)

    def step(self) -> Any:
        place, self.taken = self.taken, self.taken + 1
        return programs.item_at(self._source, place, tracers.size_of(self._source.count))


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate`."""
    iterator = iterator_of(iterable)
    return _Enumerated(stepping(iterator), start) if is_stepwise(iterator) else traced_enumerate(iterator, start)


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """`zip`."""
    iterators = [*map(iterator_of, iterables)]
    if strict or not any(map(is_stepwise, iterators)):
        return traced_zip(*iterators, strict=strict)
    return _Zipped([*map(stepping, iterators)])


def stepwise_map(function: Any, *iterables: Any) -> Any:
    """`map`."""
    iterators = [*map(iterator_of, iterables)]
    if not any(map(is_stepwise, iterators)):
        return map_(function, *iterators)
    return _Mapped(function, [*map(stepping, iterators)])


def stepping(iterator: Any) -> Any:
    """An iterator that takes steps, of what may be gone through by position."""
    if isinstance(iterator, Woven):
        iterator.prepare()
    return iterator if is_stepwise(iterator) else Positions(source_of(iterator))
