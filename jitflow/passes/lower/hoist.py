"""Hoist: memory that every turn of a loop allocates and gives back is allocated once, before the loop.

That is so for an allocation whose size is known outside of the loop and whose memory does not leave the turn: it is
given back by the region that allocates it. From inner loops it moves out step by step.

    for %0, %n, %1 (%i: index) {                   %t = alloc %size
      %t = alloc %size                             for %0, %n, %1 (%i: index) {
      launch %x, %t {kernel="k"}            ->       launch %x, %t {kernel="k"}
      free %t, %size                                 yield
      yield                                        }
    }                                              free %t, %size

What a turn needs one after the other is the same memory, as large as the largest of it. Memory of a size that only the
turn knows stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.location import Loc

__all__ = ["hoist"]


def hoist(host: Function) -> Function:
    """Move allocations out of the loops of a host program."""
    if not any(op.name in ("for", "while") for op in walk(host.region)):
        return host
    return replace(host, region=_hoisted(host.region))


def _hoisted(region: Region) -> Region:
    ops: list[Op] = []
    for op in region.ops:
        if op.regions:
            op = replace(op, regions=tuple(_hoisted(inner) for inner in op.regions))
        before: list[Op] = []
        after: list[Op] = []
        if op.name in ("for", "while"):
            inside = _defined(op)
            regions = []
            for inner in op.regions:
                moved, freed, rest = _taken_out(inner, inside)
                regions.append(rest)
                before += moved
                after += freed
            op = replace(op, regions=tuple(regions))
        ops += [*before, op, *after]
    return Region(region.parameters, tuple(ops))


def _taken_out(region: Region, inside: set[Value]) -> tuple[list[Op], list[Op], Region]:
    """The allocations that a region gives back itself, what gives them back, and the region without either.

    One takes the memory of another that has been given back by then, which is as large as the larger of the two.
    """
    given_back = {op.operands[0] for op in region.ops if op.name == "free"}
    larger = {op.result: op for op in region.ops if op.name == "maximum" and inside.isdisjoint(op.operands)}
    free: list[Value] = []
    given_up: dict[Value, Loc] = {}
    shared: dict[Value, Value] = {}
    sizes: dict[Value, list[Value]] = {}
    ops: list[Op] = []
    for op in region.ops:
        first = op.operands[0] if op.operands else None
        if op.name == "alloc" and op.result in given_back and (first not in inside or first in larger):
            size = op.operands[0]
            fitting = [buffer for buffer in free if buffer.type == op.result.type]
            fitting = [buffer for buffer in fitting if size in sizes[buffer]] or fitting
            shared[op.result] = buffer = fitting[-1] if fitting else op.result
            if fitting:
                free.remove(buffer)
            if size not in sizes.setdefault(buffer, []):
                sizes[buffer].append(size)
        elif op.name == "free" and first in shared:
            free.append(shared[first])
            given_up[shared[first]] = op.loc
        else:
            ops.append(op)
    before, after = Builder(), Builder()
    for alloc in (op for op in region.ops if op.name == "alloc" and op.result in sizes):
        before.ops += [larger.pop(size) for size in sizes[alloc.result] if size in larger]
        before.loc, after.loc = alloc.loc, given_up[alloc.result]
        total, *others = sizes[alloc.result]
        for other in others:
            total = before.make("maximum", total, other)
        before.ops.append(replace(alloc, operands=(total,)))
        after.add("free", alloc.result, total)
    names = {buffer: other for buffer, other in shared.items() if buffer is not other}
    rest = (op for op in ops if op not in before.ops)
    ops = [_renamed(op, names) for op in rest] if names else list(rest)
    return before.ops, after.ops, Region(region.parameters, tuple(ops))


def _renamed(op: Op, names: Mapping[Value, Value]) -> Op:
    """An op that uses other values in the place of some."""
    operands = tuple(names.get(operand, operand) for operand in op.operands)
    regions = tuple(Region(r.parameters, tuple(_renamed(inner, names) for inner in r.ops)) for r in op.regions)
    return replace(op, operands=operands, regions=regions)


def _defined(op: Op) -> set[Value]:
    """Every value that is defined inside an op."""
    inner = [o for region in op.regions for o in walk(region)]
    parameters = {p for o in (op, *inner) for region in o.regions for p in region.parameters}
    return parameters.union(result for o in inner for result in o.results)
