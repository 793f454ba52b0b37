"""Examples that take turns: a loop over them, with the part of each in what all have in one array.

    %y: f64 = while %x (..) {..} {..}     ->      %0: var f64[n] = variable (empty {dims=[n]})
                                                  for 0, n, 1 (%i: index[i]) {
                                                    %1: f64[1] = slice %xs {starts=[i], sizes=[1]} ...
                                                    %y: f64 = while %x (..) {..} {..}
                                                    store (slice %0 {starts=[i]}), %y
                                                  }
                                                  %ys: f64[n] = load %0

A run of ops is in one loop: what one example alone can have, a size, a container, a place, is used where it is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Region, Value, clone_op, walk_inside
from jitflow.ir.dims import Dim, symbol
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Container, Index, Place, Scalar, Tape, Tensor, Type, dims_of
from jitflow.passes.batching.examples import Examples, InTurns
from jitflow.passes.batching.varying import Varying
from jitflow.passes.derivatives.notation import Notation, dtype_of

__all__ = ["end_of_run", "take_turns"]


def end_of_run(region: Region, place: int, varying: Varying) -> int:
    """Where the run of ops ends that begins with op ``place`` of a region.

    Raises `InTurns` if it does not end in the region, or begins before it.
    """
    held: set[Value] = set()
    sizes: set[str] = set()
    made: set[Value] = set()
    end, at = place + 1, place
    while at < end:
        op = region.ops[at]
        at += 1
        if not varying.touches(op):
            continue
        if any(isinstance(value.type, Tape) and value not in made for value in _used_by(op)):
            raise InTurns
        made.update(op.results)
        held.update(result for result in op.results if not _can_leave(result.type, varying))
        sizes.update(varying.sizes.intersection(varying.bound(op)))
        for later in range(len(region.ops) - 1, end - 1, -1):
            if any(_needs(inner, held, sizes) for inner in (region.ops[later], *walk_inside(region.ops[later]))):
                end = later + 1
                break
        if end == len(region.ops):
            raise InTurns
    return end


def _used_by(op: Op) -> list[Value]:
    inside = {result for inner in walk_inside(op) for result in inner.results}
    inside.update(value for one in (op, *walk_inside(op)) for inner in one.regions for value in inner.parameters)
    return [value for inner in (op, *walk_inside(op)) for value in inner.operands if value not in inside]


def _needs(op: Op, held: set[Value], sizes: set[str]) -> bool:
    return not held.isdisjoint(op.operands) or not sizes.isdisjoint(op.sizes)


def _can_leave(kind: Type, varying: Varying) -> bool:
    """Whether all examples of a type can be had in one array."""
    is_array = isinstance(kind, Tensor | Scalar) and not isinstance(kind, Container)
    return is_array and not any(map(varying.has, dims_of(kind)))


def take_turns(examples: Examples, ops: Sequence[Op], outputs: Sequence[Value]) -> None:
    """Append a loop over the examples in which some ops run, for ``outputs``, which are used behind it."""
    m, varying = examples.m, examples.varying
    m.builder.ops += [op for op in ops if not varying.touches(op)]
    ops = [op for op in ops if varying.touches(op)]
    memory = []
    for value in outputs:
        kind = value.type
        assert isinstance(kind, Scalar | Tensor)
        memory.append(m("variable", m("empty", dtype=kind.dtype, dims=(examples.count, *dims_of(kind)))))
    position = Value(Index(symbol(m.fresh("example"))))
    body = m.inside()
    turn = _Turn(examples, body, position)
    turn.bind_sizes(ops)
    made = {result for op in ops for result in op.results}
    for op in ops:
        for value in _used_by(op):
            if value in varying and value not in made:
                turn.enter(value)
    body.builder.ops += [clone_op(op, turn.values, turn.sizes) for op in ops]
    for value, place in zip(outputs, memory, strict=True):
        shown = Place(dtype_of(place), dims_of(value.type))
        body.add("store", _example(body, place, shown, position), turn.values[value])
    region = body.builder.region((position,), ())
    m.add("for", m.size(0), m.size(examples.count), m.size(1), types=[], regions=(region,))
    for value, place in zip(outputs, memory, strict=True):
        examples.made[value] = m("load", place)


class _Turn:
    """What the ops of a run use, for the example whose turn it is."""

    def __init__(self, examples: Examples, m: Notation, position: Value) -> None:
        self.examples, self.m, self.position = examples, m, position
        self.values: dict[Value, Value] = {}
        self.sizes: dict[str, Dim] = {}

    def bind_sizes(self, ops: Sequence[Op]) -> None:
        """Bind the sizes of the example that some ops mention, or views that they use, under names of their own."""
        examples, m = self.examples, self.m
        names = {name for op in ops for one in (op, *walk_inside(op)) for name in one.sizes}
        waiting = [value for op in ops for value in _used_by(op)]
        while waiting:
            op = examples.producers.get(waiting.pop())
            if op is not None and op.results[0] not in examples.made:
                names.update(op.sizes)
                waiting += op.operands
        for name in sorted(names & examples.sizes.keys()):
            number = _example(m, examples.sizes[name], Scalar(I64), self.position)
            fresh = m.fresh(name)
            m("to_index", number, binds=fresh)
            self.sizes[name] = symbol(fresh)

    def enter(self, value: Value) -> None:
        """Give a value what it is for the example: a part of an array, or once more what shows or measures one."""
        examples = self.examples
        if value in self.values or value not in examples.varying:
            return
        stacked = examples.made.get(value)
        if stacked is not None and not isinstance(value.type, Index):
            self.values[value] = _example(self.m, stacked, value.type, self.position)
            return
        op = examples.producers[value]
        if op.name == "to_index":
            size = self.sizes[op.attributes["binds"]]
            self.values[value] = self.m.size(size)
            return
        for operand in op.operands:
            self.enter(operand)
        self.m.builder.ops.append(clone_op(op, self.values, self.sizes))


def _example(m: Notation, stacked: Value, kind: Type, position: Value) -> Value:
    """The example at a position, as a value or a place of a type."""
    assert isinstance(position.type, Index)
    assert position.type.dim is not None
    dims = dims_of(stacked.type)[1:]
    starts = (position.type.dim, *(0 for _ in dims))
    one = m("slice", stacked, starts=starts, sizes=(1, *dims), steps=(1,) * (len(dims) + 1))
    shown = m("reshape", one, dims=dims)
    if isinstance(kind, Scalar):
        return m("cast", shown, dtype=kind.dtype, **({"weak": True} if kind.weak else {}))
    return shown
