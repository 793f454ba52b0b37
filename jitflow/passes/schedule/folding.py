"""What the result of a reduction means beyond its op: the tree in which it adds, which no schedule may change.

Sums of floating-point numbers are *blocked*: plain partial sums within `BLOCK` elements of a row (or rows, one after
the other, for each lane), and compensated addition between blocks. Sums of squares are also *centred*: each block is
read twice, the second time around its mean. The position of an extreme of narrow numbers is *located*: each block is
folded to its extreme, and searched only if that is better than all before it.
"""

from __future__ import annotations

from collections.abc import Collection

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.dtypes import F32, I64
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.schedule.cost import ROOM_BESIDE_ROWS, ROOM_OF_LANES, TEAM_DEPTH, is_short
from jitflow.passes.schedule.joined import JoinedLoops
from jitflow.passes.schedule.target import Target
from jitflow.records import dataclass

__all__ = ["BLOCK", "Folding", "chunk_elements", "chunk_positions", "chunks_on_chip", "folding_of", "grid_chunks",
           "is_one_chunk", "partial_lanes"]  # fmt: skip

BLOCK = 1024
"""Elements of a row (or rows, in a vertical reduction) that are summed before compensated addition takes over."""


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


HORIZONTAL_LANES = 32
"""Lanes of partial results along a row; more than one register has, so that none waits for its last addition."""


CHUNK_ALONG_A_ROW, CHUNK_DOWN_THE_ROWS = 64 * BLOCK, 8 * BLOCK
"""Elements of a chunk; down the rows those of a column, since there lanes are columns."""


def grid_chunks(loops: JoinedLoops) -> tuple[int, int]:
    """On a GPU, the elements of a chunk, and of the smaller ones in it that warps share: blocks, along a row."""
    if loops.vector is not None and loops.vector.reduced:
        return CHUNK_ALONG_A_ROW, BLOCK
    return CHUNK_DOWN_THE_ROWS, TEAM_DEPTH


def chunks_on_chip(loops: JoinedLoops, lanes: int) -> int:
    """How many chunks' results a team of a GPU has room for, in each of its sweeps; 0 if not even for one."""
    horizontal = loops.vector is not None and loops.vector.reduced
    ops = [op for sweep in range(loops.sweeps) for op in loops.reductions(sweep)]
    needed = sum(_state_bytes(op, folding_of(op, loops, distributed=True)) for op in ops)
    return ROOM_BESIDE_ROWS // needed if horizontal else ROOM_OF_LANES // (needed * lanes)


def _state_bytes(op: Op, folding: Folding) -> int:
    """At most so many bytes a reduction has come to, in each lane: two numbers, or four (`lower/kernels/sums.py`)."""
    types = (value.type for value in (*op.operands, op.result))
    widest = max(type.dtype.itemsize for type in types if isinstance(type, Tensor | Scalar))
    return (4 if folding.centred else 2) * (I64.itemsize if folding.finds_place else max(widest, F32.itemsize))


def chunk_elements(loops: JoinedLoops, target: Target, foldings: Collection[Folding]) -> int:
    """How many elements are a chunk of what is reduced; 0 where there are no chunks.

    There are where all of an array is reduced; of many rows each is left to one thread, and has none, which would cost
    short rows a fifth of their time. A sweep that ends where it is decided has none either: most is never done.
    """
    if loops.outer or not loops.reduced or target.distributed or loops.vector is None:
        return 0
    horizontal = loops.vector.reduced
    if (not horizontal and is_short(loops.reduced)) or _is_decided_early(foldings):
        return 0
    return CHUNK_ALONG_A_ROW if horizontal else CHUNK_DOWN_THE_ROWS


def _is_decided_early(foldings: Collection[Folding]) -> bool:
    return bool(foldings) and all(folding.has_last_word for folding in foldings)


def is_one_chunk(loops: JoinedLoops, elements: int) -> bool:
    """Whether all that is reduced is known to be one chunk."""
    count, length = loops.reduced[0].dim, chunk_positions(loops, elements)
    return isinstance(count, int) and isinstance(length, int) and count <= length


def chunk_positions(loops: JoinedLoops, elements: int) -> Dim:
    """How many positions of the outermost reduced loop a chunk of so many elements has."""
    inside = product([loop.dim for loop in loops.reduced[1:]])
    return elements if inside == 1 else maximum(elements // maximum(inside, 1), 1)


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
