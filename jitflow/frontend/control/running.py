"""Which functions that call themselves are being traced, and what was found when they were traced last.

The body of such a function is traced until nothing new is learnt. If each in it did so for itself, the innermost of
several in each other would be traced a few times as often with every level around it. So one begins with the kinds
that were found in its place when the body around was traced last; its first trace sees whether they are right.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from types import CodeType
from typing import Any

from jitflow.frontend.control.leaves import can_change, flatten
from jitflow.frontend.recording.choices import Site
from jitflow.ir.types import Scalar

__all__ = ["Inside", "Running"]


class Inside:
    """The functions that call themselves in the body of another, by how many calls of each stand before."""

    def __init__(self) -> None:
        self._met: Counter[CodeType] = Counter()
        self._last: dict[tuple[CodeType, int], Any] = {}

    def begin(self) -> None:
        """The body is traced once more."""
        self._met.clear()

    def meet(self, recursion: Any) -> Inside:
        """Let one that comes next begin with what the last trace has found in its place, and in its body."""
        code = recursion.function.__code__
        self._met[code] += 1
        place = code, self._met[code]
        last, self._last[place] = self._last.get(place), recursion
        if last is None:
            return Inside()
        if last.known is not None and _knows_kinds_alone(last) and _begins_like(recursion, last):
            recursion.slots, recursion.known = dict(last.slots), last.known
        inside: Inside = last.inside
        return inside


class Running:
    """The functions that call themselves whose bodies are being traced, outermost first."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.names: set[str] = set()
        self.written_out: set[Site] = set()
        """Where the functions begin whose outermost calls are being written out."""

    def new_name(self, word: str) -> str:
        """A name that no other function has."""
        names = itertools.chain([word], (f"{word}_{number}" for number in itertools.count(2)))
        name = next(name for name in names if name not in self.names)
        self.names.add(name)
        return name

    def learn(self, recursion: Any) -> Inside:
        """Let a function that begins have what was found of it; returns what was found in its body."""
        return self.bodies[-1].inside.meet(recursion) if self.bodies else Inside()


def _knows_kinds_alone(recursion: Any) -> bool:
    """Whether what was learnt are kinds of numbers, which alone mean something in another trace of the body."""
    is_as_given = not recursion.cells and all(map(operator.is_, recursion.first, recursion.bound.arguments.values()))
    numbers = itertools.chain((slot.kind for slot in recursion.slots.values()), recursion.known.items)
    return is_as_given and all(isinstance(kind, Scalar) for kind in numbers)


def _begins_like(recursion: Any, last: Any) -> bool:
    """Whether both are given the same structure."""
    return repr(flatten(tuple(recursion.first), is_itself=can_change).shape) == repr(last.entry.shape)
