"""How a matrix product goes through a processor: register blocks, cache blocks and packing.

    for columns by width:  for rows by height:  for steps by depth:
      for row by rows:  for column by columns:  a block of the result in registers, added to what was there

A part of the right matrix, ``depth`` steps of ``width`` columns, stays in the second cache while rows go over it; what
they are multiplied by is read once for each such part. Sums are made over ``depth`` steps at a time, so what an element
is rounded to depends on the shape, and on how the factors lie, alone.

The choice is an expression over sizes, so a kernel does what its sizes ask for, whatever those of the first call were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from jitflow.ir.dims import Dim, maximum, minimum, substitute, symbols
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.target import Processor
from jitflow.records import dataclass

__all__ = ["Blocks", "Factors", "Figures", "among_many", "choose_blocks", "completed", "cut",
           "has_blocks", "symbols_of"]  # fmt: skip


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

    @staticmethod
    def of_groups(left: Tensor, left_layout: Layout, right: Tensor, right_layout: Layout) -> Factors:
        """Those of bytes whose steps lie in groups: a group is an element."""
        (rows, _), (inner, columns), itemsize = dims_of(left), dims_of(right), right.dtype.itemsize
        places = (left_layout.strides[0], itemsize), (right_layout.strides[0], itemsize)
        return Factors(itemsize, rows, inner, columns, *places)

    @property
    def sizes(self) -> tuple[Dim, Dim, Dim]:
        """Rows, steps and columns."""
        return self.rows, self.inner, self.columns

    def swapped(self) -> Factors:
        """Those of the transposed product: its factors are the transposed ones, the other way round."""
        left, right = self.right[::-1], self.left[::-1]
        return Factors(self.itemsize, self.columns, self.inner, self.rows, left, right)

    def for_sizes(self, names: Mapping[str, Dim]) -> Factors:
        """The same for other sizes, which have the place of those that it names."""
        rows, inner, columns = (substitute(size, names) for size in self.sizes)
        left, right = ((substitute(one, names), substitute(other, names)) for one, other in (self.left, self.right))
        return Factors(self.itemsize, rows, inner, columns, left, right)

    @property
    def are_turned(self) -> bool:
        """Whether the steps of the right matrix lie side by side, and not its columns."""
        return self.right[1] != self.itemsize

    @property
    def is_left_turned(self) -> bool:
        """Whether the rows of the left matrix lie side by side, and not its steps."""
        return self.left[0] == self.itemsize != self.left[1]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A schedule. Register blocks have ``rows`` rows of ``columns`` columns, in vectors of ``lanes``.

    A part of the result has at most ``part_rows`` and ``part_columns``, and sums are made over ``depth`` steps at a
    time. Where ``along`` is 1, lanes are steps instead, and blocks have ``along_rows`` and ``along_columns``. Where
    ``packs_right`` is 1, blocks read the right matrix from panels of so many columns, into which its parts are copied
    first. Where ``packs_left`` is 1, all of the left one is copied into panels of so many rows beforehand: parts of it
    would be read again for each of the other. Threads share pieces of ``piece_rows`` and ``piece_columns``; one of the
    two is not cut.
    """

    factors: Factors
    lanes: int
    rows: int
    columns: int
    part_rows: Dim
    depth: Dim
    part_columns: Dim
    along: Dim
    along_rows: int
    along_columns: int
    packs_left: Dim
    packs_right: Dim
    ahead: Dim
    """How many bytes ahead of itself a right matrix that is not packed is brought near."""
    may_overlap: bool
    """Whether registers hold sums beside what works on others."""
    goes_on: Dim
    """1 where sums of a part go on in a next one, and must be kept until then."""
    piece_rows: Dim
    piece_columns: Dim
    kept_rows: Dim = 0
    """How many rows of sums are kept: those of a part if they go on, else those of a block. This and what is below is
    no choice (`completed`)."""
    panel_bytes: Dim = 0
    """How large the panels of a part of the right matrix are."""
    column_step: Dim = 1
    """How many columns a block has: of few rows all of a part, which are not packed."""
    pieces_down: Dim = 1
    pieces_across: Dim = 1

    def for_sizes(self, names: Mapping[str, Dim]) -> Blocks:
        """The same for other sizes, which have the place of those that it names."""
        dims = [one.name for one in fields(self) if one.name != "factors"]
        made: dict[str, Any] = {name: substitute(getattr(self, name), names) for name in dims}
        return replace(self, factors=self.factors.for_sizes(names), **made)

    @property
    def overlaps(self) -> Dim:
        """1 where blocks may be worked on while others are multiplied: rows are whole, and sums made in one part."""
        whole = cost.exceeds(self.factors.rows, self.rows - 1) * (1 - self.goes_on)
        return whole * (1 - self.packs_right) * (1 - self.packs_left)

    @property
    def spills(self) -> Dim:
        """1 where the second cache does not hold the result."""
        return cost.exceeds(self.factors.rows * self.factors.columns * self.factors.itemsize, cost.NEAR)

    @property
    def cuts_columns(self) -> bool:
        """Whether threads may share columns."""
        return self.pieces_across != 1

    @property
    def block_bytes(self) -> int:
        """How large a block is in memory."""
        return self.rows * self.columns * self.factors.itemsize

    @property
    def row_step(self) -> Dim:
        """How many rows a block has."""
        return self.rows + self.along * (self.along_rows - self.rows)

    @property
    def line_bytes(self) -> Dim:
        """How large a column of a panel is: one step more, so that panels do not fall into the same sets of a cache."""
        return (minimum(self.factors.inner, cost.DEPTH) + 1) * self.factors.itemsize

    @property
    def packed_left(self) -> tuple[Dim, Dim, Dim]:
        """How far apart rows of blocks begin in a left matrix that is packed, then rows, and steps.

        As panels of the right one these are one step further apart than they need be.
        """
        itemsize = self.factors.itemsize
        return (self.factors.inner + 1) * itemsize, itemsize, self.rows * itemsize

    @property
    def packed_rows(self) -> Dim:
        """How many rows of the left matrix are packed."""
        return self.packs_left * self.factors.rows

    @property
    def along_short_rows(self) -> int:
        """How many rows of a block whose lanes are steps take a way of their own if only so many are left, or 0."""
        return cost.SHORT_ROWS if self.along_rows > cost.SHORT_ROWS else 0


def symbols_of(record: Factors | Blocks) -> Iterator[str]:
    """The names of the sizes in a record, each as often as it occurs."""
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(value, Factors):
            yield from symbols_of(value)
        for dim in value if isinstance(value, tuple) else (value,):
            yield from symbols(dim)


def has_blocks(factors: Factors, processor: Processor | None) -> bool:
    """Whether there are blocks for such matrices, and not the library alone: something must lie side by side."""
    return processor is not None and factors.itemsize in factors.right


class Figures:
    """What a schedule makes of sizes: here dims; a program makes them sizes of its own, so that dims stay short."""

    def named(self, name: str, dim: Dim) -> Dim:
        """A figure of this name."""
        return dim

    def either(self, name: str, flag: Dim, yes: Dim, no: Dim) -> Dim:
        """``yes`` where the flag, 0 or 1, is 1, else ``no``."""
        return no + flag * (yes - no)

    def where(self, name: str, flag: Dim, yes: Callable[[Figures], Dim], no: Dim) -> Dim:
        """The same of what takes long to find out, and is only looked for where the flag is 1."""
        return self.either(name, flag, yes(self), no)


def choose_blocks(
    factors: Factors,
    processor: Processor,
    threads: int,
    figures: Figures,
    *,
    single: bool = True,
    divides: bool = False,
) -> Blocks:
    """The schedule of a product on so many cores, a ``single`` one or `among_many`, to be `completed`.

    What follows it may divide.
    """
    named, either = figures.named, figures.either
    itemsize, lanes = factors.itemsize, processor.vector_bytes // factors.itemsize
    rows = _register_rows(processor, factors.rows)
    columns = _register_vectors(processor, rows) * lanes
    along = named("along", _prefers_along(factors))
    cache = processor.second_cache // 2
    right_bytes = named("right_bytes", factors.inner * factors.columns * itemsize)
    large = named("large", cost.exceeds(right_bytes, cache - 1))
    few = either("few_rows", large, cost.READ_AS_IT_LIES[processor.vector_bytes], cost.FEW_PRODUCT_ROWS)
    many = named("many", cost.exceeds(factors.rows, few))
    streams = named("streams", 0 if factors.are_turned else large * (1 - many))
    several = named("several", cost.exceeds(factors.rows, 1))
    streamed = cost.STREAMED_ROW + several * (cost.STREAMED - cost.STREAMED_ROW)
    depth = either("depth", along, _steps_along(factors), either("depth_across", streams, streamed, cost.DEPTH))
    # No bit depends on what follows.
    may_overlap = divides and (processor.vector_bytes, rows * columns // lanes) == cost.OVERLAPPED
    spills = large if may_overlap else cost.exceeds(right_bytes, cost.UNPACKED)
    packs_right = named("packs", (1 - along) if factors.are_turned else spills * many)
    along_rows, along_columns = _along_block(processor, rows)
    block = columns + along * (along_columns - columns)
    width = figures.where("width", large, partial(_narrow, factors, depth, block, cache), factors.columns)
    from_memory = cost.FROM_MEMORY if factors.are_turned else cost.STREAM_FROM
    asks = either("asks", several, large, cost.exceeds(right_bytes, from_memory))
    lines = cost.AHEAD_OF_A_ROW + several * (cost.AHEAD_OF_A_LINE - cost.AHEAD_OF_A_ROW)
    ahead = factors.right[1] * along_columns if factors.are_turned else lines
    goes_on = named("goes_on", maximum(streams, cost.exceeds(factors.inner, cost.DEPTH)))
    few = either("some_rows", named("tall", maximum(large, goes_on)), max(cost.HEIGHT // rows, 1) * rows, rows)
    height = either("height", packs_right, factors.rows, few)
    packs_left = named("packs_left", _prefers_packed_left(factors, cache) if single else 0)
    return Blocks(
        factors, lanes, rows, columns, height, depth, width, along, along_rows, along_columns, packs_left, packs_right,
        named("ahead", asks * ahead), may_overlap and packs_left != 1 and packs_right != 1, goes_on,
        *_pieces(factors, (rows, columns), packs_right, many, threads, figures),
    )  # fmt: skip


def among_many(blocks: Blocks, batch: Dim, threads: int, figures: Figures) -> Blocks:
    """The schedule of each product of a ``batch``, that of a single one but for its pieces: of many nothing is cut."""
    factors, is_one = blocks.factors, figures.named("is_one", 1 - cost.exceeds(batch, threads * cost.PIECES - 1))
    rows = figures.either("rows_each", is_one, blocks.piece_rows, factors.rows)
    columns = figures.either("columns_each", is_one, blocks.piece_columns, factors.columns)
    return replace(blocks, piece_rows=rows, piece_columns=columns)


def completed(blocks: Blocks, figures: Figures) -> Blocks:
    """A schedule with what follows from its choices."""
    panel_columns = (blocks.part_columns + blocks.columns - 1) // blocks.columns * blocks.columns
    panels = blocks.packs_right * panel_columns * blocks.line_bytes
    few = figures.named("few", (1 - cost.exceeds(blocks.factors.rows, cost.SHORT_ROWS)) * (1 - blocks.packs_right))
    across = figures.either("across_step", few, maximum(blocks.part_columns, 1), blocks.columns)
    return replace(
        cut(blocks, figures),
        column_step=figures.either("column_step", blocks.along, blocks.along_columns, across),
        kept_rows=figures.either("kept_rows", blocks.goes_on, blocks.part_rows, blocks.rows),
        panel_bytes=figures.named("panels", panels),
    )


def cut(blocks: Blocks, figures: Figures) -> Blocks:
    """A schedule with how many pieces it is cut into."""
    factors = blocks.factors
    return replace(
        blocks,
        pieces_down=_pieces_of("rows", factors.rows, blocks.piece_rows, figures),
        pieces_across=_pieces_of("columns", factors.columns, blocks.piece_columns, figures),
    )


def _pieces_of(name: str, size: Dim, length: Dim, figures: Figures) -> Dim:
    """How many pieces of a length a size has, at least one."""
    if size == length:
        return 1
    number = (size + maximum(length, 1) - 1) // maximum(length, 1)
    return figures.named(f"pieces_{name}", maximum(number, 1))


def _pieces(
    factors: Factors, steps: tuple[int, int], packs_right: Dim, many: Dim, threads: int, figures: Figures
) -> tuple[Dim, ...]:
    """How many rows and columns the pieces have that threads share.

    They share rows, or columns where there are more blocks of these, or where these are packed: then nobody packs what
    others do. There are only as many pieces as threads where each packs the same, and where few rows read long lines.
    """
    if threads == 1:
        return factors.rows, factors.columns
    named, either, wanted = figures.named, figures.either, threads * cost.PIECES
    down = named("blocks_down", (factors.rows + steps[0] - 1) // steps[0])
    across = named("blocks_across", (factors.columns + steps[1] - 1) // steps[1])
    wide = named("wide", cost.exceeds(across, down))
    packed = named("wide_or_many", maximum(cost.exceeds(across, wanted - 1), wide))
    lying = named("wide_and_flat", wide * (1 - cost.exceeds(down, wanted - 1)))
    cuts = either("cuts_columns", packs_right, packed, lying)
    lengths = list[Dim]()
    for name, size, step, blocks, cut, parts in (
        ("rows", factors.rows, steps[0], down, named("cuts_rows", 1 - cuts), (packs_right, threads, wanted)),
        ("columns", factors.columns, steps[1], across, cuts, (many, wanted, threads)),
    ):
        flag, yes, no = parts
        fair = either(f"fair_{name}", flag, (blocks + yes - 1) // yes, (blocks + no - 1) // no)
        lengths.append(either(f"piece_{name}", cut, minimum(fair * step, size), size))
    return tuple(lengths)


def _narrow(factors: Factors, depth: Dim, block: Dim, cache: int, figures: Figures) -> Dim:
    """How many columns the parts of a large matrix have that are left in the cache, all of them blocks of these."""
    named = figures.named
    block = maximum(named("block", block), 1)
    across = named("across", (factors.columns + block - 1) // block)
    held = minimum(depth, factors.inner) if factors.are_turned else depth
    most = maximum(named("most_across", cache // (maximum(held, 1) * factors.itemsize) // block), 1)
    parts = maximum(named("parts", (across + most - 1) // most), 1)
    return named("narrow", minimum((across + parts - 1) // parts * block, factors.columns))


def _prefers_packed_left(factors: Factors, cache: int) -> Dim:
    """1 where copying the left matrix costs less than reading it as it lies, if its rows lie side by side."""
    if not factors.is_left_turned:
        return 0
    is_large = cost.exceeds(factors.inner * factors.rows * factors.itemsize, cache)
    return is_large * cost.exceeds(factors.columns, cost.UNPACKED_COLUMNS)


def _register_vectors(processor: Processor, rows: int) -> int:
    """How many vectors of so many rows the registers hold, beside a row of the right matrix and what multiplies it."""
    return min(processor.for_sums // (rows + 1), cost.MOST_VECTORS)


def _register_rows(processor: Processor, rows: Dim) -> int:
    """How many rows a register block has: as many as registers hold, but for matrices that never have more than a few.

    With these, vectors of the right matrix must be read so fast that this is what takes time.
    """
    if isinstance(rows, int) and rows <= cost.FEWEST_OF_A_BLOCK:
        return max(rows, 1)
    return cost.REGISTER_ROWS[processor.registers][0]


def _steps_along(factors: Factors) -> Dim:
    """How many steps sums are made over, where lanes are steps: whole lines of the left matrix."""
    lines = cost.ALONG // cost.CACHE_LINE // maximum(factors.rows, 1)
    return maximum(lines, 1) * (cost.CACHE_LINE // factors.itemsize)


def _along_block(processor: Processor, rows: int) -> tuple[int, int]:
    """Rows and columns of a block of which each element has a vector of sums."""
    return (1, cost.MOST_ALONG) if rows == 1 else (rows, _register_vectors(processor, rows))


def _prefers_along(factors: Factors) -> Dim:
    """1 where lanes are steps: where they lie side by side in both matrices, and packing would cost more.

    Adding up the lanes of an element takes as long as packing some steps of a column.
    """
    if not factors.are_turned or factors.left[1] != factors.itemsize:
        return 0
    few = 1 - cost.exceeds(factors.rows, cost.FEW_PRODUCT_ROWS)
    return few * cost.exceeds(factors.inner, cost.STEPS_OF_A_SUM * factors.rows)
