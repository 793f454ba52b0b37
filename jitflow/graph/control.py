"""Control edges: which ops of a region must follow which, though no value says so.

Program order is effect order, so two ops that conflict (`jitflow.ir.effects`) stay in their order, and nothing else
does. An edge that follows from others, of data or control, is left out. Ops are taken in their order, and for each the
nearest before it first: what is reached by then needs no edge (the transitive reduction, for an order that is known).
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.effects import Effects
from jitflow.passes.analyses.order import reads_of

__all__ = ["control_edges"]


def control_edges(ops: Sequence[Op], effects: Effects) -> dict[Op, list[Op]]:
    """For each op the earlier ones of its region that it must follow."""
    makers: dict[Value, int] = {}
    reached: list[int] = []
    """For each op the set of those before it, as bits."""
    edges: dict[Op, list[Op]] = {}
    for number, op in enumerate(ops):
        before = 0
        for value in reads_of(op):
            if value in makers:
                before |= reached[makers[value]] | 1 << makers[value]
        if effects.of(op):
            for other in reversed(range(number)):
                if not before >> other & 1 and effects.of(ops[other]) and effects.conflict(ops[other], op):
                    before |= reached[other] | 1 << other
                    edges.setdefault(op, []).append(ops[other])
        reached.append(before)
        makers.update(dict.fromkeys(op.results, number))
    return edges
