"""An order of groups in which each follows what it needs, kept up while groups are joined.

Whether joining two makes a cycle is asked of the groups between them alone. The positions of ops are no such order: a
group of ops from far apart may need what stands behind a group that needs it. Pearce and Kelly, A dynamic topological
sort algorithm for directed acyclic graphs, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from jitflow.passes.fusion.fused_region import Group

__all__ = ["GroupOrder"]


class GroupOrder:
    """The order. ``groups`` come in one such order, and ``needs`` gives the groups that one must follow."""

    def __init__(self, groups: Iterable[Group], needs: Callable[[Group], Iterable[Group]]) -> None:
        self.needs = needs
        self.ordered: list[Group | None] = list(groups)
        """None where a group stood that another one has taken in."""
        self.place = {group: place for place, group in enumerate(self.ordered) if group is not None}

    def makes_cycle(self, upper: Group, lower: Group) -> bool:
        """Whether ``lower`` needs a group that needs ``upper``, other than directly."""
        seen: set[Group] = set()
        frontier = [group for group in self.needs(lower) if group is not upper]
        while frontier:
            group = frontier.pop()
            if group is upper:
                return True
            if group not in seen and self.place[group] > self.place[upper]:
                seen.add(group)
                frontier.extend(self.needs(group))
        return False

    def merge(self, upper: Group, lower: Group) -> None:
        """``upper`` takes ``lower`` in, which still is a group: what needs the first of them goes behind both."""
        first, last = sorted((upper, lower), key=self.place.__getitem__)
        start, stop = self.place[first], self.place[last]
        before, behind = list[Group](), {first: None}
        for group in self.ordered[start + 1 : stop]:
            if group is None:
                continue
            if any(needed in behind for needed in self.needs(group)):
                behind[group] = None
            else:
                before.append(group)
        del behind[first], self.place[lower]
        moved = [*before, upper, *behind]
        self.ordered[start : stop + 1] = [*moved, *[None] * (stop + 1 - start - len(moved))]
        self.place.update((group, start + number) for number, group in enumerate(moved))
