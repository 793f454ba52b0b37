"""What a schedule costs: the figures that decide between schedules, all of them.

What is known of a processor stands in `target.py`, and what a reduction means, whatever its schedule, in `folding.py`.
Costs of ops are in instructions, each for one vector, as measured on one core of a processor with 512-bit vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.types import Scalar, Tensor
from jitflow.machines.hardware import ON_CHIP
from jitflow.passes.fusion.nest import Loop

__all__ = ["cost_of", "exceeds", "is_short", "worth_threads"]

_COSTS = {
    "divide": 4, "sqrt": 4, "exp": 15, "exp2": 15, "expm1": 20, "log": 20, "log1p": 22, "log2": 20, "log10": 20,
    "sin": 25, "cos": 25, "tan": 30, "sinh": 30, "cosh": 25, "tanh": 20, "erf": 25, "erfc": 30, "power": 60,
    "floor_divide": 10, "remainder": 10, "fmod": 40, "logaddexp": 40, "logaddexp2": 40, "cbrt": 40, "hypot": 40,
    "arcsin": 40, "arccos": 40, "arctan": 40, "arctan2": 50, "arcsinh": 50, "arccosh": 50, "arctanh": 50,
    "gather": 8, "power_modulo": 1000, "random_low": 100, "random_high": 100,
}  # fmt: skip
_COMPLEX = 4
"""How many times as much complex numbers cost."""

# Kernels

LARGEST_KERNEL = 160
"""More ops than this in one kernel cost registers and compile time and save no more memory traffic."""
LONGEST_KNOWN, MOST_OPS_TWICE = 8, 60
"""Innermost sizes up to which a program gets a version for that very size, and the ops of the longest one that does:
longer loops are loops like others, and longer programs are not worth compiling twice."""
LONG_ROW = 32
"""Elements from which on a row is long: that of six of `lenet` took a sixth longer in place."""

FEWEST_FACTORED, FEWEST_SAVED, LEAST_FACTORED = 16, 64, 1 << 18
"""Ops that have to come again until a function is made of them, and those that are compiled less then; and the bytes of
their results until its calls take no time beside it."""
FEWEST_PIECES = 3
"""Pieces that are left at least where one is given up for a better border between them."""
READ_AGAIN, NOT_HANDED_OVER = 0.5, 1e18
"""What it costs to read what lies in memory in any case, beside writing it first, and what is never handed over."""

# Vectors

TILE, FEWEST_OF_A_TILE = 4, 2
"""Vectors that a reduction down the rows works on at once, if its body is at most `LIGHT_BODY` instructions long. Where
the first call had fewer columns, as many as these need, but later calls may have more: at least the second number."""
LIGHT_BODY = 40
LONG_BODY = 12
"""Instructions in the body of a vector loop from which on it is compiled once, under masks, not twice."""
LONG_FOLD = 48
"""The same of a loop that folds, where the next fold waits for what a mask selects. Measured on one core: without masks
softmax and log-sum-exp of rows take 10 % less, and compiling takes as long."""
LONG_CHAIN, WORTH_COMPILING = 28, 1 << 18
"""Instructions in the body of an elementwise loop from which on a turn takes `TILE` registers, if the first call has so
many elements, since compiling takes a tenth to a third longer. Processors look ahead for some hundred instructions that
wait for each other, which is not the next turn of such a body. Measured on one core: Black-Scholes and haversine take
0.7 to 0.9 of the time with AVX-512 and with AVX2, GELU 0.75 to 0.9."""
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
AHEAD_OF_BLOCKS = 2048
"""How many elements in advance memory is asked for where blocks are read twice, if processors are asked at all. What is
asked for too early drives out of the first cache what is about to be read. On Zen 4 it is a gain in the third cache
(1.1 to 1.3 times) and a loss from memory (as much)."""
STREAM_FROM = 5 << 22
"""Bytes that a kernel reads and writes from which on results go past the caches: more than they would keep anyway."""
STREAM_USED_FROM = 1 << 25
"""Bytes of a result for the same, if the program works on it next."""
CACHE_LINE = 64
STREAMED_PARTS = (16, 32)
"""Bytes of parts of a line that there are stores past the caches for."""
NEAR = 1 << 18
"""Bytes that the second cache holds beside what is read and written meanwhile: what goes through it item by item."""

# Bands

STRIP = 4096
"""Columns whose sums are in memory at once."""
BAND = 4
"""Rows that are added at a time, so that sums are read and written once for each of them."""
LIGHT_ROW = 12
"""Instructions an element up to which the rows of a band are written out."""
LARGE, LARGE_STORED = 1 << 16, 1 << 19
"""Bytes of a matrix that the first cache does not hold, and of one that is stored as well, of which a tile down rows
writes a line or two a page. Measured on one core: 256 x 256 elements of a GELU's gradient and their sums are a tenth
slower in bands, 1,024 x 256 take as long, 512 x 512 0.7 of the time, 1,024 x 1,024 0.2."""
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
SCANNED_TOGETHER = 4
"""How many times 32 elements of a line a warp asks for before it needs the first."""

NARROW = 1 << 30
"""Bytes that operands and results of a kernel reach over from which on its indices have 64 bits on a GPU."""

# Threads

WORTH = 1 << 18
"""Instructions, each for one element, that are worth a thread's while: some ten microseconds."""
TURNS = 4
"""Turns for each thread from which on threads share a loop that runs kernels, and not these: none waits long then."""
FOR_MEMORY = 4
"""What reading or writing an element costs in these."""
SOME_TURNS = 16
"""How often a loop is taken to turn whose turns nobody can count beforehand."""
MOST_CHUNKS = 256
"""Chunks that are shared at a time, which is how many results of chunks the frame has room for."""
FEWEST_BLOCKS, MOST_BLOCKS = 4, 32
"""Blocks of rows from which on these are shared, not a few columns, and how many at a time: the frame has room for what
they come to, some numbers for each lane."""
PIECES = 4
"""Pieces of products for each thread, of which none then waits long for another."""

# Blocks of products

REGISTER_ROWS = {32: (8, 4, 2, 1), 16: (6, 4, 2, 1)}
"""Rows that a block in registers may have, the best first, by how many registers there are."""
MOST_VECTORS = 4
"""Vectors of a row of a block: longer pieces of many rows are more than processors foresee."""
MOST_ALONG = 8
"""Columns of a block of a single row whose lanes are steps."""
FEWEST_OF_A_BLOCK = 2
"""Rows up to which a matrix, if it always has so few, has blocks of so many."""
WAYS_OF_FEW = ((2, 4), (4, 2))
"""Ways of blocks with fewer rows: so many of so many vectors, since fewer than eight sums would wait for each other."""
SHORT_ROWS = WAYS_OF_FEW[-1][0]
"""Rows up to which a block takes such a way."""
FEW_PRODUCT_ROWS, FROM_MEMORY = 64, 1 << 23
"""Rows up to which a matrix is read as it lies: reading goes on while they are multiplied, and packing would not. From
so many bytes of it on a single row asks for columns to come."""
READ_AS_IT_LIES = {64: FEW_PRODUCT_ROWS, 32: 6, 16: 6}
"""The same of a matrix that half of the second cache does not hold, by the bytes of a vector: a block reads shorter
pieces of rows where vectors are shorter, and where these are only a line, to read them again is dearer than packing."""
UNPACKED_COLUMNS = 64
"""Columns up to which copying the left matrix costs more than reading it as it lies."""
UNPACKED = 1 << 16
"""Bytes up to which the right matrix stays so near that packing it gains nothing."""
STEPS_OF_A_SUM = 32
"""How many steps of a column are packed in the time in which the lanes of an element are added up."""
DEPTH = 512
"""Steps of a part: few sums are put away and read again, and rounding errors do not pile up. Bits depend on it."""
STREAMED, STREAMED_ROW = 64, 8
"""Steps of a part where few rows go over a large matrix, whose rows are read in long pieces, and where it is a single
row, of which the sums are put away at no cost. Bits depend on it."""
ALONG = 1 << 19
"""Bytes of the left matrix that are multiplied by a column of the right one, where lanes are steps: they stay in the
second cache. Bits depend on it."""
HEIGHT = 256
"""Rows that share a part of the sums."""
AHEAD_OF_A_LINE, AHEAD_OF_A_ROW = 384, 2048
"""Bytes of a row of the right matrix that are brought near before a block reads them, and where a single row goes over
one that no cache keeps (a tenth faster on a Zen 4, a quarter and more on a Zen 5)."""
STEPS_AHEAD = 8
"""Steps by which numbers of the left matrix are brought near: from the next line of a wide matrix that is transposed,
which processors do not foresee."""
ROWS_AHEAD = 4
"""Rows by which the right matrix is brought near as it is packed: in short pieces processors foresee little."""
OVERLAPPED = 64, 24
"""Bytes of the vectors, and vectors of a block, of which there are enough registers for sums, and for what works on
other sums meanwhile."""


# Panels of contractions

PANEL_REGISTERS = {64: (6, 4), 32: (6, 2), 16: (3, 4)}
"""Rows, and vectors of each, that are in registers, by the bytes of a vector. A row of a panel is whole lines."""
PANEL_ROWS = 960
"""Rows of a block at most: enough that packing costs little, and its sums stay in the second cache."""
PANEL_HEIGHT = 96
"""Rows that are multiplied and then written: a whole number of register blocks, and of vectors where sums are turned.
Their sums are still in the first cache then, if all steps fit a panel."""
PANEL_STEPS = 512
"""Steps of a panel: with all its columns it stays in the second cache beside the sums."""
PANEL_BYTES = 256
"""Bytes of a row of a panel."""
PANEL_AHEAD = 3
"""Steps by which lines of a panel are brought near: it is in the second cache, and is read from one end to the other
for some rows, so the first one has none of it any more."""

# Tiles of products on a GPU

GPU_TILE, GPU_TILE_WARPS = 128, 8
"""Rows and columns of a tile of the result, and warps of the team that makes it."""
GPU_TILE_DEPTHS = {"f16": 32, "bf16": 32, "tf32": 16}
"""Steps that are on the chip at a time, by the form of arithmetic."""
GPU_ROWS_THROUGH, GPU_PITCH = 16, 132
"""Rows of the product that go through memory on the chip at a time, and how far apart they lie there, in numbers."""
GPU_WIDTHS = (64, 128)
"""Elements of the rows that a chain of products has in registers (`lower/chains.py`)."""

# What `price.py` counts beside instructions and bytes

TURN = 0.3
"""Nanoseconds of a turn beside its work."""
FOLDING = 4.0
"""Of folding lanes."""
REST = 1.5
"""Of a branch to what whole vectors have left."""
LATENCY = 1.0
"""Until the sum of an addition may be added to."""
MASKING = 0.5
"""Instructions that a mask adds to reading or writing a vector."""
SHORT_PIECE = 100
"""Bytes that might have been read instead of going from one piece of memory to the next."""


def exceeds(size: Dim, most: Dim) -> Dim:
    """1 where a size is larger than this, else 0. Nothing is divided: small calls ask for a dozen of these."""
    return minimum(maximum(size - most, 0), 1)


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
    """Whether the reduced loops are one of few steps, known in advance, in whatever order."""
    if len(reduced) != 1 or reduced[0].in_order:
        return False
    return isinstance(reduced[0].dim, int) and 0 < reduced[0].dim <= LONGEST_UNROLLED
