"""Branches and loops of all examples at once, as far as what decides is the same for all of them.

What an example decides by itself are two ways that are computed both, if they compute values and nothing else. Every
other decision is taken in its turn: an example then does no more than it asks for, and stops where it would alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jitflow.ir.core import Op, Region, Value, walk
from jitflow.ir.effects import is_pure
from jitflow.ir.ops.derivative import stacked_of
from jitflow.ir.types import Place, Variable, dims_of
from jitflow.passes.batching.examples import Examples, InTurns
from jitflow.passes.derivatives.notation import rank

__all__ = ["REGIONS"]


def _branch(e: Examples, op: Op) -> Sequence[Value]:
    if op.operands[0] in e.varying:
        return _selection(e, op)
    regions = [e.inside(region, (), op.results) for region in op.regions]
    return _rebuilt(e, op, op.operands, regions)


def _selection(e: Examples, op: Op) -> Sequence[Value]:
    """Both ways, of which each example takes one: of a way that it does not take, a size may be anything."""
    inside = [inner for region in op.regions for inner in walk(region) if inner.name != "yield"]
    if any(inner.regions or not is_pure(inner) or e.varying.mentions(inner) for inner in inside):
        raise InTurns
    if any(map(_is_storage, op.results)):
        raise InTurns
    for region in op.regions:
        e.write(e, region)
    found = []
    for result, yes, no in zip(op.results, *(region.yielded for region in op.regions), strict=True):
        dims = dims_of(result.type)
        ways = [way if way not in e.made and not rank(way) else e.spread(way, dims) for way in (yes, no)]
        found.append(e.m("select", e.spread(op.operands[0], dims), *ways))
    return found


def _loop(e: Examples, op: Op) -> Sequence[Value]:
    first, shift = (3, 1) if op.name == "for" else (0, 0)
    decided = op.operands[:first] if first else op.regions[0].yielded
    if any(value in e.varying for value in decided):
        raise InTurns
    operands = [*op.operands[:first], *map(e.meeting, op.operands[first:], op.results)]
    regions = []
    for region in op.regions:
        parameters = [*region.parameters[:shift], *map(e.parameter, region.parameters[shift:])]
        regions.append(e.inside(region, parameters, op.results if region is op.regions[-1] else region.yielded))
    return _rebuilt(e, op, operands, regions)


def _function(e: Examples, op: Op) -> Sequence[Value]:
    """A function with a rule of its own, or of which nothing is kept: all that it takes counts as varying."""
    regions = []
    for region in op.regions:
        parameters = [*map(e.parameter, region.parameters)]
        regions.append(e.inside(region, parameters, op.results if region is op.regions[0] else region.parameters))
    return _rebuilt(e, op, [*map(e.stacked, op.operands)], regions)


def _rebuilt(e: Examples, op: Op, operands: Sequence[Value], regions: Sequence[Region]) -> Sequence[Value]:
    results = tuple(
        Value(stacked_of(result.type, e.count), result.name) if result in e.varying else result for result in op.results
    )
    e.m.builder.ops.append(replace(op, operands=tuple(operands), results=results, regions=tuple(regions)))
    return results


def _is_storage(value: Value) -> bool:
    return isinstance(value.type, Place | Variable)


REGIONS: dict[str, Callable[[Examples, Op], Sequence[Value]]] = {
    "if": _branch,
    "for": _loop,
    "while": _loop,
    "custom_vjp": _function,
    "recompute": _function,
}
