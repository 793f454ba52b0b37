"""How a contraction over windows goes through a processor: tiles, each a block of rows by a strip of columns.

A panel holds some steps of a strip, and the rows of a block go over it. Each tile packs its panels anew, which costs
little beside so many rows; so a tile needs nothing of another one, and threads share tiles. No bit depends on any of
it: each sum goes on, step by step, from where the last panel has left it.
"""

from __future__ import annotations

from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.target import Target
from jitflow.records import dataclass

__all__ = ["Panels", "choose_panels"]


@dataclass(frozen=True, slots=True)
class Panels:
    """A schedule. ``rows`` times ``vectors`` of ``vector_bytes`` stay in registers while the steps of a panel go by.

    A panel has ``steps`` of a strip of ``columns``. At most ``block`` rows go over it, ``height`` at a time, which are
    written where they belong when their last panel is done. Lines of a panel are brought near ``ahead`` steps before.
    """

    rows: int
    vectors: int
    vector_bytes: int
    steps: int
    columns: int
    height: int
    block: Dim
    ahead: int


def choose_panels(itemsize: int, rows: Dim, columns: Dim, target: Target) -> Panels:
    """The schedule of a contraction with so many rows and columns on a kind of processor."""
    width = cost.PANEL_BYTES // itemsize
    vector_bytes = target.processor.vector_bytes if target.processor else min(cost.PANEL_REGISTERS)
    rows_at_once, vectors = cost.PANEL_REGISTERS[vector_bytes]
    block = _block_rows(rows, -(-columns // width), target.threads)
    return Panels(
        rows_at_once, vectors, vector_bytes, cost.PANEL_STEPS, width, cost.PANEL_HEIGHT, block, cost.PANEL_AHEAD
    )


def _block_rows(rows: Dim, strips: Dim, threads: int) -> Dim:
    """Rows of a block: fewer than could be where there are too few tiles for all threads."""
    if threads == 1:
        return cost.PANEL_ROWS
    fair = -(-(rows * strips) // (threads * cost.PIECES * cost.PANEL_HEIGHT)) * cost.PANEL_HEIGHT
    return minimum(cost.PANEL_ROWS, maximum(cost.PANEL_HEIGHT, fair))
