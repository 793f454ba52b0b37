"""Forwarding: an element that a turn of a loop reads or writes, and the next turn reads, is handed on in a register.

Memory would give it back too, but only when the store is through, and LLVM must read again whatever some store might
have changed. Which elements of an array are the same in two turns, and which are never the same, the indices tell.

    for %0, %m, %1 (%j: index[j]) {                  %first = ... row[0] ...
      %2: i64 = ... row[j] ...                       for %0, %m, %1, %first (%j: index[j], %left: i64) {
      %3: i64 = add %2, %x                     ->      %3: i64 = add %left, %x
      store ... row[j + 1] ..., %3                     store ... row[j + 1] ..., %3
    }                                                  yield %3
                                                     }

An element that is the same in all turns, and that none of them writes to, is read before the loop. Reads move to where
the loop may not turn at all: there they stand behind the question whether it does, unless the element is known to be
one. What was written in the turn before is handed on wherever possible; what was only read, where something written is
too, since other loops had better become vectors.

It looks at loops over elements without loops inside, and relies on arrays whose elements lie apart: those that the
program made, and arguments of the layout classes that say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jitflow.ir.bounds import Bounds
from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, walk
from jitflow.ir.dims import Dim, Expression, substitute, symbol, symbols
from jitflow.ir.effects import ANYTHING, Effects
from jitflow.ir.types import Index, Place, Scalar, Tensor, Variable, dims_of
from jitflow.passes.analyses.order import bound_sizes, named_sizes
from jitflow.passes.scalar_loops.spots import Spot, Spots
from jitflow.passes.values.dce import dce
from jitflow.records import dataclass

__all__ = ["forward"]

_LONGEST = 300
"""Ops of a body that is looked at."""


def forward(function: Function) -> Function:
    """The function with elements handed on from turn to turn."""
    names = {op.name for op in walk(function.region)}
    if not {"for", "store"} <= names:
        return function
    forwarding = _Forwarding(function)
    region = forwarding.region(function.region)
    return dce(replace(function, region=region)) if forwarding.changed else function


@dataclass(frozen=True, slots=True, eq=False)
class _Access:
    """A read or a write of an element, and where it is in the body of a loop.

    ``op`` is the ``cast`` that takes a number out of an array, or the ``store``.
    """

    position: int
    spot: Spot
    op: Op

    @property
    def writes(self) -> bool:
        return self.op.name == "store"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What ``read`` gives is what ``source`` has had in the turn before, or the same in all turns."""

    read: _Access
    source: _Access

    @property
    def invariant(self) -> bool:
        return self.source is self.read


class _Forwarding:
    def __init__(self, function: Function) -> None:
        self.changed = False
        self.effects = Effects(function)
        self.bounds = Bounds(function.facts)
        self.spots = Spots(function)
        self.solid = set(_solid_parameters(function))
        """Variables whose elements lie apart from each other."""
        self.producer: dict[Value, Op] = {}
        for op in walk(function.region):
            if op.name in ("minimum", "maximum", "select"):
                self.producer[op.result] = op
            if op.name == "variable":
                self.solid.add(op.result)
            elif op.name == "to_index":
                for name in bound_sizes(op):
                    self.bounds.name(name, signed=True)

    def region(self, region: Region) -> Region:
        """The region with its loops forwarding."""
        ops: list[Op] = []
        for op in region.ops:
            if op.name == "for":
                ops += self.loop(op)
            elif op.regions:
                ops.append(replace(op, regions=tuple(map(self.region, op.regions))))
            else:
                ops.append(op)
        return Region(region.parameters, tuple(ops))

    def loop(self, loop: Op) -> list[Op]:
        """What stands for a loop."""
        start, _, step = map(_dim, loop.operands[:3])
        name = _dim(loop.regions[0].parameters[0])
        if not isinstance(name, Expression) or start is None or not isinstance(step, int) or not step:
            for size in named_sizes(loop.regions[0].parameters[0].type):
                self.bounds.name(size, signed=True)
            return [replace(loop, regions=tuple(map(self.region, loop.regions)))]
        ends = list(self.ends(loop.operands[1], loop.operands[0]))
        low, high = ([start], [end - 1 for end in ends]) if step > 0 else ([end + 1 for end in ends], [start])
        self.bounds.name(str(name), signed=True, lower=low, upper=high)
        mark = self.bounds.mark()
        more = [last - first for first in low for last in high]
        for dim in more:
            self.bounds.learn(dim)
        inner = tuple(map(self.region, loop.regions))
        plans = list(self.plans(loop, str(name), step))
        self.bounds.forget(mark)
        if not plans:
            return [replace(loop, regions=inner)]
        self.changed = True
        turns = len(ends) == 1 and ends[0] == _dim(loop.operands[1]) and self.bounds.proves(more[0])
        return self.rewritten(loop, plans, {str(name): start}, turns=turns)

    def ends(self, stop: Value, start: Value) -> Iterator[Dim]:
        """What no position of a loop that turns comes to: where it stops, or all of what that is the smallest of."""
        op = self.producer.get(stop)
        dim = _dim(stop)
        if dim is not None:
            yield dim
        elif op is not None and op.name == "minimum":
            for operand in op.operands:
                yield from self.ends(operand, start)
        elif op is not None and op.name in ("maximum", "select") and op.operands[-1] is start:
            yield from self.ends(op.operands[-2], start)

    # What to forward

    def plans(self, loop: Op, name: str, step: int) -> Iterator[_Plan]:
        """What the reads of a loop's body may be replaced by."""
        body = loop.regions[0].body
        numbers = all(isinstance(value.type, Scalar | Index) for value in loop.operands)
        accesses = self.accesses(body) if numbers else None
        if accesses is None:
            return
        found, writes = accesses
        inside = {size for op in walk(loop.regions[0]) for size in bound_sizes(op)}
        own = {result for op in walk(loop.regions[0]) for result in op.results}
        checked = [number for number, op in enumerate(body) if any(inner.name == "check" for inner in _walk(op))]
        plans: list[_Plan] = []
        for read in found:
            if read.writes or read.spot.root in own or not inside.isdisjoint(_names(read.spot)):
                continue  # what a turn chooses itself is another one's in the next turn
            source = self.source(read, found, writes, {name: symbol(name) + step})
            if source is None:
                continue
            first = self.at_start(loop, read.spot, name)
            if not self.lies_inside(first) and any(number < read.position for number in checked):
                continue
            plans.append(_Plan(read, source))
        recurs = any(plan.source.writes for plan in plans)
        yield from (plan for plan in plans if recurs or plan.invariant)

    def accesses(self, body: Sequence[Op]) -> tuple[list[_Access], list[_Access]] | None:
        """The accesses that every turn comes to, in order, and all writes; None if a body does more than that."""
        found: list[_Access] = []
        writes: list[_Access] = []
        position: dict[Op, int] = {}
        for number, op in enumerate(body):
            for inner in _walk(op):
                position[inner] = number
                if inner.name in ("for", "while") or len(position) > _LONGEST:
                    return None
                if inner.name == "store" and not dims_of(inner.operands[0].type):
                    access = _Access(number, self.spots.of(inner.operands[0]), inner)
                    writes.append(access)
                    if inner is op:
                        found.append(access)
                elif inner.name not in ("check", "load") and any(e.kind != "check" for e in inner.own_effects):
                    return None
            if op.name == "cast" and isinstance(op.operands[0].type, Tensor) and not op.operands[0].type.dims:
                spot = self.spots.of(op.operands[0])
                if isinstance(spot.root.type, Variable | Place) and spot.load in position:
                    found.append(_Access(position[spot.load], spot, op))
        found.sort(key=lambda access: access.position)
        return (found, writes) if writes else None

    def source(
        self, read: _Access, found: Sequence[_Access], writes: Sequence[_Access], next_turn: dict[str, Dim]
    ) -> _Access | None:
        """The last access of a turn to what ``read`` reads in the next one, if nothing in between may write to it."""
        wanted = tuple(substitute(dim, next_turn) for dim in read.spot.index)
        source = next(
            (one for one in reversed(found) if one.spot.root is read.spot.root and one.spot.index == wanted), None
        )
        if source is None:
            return None
        for write in writes:
            behind = write.position > source.position and write is not source
            if behind and self.may_meet(write.spot, source.spot):
                return None
            if write.position < read.position and self.may_meet(write.spot, read.spot):
                return None
        same = source.spot.index == read.spot.index
        changes = any(self.may_meet(write.spot, read.spot) for write in writes)  # and is read again behind that
        return read if same and not changes else source

    def may_meet(self, one: Spot, other: Spot) -> bool:
        """Whether two spots may be the same element in one turn."""
        if one.root is not other.root:
            return self.effects.may_meet(one.root, other.root)
        if not self.lies_apart(one.root) or len(one.index) != len(other.index):
            return True
        return not any(self.differ(first, second) for first, second in zip(one.index, other.index, strict=True))

    def differ(self, first: Dim, second: Dim) -> bool:
        difference = first - second
        if isinstance(difference, int):
            return difference != 0
        return self.bounds.proves(difference - 1) or self.bounds.proves(-difference - 1)

    def lies_apart(self, root: Value) -> bool:
        """Whether the elements of an array lie apart from each other."""
        shown = self.effects.places(root)
        return ANYTHING not in shown and shown <= self.solid

    def at_start(self, loop: Op, spot: Spot, name: str) -> Spot:
        """The spot in the first turn."""
        start = _dim(loop.operands[0])
        assert start is not None
        return replace(spot, index=tuple(substitute(dim, {name: start}) for dim in spot.index))

    def lies_inside(self, spot: Spot) -> bool:
        """Whether a spot is an element, also if the loop does not turn."""
        dims = dims_of(spot.root.type)
        return len(dims) == len(spot.index) and all(
            self.bounds.proves(position) and self.bounds.proves(dim - position - 1)
            for position, dim in zip(spot.index, dims, strict=True)
        )

    # What comes of it

    def rewritten(self, loop: Op, plans: Sequence[_Plan], start: dict[str, Dim], *, turns: bool) -> list[Op]:
        """The loop with elements carried round, behind what reads them at first."""
        builder = Builder(loc=loop.loc)
        firsts = [self.first_read(plan.read, start, builder) for plan in plans]
        carried = [(plan, first) for plan, first in zip(plans, firsts, strict=True) if not plan.invariant]
        parameters = [Value(first.type) for _, first in carried]
        given = {plan.read.op: value for (plan, _), value in zip(carried, parameters, strict=True)}
        given |= {plan.read.op: first for plan, first in zip(plans, firsts, strict=True) if plan.invariant}
        body = self.body(loop.regions[0], [plan.source for plan, _ in carried], given, parameters)
        results = tuple(Value(value.type, value.name) for value in (*loop.results, *parameters))
        operands = (*loop.operands, *(first for _, first in carried))
        guarded = not turns and not all(
            self.lies_inside(self.at_start(loop, plan.read.spot, next(iter(start)))) for plan in plans
        )
        if not guarded:
            results = (*loop.results, *results[len(loop.results) :])
        builder.ops.append(replace(loop, operands=operands, results=results, regions=(body,)))
        if not guarded:
            return builder.ops
        inside = builder.region((), results[: len(loop.results)])
        nothing = builder.region((), loop.operands[3:])
        more = builder.make("less" if self.goes_up(loop) else "greater", *loop.operands[:2])
        builder.add("if", more, types=[value.type for value in loop.results], regions=(inside, nothing))
        builder.ops[-1] = replace(builder.ops[-1], results=loop.results)
        return builder.ops

    def goes_up(self, loop: Op) -> bool:
        step = _dim(loop.operands[2])
        return isinstance(step, int) and step > 0

    def first_read(self, read: _Access, start: dict[str, Dim], builder: Builder) -> Value:
        """What a read gives in the first turn, as a number."""
        values: dict[Value, Value] = {}
        builder.loc = read.op.loc
        for op in self.spots.chain(read.op.operands[0]):
            builder.ops.append(clone_op(op, values, start))
        return self.number(values[read.op.operands[0]], builder)

    def body(
        self, region: Region, sources: Sequence[_Access], given: dict[Op, Value], parameters: Sequence[Value]
    ) -> Region:
        """The body of a loop with what it reads and what it yields replaced."""
        builder = Builder()
        handed: dict[Op, Value] = {}
        wanted = {source.op for source in sources}
        for op in region.body:
            builder.loc = op.loc
            if op in wanted:
                handed[op] = self.number(op.operands[-1] if op not in given else given[op], builder)
            builder.ops.append(replace(op, operands=(given[op],)) if op in given else op)
        builder.loc = region.ops[-1].loc
        yielded = [*region.yielded, *(handed[source.op] for source in sources)]
        return builder.region((*region.parameters, *parameters), yielded)

    def number(self, value: Value, builder: Builder) -> Value:
        """What is read, or written, as a number of its array's type."""
        assert isinstance(value.type, Scalar | Tensor)
        exact = isinstance(value.type, Scalar) and not value.type.weak
        return value if exact else builder.make("cast", value, dtype=value.type.dtype)


def _solid_parameters(function: Function) -> Iterator[Value]:
    """The parameters whose elements lie apart from each other, and from those of other parameters."""
    if function.attributes.get("overlap"):
        return
    layouts = function.attributes.get("layouts", ("",) * len(function.parameters))
    for value, layout in zip(function.parameters, layouts, strict=True):
        if layout in ("C", "F"):
            yield value


def _walk(op: Op) -> Iterator[Op]:
    """An op and those in its regions."""
    yield op
    for region in op.regions:
        yield from walk(region)


def _names(spot: Spot) -> set[str]:
    return {name for dim in spot.index if not isinstance(dim, int) for name in symbols(dim)}


def _dim(value: Value) -> Dim | None:
    return value.type.dim if isinstance(value.type, Index) else None
