"""Which loops the ops of a group run over, kept up while groups are joined.

Whether two groups would be one nest is asked for each pair that might be joined, and most of what it takes, which axes
are one loop (`axes.py`), is known of each by itself. So a group keeps the classes of its axes, and the question looks
at the axes that both have, and at those that views between them relate: it takes as long as the smaller of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.types import dims_of
from jitflow.passes.fusion.axes import Axis
from jitflow.passes.fusion.facts import Facts, Pairs
from jitflow.records import dataclass

__all__ = ["GroupLoops", "Nest"]

Loop = int
"""A class of axes of one group, by a number; it may have been found to be the same as another one."""
Span = tuple[Loop, ...]
Place = tuple[int, int]
"""Where an array stands: the position of its op, and which of the op's it is."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Of a group, or of some that might become one.

    ``axes`` have the loop of each axis, one mapping for each group. ``spans`` are the loops that arrays span, in the
    order of their axes: whether one of these arrays is computed here, and where the first stands. ``folded`` are the
    loops that all reductions fold, ``narrowest`` the fewest that an array has that is reduced. ``views`` are what ops
    read through axis views of what is not in the group, ``stored`` the ops whose results they must find in memory.
    ``dims`` are those of all arrays, if all ops are elementwise, without views between them. ``same`` are loops that
    are others, unless this is a group.
    """

    axes: Sequence[dict[Axis, Loop]]
    spans: Mapping[Span, tuple[bool, Place]]
    folded: frozenset[Loop] | None
    narrowest: int | None
    views: Sequence[tuple[Op, Pairs]]
    stored: Sequence[Op]
    dims: frozenset[tuple[Dim, ...]] | None
    same: Mapping[Loop, Loop]


class GroupLoops:
    """Of the groups of a region. ``position`` has its ops, in order."""

    def __init__(self, facts: Facts, position: Mapping[Op, int]) -> None:
        self._facts = facts
        self._position = position
        self._same: dict[Loop, Loop] = {}
        self._count = 0

    def of(self, op: Op) -> Nest:
        """The loops of a group of one op."""
        facts, same = self._facts.of(op), self._same
        axes: dict[Axis, Loop] = {}
        self._relate(facts.related, [axes], same)
        spans: dict[Span, tuple[bool, Place]] = {}
        for index, (span, computed) in enumerate(facts.spans):
            loops = tuple([_find(self._loop(axis, [axes]), same, same) for axis in span])
            is_computed, place = spans.get(loops, (False, (self._position[op], index)))
            spans[loops] = (computed or is_computed, place)
        if "reduction" not in op.definition.traits:
            dims = facts.dims if facts.is_elementwise else None
            return Nest([axes], spans, None, None, facts.viewed, facts.stored, dims, {})
        operand = op.operands[0]
        long = [axis for axis, dim in enumerate(dims_of(operand.type)) if dim != 1]
        folded = [self._loop((operand, axis), [axes]) for axis in op.attributes["axes"] if axis in long]
        folds = frozenset([_find(loop, same, same) for loop in folded])
        return Nest([axes], spans, folds, len(long), facts.viewed, facts.stored, None, {})

    def joined(self, parts: Sequence[Nest], is_member: Callable[[Op], bool]) -> Nest | None:
        """The parts in one, whose members are known, if they are one nest."""
        same = {loop: other for part in parts for loop, other in part.same.items()}
        axes = sorted((axes for part in parts for axes in part.axes), key=len, reverse=True)
        seen: dict[Axis, Loop] = {}
        for smaller in axes[1:]:
            for axis, loop in smaller.items():
                other = axes[0].get(axis) or seen.setdefault(axis, loop)
                if other is not loop:
                    self._join(loop, other, same)
        views = [view for part in parts for view in part.views]
        inside = [pairs for origin, pairs in views if is_member(origin)]
        if inside:
            axes.append({})
            views = [view for view in views if not is_member(view[0])]
            for pairs in inside:
                self._relate(pairs, axes, same)
        spans = self._spans(parts, same)
        folds = {
            frozenset([_find(loop, self._same, same) for loop in part.folded])
            for part in parts
            if part.folded is not None
        }
        if spans is None or len(folds) > 1:
            return None
        folded = folds.pop() if folds else None
        narrowest = min((part.narrowest for part in parts if part.narrowest is not None), default=None)
        each = [part.dims for part in parts if part.dims is not None]
        dims = frozenset().union(*each) if len(each) == len(parts) and not inside else None
        are_alike = dims is not None and len(dims) == 1  # one nest without a doubt, if more than numbers relates them
        are_alike = are_alike and sum(map(bool, spans)) < 2
        if not (are_alike or _are_one(spans, folded, narrowest)):
            return None
        stored = [source for part in parts for source in part.stored]
        return Nest(axes, spans, folded, narrowest, views, stored, dims, same)

    def are_one(self, ops: Sequence[Op]) -> bool:
        """Whether ops are one nest, in which all that is computed is read where it is computed."""
        members = {*ops}
        nest = self.joined(list(map(self.of, ops)), members.__contains__)
        return nest is not None and members.isdisjoint(nest.stored)

    def settle(self, nest: Nest) -> Nest:
        """What was joined is a group from here on, and its parts are none any more."""
        self._same.update(nest.same)
        largest, *others = sorted(nest.axes, key=len, reverse=True)
        for axes in others:
            largest.update(axes)
        return replace(nest, axes=[largest], same={})

    def _spans(self, parts: Sequence[Nest], same: Mapping[Loop, Loop]) -> dict[Span, tuple[bool, Place]] | None:
        """The spans of all parts, each part's in the order of its ops; None if one has a loop on two axes."""
        found: dict[Span, tuple[bool, Place]] = {}
        for part in parts:
            for span, (computed, place) in sorted(part.spans.items(), key=lambda item: item[1][1]):
                loops = tuple([_find(loop, self._same, same) for loop in span])
                if len({*loops}) != len(loops):
                    return None
                is_computed, first = found.get(loops, (False, place))
                found[loops] = (computed or is_computed, min(first, place))
        return found

    def _relate(self, pairs: Pairs, axes: Sequence[dict[Axis, Loop]], same: dict[Loop, Loop]) -> None:
        for left, right in pairs:
            self._join(self._loop(left, axes), self._loop(right, axes), same)

    def _loop(self, axis: Axis, axes: Sequence[dict[Axis, Loop]]) -> Loop:
        """The loop of an axis, a new one if none has it yet."""
        for known in axes:
            if axis in known:
                return known[axis]
        axes[-1][axis] = self._count = self._count + 1
        return self._count

    def _join(self, one: Loop, other: Loop, same: dict[Loop, Loop]) -> None:
        one, other = _find(one, self._same, same), _find(other, self._same, same)
        if one != other:
            same[other] = one


def _find(loop: Loop, settled: Mapping[Loop, Loop], same: Mapping[Loop, Loop]) -> Loop:
    """The loop that stands for all that are the same."""
    while (known := settled.get(loop) or same.get(loop)) is not None:
        loop = known
    return loop


def _are_one(spans: Mapping[Span, tuple[bool, Place]], folded: frozenset[Loop] | None, narrowest: int | None) -> bool:
    """Whether arrays over these loops are one nest: one spans all, and what is computed an outer part of them."""
    loops = {loop for span in spans for loop in span} | (folded or frozenset())
    widest = max(spans, key=len, default=())
    if {*widest} != loops or (narrowest is not None and narrowest != len(widest)):
        return False
    kept = [loop for loop in widest if loop not in (folded or ())]
    return all(
        {*span} == {*kept[: len(span)]} for span, (computed, _) in spans.items() if computed and len(span) < len(widest)
    )
