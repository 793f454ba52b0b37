"""The one question about memory, whether two things may meet.

A value in memory and a place that is written to show common elements, unless one of three facts keeps them apart: the
roots of what they show differ (`lifetimes.py`), they are places that swap and never meet (`jitflow.ir.apart`), or they
are slices of one variable that have nothing in common (`disjoint.py`). Arguments may lie on each other where the
function was specialised for that (``overlap``), and arrays of the heap of one type always may.
"""

from __future__ import annotations

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.effects import Effects
from jitflow.passes.plan.disjoint import Disjoint
from jitflow.passes.plan.lifetimes import Lifetimes

__all__ = ["Meeting"]


class Meeting:
    """Answers about the values of one function."""

    def __init__(self, function: Function, lifetimes: Lifetimes, effects: Effects) -> None:
        self._lifetimes = lifetimes
        self._roles = effects.roles
        self._disjoint = Disjoint(function)
        overlap = function.attributes.get("overlap")
        self._overlapping = frozenset(function.parameters) if overlap else frozenset()
        self._items = {op.result: effects.places(op.result) for op in walk(function.region) if op.name == "show_items"}

    def may_meet(self, value: Value, place: Value) -> bool:
        """Whether writing to a place could change what a value in memory shows."""
        if self._roles is not None and self._roles.apart(self._roles.of(value), self._roles.of(place)):
            return False
        if self._disjoint.never_meet(value, place):
            return False
        return not self.where(value).isdisjoint(self.where(place))

    def where(self, value: Value) -> frozenset[Value]:
        """The memory that a value shows or may lie on: of two values that may meet, these have something in common."""
        roots = self._lifetimes.roots(value)
        found = roots if roots.isdisjoint(self._overlapping) else roots | self._overlapping
        return found.union(*(self._items[root] for root in roots if root in self._items)) if self._items else found

    def never_meet_in(self, fusion: Op, place: Value, value: Value) -> bool:
        """Whether a value in a kernel, a part of what that is given, shows nothing that a place does."""
        return self._disjoint.never_meet(value, place, fusion)
