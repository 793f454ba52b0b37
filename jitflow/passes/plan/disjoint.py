"""Slices of one array that have no element in common: ``u[0] = u[1]``, ``p[:, j] = f(p[:, j - 1])``.

Two views that start with slices of the same variable, in the same turn of all loops, never meet if the slices do not
(`jitflow.passes.analyses.extents`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.types import dims_of
from jitflow.passes.analyses.extents import Extents, renames
from jitflow.records import cached

__all__ = ["Disjoint"]

_NOTHING: Mapping[Value, Value] = MappingProxyType({})


class Disjoint:
    """The views of a function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._known: dict[tuple[Op, Op], bool] = {}
        self._views: dict[Value, Op] = {}
        for op in walk(function.region):
            if op.name == "load" or "view" in op.definition.traits:
                self._views[op.result] = op

    def never_meet(self, value: Value, place: Value, fusion: Op | None = None) -> bool:
        """Whether what a value shows, in a ``fusion`` if one is given, is apart from what a place shows."""
        (one, ours), (other, theirs) = self._slice(value, fusion), self._slice(place, None)
        if one is not other or ours is None or theirs is None:
            return False
        if (ours, theirs) not in self._known:
            self._known[ours, theirs] = self._extents.apart(ours, theirs)
        return self._known[ours, theirs]

    @cached
    def _extents(self) -> Extents:
        return Extents(self._function)

    def _slice(self, value: Value, fusion: Op | None) -> tuple[Value, Op | None]:
        """The variable that a value shows a part of, and the slice of it that it is, or shows a part of."""
        views, entered = self._views, _NOTHING
        if fusion is not None:
            (region,) = fusion.regions
            entered = dict(zip(region.parameters, fusion.operands, strict=True))
            views = {**views, **{op.result: op for op in region.body if "view" in op.definition.traits}}
        found: Op | None = None
        while value in views or value in entered:
            if value in entered:
                value = entered[value]
                continue
            op = views[value]
            if op.name == "slice":
                found = op
            elif op.name != "load" and dims_of(op.operands[0].type) and not renames(op):
                found = None
            value = op.operands[0]
        return value, found
