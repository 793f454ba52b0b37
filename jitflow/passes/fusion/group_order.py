"""An order of groups in which each follows what it needs, kept up while groups are joined.

Whether joining two makes a cycle is asked of the groups between them alone, and only what the later one needs is
moved, in front of the earlier one: places are numbers, and there is always one between two of them. The positions of
ops are no such order: a group of ops from far apart may need what stands behind a group that needs it. Pearce and
Kelly, A dynamic topological sort algorithm for directed acyclic graphs, 2006.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable

from jitflow.passes.fusion.fused_region import Group

__all__ = ["GroupOrder"]


class GroupOrder:
    """The order. ``groups`` come in one such order."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.place: dict[Group, float] = {}
        self._number(groups)

    def between(self, one: Group, other: Group, needs: Callable[[Group], Iterable[Group]]) -> list[Group] | None:
        """What the later of two groups needs that does not stand in front of the earlier one.

        None if that needs the earlier one: joining the two would make a cycle. ``needs`` gives the groups that one
        must follow.
        """
        first, last = sorted((one, other), key=self.place.__getitem__)
        start = self.place[first]
        found: set[Group] = set()
        frontier = [last]
        while frontier:
            group = frontier.pop()
            for needed in needs(group):
                if needed is first:
                    if group is not last:
                        return None
                elif needed not in found and self.place[needed] > start:
                    found.add(needed)
                    frontier.append(needed)
        return sorted(found, key=self.place.__getitem__)

    def merge(self, upper: Group, lower: Group, between: list[Group]) -> None:
        """``upper`` takes ``lower`` in, and what is ``between`` goes in front of both."""
        first = min(upper, lower, key=self.place.__getitem__)
        self._put_in_front(first, between)
        self.place[upper] = self.place[first]
        del self.place[lower]

    def _put_in_front(self, group: Group, moved: list[Group]) -> None:
        stop = self.place[group]
        start = self._taken[bisect_left(self._taken, stop) - 1]
        places = [start + (stop - start) * (number + 1) / (len(moved) + 1) for number in range(len(moved))]
        if len({start, *places, stop}) < len(moved) + 2:  # too close for floats
            self._number(sorted(self.place, key=self.place.__getitem__))
            self._put_in_front(group, moved)
            return
        for one, place in zip(moved, places, strict=True):
            self.place[one] = place
            insort(self._taken, place)

    def _number(self, groups: Iterable[Group]) -> None:
        self.place = {group: float(number) for number, group in enumerate(groups)}
        self._taken = [-1.0, *self.place.values()]
        """The places of groups in order, and some that they have left."""
