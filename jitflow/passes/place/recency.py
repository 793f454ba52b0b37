"""How long ago memory was used, in bytes that were moved since: it tells in which cache the memory still is.

What a turn of a loop uses for the first time was used by the turn before, as long ago as all that a turn uses is large;
a part that is another one in each turn was used when the loop went through all of the array the last time. What a
program uses for the first time was used by the call before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

__all__ = ["Recency", "Touch", "Used", "footprint"]


class Touch(NamedTuple):
    """A kernel reads or writes so many bytes of something that has ``extent`` bytes."""

    key: object
    bytes: float
    extent: float


class Used:
    """The memory that a task reads and writes, with how much of it, and how large it is."""

    def __init__(self) -> None:
        self.read: dict[object, tuple[float, float]] = {}
        self.written: dict[object, tuple[float, float]] = {}

    def touches(self) -> list[Touch]:
        """What moves: a cache reads before it writes."""
        found = []
        for key in {**self.read, **self.written}:
            (read, extent), (written, other) = self.read.get(key, (0.0, 0.0)), self.written.get(key, (0.0, 0.0))
            found.append(Touch(key, max(read, written) + written, max(extent, other)))
        return found


class Recency:
    """When what was used last, in a block of which all turns use ``around`` bytes, of each thing so many."""

    def __init__(self, used: Mapping[object, float], turns: float = 1.0) -> None:
        self.around = sum(used.values())
        self.turns = turns
        self.moved = 0.0
        self.last: dict[object, float] = {}

    def reach(self, touches: Iterable[Touch]) -> float:
        """The bytes of a kernel, each times its distance; from then on they have been used."""
        total = sum(touch.bytes * distance for touch, distance in self._distances(touches))
        for touch in touches:
            self.use(touch.key, touch.bytes)
        return total

    def use(self, key: object, size: float) -> None:
        """Something was used just now."""
        self.moved += size
        self.last[key] = self.moved

    def _distances(self, touches: Iterable[Touch]) -> Iterator[tuple[Touch, float]]:
        together = sum(touch.bytes for touch in touches)
        for touch in touches:
            if touch.key in self.last:
                yield touch, min(self.moved - self.last[touch.key] + together, self.around)
            else:
                part = 4 * touch.bytes < touch.extent and self.turns > 1
                yield touch, self.around + (min(touch.extent, self.turns * touch.bytes) if part else 0.0)


def footprint(touches: Iterable[Touch], turns: float = 1.0) -> dict[object, float]:
    """How much of what is used, in so many turns."""
    used: dict[object, float] = {}
    for key, size, extent in touches:
        used[key] = max(used.get(key, 0.0), min(extent, size * turns if 4 * size < extent else size))
    return used
