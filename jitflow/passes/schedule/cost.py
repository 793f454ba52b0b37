"""What a schedule costs: the figures that decide between schedules, all of them.

Costs of ops are in instructions, each for one vector, as measured on one core of a processor with 512-bit vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.hardware import ON_CHIP
from jitflow.ir.core import Op
from jitflow.ir.dims import Dim
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.fusion.nest import Loop

__all__ = ["cost_of", "is_short", "worth_threads"]

_COSTS = {
    "divide": 4, "sqrt": 4, "exp": 15, "exp2": 15, "expm1": 20, "log": 20, "log1p": 22, "log2": 20, "log10": 20,
    "sin": 25, "cos": 25, "tan": 30, "sinh": 30, "cosh": 25, "tanh": 20, "erf": 25, "erfc": 30, "power": 60,
    "floor_divide": 10, "remainder": 10, "fmod": 40, "logaddexp": 40, "logaddexp2": 40, "cbrt": 40, "hypot": 40,
    "arcsin": 40, "arccos": 40, "arctan": 40, "arctan2": 50, "arcsinh": 50, "arccosh": 50, "arctanh": 50,
    "gather": 8, "random_low": 100, "random_high": 100,
}  # fmt: skip
_COMPLEX = 4
"""How many times as much complex numbers cost."""

# Vectors

TILE = 4
"""Vectors that a reduction down the rows works on at once, if its body is at most `LIGHT_BODY` instructions long."""
LIGHT_BODY = 40
LONG_BODY = 12
"""Instructions in the body of a vector loop from which on it is compiled once, under masks, not twice."""
LONG_FOLD = 48
"""The same of a loop that folds, where the next fold waits for what a mask selects. Measured on one core: without masks
softmax and log-sum-exp of rows take 10 % less, and compiling takes as long."""
NARROWEST_SCATTERED = 4
"""Bytes of the narrowest elements that processors store apart from each other with one instruction."""

# Short loops

LONGEST_UNROLLED = 4
"""Steps of a reduced loop that is written out: the coordinates of a point. Lanes are then neighbouring rows."""
LONGEST_PERIOD = 16
PERIOD_LANES = 16
MOST_PERIOD_LANES = 96
"""Short loops are joined if a multiple of their length and of 16 lanes is at most 96."""

# Memory

WORTH_SAVING = 10
"""A value whose computation costs more than this is kept for a later sweep rather than computed again."""
UNDECIDED = 4096
"""Elements after which a sweep asks whether any of those to come could change what it folds."""
AHEAD, AHEAD_OF_BLOCKS = 512, 2048
"""How many elements in advance of a blocked reduction memory is asked for: where blocks are read once, and where they
are read twice. What is asked for too early drives out of the first cache what is about to be read."""
STREAM_FROM = 5 << 22
"""Bytes that a kernel reads and writes from which on results go past the caches: more than they would keep anyway."""
STREAM_USED_FROM = 1 << 25
"""Bytes of a result for the same, if the program works on it next."""
CACHE_LINE = 64

# Bands

STRIP = 4096
"""Columns whose sums are in memory at once."""
BAND = 4
"""Rows that are added at a time, so that sums are read and written once for each of them."""
LIGHT_ROW = 12
"""Instructions an element up to which the rows of a band are written out."""
LARGE = 1 << 16
"""Bytes of a matrix that the first cache does not hold."""
FEWEST_COLUMNS, FEWEST_ROWS = 8, 64
"""Of a matrix with fewer, each strip and each band would cost something beside its elements."""

# Grids: rows that a team of warps shares, and chunks of rows that teams share

TEAM = 8
"""Warps of a team that takes rows, or chunks of them: several such blocks fit on a multiprocessor."""
LONGEST_OF_A_WARP, DEEPEST_OF_A_WARP = 2048, 128
"""Elements of a row, or of a column, up to which it is left to a warp."""
ROOM_OF_A_WARP, ROOM_OF_A_TEAM = ON_CHIP // 2, 36 << 10
"""Bytes of that which may be a row's: a block has two warps that keep rows there, or is a team."""
ROOM_BESIDE_ROWS, ROOM_OF_LANES = ON_CHIP - ROOM_OF_A_TEAM, 16 << 10
"""Bytes for what a team's chunks come to, beside a row, and where lanes are columns, of which none is on the chip."""
TEAM_DEPTH = 64
"""Rows that a warp of a team adds up at a time, where lanes are columns; of a row it is a block."""
FEW_ROWS, FEW_COLUMNS, MANY_COLUMNS = 64, 2048, 32768
"""Outputs up to which teams share long reductions; from so many columns on each warp has work of its own."""
LONG = 4
"""Chunks from which on a reduction is long."""

SCANS_ALONG, SCANS_DOWN = (1024, 2048, 4096, 2048), (64, 256, 512, 32768)
"""Of a running accumulation: elements of the shortest chunk, chunks of a line, elements of a line from which on it is
cut, and lines from which on it is not; along lines, which warps take, and where lanes are lines."""

NARROW = 1 << 30
"""Bytes that operands and results of a kernel reach over from which on its indices have 64 bits on a GPU."""

# Threads

WORTH = 1 << 18
"""Instructions, each for one element, that are worth a thread's while: some ten microseconds."""
FOR_MEMORY = 4
"""What reading or writing an element costs in these."""


def worth_threads(count: Dim, step: int, work: Dim, threads: int) -> bool:
    """Whether some sizes of a loop whose positions take so much ``work`` are worth more than one thread's while."""
    too_short = isinstance(count, int) and count < 2 * step
    too_little = isinstance(count, int) and isinstance(work, int) and count * work < 2 * WORTH
    return threads > 1 and not too_short and not too_little


def cost_of(op: Op) -> int:
    """Roughly how many instructions an op costs for a vector."""
    types = (operand.type for operand in op.operands)
    is_complex = any(isinstance(type, Tensor | Scalar) and type.dtype.is_complex for type in types)
    return _COSTS.get(op.name, 1) * (_COMPLEX if is_complex else 1)


def is_short(reduced: Sequence[Loop]) -> bool:
    """Whether the reduced loops are one of few steps, known in advance."""
    return len(reduced) == 1 and isinstance(reduced[0].dim, int) and 0 < reduced[0].dim <= LONGEST_UNROLLED
