"""Narrowing: what is read part by part is computed part by part, where it is read.

The gates of a recurrent cell are slices of one sum, and the turns of a loop take their rows of an array that was
computed before it. A kernel of its own would write the whole of it to memory and others would read it from there; the
parts belong to the nests of those who read them.

    %0: f32[m, 2*k] = add %z, %b                      %1: f32[m, k] = slice %z {starts=[0, 0], ...}
    %1: f32[m, k] = slice %0 {starts=[0, 0], ...}     %2: f32[m, k] = slice %b {starts=[0, 0], ...}
    %2: f32[m, k] = slice %0 {starts=[0, k], ...}  -> %3: f32[m, k] = add %1, %2
                                                      ...

An array is narrowed if slices are all that reads it, none of which share an element, so that nothing is computed
twice; those of a loop one turn of which takes what no other does. It is left alone if it may be computed in one sweep
with what it is computed of: only arrays that are in memory anyway, views of them and what narrows with it stand in
front of it. So are single elements in loops, and functions that cost more in many small turns than in one sweep.

Of a contraction only what one slice shows is computed: the gradient of a padded array without its border.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import product
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.analyses.extents import Extents
from jitflow.passes.values.dce import dce
from jitflow.records import cached

__all__ = ["narrow"]

Attributes = Mapping[str, Any]

_IN_MEMORY = frozenset("load matmul contract for while if host_call".split())
"""Ops whose results no kernel computes as it goes."""

_CHEAP = frozenset("add subtract multiply fma negative absolute maximum minimum select cast".split())
"""What may as well be computed in the turns of a loop."""


def narrow(function: Function) -> Function:
    """The function with parts computed instead of wholes."""
    if not any(op.name == "slice" for op in walk(function.region)):
        return function
    narrowing = _Narrowing(function)
    if not narrowing.narrowed:
        return function
    return dce(replace(function, region=narrowing.rebuilt(function.region)))


class _Narrowing:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.producers: dict[Value, Op] = {}
        self.users: defaultdict[Value, dict[Op, None]] = defaultdict(dict)
        """Who reads a value; slices of what is narrowed count as reading what it is computed of."""
        self.around: dict[Op, Op | None] = {}
        """The op in whose region another one stands."""
        self.narrowed: set[Op] = set()
        self.values: dict[Value, Value] = {}
        self._enter(function.region, None)
        for op in reversed(list(walk(function.region))):
            if self.is_whole(op) and self.may_narrow(op):
                self.narrow(op)

    def _enter(self, region: Region, around: Op | None) -> None:
        for op in region.ops:
            self.around[op] = around
            self.producers.update(dict.fromkeys(op.results, op))
            for operand in op.operands:
                self.users[operand][op] = None
            for inner in op.regions:
                self._enter(inner, op)

    # -- what is narrowed

    def is_whole(self, op: Op) -> bool:
        """Whether an op computes an array by its elements."""
        if op.name != "contract" and "elementwise" not in op.definition.traits:
            return False
        if len(op.results) != 1 or op.own_effects:
            return False
        return isinstance(op.result.type, Tensor) and bool(dims_of(op.result.type))

    def may_narrow(self, op: Op) -> bool:
        parts = list(self.users[op.result])
        if not parts or any(part.name != "slice" for part in parts):
            return False
        if op.name == "contract":
            return len(parts) == 1 and self.around[parts[0]] is self.around[op] and not _cuts_ones(parts[0])
        (around, *others) = {self.around[part] for part in parts}
        inside = None if around is self.around[op] else around
        if others or not self.of_memory[op, inside is not None]:
            return False
        if inside is not None and (self.around[inside] is not self.around[op] or _has_single_elements(parts)):
            return False
        return not any(map(_cuts_ones, parts)) and self.extents.never_meet(parts, inside)

    @cached
    def extents(self) -> Extents:
        """Proofs, which most functions need none of."""
        return Extents(self.function)

    @cached
    def of_memory(self) -> dict[tuple[Op, bool], bool]:
        """Whether what an op computes of, or shows, is in memory anyway, or narrows with it: ``cheap`` in loops or not.

        Narrowing an op changes none of it for those in front, which alone are asked from there on.
        """
        found: dict[tuple[Op, bool], bool] = {}
        for op in walk(self.function.region):
            found |= {(op, cheap): self.is_of_memory(op, cheap, found) for cheap in (False, True)}
        return found

    def is_of_memory(self, op: Op, cheap: bool, known: Mapping[tuple[Op, bool], bool]) -> bool:
        if self.is_whole(op):
            operands = [operand for operand in op.operands if dims_of(operand.type)]
            return (not cheap or op.name in _CHEAP) and all(
                self.is_in_memory(operand, op, cheap, known) for operand in operands
            )
        if "view" not in op.definition.traits:
            return op.name in _IN_MEMORY
        shown = op.operands[0]
        source = self.producers.get(shown)
        is_passable = source is None or not self.is_whole(source) or _is_passable(op)
        return is_passable and self.is_in_memory(shown, op, cheap, known)

    def is_in_memory(self, value: Value, user: Op, cheap: bool, known: Mapping[tuple[Op, bool], bool]) -> bool:
        producer = self.producers.get(value)
        if producer is None or not dims_of(value.type) or self.around[producer] is not self.around[user]:
            return True
        return known[producer, cheap] and (not self.is_whole(producer) or list(self.users[value]) == [user])

    def narrow(self, op: Op) -> None:
        """Compute an op by the parts that are read of it."""
        self.narrowed.add(op)
        if op.name == "contract":
            return
        parts = tuple(self.users[op.result])
        for operand in op.operands:
            if dims_of(operand.type):
                self.read_in_parts(operand, op, parts)

    def read_in_parts(self, value: Value, user: Op, parts: tuple[Op, ...]) -> None:
        """Know that a value is read by slices now, and no more as a whole by ``user``."""
        self.users[value].pop(user, None)
        view = self.producers.get(value)
        if self.users[value] or view is None or not _is_passable(view):
            self.users[value].update(dict.fromkeys(parts))
            return
        (shown,) = view.operands
        further = []
        for part in parts:
            builder = Builder()
            builder.make("slice", shown, **_before(view, part.attributes))
            further += builder.ops
            self.around[builder.ops[0]] = self.around[part]
        self.read_in_parts(shown, view, tuple(further))

    # -- the function as it is then

    def rebuilt(self, region: Region) -> Region:
        """A region in which parts are computed."""
        builder, values = Builder(), self.values
        for op in region.ops:
            op = replace(op, operands=tuple(values.get(operand, operand) for operand in op.operands))
            if op.regions:
                op = replace(op, regions=tuple(map(self.rebuilt, op.regions)))
            whole = self.producers.get(op.operands[0]) if op.name == "slice" else None
            if whole in self.narrowed and whole is not None:
                builder.loc = whole.loc
                values[op.result] = self.part(op.attributes, whole, builder)
            else:
                builder.ops.append(op)
        return Region(region.parameters, tuple(builder.ops))

    def part(self, part: Attributes, whole: Op, builder: Builder) -> Value:
        """What a slice shows of what an op computes."""
        if whole.name == "contract":
            return _contracted(part, whole, [self.values.get(operand, operand) for operand in whole.operands], builder)
        operands = [
            self.part_of(part, operand, builder) if dims_of(operand.type) else operand for operand in whole.operands
        ]
        return builder.make(whole.name, *operands, **dict(whole.attributes))

    def part_of(self, part: Attributes, value: Value, builder: Builder) -> Value:
        """What a slice shows of a value."""
        producer = self.producers.get(value)
        if producer is not None and producer in self.narrowed:
            return self.part(part, producer, builder)
        if producer is not None and _is_passable(producer):
            shown = self.part_of(_before(producer, part), producer.operands[0], builder)
            return builder.make("reshape", shown, dims=part["sizes"]) if producer.name == "reshape" else shown
        return builder.make("slice", value, **part)


def _contracted(part: Attributes, whole: Op, operands: Sequence[Value], builder: Builder) -> Value:
    """A contraction of what a slice of another one needs."""
    names = ("starts", "sizes", "steps")
    along = dict(zip(whole.attributes["kept"], zip(*(part[name] for name in names), strict=True), strict=True))
    parts = []
    for operand, labels in zip(operands, (whole.attributes["left"], whole.attributes["right"]), strict=True):
        axes = [along.get(label, (0, dim, 1)) for label, dim in zip(labels, dims_of(operand.type), strict=True)]
        if not along.keys().isdisjoint(labels):
            operand = builder.make("slice", operand, **dict(zip(names, zip(*axes, strict=True), strict=True)))
        parts.append(operand)
    return builder.make("contract", *parts, **dict(whole.attributes))


def _is_passable(view: Op) -> bool:
    """Whether a slice of a view is the same elements as a slice of what it shows: another slice, or axes of size 1."""
    if view.name != "reshape":
        return view.name == "slice" and isinstance(view.result.type, Tensor)
    before, after = dims_of(view.operands[0].type), dims_of(view.result.type)
    return bool(before) and [dim for dim in before if dim != 1] == [dim for dim in after if dim != 1]


def _before(view: Op, part: Attributes) -> Attributes:
    """The slice of what a passable view shows that is a slice of the view."""
    starts, sizes, steps = (part[name] for name in ("starts", "sizes", "steps"))
    if view.name == "slice":
        outer = zip(view.attributes["starts"], view.attributes["steps"], strict=True)
        starts = tuple(first + step * start for (first, step), start in zip(outer, starts, strict=True))
        steps = tuple(one * other for one, other in zip(view.attributes["steps"], steps, strict=True))
        return {"starts": starts, "sizes": sizes, "steps": steps}
    long = [
        axes
        for axes, dim in zip(zip(starts, sizes, steps, strict=True), dims_of(view.result.type), strict=True)
        if dim != 1
    ]
    axes = [(0, 1, 1) if dim == 1 else long.pop(0) for dim in dims_of(view.operands[0].type)]
    starts, sizes, steps = zip(*axes, strict=True)
    return {"starts": starts, "sizes": sizes, "steps": steps}


def _cuts_ones(part: Op) -> bool:
    """Whether a slice may be empty along an axis of size 1, which views in between may not have."""
    return any(
        dim == 1 != size for size, dim in zip(part.attributes["sizes"], dims_of(part.operands[0].type), strict=True)
    )


def _has_single_elements(parts: list[Op]) -> bool:
    return any(product(part.attributes["sizes"]) == 1 for part in parts)
