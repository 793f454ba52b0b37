"""What the result of a reduction means beyond its op: the tree in which it adds, which no schedule may change.

Sums of floating-point numbers are *blocked*: plain partial sums within `BLOCK` elements of a row (or rows, one after
the other, for each lane), and compensated addition between blocks. Sums of squares are also *centred*: each block is
read twice, the second time around its mean. The position of an extreme of narrow numbers is *located*: each block is
folded to its extreme, and searched only if that is better than all before it.

Where all of an array is reduced, it is in *chunks*, the third level of the tree: each begins anew, is folded to one
number, and is joined to those before it with the same care. So threads may share them.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.ir.core import Op
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.target import Target

__all__ = ["BLOCK", "Folding", "chunk_of", "folding_of", "partial_lanes"]

BLOCK = 1024
"""Elements of a row (or rows, in a vertical reduction) that are summed before compensated addition takes over."""
CHUNK = 64 * BLOCK
"""Elements of a chunk, where they are one loop: some ten microseconds of reading, and more of computing."""
CHUNK_OF_ROWS = 64
"""Positions of the outermost of several loops that are a chunk."""


@dataclass(frozen=True, slots=True)
class Folding:
    """How one reduction folds."""

    blocked: bool = False
    centred: bool = False
    located: bool = False
    has_last_word: bool = False
    """Whether one element may decide the result, whatever follows it."""
    finds_place: bool = False
    """Whether the result is a position."""


def chunk_of(loops: JoinedLoops, *, distributed: bool) -> int:
    """How many positions of the outermost reduced loop are a chunk; 0 where there are none.

    Of many rows each is left to one thread, and has no chunks: they would cost short rows a fifth of their time.
    """
    if distributed or loops.outer or not loops.reduced or loops.vector is None:
        return 0
    outermost, *inner = loops.reduced
    length = CHUNK_OF_ROWS if inner else CHUNK
    return 0 if isinstance(outermost.dim, int) and outermost.dim <= length else length


HORIZONTAL_LANES = 32
"""Lanes of partial results along a row; more than one register has, so that none waits for its last addition."""


def partial_lanes(target: Target) -> int:
    """How many partial results a row has."""
    return target.lanes or HORIZONTAL_LANES


def folding_of(op: Op, loops: JoinedLoops, *, distributed: bool) -> Folding:
    """How a reduction of a nest folds; on a ``distributed`` processor its lanes are those of a warp."""
    (operand,) = op.operands
    assert isinstance(operand.type, Tensor)
    name, dtype = op.name.removeprefix("reduce_"), operand.type.dtype
    horizontal = loops.vector is not None and loops.vector.reduced
    if name in ("argmax", "argmin"):
        narrow = dtype.itemsize < I64.itemsize and loops.is_cheap(operand)
        located = horizontal and not distributed and narrow
        last_word = horizontal and dtype.kind == "b"
        return Folding(blocked=located, located=located, has_last_word=last_word, finds_place=True)
    if name == "m2":
        return Folding(blocked=True, centred=True)
    if name == "add" and dtype.kind in "fc":
        return Folding(blocked=True)
    return Folding(has_last_word=horizontal and name in ("logical_or", "logical_and"))
