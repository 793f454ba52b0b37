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
from jitflow.ir.dims import symbol
from jitflow.ir.types import Container, Index, Place, Scalar, Tape, Tensor, Type, Variable, dims_of
from jitflow.passes.analyses.order import sizes_of
from jitflow.passes.batching.examples import Examples, InTurns
from jitflow.passes.batching.varying import Varying
from jitflow.passes.derivatives.notation import Notation

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
        held.update(result for result in op.results if not _can_leave(result.type))
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
    return not held.isdisjoint(op.operands) or not sizes.isdisjoint(sizes_of(op))


def _can_leave(kind: Type) -> bool:
    """Whether all examples of a type can be had in one array."""
    return isinstance(kind, Tensor | Scalar) and not isinstance(kind, Container)


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
    made = {result for op in ops for result in op.results}
    values: dict[Value, Value] = {}
    for op in ops:
        for value in _used_by(op):
            if value in examples.made and value not in made and value not in values:
                values[value] = _example(body, examples.made[value], value.type, position)
    body.builder.ops += [clone_op(op, values) for op in ops]
    for value, place in zip(outputs, memory, strict=True):
        body.add("store", _example(body, place, Place(place.type.dtype, dims_of(value.type)), position), values[value])
    region = body.builder.region((position,), ())
    m.add("for", m.size(0), m.size(examples.count), m.size(1), types=[], regions=(region,))
    for value, place in zip(outputs, memory, strict=True):
        examples.made[value] = m("load", place)


def _example(m: Notation, stacked: Value, kind: Type, position: Value) -> Value:
    """The example at a position, as a value or a place of a type."""
    assert isinstance(position.type, Index) and position.type.dim is not None
    dims = dims_of(stacked.type)[1:]
    starts = (position.type.dim, *(0 for _ in dims))
    one = m("slice", stacked, starts=starts, sizes=(1, *dims), steps=(1,) * (len(dims) + 1))
    shown = m("reshape", one, dims=dims)
    if isinstance(kind, Scalar):
        return m("cast", shown, dtype=kind.dtype, **({"weak": True} if kind.weak else {}))
    return shown
