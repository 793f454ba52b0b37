"""How a matrix product goes through a processor: register blocks, cache blocks and packing.

    for columns by width:  for rows by height:  for steps by depth:
      for row by rows:  for column by columns:  a block of the result in registers, added to what was there

A part of the right matrix, ``depth`` steps of ``width`` columns, stays in the second cache while rows go over it; what
they are multiplied by is read once for each such part. Sums are made over ``depth`` steps at a time, so what an element
is rounded to depends on the shape, and on how the factors lie, alone.

The choice is an expression over sizes, in nanoseconds where two ways are compared. The sizes of the first call may
choose what no bit depends on: how large register blocks are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from jitflow.ir.dims import Dim, evaluate, maximum, minimum, symbols
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.schedule.target import Processor

__all__ = ["AHEAD", "Blocks", "Factors", "choose_blocks", "prefers_blocks"]


@dataclass(frozen=True, slots=True)
class Factors:
    """The sizes of a product, and the strides of its factors in bytes."""

    itemsize: int
    rows: Dim
    inner: Dim
    columns: Dim
    left: tuple[Dim, Dim]
    right: tuple[Dim, Dim]

    @staticmethod
    def of(left: Tensor, left_layout: Layout, right: Tensor, right_layout: Layout) -> Factors:
        """Those of two matrices that lie in memory, or of one of many products."""
        (rows, inner), (_, columns) = dims_of(left)[-2:], dims_of(right)[-2:]
        (row_stride, left_step), (right_step, column_stride) = left_layout.strides[-2:], right_layout.strides[-2:]
        itemsize = left.dtype.itemsize
        # What has one position may have any stride; then it lies side by side.
        left_step, right_step = (itemsize if inner == 1 else step for step in (left_step, right_step))
        column_stride = itemsize if columns == 1 else column_stride
        return Factors(itemsize, rows, inner, columns, (row_stride, left_step), (right_step, column_stride))

    def swapped(self) -> Factors:
        """Those of the transposed product: its factors are the transposed ones, the other way round."""
        left, right = self.right[::-1], self.left[::-1]
        return Factors(self.itemsize, self.columns, self.inner, self.rows, left, right)

    @property
    def are_turned(self) -> bool:
        """Whether the steps of the right matrix lie side by side, and not its columns."""
        return self.right[1] != self.itemsize


@dataclass(frozen=True, slots=True)
class Blocks:
    """A schedule. Register blocks have ``rows`` rows of ``columns`` columns, in vectors of ``lanes``.

    ``height`` and ``width`` are None for all rows and columns. Where ``along`` is 1, lanes are steps instead, and
    blocks have ``along_rows`` and ``along_columns``. With ``packs_right``, blocks whose lanes are columns read the
    right matrix from panels of so many columns, into which its parts are copied first. With ``packs_left``, all of the
    left one is copied into panels of so many rows beforehand: parts of it would be read again for each of the other.
    """

    factors: Factors
    lanes: int
    rows: int
    columns: int
    height: int | None
    depth: Dim
    width: int | None
    along: Dim
    along_rows: int
    along_columns: int
    packs_left: bool
    packs_right: bool
    may_overlap: bool
    """Whether registers hold sums beside what works on others."""

    @property
    def overlaps(self) -> Dim:
        """1 where blocks may be worked on while others are multiplied: rows are whole, and sums made in one part."""
        one_part = 1 - minimum(self.factors.inner // (_DEPTH + 1), 1)
        return minimum(self.factors.rows // self.rows, 1) * one_part

    @property
    def block_bytes(self) -> int:
        """How large a block is in memory."""
        return self.rows * self.columns * self.factors.itemsize

    @property
    def part_rows(self) -> Dim:
        """How many rows a part of the result has, at most."""
        return self.factors.rows if self.height is None else self.height

    @property
    def part_columns(self) -> Dim:
        """How many columns a part of the right matrix has, at most."""
        return self.factors.columns if self.width is None else self.width

    @property
    def row_step(self) -> Dim:
        """How many rows a block has."""
        return self.rows + self.along * (self.along_rows - self.rows)

    @property
    def column_step(self) -> Dim:
        """How many columns a block has."""
        return self.columns + self.along * (self.along_columns - self.columns)

    @property
    def line_bytes(self) -> Dim:
        """How large a column of a panel is."""
        return minimum(self.factors.inner, _DEPTH) * self.factors.itemsize

    @property
    def panel_bytes(self) -> Dim:
        """How large the panels of a part of the right matrix are."""
        panels = (self.part_columns + self.columns - 1) // self.columns
        return self.packs_right * panels * self.columns * self.line_bytes

    @property
    def left(self) -> tuple[Dim, Dim, Dim]:
        """How far apart rows of blocks begin in the left matrix as blocks read it, then rows, and steps."""
        factors = self.factors
        if self.packs_left:
            return factors.inner * factors.itemsize, factors.itemsize, self.rows * factors.itemsize
        row_stride, step = factors.left
        return row_stride, row_stride, step


_FEW_ROWS, _SOME_ROWS = 8, 64
"""Rows up to which turning a matrix costs more than adding up lanes, and up to which copying one costs too much."""
_STEPS_OF_A_SUM = 32
"""How many steps of a column are packed in the time in which the lanes of an element are added up."""
_MOST_VECTORS = 4
"""Vectors of a row of a block: longer pieces of many rows are more than processors foresee."""
_DEPTH = 512
"""Steps of a part: few sums are put away and read again, and rounding errors do not pile up."""
_STREAMED = 16
"""Steps of a part where few rows go over a large matrix: its rows are read from one end to the other. Half as many for
a single row, of which the sums are put away at no cost."""
AHEAD = 384
"""Bytes of a row of the right matrix that are brought near before a block reads them."""
_LONGEST = 1 << 20
"""Steps of a part whose lanes are steps, at most: each lane has a sum of its own."""
_USUAL = 256
"""A size that nobody has told."""
_HEIGHT = 256
"""Rows that share a part of the sums."""
_PER_NANOSECOND = 3
"""Vectors that are multiplied in a nanosecond."""
_MEMORY_BYTES = 20
"""Bytes that are read or written in a nanosecond."""
_PAGE = 4096
_OVERLAPPED_BYTES = 64
"""The vectors of which there are enough registers for sums, and for what works on other sums meanwhile."""
_WORTH_THREADS = 1_000_000
"""Nanoseconds of one thread from which on a library with several threads is left to it."""


def prefers_blocks(factors: Factors, processor: Processor | None) -> Dim:
    """1 where blocks are faster than the library, else 0, as an expression over sizes.

    Steps or columns of the right matrix must lie side by side.
    """
    if processor is None or not _lies_well(factors):
        return 0
    if processor.library_threads == 1:
        return 1
    lanes = processor.vector_bytes // factors.itemsize
    time = factors.rows * factors.inner * factors.columns // (lanes * _PER_NANOSECOND)
    return 1 - minimum(time // _WORTH_THREADS, 1)


def _lies_well(factors: Factors) -> bool:
    return factors.itemsize in factors.right


def choose_blocks(factors: Factors, processor: Processor, hints: Mapping[str, int]) -> Blocks:
    """The schedule of a product on a core, which expects the sizes of the first call, as far as ``hints`` tell them."""
    itemsize, lanes = factors.itemsize, processor.vector_bytes // factors.itemsize
    sizes = [_expected(dim, hints) for dim in (factors.rows, factors.inner, factors.columns)]
    rows = _register_rows(processor, sizes[0])
    columns = _register_vectors(processor, rows) * lanes
    along = _prefers_along(factors)
    cache = processor.second_cache // 2
    one, some = (1 - minimum(factors.rows // (most + 1), 1) for most in (1, _SOME_ROWS))
    streams = 0 if factors.are_turned else minimum(factors.inner * factors.columns * itemsize // cache, 1)
    depth = _DEPTH - streams * some * (_DEPTH - _STREAMED + one * _STREAMED // 2) + along * _LONGEST
    # No bit depends on what follows.
    expected = _Expected(processor, itemsize, *(_USUAL if size is None else size for size in sizes))
    packs_right = along != 1 and (factors.are_turned or expected.prefers_packing(factors.right[0]))
    turned = factors.left[0] == itemsize != factors.left[1]
    packs_left = turned and expected.swapped().prefers_packing(factors.left[1])
    panels = max(cache // (columns * itemsize * _DEPTH), 1)
    is_tall = packs_right or expected.rows > _SOME_ROWS
    width = columns * panels if expected.is_large and is_tall else None
    height = max(_HEIGHT // rows, 1) * rows if expected.inner > _DEPTH or expected.is_large else rows
    may_overlap = processor.vector_bytes == _OVERLAPPED_BYTES and rows * columns == 24 * lanes
    return Blocks(
        factors, lanes, rows, columns, None if packs_right else height, depth, width, along,
        *_along_block(processor, rows), packs_left, packs_right,
        may_overlap and not (packs_left or packs_right),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Expected:
    """The sizes of a product at the first call."""

    processor: Processor
    itemsize: int
    rows: int
    inner: int
    columns: int

    def swapped(self) -> _Expected:
        """Those of the transposed product."""
        return replace(self, rows=self.columns, columns=self.rows)

    @property
    def is_large(self) -> bool:
        """Whether the right matrix would leave no room in the second cache."""
        return self.inner * self.columns * self.itemsize > self.processor.second_cache // 2

    def prefers_packing(self, step: Dim) -> bool:
        """Whether copying the right matrix costs less than reading it as it lies, so many bytes from step to step.

        Rows that are far from each other cost a fifth, and more where they take turns in the same few lines of the
        caches.
        """
        size = self.inner * self.columns
        copying = 2 * size * self.itemsize / _MEMORY_BYTES
        reading = self.rows * size / (self.processor.vector_bytes // self.itemsize * _PER_NANOSECOND)
        pitch = self.columns * self.itemsize if not isinstance(step, int) else step
        share = 0.5 if pitch % _PAGE == 0 else 0.2
        return self.is_large and self.rows > _SOME_ROWS and reading * share > copying


def _expected(dim: Dim, hints: Mapping[str, int]) -> int | None:
    return evaluate(dim, hints) if hints.keys() >= set(symbols(dim)) else None


def _register_vectors(processor: Processor, rows: int) -> int:
    """How many vectors of so many rows the registers hold, beside a row of the right matrix and what multiplies it."""
    return min((processor.registers - processor.registers // 8) // (rows + 1), _MOST_VECTORS)


def _register_rows(processor: Processor, expected: int | None) -> int:
    """How many rows a register block has: as many as leave few without use.

    With few rows, the vectors of the right matrix must be read so fast that this is what takes time.
    """
    most = 8 if processor.registers == 32 else 6
    if expected is None or expected >= 16 * most:
        return most
    choices = [most, 4, 2, 1]
    costs = [-(-max(expected, 1) // rows) * max(4 * rows, 6 + 2 * rows) for rows in choices]
    return next(rows for rows, cost in zip(choices, costs, strict=True) if 8 * cost <= 9 * min(costs))


def _along_block(processor: Processor, rows: int) -> tuple[int, int]:
    """Rows and columns of a block of which each element has a vector of sums."""
    room = processor.registers - processor.registers // 8
    return (1, 8) if rows == 1 else (rows, min(room // (rows + 1), 4))


def _prefers_along(factors: Factors) -> Dim:
    """1 where lanes are steps: where they lie side by side in both matrices, and packing would cost more.

    Adding up the lanes of an element takes as long as packing some steps of a column.
    """
    if not factors.are_turned or factors.left[1] != factors.itemsize:
        return 0
    few = 1 - minimum(factors.rows // (_FEW_ROWS + 1), 1)
    return few * minimum(maximum(factors.inner + 1 - _STEPS_OF_A_SUM * factors.rows, 0), 1)
