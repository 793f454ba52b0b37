"""How a contraction over windows goes through a processor: tiles, each a block of rows by a strip of columns.

A panel holds some steps of a strip, and the rows of a block go over it. Each tile packs its panels anew, which costs
little beside so many rows; so a tile needs nothing of another one, and threads share tiles.
"""

from __future__ import annotations

from jitflow.ir.dims import Dim, maximum, minimum

__all__ = ["HEIGHT", "ROWS", "STEPS", "WIDTH", "block_rows"]

ROWS = 960
"""Rows of a block at most: enough that packing costs little, and its sums stay in the second cache."""
HEIGHT = 96
"""Rows that are multiplied and then written: a whole number of register blocks, and of vectors where sums are turned.
Their sums are still in the first cache then, if all steps fit a panel."""
STEPS = 512
"""Steps of a panel: with all its columns it stays in the second cache beside the sums."""
WIDTH = 256
"""Bytes of a row of a panel."""
_TILES = 4
"""Tiles for each thread, of which none then waits long for another."""


def block_rows(rows: Dim, strips: Dim, threads: int) -> Dim:
    """Rows of a block: fewer than could be where there are too few tiles for all threads."""
    if threads == 1:
        return ROWS
    fair = -(-(rows * strips) // (threads * _TILES * HEIGHT)) * HEIGHT
    return minimum(ROWS, maximum(HEIGHT, fair))
