"""Lifting loads: an array that a loop reads and does not write to is loaded before the loop.

What the program writes to somewhere cannot be read again in the reverse sweep, so what was loaded is kept. Kept
before the loop it is kept once, and not in every turn.

    for ... {                                        for ... {
      while ... {                                      %1: f64[n, n] = load %A
        %1: f64[n, n] = load %A                        while ... {
        %2: f64[n] = matmul %1, %v        ->             %2: f64[n] = matmul %1, %v
        ...                                              ...
      }                                                }
      store %A, ...                                    store %A, ...
    }                                                }

It leaves alone what is never written to, which the reverse sweep reads where it is, and single elements.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.effects import Effects
from jitflow.ir.types import dims_of

__all__ = ["lift_loads"]


def lift_loads(region: Region, effects: Effects, written: Collection[Value]) -> Region:
    """The region with loads of what is ``written`` in front of the loops that do not write to it."""
    ops: list[Op] = []
    for op in region.ops:
        if op.regions:
            op = replace(op, regions=tuple(lift_loads(inner, effects, written) for inner in op.regions))
        if op.name in ("for", "while"):
            lifted = _liftable(op, effects, written)
            ops += lifted
            body = op.regions[-1]
            kept = Region(body.parameters, tuple(inner for inner in body.ops if inner not in lifted))
            op = replace(op, regions=(*op.regions[:-1], kept))
        ops.append(op)
    return Region(region.parameters, tuple(ops))


def _liftable(loop: Op, effects: Effects, written: Collection[Value]) -> list[Op]:
    """The loads in the body of a loop of arrays from outside that a turn writes nothing to."""
    body = loop.regions[-1]
    inside = {*body.parameters, *(result for op in body.ops for result in op.results)}
    writes = [access for access in effects.of(loop) if access.kind in ("writes", "external")]
    return [
        op
        for op in body.ops
        if op.name == "load"
        and dims_of(op.result.type)
        and op.operands[0] not in inside
        and not effects.places(op.operands[0]).isdisjoint(written)
        and not any(
            access.kind == "external" or effects.overlap(effects.access("reads", op.operands[0]), access)
            for access in writes
        )
    ]
