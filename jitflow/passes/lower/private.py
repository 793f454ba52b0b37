"""Memory of loops whose turns threads share: each thread has a part of its own.

    share %n, %work {threads=8} (%first, ...) {       %t = alloc 8 * size
      %t = alloc %size                                share %n, %work {threads=8} (%first, %last, %worker) {
      for ... { launch %x, %t {kernel="k"} }    ->      %mine = offset %t, %worker * size
      free %t, %size                                    for ... { launch %x, %mine {kernel="k"} }
    }                                                 }
                                                      free %t, 8 * size

What has parts already, the scratch memory of kernels that threads share, keeps its size: a thread that has a turn runs
its kernels alone. Loops in which threads cannot take part, since turns allocate what nobody knows in front of them or
call what is not ours, are loops of one thread again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Op, Region, Value, walk_inside
from jitflow.passes.schedule.cost import CACHE_LINE

__all__ = ["private", "renamed", "unshared", "why_alone"]

_ALLOWED = frozenset(("launch", "check", "for", "if", "share", "offset", "read", "write", "yield"))


def why_alone(share: Op) -> str:
    """Why threads cannot take part in turns, and nothing if they can."""
    inside = list(walk_inside(share))
    if not any(op.name == "launch" for op in inside):
        return "it runs no kernels"
    if any(op.name == "alloc" for op in inside):
        return "how much memory a turn needs is decided in it"
    odd = next((op for op in inside if op.name not in _ALLOWED and (op.own_effects or op.regions)), None)
    if odd is not None:
        return f"{odd.name} is done by one thread"
    loops = (op for op in inside if op.name == "for")
    if not all(any(op.name == "launch" for op in walk_inside(loop)) for loop in loops):
        return "a loop inside is a kernel that looks for Ctrl-C"
    return ""


def unshared(share: Op) -> list[Op]:
    """The loop as one thread runs it."""
    (region,) = share.regions
    first, last, worker = region.parameters
    builder = Builder(loc=share.loc)
    zero = builder.make("size", dim=0)
    names = {first: zero, last: share.operands[0], worker: zero}
    return [*builder.ops, *(renamed(op, names) for op in region.body)]


def private(share: Op, before: Sequence[Op], after: Sequence[Op]) -> tuple[list[Op], Op, list[Op]]:
    """A loop with what is allocated and given back round it, so much of it that each thread has a part."""
    (region,) = share.regions
    threads, worker = share.attributes["threads"], region.parameters[2]
    outside, inside = Builder(), Builder(loc=share.loc)
    names: dict[Value, Value] = {}
    sizes: dict[Value, Value] = {}
    for op in before:
        if op.name != "alloc":
            outside.ops.append(op)
            continue
        outside.loc = op.loc
        (size,) = op.operands
        if op.attributes.get("parts"):
            part = outside.make("divide_truncated", size, outside.make("size", dim=threads))
            outside.ops.append(op)
        else:
            lines = outside.make("add", size, outside.make("size", dim=CACHE_LINE - 1))
            lines = outside.make("divide_truncated", lines, outside.make("size", dim=CACHE_LINE))
            part = outside.make("multiply", lines, outside.make("size", dim=CACHE_LINE))
            count = outside.make("multiply", part, outside.make("size", dim=threads))
            sizes[op.result] = count
            attributes = MappingProxyType({**op.attributes, "parts": True})
            outside.ops.append(replace(op, operands=(count,), attributes=attributes))
        names[op.result] = inside.make("offset", op.result, inside.make("multiply", worker, part))
    body = (*inside.ops, *(renamed(op, names) for op in region.ops))
    frees = [replace(op, operands=(op.operands[0], sizes.get(op.operands[0], op.operands[1]))) for op in after]
    return outside.ops, replace(share, regions=(Region(region.parameters, body),)), frees


def renamed(op: Op, names: Mapping[Value, Value]) -> Op:
    """An op that uses other values in the place of some."""
    operands = tuple(names.get(operand, operand) for operand in op.operands)
    regions = tuple(Region(r.parameters, tuple(renamed(inner, names) for inner in r.ops)) for r in op.regions)
    return replace(op, operands=operands, regions=regions)
