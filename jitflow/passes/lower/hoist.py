"""Hoist: memory that every turn of a loop allocates and gives back is allocated once, before the loop.

That is so for an allocation whose size is known outside of the loop and whose memory does not leave the turn: it is
given back by the region that allocates it. From inner loops it moves out step by step.

    for %0, %n, %1 (%i: index) {                   %t = alloc %size
      %t = alloc %size                             for %0, %n, %1 (%i: index) {
      launch %x, %t {kernel="k"}            ->       launch %x, %t {kernel="k"}
      free %t, %size                                 yield
      yield                                        }
    }                                              free %t, %size

Memory of a size that only the turn knows stays where it is.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Function, Op, Region, Value, walk

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
                moved = {a.result: a for a in _temporaries(inner) if a.operands[0] not in inside}
                regions.append(_without(inner, moved))
                before += moved.values()
                after += [free for free in inner.ops if free.name == "free" and free.operands[0] in moved]
            op = replace(op, regions=tuple(regions))
        ops += [*before, op, *after]
    return Region(region.parameters, tuple(ops))


def _temporaries(region: Region) -> list[Op]:
    """The allocations that a region gives back itself."""
    freed = {op.operands[0] for op in region.ops if op.name == "free"}
    return [op for op in region.ops if op.name == "alloc" and op.result in freed]


def _without(region: Region, moved: dict[Value, Op]) -> Region:
    ops = (op for op in region.ops if not (op.name == "free" and op.operands[0] in moved) and op not in moved.values())
    return Region(region.parameters, tuple(ops))


def _defined(op: Op) -> set[Value]:
    """Every value that is defined inside an op."""
    inner = [o for region in op.regions for o in walk(region)]
    parameters = {p for o in (op, *inner) for region in o.regions for p in region.parameters}
    return parameters.union(result for o in inner for result in o.results)
