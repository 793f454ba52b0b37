"""The bodies of loops, for passes that rewrite what a turn does: the inner loops first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jitflow.ir.core import Op, Region

__all__ = ["with_turns"]


def with_turns(region: Region, turn: Callable[[Region, int], Region]) -> Region:
    """The region with ``turn(body, how many values the loop carries)`` for the body of each loop in it."""
    ops: list[Op] = []
    for op in region.ops:
        if op.regions:
            regions = tuple(with_turns(inner, turn) for inner in op.regions)
            if op.name in ("for", "while"):
                regions = (*regions[:-1], turn(regions[-1], len(op.results)))
            op = replace(op, regions=regions)
        ops.append(op)
    return Region(region.parameters, tuple(ops))
