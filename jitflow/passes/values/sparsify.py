"""Sparse gradients: an update by the gradient of a gather touches the rows that were gathered, and no others.

The gradient by a table of which some rows were gathered is an array of zeros as large as the table, to which the rows
of the cotangent have been added. Where all that becomes of it is elementwise, and ends in stores that leave an element
as it was if its gradient is nothing, the same is computed of the rows alone and scattered. That is so of gradient
descent and of Adagrad; momentum and Adam go on moving where no gradient arrives, and stay as they are.

    %1: var f64[k, p] = variable %zeros                             (%at, %sums = the rows, those of equal ids summed)
    scatter %1, %ids, %rows {combine="add", gradient=true}
    %2: f64[k, p] = load %1                                    ->   %2: f64[n, p] = gather %table, %at
    %3: f64[k, p] = multiply %rate, %2                              %3: f64[n, p] = multiply %rate, %sums
    %4: f64[k, p] = subtract %table, %3                             %4: f64[n, p] = subtract %2, %3
    store %w, %4                                                    scatter %w, %at, %4 {combine="set", mode="clip"}

What is no gradient there is nothing, whatever it is multiplied with: an infinite rate leaves the other rows alone. The
rows that are touched get the very bits that they would have got, since rows of equal ids are summed in their order. A
sum over all elements, as the length of a gradient is, adds up the rows. Anything else that wants the gradient gets it
whole. Relies on the hints of the sizes: where there are not many more rows than ids the whole gradient costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.dims import evaluate, product, symbols
from jitflow.ir.effects import Effects
from jitflow.ir.types import dims_of
from jitflow.passes.analyses.gathered_rows import Gathered, NotByRows, Rows
from jitflow.passes.analyses.order import reads_of
from jitflow.passes.derivatives.notation import Notation
from jitflow.passes.derivatives.row_stacking import WORTHWHILE
from jitflow.records import dataclass

__all__ = ["sparsify"]

_NOTHING = "nothing"
_State = str | Op | None
"""What a value is where the gradient is nothing: nothing too, what a ``load`` has given, or anything."""

_ODD = frozenset("absolute cast cbrt conjugate copy imag negative real sign sqrt".split())
"""Ops of one operand that make nothing of nothing."""


def sparsify(function: Function) -> Function:
    """The function with updates of rows for updates by gradients that are rows."""
    ops = list(walk(function.region))
    if not any(op.name == "scatter" and op.attributes.get("gradient") for op in ops):
        return function
    producers = {result: op for op in ops for result in op.results}
    hints = dict(function.attributes.get("hints", ()))
    return replace(function, region=_region(function.region, Effects(function), producers, hints))


def _region(region: Region, effects: Effects, producers: dict[Value, Op], hints: dict[str, int]) -> Region:
    ops = tuple(
        replace(op, regions=tuple(_region(inner, effects, producers, hints) for inner in op.regions))
        if op.regions
        else op
        for op in region.ops
    )
    region = Region(region.parameters, ops)
    for op in ops:
        if op.name == "variable" and _is_zero(op.operands[0], producers):
            gradient = _Gradient.of(op, region, effects, producers)
            if gradient is not None and _is_worth_it(gradient.scatters, hints):
                try:
                    region = gradient.by_rows()
                except NotByRows:
                    continue
                producers.update({result: each for each in region.ops for result in each.results})
    return region


def _is_zero(value: Value, producers: dict[Value, Op]) -> bool:
    source = producers.get(value)
    while source is not None and source.name == "broadcast":
        source = producers.get(source.operands[0])
    return source is not None and source.name == "constant" and source.attributes["value"] == 0


def _is_worth_it(scatters: Sequence[Op], hints: dict[str, int]) -> bool:
    place, *indices, _ = scatters[0].operands
    axis = scatters[0].attributes["axis"]
    room = product(dims_of(place.type)[axis : axis + len(indices)])
    ids = [product(next(filter(None, (dims_of(index.type) for index in op.operands[1:-1])))) for op in scatters]
    if any(name not in hints for dim in (room, *ids) for name in symbols(dim)):
        return True
    return sum(evaluate(dim, hints) for dim in ids) * WORTHWHILE <= evaluate(room, hints)


@dataclass(eq=False)
class _Gradient:
    """A variable in which a gradient is gathered, and what becomes of it in the region that makes it."""

    region: Region
    variable: Op
    effects: Effects
    producers: dict[Value, Op]
    scatters: list[Op] = field(default_factory=list)
    states: dict[Value, _State] = field(default_factory=dict)
    """The values that depend on the gradient."""
    replaced: set[Op] = field(default_factory=set)
    stores: set[Op] = field(default_factory=set)
    sums: set[Op] = field(default_factory=set)

    @classmethod
    def of(cls, variable: Op, region: Region, effects: Effects, producers: dict[Value, Op]) -> _Gradient | None:
        """The gradient in a variable; None if it is wanted whole."""
        found = cls(region, variable, effects, producers)
        return found if all(map(found._follows, region.ops)) and found.scatters else None

    # -- what becomes of it

    def _follows(self, op: Op) -> bool:
        """Whether an op has nothing to do with the gradient, or can be done by rows."""
        used = [value for value in reads_of(op) if value is self.variable.result or value in self.states]
        if not used:
            return True
        self.replaced.add(op)
        if used[0] is self.variable.result:
            return self._collects(op)
        if op.name == "store":
            self.stores.add(op)
            return self._is_kept(op)
        if op.name == "reduce_add" and len(op.attributes["axes"]) == len(dims_of(op.operands[0].type)):
            self.sums.add(op)
            return self.states[op.operands[0]] == _NOTHING
        if op.regions or not (_is_itself(op) or "elementwise" in op.definition.traits) or op.own_effects:
            return False
        if len(dims_of(op.result.type)) != len(dims_of(self.variable.result.type)):
            return False
        self.states[op.result] = self._state_of(op)
        return True

    def _collects(self, op: Op) -> bool:
        if op.name == "load":
            self.states[op.result] = _NOTHING
            return True
        same = ("axis", "combine", "gradient")
        first = self.scatters[0] if self.scatters else op
        self.scatters.append(op)
        return (
            op.name == "scatter"
            and not self.states
            and bool(op.attributes.get("gradient"))
            and op.operands[0] is self.variable.result
            and self.variable.result not in op.operands[1:]
            and any(dims_of(index.type) for index in op.operands[1:-1])
            and len(op.operands) == len(first.operands)
            and all(op.attributes.get(name) == first.attributes.get(name) for name in same)
        )

    def _is_kept(self, store: Op) -> bool:
        """Whether a store leaves the elements as they are where the gradient is nothing."""
        place, value = store.operands
        load = self.states.get(value)
        if not isinstance(load, Op) or load.operands[0] is not place or load not in self.region.ops:
            return False
        between = self.region.ops[self.region.ops.index(load) + 1 : self.region.ops.index(store)]
        own = self.effects.access("reads", place)
        return not any(
            access.kind == "external" or (access.kind == "writes" and self.effects.overlap(own, access))
            for op in between
            for access in self.effects.of(op)
        )

    def _state(self, value: Value) -> _State:
        if value in self.states:
            return self.states[value]
        source = self.producers.get(value)
        if source is not None and source.name == "load":
            return source
        return _NOTHING if _is_zero(value, self.producers) else None

    def _state_of(self, op: Op) -> _State:
        states = [self._state(operand) for operand in op.operands]
        if _is_itself(op):
            return states[0]
        match op.name:
            case "multiply" if _NOTHING in states:
                return _NOTHING
            case "divide" if states[0] == _NOTHING:
                return _NOTHING
            case "add" | "subtract" if states[1] == _NOTHING:
                return states[0]
            case "add" if states[0] == _NOTHING:
                return states[1]
            case "subtract" if states == [_NOTHING, _NOTHING]:
                return _NOTHING
            case "select" if states[1:] == [_NOTHING, _NOTHING]:
                return _NOTHING
            case name if name in _ODD and states[0] == _NOTHING:
                return _NOTHING
        return None

    # -- the same by rows

    def by_rows(self) -> Region:
        """The region with rows for the gradient. Raises `NotByRows` where something beside it has none."""
        loads = frozenset(op.result for op in self.replaced if op.name == "load")
        ops: list[Op] = []
        rows: Rows | None = None
        for op in self.region.ops:
            if op is not self.variable and op not in self.replaced:
                ops.append(op)
                continue
            m = Notation()
            m.builder.loc = op.loc
            if op is self.scatters[-1]:
                rows = Rows(Gathered.of(m, self.scatters), self.producers, loads)
            elif op in self.stores:
                assert rows is not None
                rows.store(m, op)
            elif op in self.sums:
                assert rows is not None
                m.builder.ops.append(rows.summed(m, op))
            ops += m.builder.ops
        return Region(self.region.parameters, tuple(ops))


def _is_itself(op: Op) -> bool:
    """Whether an op gives the elements of its operand, in their places."""
    return op.name == "copy" or (op.name == "broadcast" and _keeps_axes(op))


def _keeps_axes(op: Op) -> bool:
    return bool(op.attributes.get("assumed")) and op.attributes["axes"] == tuple(range(len(dims_of(op.result.type))))
