"""Slices of one array that have no element in common: ``u[0] = u[1]``, ``p[:, j] = f(p[:, j - 1])``.

Two views that start with slices of the same variable, in the same turn of all loops, never meet if there is an axis on
which one slice ends before the other begins, by a number of elements that does not depend on any size.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.types import dims_of

__all__ = ["Disjoint"]

_NOTHING: Mapping[Value, Value] = MappingProxyType({})
Range = tuple[Dim, Dim]


class Disjoint:
    """The views of a function."""

    def __init__(self, function: Function) -> None:
        self._views: dict[Value, Op] = {}
        for op in walk(function.region):
            if op.name == "load" or "view" in op.definition.traits:
                self._views[op.result] = op

    def never_meet(self, value: Value, place: Value, fusion: Op | None = None) -> bool:
        """Whether what a value shows, in a ``fusion`` if one is given, is apart from what a place shows."""
        (one, ours), (other, theirs) = self._slice(value, fusion), self._slice(place, None)
        if one is not other or ours is None or theirs is None:
            return False
        return any(_is_before(first, second) or _is_before(second, first)
                   for first, second in zip(ours, theirs, strict=True))  # fmt: skip

    def _slice(self, value: Value, fusion: Op | None) -> tuple[Value, list[Range] | None]:
        """The variable that a value shows a part of, and the ranges that a slice of it has on each axis."""
        views, entered = self._views, _NOTHING
        if fusion is not None:
            (region,) = fusion.regions
            entered = dict(zip(region.parameters, fusion.operands, strict=True))
            views = {**views, **{op.result: op for op in region.body if "view" in op.definition.traits}}
        found: list[Range] | None = None
        while value in views or value in entered:
            if value in entered:
                value = entered[value]
                continue
            op = views[value]
            if op.name == "slice":
                found = _ranges(op)
            elif op.name != "load" and dims_of(op.operands[0].type) and not _renames(op):
                found = None
            value = op.operands[0]
        return value, found


def _renames(op: Op) -> bool:
    """Whether a view only gives sizes other names."""
    rank = len(dims_of(op.operands[0].type))
    return op.name == "broadcast" and len(dims_of(op.result.type)) == rank


def _ranges(op: Op) -> list[Range]:
    """The first and the last position on each axis."""
    ranges: list[Range] = []
    for start, size, step in zip(*(op.attributes[name] for name in ("starts", "sizes", "steps")), strict=True):
        last = start + (size - 1) * step
        ranges.append((last, start) if isinstance(step, int) and step < 0 else (start, last))
    return ranges


def _is_before(first: Range, second: Range) -> bool:
    gap = second[0] - first[1]
    return isinstance(gap, int) and gap > 0
