"""Puts a ``copy`` behind each ``load`` whose value is still needed after its memory has been written to.

In the tensor layer a load is a snapshot. In memory it is to cost nothing: a layout of the variable's elements, read by
whoever reads the value. After this pass both are the same: between a load and everything that reads its value, directly
or through views, nothing writes to what it shows. So it is a copy that is needed where

- an op reads the value behind a write to its memory. A region counts by the writes inside it, and what stands in a loop
  stands behind every write in that loop, but for loads of the same turn;
- a store or scatter writes to the memory that it reads itself, other than to the very place that was loaded;
- the value is carried into a region, yielded by one or returned, since the array at the other end of the edge has a
  life of its own. A local variable that nothing else shows may be handed out as it is, once.

What is copied is the part that is needed: the narrowest slice of the loaded value that is taken before the write. A
number is read where it is cast to a scalar; one that is needed later is cast at once. Relies on `jitflow.ir.effects`;
`fuse` keeps the order in which values are read and memory is written.

    %0: f64[n] = load %v                       %0: f64[n] = load %v
    store %v, %x                        ->     %1: f64[n] = copy %0
    %2: f64[n] = add %0, %x                    store %v, %x
                                               %2: f64[n] = add %1, %x
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.by_place import ByPlace
from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.effects import ANYTHING, Effects
from jitflow.ir.types import Place, Tensor, Variable, dims_of

__all__ = ["snapshot"]

_SILENT = ("print", "send", "recv", "meet", "progress")
"""Ops that are ordered with everything, yet write to no variable."""

_MOST_SLICES = 2
"""From more slices on, all of what was loaded is copied once."""


def snapshot(function: Function) -> Function:
    """The function with copies of the loads whose values outlive what they show."""
    if not any(op.name == "load" for op in walk(function.region)):
        return function
    late = _Search(function).run()
    return replace(function, region=_copied(function.region, late, {})) if late else function


class _Search:
    """Goes over the ops in order and knows of each load whether its memory has been written to since."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.effects = Effects(function)
        self.shown: dict[Value, Op] = {}
        """From values to the load whose elements they show."""
        self.source: dict[Value, Op] = {}
        """From values to what would be copied for them: the load, or a slice of it."""
        self.late: set[Op] = set()

    def run(self) -> set[Op]:
        """The loads, and slices of loads, that are needed after a write."""
        self._results(self._ops(self.function.region, set(), ByPlace()))
        slices: dict[Op, list[Op]] = {}
        for op in self.late:
            if op.name != "load" and not all(isinstance(dim, int) for dim in dims_of(op.result.type)):
                slices.setdefault(self.shown[op.result], []).append(op)
        self.late.update(load for load, parts in slices.items() if len(parts) > _MOST_SLICES)
        return self.late

    def _ops(self, region: Region, before: set[Op], outer: ByPlace[Op]) -> set[Op]:
        """Look at a region that begins with some loads overwritten; return those that are at its end."""
        stale, loads = set(before), outer.copy()
        for op in region.body:
            if op.name == "load":
                self.shown[op.result] = self.source[op.result] = op
                loads.add(op, self.effects.touched(op))
                continue
            if "view" in op.definition.traits:
                self._view(op, stale)
                continue
            self._read(op, stale)
            if op.regions:
                stale = self._inside(op, stale, loads)
            elif self._writes(op):
                stale |= self._overwritten(loads, op)
        if region is not self.function.region:
            self.late.update(self.source[value] for value in region.yielded if value in self.shown)
        return stale

    def _view(self, op: Op, stale: set[Op]) -> None:
        (value,) = op.operands
        if value in self.shown:
            self.shown[op.result] = self.shown[value]
            narrower = op.name in ("slice", "diagonal") and self.shown[value] not in stale
            self.source[op.result] = op if narrower else self.source[value]

    def _read(self, op: Op, stale: set[Op]) -> None:
        """The op reads its operands here."""
        for value in op.operands:
            load = self.shown.get(value)
            if load is not None and (load in stale or op.regions or self._overwrites(op, value, load)):
                self.late.add(self.source[value])

    def _overwrites(self, op: Op, value: Value, load: Op) -> bool:
        """Whether the op writes to elements other than the one it reads at that moment."""
        if not dims_of(value.type) or not self._writes(op):
            return False
        same = op.name == "store" and op.operands[0] is load.operands[0] and op.operands[1] is load.result
        return not same and self.effects.conflict(load, op)

    def _writes(self, op: Op) -> bool:
        return any(effect.kind in ("writes", "external") for effect in op.own_effects) and op.name not in _SILENT

    def _overwritten(self, loads: ByPlace[Op], op: Op) -> set[Op]:
        return {load for load in loads.meeting(self.effects.touched(op)) if self.effects.conflict(load, op)}

    def _inside(self, op: Op, stale: set[Op], loads: ByPlace[Op]) -> set[Op]:
        """Look into the regions of an op; the loads that are overwritten behind it."""
        if op.name == "if":
            return set().union(*(self._ops(region, stale, loads) for region in op.regions))
        if any(self._writes(inner) for region in op.regions for inner in walk(region)):
            stale = stale | self._overwritten(loads, op)
        for region in op.regions:
            self._ops(region, stale, loads)
        return stale

    def _results(self, stale: set[Op]) -> None:
        """Of the loads that are returned, those of local variables that nobody else shows may go as they are."""
        made = {op.result for op in self.function.region.body if op.name == "variable"}
        for value in self.function.results:
            if isinstance(value.type, Variable | Place):
                shown = self.effects.places(value)
                made = set() if ANYTHING in shown else made - shown
        owner: dict[Value, Op] = {}
        for value in self.function.results:
            load = self.shown.get(value)
            if load is None:
                continue
            places = self.effects.places(load.operands[0])
            (variable,) = places if len(places) == 1 else (ANYTHING,)
            if load in stale or variable not in made or owner.setdefault(variable, load) is not load:
                self.late.add(self.source[value])


def _copied(region: Region, late: set[Op], values: dict[Value, Value]) -> Region:
    """The region with a copy behind each of the ops ``late``, which everybody reads instead."""
    builder = Builder()
    for op in region.ops:
        now = op
        if any(operand in values for operand in op.operands):
            now = replace(now, operands=tuple(values.get(operand, operand) for operand in op.operands))
        if op.regions:
            now = replace(now, regions=tuple(_copied(inner, late, values) for inner in op.regions))
        builder.ops.append(now)
        if op in late and op.operands == now.operands:  # else it is a view of a copy
            builder.loc = op.loc
            values[op.result] = _copy(builder, op.result)
    return Region(region.parameters, tuple(builder.ops))


def _copy(builder: Builder, value: Value) -> Value:
    assert isinstance(value.type, Tensor)
    if value.type.rank:
        return builder.make("copy", value)
    number = builder.make("cast", value, dtype=value.type.dtype)
    return builder.make("broadcast", number, dims=(), axes=())
