"""Where a sequence repeats itself: the same items, one after the other, at several places.

A program's ops, as far as they are alike, are such a sequence: layers that a loop over a list has written out, their
reverse sweeps, helpers that are called again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise

from jitflow.records import dataclass

__all__ = ["Repeats", "find_repeats"]

_GRAM = 8
"""Items that have to be alike before anybody looks further."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """The ``starts`` of pieces of this ``length`` that are alike and do not overlap."""

    starts: tuple[int, ...]
    length: int

    @property
    def saved(self) -> int:
        """The items of all pieces but one."""
        return (len(self.starts) - 1) * self.length


def find_repeats(items: Sequence[Hashable], is_free: Sequence[bool]) -> Repeats | None:
    """The pieces that save most among the items that are free; None if fewer than `_GRAM` items come again."""
    places: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    free = 0
    for end, item_is_free in enumerate(is_free, 1):
        free = free + 1 if item_is_free else 0
        if free >= _GRAM:
            places[tuple(items[end - _GRAM : end])].append(end - _GRAM)
    best: Repeats | None = None
    for starts in places.values():
        found = _longest(items, is_free, starts, 0 if best is None else best.saved)
        if found is not None:
            best = found
    return best


def _longest(items: Sequence[Hashable], is_free: Sequence[bool], starts: list[int], saved: int) -> Repeats | None:
    """The longest pieces from these places on, if they save more than others do."""
    apart = starts[:1]
    for start in starts[1:]:
        if start - apart[-1] >= _GRAM:
            apart.append(start)
    if len(apart) < 2:
        return None
    gap = min(after - before for before, after in pairwise(apart))
    if (len(apart) - 1) * gap <= saved:
        return None

    def is_alike(way: int) -> bool:
        """Whether the items so far from the starts are free, and alike."""
        if not 0 <= apart[0] + way <= apart[-1] + way < len(items):
            return False
        return all(is_free[one + way] for one in apart) and len({items[one + way] for one in apart}) == 1

    before, behind = 0, _GRAM
    while before + behind < gap and is_alike(behind):
        behind += 1
    while before + behind < gap and is_alike(-before - 1):
        before += 1
    found = Repeats(tuple(start - before for start in apart), before + behind)
    return found if found.saved > saved else None
