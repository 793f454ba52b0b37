"""Splitting: a loop over elements runs without the checks that fail only from some turn on, up to that turn.

An index that grows with the position of the loop comes to the end of an array at a turn that is known beforehand. Up
to there its check holds in every turn, so that nothing stands in the way of LLVM's vectors. If the loop comes to that
turn, the turn follows with all its checks, one of which raises.

    for %0, %n, %1 (%i: index[i]) {                  %b = maximum (minimum %n, %m), %0
      %2: index[i + 1] = size {dim=i + 1}            for %0, %b, %1 (%k: index[k]) {
      %3: bool = greater_equal %m, %2         ->       ... without the check ...
      check %3, %i, %m {error="IndexError"}          }
      ...                                            if %b < %n () {
    }                                                  ... a turn as before, at %b ...
                                                     }

A check of sizes from outside of the loop decides whether the loop turns at all. It looks at innermost loops over
elements only, where a check costs as much as the rest, and at checks that every turn comes to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, clone_op, walk
from jitflow.ir.dims import Dim, Expression, substitute, symbol
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Index, Place, Scalar, Tensor, dims_of
from jitflow.passes.analyses.extents import factor_of
from jitflow.passes.analyses.order import bound_sizes, named_sizes

__all__ = ["split"]

_LONGEST = 150


def split(function: Function) -> Function:
    """The function with its loops over elements split where their checks begin to fail."""
    if not any(op.name == "for" for op in walk(function.region)):
        return function
    return replace(function, region=_Splitting(function).region(function.region))


class _Splitting:
    def __init__(self, function: Function) -> None:
        self.names = {name for op in walk(function.region) for name in (*op.sizes, *bound_sizes(op), *_bound(op))}
        self.names.update(name for parameter in function.parameters for name in named_sizes(parameter.type))

    def region(self, region: Region) -> Region:
        """The region with its loops split."""
        ops: list[Op] = []
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            ops += self.parts(op) if op.name == "for" and _is_over_elements(op) else [op]
        return Region(region.parameters, tuple(ops))

    def parts(self, loop: Op) -> list[Op]:
        """What stands for a loop."""
        position = loop.regions[0].parameters[0]
        start, _, step = loop.operands[:3]
        name = _dim(position)
        if not isinstance(name, Expression) or _dim(step) != 1 or _dim(start) is None:
            return [loop]
        checks = dict(_checks(loop.regions[0], str(name)))
        if not checks:
            return [loop]
        builder = Builder(loc=loop.loc)
        end = self.end(loop, list(checks.values()), str(name), builder)
        fresh = self.fresh(str(name))
        body = Region(loop.regions[0].parameters, tuple(op for op in loop.regions[0].ops if op not in checks))
        operands = (start, end, step, *loop.operands[3:])
        first = clone_op(replace(loop, regions=(body,)), {}, {str(name): symbol(fresh)}, operands)
        builder.ops.append(first)
        self.last_turn(loop, end, first.results, builder)
        return builder.ops

    def last_turn(self, loop: Op, end: Value, carried: Sequence[Value], builder: Builder) -> None:
        """The turn at ``end``, if the loop comes to it: one of its checks fails."""
        position, *parameters = loop.regions[0].parameters
        more = builder.make("less", end, loop.operands[1])
        before, builder.ops = builder.ops, []
        number = builder.make("cast", end, dtype=I64)
        values = {position: builder.make("to_index", number, binds=str(_dim(position)))}
        values.update(zip(parameters, carried, strict=True))
        builder.ops += [clone_op(op, values) for op in loop.regions[0].body]
        turn = builder.region((), [values.get(value, value) for value in loop.regions[0].yielded])
        nothing = builder.region((), carried)
        builder.ops = before
        builder.add("if", more, types=[value.type for value in loop.results], regions=(turn, nothing))
        builder.ops[-1] = replace(builder.ops[-1], results=loop.results)

    def end(self, loop: Op, known: list[Dim], name: str, builder: Builder) -> Value:
        """The position up to which dims are at least 0; the start if not even there."""
        start, stop = loop.operands[:2]
        first = _dim(start)
        assert first is not None
        end = stop
        falling = [dim for dim in known if factor_of(dim, name) == -1]
        for dim in falling:
            limit = builder.make("size", dim=dim + symbol(name) + 1)
            end = builder.make("minimum", end, limit)
        end = builder.make("maximum", end, start) if falling else end
        for dim in known:
            if dim not in falling:
                least = builder.make("size", dim=substitute(dim, {name: first}))
                holds = builder.make("greater_equal", least, builder.make("size", dim=0))
                end = builder.make("select", holds, end, start)
        return end

    def fresh(self, name: str) -> str:
        number = 2
        while f"{name}_{number}" in self.names:
            number += 1
        self.names.add(f"{name}_{number}")
        return f"{name}_{number}"


def _checks(body: Region, name: str) -> Iterator[tuple[Op, Dim]]:
    """The checks of every turn that compare sizes from outside of a loop with its position, and what is at least 0."""
    producer = {op.results[0]: op for op in body.body if op.results}
    for op in body.body:
        compare = producer.get(op.operands[0]) if op.name == "check" else None
        if compare is None or len(compare.operands) != 2:
            continue
        left, right = map(_dim, compare.operands)
        if left is None or right is None:
            continue
        known = {
            "greater_equal": left - right,
            "less_equal": right - left,
            "greater": left - right - 1,
            "less": right - left - 1,
        }
        if compare.name in known and factor_of(known[compare.name], name) in (-1, 0, 1):
            yield op, known[compare.name]


def _is_over_elements(loop: Op) -> bool:
    """Whether the body of a loop is short, has no loop inside, binds no size and handles numbers one by one."""
    inside = [op for op in walk(loop.regions[0]) if op.name != "yield"]
    return (
        len(inside) <= _LONGEST
        and all(isinstance(value.type, Scalar | Index) for value in loop.operands)
        and all(map(_is_of_numbers, inside))
    )


def _is_of_numbers(op: Op) -> bool:
    if op.name in ("for", "while") or any(True for _ in _bound(op)):
        return False
    if op.name == "load" or "view" in op.definition.traits:
        return True
    kinds = {effect.kind for effect in op.own_effects}
    values = (*op.operands, *op.results)
    return kinds <= {"check", "writes"} and all(
        isinstance(value.type, Scalar | Index) or (isinstance(value.type, Tensor | Place) and not dims_of(value.type))
        for value in values
    )


def _bound(op: Op) -> Iterator[str]:
    """The sizes that an op or its regions bind."""
    if "binds" in op.attributes:
        yield op.attributes["binds"]
    for region in op.regions:
        for parameter in region.parameters:
            yield from named_sizes(parameter.type)


def _dim(value: Value) -> Dim | None:
    return value.type.dim if isinstance(value.type, Index) else None
