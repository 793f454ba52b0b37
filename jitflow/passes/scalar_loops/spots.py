"""Spots: which element of which array a value or a place of rank 0 is.

    %0: f64[n, m] = load %A                                                      the spot of %2: A[i, j + 1]
    %1: f64[1, 1] = slice %0 {starts=[i, j + 1], sizes=[1, 1], steps=[1, 1]}
    %2: f64[] = reshape %1 {dims=[]}

A chain of views is followed back to its root, a variable or a place from elsewhere, as long as an element of the view
is an element of what it shows at an index that can be told.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Function, Op, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.types import dims_of
from jitflow.records import dataclass

__all__ = ["Spot", "Spots"]


@dataclass(frozen=True, slots=True)
class Spot:
    """An element of ``root``. ``load`` is the op that read the array; places and arrays that are values have none."""

    root: Value
    index: tuple[Dim, ...]
    load: Op | None = None


class Spots:
    """The spots of a function."""

    def __init__(self, function: Function) -> None:
        self._views: dict[Value, Op] = {}
        for op in walk(function.region):
            if op.name == "load" or "view" in op.definition.traits:
                self._views[op.result] = op

    def of(self, value: Value) -> Spot:
        """The spot of what has rank 0."""
        index: tuple[Dim, ...] = ()
        load: Op | None = None
        while (op := self._views.get(value)) is not None:
            if op.name == "load":
                load = op
            else:
                outer = _outer_index(op, index)
                if outer is None:
                    break
                index = outer
            value = op.operands[0]
        return Spot(value, index, load)

    def chain(self, value: Value) -> list[Op]:
        """The views and loads between a value and its root, the first one first."""
        found: list[Op] = []
        while (op := self._views.get(value)) is not None:
            found.append(op)
            value = op.operands[0]
        return found[::-1]


def _outer_index(view: Op, index: Sequence[Dim]) -> tuple[Dim, ...] | None:
    """Where the element at ``index`` of a view lies in what it shows."""
    if view.name == "slice":
        starts, steps = view.attributes["starts"], view.attributes["steps"]
        return tuple(start + step * position for start, step, position in zip(starts, steps, index, strict=True))
    if view.name == "transpose":
        outer = dict(zip(view.attributes["axes"], index, strict=True))
        return tuple(outer[axis] for axis in range(len(index)))
    if view.name == "reshape":
        before, after = dims_of(view.operands[0].type), dims_of(view.result.type)
        if [dim for dim in before if dim != 1] != [dim for dim in after if dim != 1]:
            return None
        kept = [position for position, dim in zip(index, after, strict=True) if dim != 1]
        return tuple(0 if dim == 1 else kept.pop(0) for dim in before)
    return None
