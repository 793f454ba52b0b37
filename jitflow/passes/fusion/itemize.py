"""Products of many matrices, and what is computed of them, go through the caches some items at a time.

``softmax(q @ k.T) @ v`` over a batch is a product, a kernel and a product. One after the other, each over the whole
batch, they send the scores of the whole batch through memory. As a loop over the batch the scores of an item are still
near when they are read, and there is room for a few items alone.

    %0: f32[b, n, n] = matmul %q, %k               for %0, %count, %1 (%turn: index[turn]) {
    %1: f32[b, n, n] = fusion %0 (...)       ->      %2: f32[part, n, d] = slice %q {starts=[items*turn, 0, 0], ...}
    %2: f32[b, n, d] = matmul %1, %v                 %4: f32[part, n, n] = matmul %2, %3
                                                     %5: f32[part, n, n] = fusion %4 (...)
                                                     %7: f32[part, n, d] = matmul %5, %6
                                                     store %8, %7
                                                   } {parallel=true}

A *run* begins with a product of several matrices and goes on with what is computed of it, as long as no op folds the
batch or takes it apart (`along.py`). A turn has as many items as leave what the run alone uses in the second cache: one
at least, and all of them where they fit, so that nothing needs to be asked first. Of a batch of several axes each has
its loop. Turns write to items of their own, so threads share them (`spread.py`).

Relies on `fuse` and `absorb` having grouped what is one kernel. What a run moves it moves down to the place of its last
op: past checks, since it cannot fail, never past a write. It does not cut rows of a single product: each part
would read all of the other factor again, and pack it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import Dim, maximum, minimum, product, symbol
from jitflow.ir.dtypes import I64
from jitflow.ir.effects import Effects
from jitflow.ir.types import Index, Tensor, dims_of
from jitflow.passes.analyses.order import reads_of, sizes_inside
from jitflow.passes.fusion.absorb import product_of
from jitflow.passes.fusion.along import axes_along, on_part
from jitflow.passes.schedule.cost import NEAR
from jitflow.records import dataclass

__all__ = ["itemize"]


def itemize(function: Function) -> Function:
    """Let products of many matrices and what is computed of them go item by item; ``decisions`` says which."""
    if not any(_is_batched(op) for op in walk(function.region)):
        return function
    program = _Program(Effects(function), {*sizes_inside(function.region)}, [])
    region = program.region(function.region)
    decisions = (*function.attributes.get("decisions", ()), *program.decisions)
    return replace(
        function, region=region, attributes=MappingProxyType({**function.attributes, "decisions": decisions})
    )


def _is_batched(op: Op) -> bool:
    return op.name == "matmul" and any(dim != 1 for dim in dims_of(op.result.type)[:-2])


@dataclass(eq=False, slots=True)
class _Run:
    """Ops that have their outer loops in common, in order, and the axis of each loop in all that has it."""

    ops: list[Op]
    loops: list[dict[Value, int]]

    @property
    def computing(self) -> list[Op]:
        return [op for op in self.ops if "view" not in op.definition.traits]

    def extent(self, loop: int) -> Dim:
        value, axis = next(iter(self.loops[loop].items()))
        return dims_of(value.type)[axis]


@dataclass(slots=True)
class _Program:
    effects: Effects
    sizes: set[str]
    decisions: list[str]

    def fresh(self, name: str) -> str:
        """A name that no size has yet."""
        found = next(one for number in count() if (one := f"{name}_{number}" if number else name) not in self.sizes)
        self.sizes.add(found)
        return found

    def region(self, region: Region) -> Region:
        """The region with its runs as loops, and those of the regions inside it."""
        scan = _Scan(self, region)
        for number, op in enumerate(region.body):
            scan.take(number, op)
        return scan.written()


class _Scan:
    """Finds the runs of one region, op by op."""

    def __init__(self, program: _Program, region: Region) -> None:
        self.program, self.source = program, region
        self.ops: list[list[Op]] = [[] for _ in region.ops]
        self.position: dict[Op, int] = {op: number for number, op in enumerate(region.ops)}
        self.open: dict[Value, _Run] = {}
        """What open runs compute."""
        self.readers: dict[Value, list[Op]] = {}
        for op in region.ops:
            for value in {*reads_of(op)}:
                self.readers.setdefault(value, []).append(op)

    def take(self, number: int, op: Op) -> None:
        """The next op: part of a run, or the end of those that it reads or writes behind."""
        reads = list(dict.fromkeys(reads_of(op)))
        run = self._joined(op, list(dict.fromkeys(self.open[value] for value in reads if value in self.open)))
        if run is not None:
            self.open.update(dict.fromkeys((result for one in run.ops for result in one.results), run))
            return
        accesses = self.program.effects.of(op)
        ordered = (op.regions and op.name != "fusion") or any(a.kind not in ("check", "allocates") for a in accesses)
        for other in list(dict.fromkeys(self.open.values())):
            if ordered or any(self.open.get(value) is other for value in reads):
                self._close(other)
        if op.regions and op.name != "fusion":
            op = replace(op, regions=tuple(map(self.program.region, op.regions)))
        self.ops[number].append(op)

    def _joined(self, op: Op, runs: Sequence[_Run]) -> _Run | None:
        """The run that an op is part of."""
        if not isinstance(op.results[0].type if op.results else None, Tensor) or self.program.effects.of(op):
            return None
        if op.name == "matmul" and not runs and _is_batched(op):
            batch = [axis for axis, dim in enumerate(dims_of(op.result.type)[:-2]) if dim != 1]
            found = [axes_along(op, {op.result: axis}) for axis in batch]
            return _Run([op], [along for along in found if along is not None])
        if not runs or not (op.name == "matmul" or "view" in op.definition.traits or _is_kernel(op)):
            return None
        loops = list[dict[Value, int]]()
        for level in range(min(len(run.loops) for run in runs)):
            along = self._along(op, runs, level)
            if along is None:
                break
            loops.append(along)
        if not loops:
            return None
        ops = sorted({one for run in runs for one in run.ops}, key=self.position.__getitem__)
        return _Run([*ops, op], loops)

    def _along(self, op: Op, runs: Sequence[_Run], level: int) -> dict[Value, int] | None:
        """The axis of a loop in all that has it, if an op is part of it; each value must have it once, or in no op."""
        if len({run.extent(level) for run in runs}) != 1:
            return None
        known = {value: self.open[value].loops[level][value] for value in op.operands if value in self.open}
        found = axes_along(op, known)
        if found is None:
            return None
        axes: dict[Value, int | None] = {value: found.get(value) for value in op.operands}
        for run in runs:
            along = run.loops[level]
            used = {value: along.get(value) for one in run.ops for value in one.operands}
            if any(axes.setdefault(value, axis) != axis for value, axis in used.items()):
                return None
        return {**{value: axis for run in runs for value, axis in run.loops[level].items()}, **found}

    def _close(self, run: _Run) -> None:
        """Write a run where its last op stood, as a loop if that saves memory."""
        for op in run.ops:
            for result in op.results:
                self.open.pop(result, None)
        computing = run.computing
        last = self.position[computing[-1]]
        members = set(run.ops)
        views = [op for op in run.ops if op not in computing and self._is_wanted(op.result, members)]
        wanted = [result for op in computing for result in op.results if self._is_wanted(result, members)]
        internal = [result for op in computing for result in op.results if result not in wanted]
        if not internal:
            for op in run.ops:
                self.ops[self.position[op]].append(op)
            return
        loop = _Loop(self.program, run, wanted, internal)
        self.ops[last] += [*loop.written(), *views]
        names = ", ".join(f"{op.name} ({op.loc})" if op.loc.line else op.name for op in computing)
        self.program.decisions.append(f"{names}: some items of {run.extent(0)} at a time")

    def _is_wanted(self, value: Value, members: set[Op]) -> bool:
        """Whether something outside of a run reads a value, directly or through views."""
        if self._is_read_outside(value, members):
            return True
        views = [op for op in self.readers.get(value, ()) if op in members and "view" in op.definition.traits]
        return any(self._is_wanted(view.result, members) for view in views)

    def _is_read_outside(self, value: Value, members: set[Op]) -> bool:
        return any(reader not in members for reader in self.readers.get(value, ()))

    def written(self) -> Region:
        """The region, with what is open still at its end."""
        for run in list(dict.fromkeys(self.open.values())):
            self._close(run)
        ops = [op for place in self.ops for op in place]
        return Region(self.source.parameters, (*ops, self.source.ops[-1]))


def _is_kernel(op: Op) -> bool:
    return op.name == "fusion" and product_of(op) is None


class _Loop:
    """The loops of a run, one in the other, over the axes of its batch."""

    def __init__(self, program: _Program, run: _Run, wanted: Sequence[Value], internal: Sequence[Value]) -> None:
        self.program, self.run = program, run
        self.wanted, self.internal = wanted, internal
        self.loc = run.computing[-1].loc
        self.places: dict[Value, Value] = {}
        """The storage of what is wanted."""
        self.starts: list[Dim] = []
        self.parts: list[Dim] = []

    def written(self) -> list[Op]:
        """The loops, between the storage of what is wanted and the values that it then shows."""
        outside = Builder(loc=self.loc)
        for value in self.wanted:
            assert isinstance(value.type, Tensor)
            nothing = outside.make("empty", dtype=value.type.dtype, dims=value.type.dims)
            self.places[value] = outside.make("variable", nothing)
        items = [self._named(outside, "items", self._items(level)) for level in range(len(self.run.loops))]
        self._loop(outside, items)
        for value in self.wanted:
            outside.make("load", self.places[value])
            outside.ops[-1] = replace(outside.ops[-1], results=(value,))
        return outside.ops

    def _loop(self, builder: Builder, items: Sequence[Dim]) -> None:
        level = len(self.parts)
        if level == len(items):
            self._turn(builder)
            return
        extent = self.run.extent(level)
        ends = (0, (extent + items[level] - 1) // items[level], 1)
        operands = [builder.make("size", dim=dim) for dim in ends]
        turn = symbol(self.program.fresh("turn"))
        inside = Builder(loc=self.loc)
        self.starts.append(items[level] * turn)
        self.parts.append(self._named(inside, "part", minimum(items[level], extent - items[level] * turn)))
        self._loop(inside, items)
        region = inside.region((Value(Index(turn), str(turn)),), ())
        builder.add("for", *operands, types=(), regions=(region,), parallel=True)

    def _items(self, level: int) -> Dim:
        """How many items of a loop leave what is between the ops of the run near: all where they fit.

        Loops inside others are told as if these took one item at a time; where they take more, all fit.
        """
        nbytes: Dim = 0
        for value in self.internal:
            assert isinstance(value.type, Tensor)
            cut = {along[value] for along in self.run.loops[: level + 1]}
            dims = [1 if axis in cut else dim for axis, dim in enumerate(value.type.dims)]
            nbytes = nbytes + product(dims) * value.type.dtype.itemsize
        return maximum(minimum(NEAR // maximum(nbytes, 1), self.run.extent(level)), 1)

    def _named(self, builder: Builder, name: str, dim: Dim) -> Dim:
        """A size of this name, so that those that are made of it stay short."""
        if isinstance(dim, int):
            return dim
        name = self.program.fresh(name)
        builder.make("to_index", builder.make("cast", builder.make("size", dim=dim), dtype=I64), binds=name)
        return symbol(name)

    def _turn(self, builder: Builder) -> None:
        """The ops of the run on the items of a turn. What is wanted goes to its place, and is read there."""
        values: dict[Value, Value] = {}
        made = {result for op in self.run.ops for result in op.results}
        for op in self.run.ops:
            builder.loc = op.loc
            for operand in dict.fromkeys(op.operands):
                if operand not in made and operand not in values:
                    values[operand] = self._slice(builder, operand, operand)
            builder.ops.append(on_part(op, self.run.loops, self.parts, values))
            for result in op.results:
                if result in self.places:
                    place = self._slice(builder, result, self.places[result])
                    builder.add("store", place, values[result], types=())
                    if any(result in other.operands for other in self.run.ops):
                        values[result] = builder.make("load", place)

    def _slice(self, builder: Builder, value: Value, of: Value) -> Value:
        """The items of a turn of what has the axes of a value."""
        dims = dims_of(value.type)
        starts, sizes = list[Dim]([0] * len(dims)), list(dims)
        for along, start, part in zip(self.run.loops, self.starts, self.parts, strict=True):
            if value in along:
                starts[along[value]], sizes[along[value]] = start, part
        if tuple(sizes) == dims:
            return of
        return builder.make("slice", of, starts=tuple(starts), sizes=tuple(sizes), steps=(1,) * len(sizes))
