"""Blocks of a matrix product, each worked on while the next is multiplied.

An optimiser's step divides and takes roots, which leaves most of a processor idle: it could multiply meanwhile. So the
work on a block waits until the next is multiplied, and goes between the steps of that (``overlap_block``):

    for block, and once more with no steps:
      overlap_block scrap, left[rows, :], right[:, columns] (r, c) { row r of the block before, from column c on }

Only blocks that are whole vectors wide, and whose sums are made in one part, take part. What columns are left are
multiplied and worked on by rows of blocks (`BlockKernel`). Registers must hold the sums beside what the work needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import maximum, minimum
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop, nest_of
from jitflow.passes.lower.kernels.block_kernel import BlockKernel
from jitflow.passes.lower.kernels.blocks import Ends
from jitflow.passes.lower.kernels.kernel import Kernel
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.products import Blocks
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tree import Store

__all__ = ["is_slow", "lower_blocks"]

_SLOW = ("divide", "sqrt")


def lower_blocks(
    op: Op,
    layouts: Sequence[Layout | None],
    target: Target,
    blocks: Blocks,
    *,
    name: str,
    into: Mapping[int, Layout],
) -> Kernel:
    """The kernel of a fusion whose first operand is a product and whose last ones are the factors of that.

    These are the left one, the right one, and the left one as it is packed, if it may be. ``layouts`` are those of the
    operands. Of the product the kernel gets a scrap of memory, which lies as `scrap_layout`.
    """
    nest = nest_of(op, layouts)
    kernel = (OverlappedBlocks if blocks.may_overlap else BlockKernel)(op, nest, target, False, into, ())
    kernel.blocks = blocks
    return kernel.run(name)


def is_slow(op: Op) -> bool:
    """Whether an op keeps a part of the processor busy for long."""
    type = op.results[0].type
    return op.name in _SLOW and isinstance(type, Tensor) and type.rank == 2 and type.dtype.kind == "f"


class OverlappedBlocks(BlockKernel):
    """Blocks of which the last is still to be worked on."""

    inside: Value | None = None
    """Where the vector of the last block that is worked on lies in the scrap of memory."""

    def make_part(self, loops: list[Loop], rows: Ends, part_columns: Ends) -> None:
        blocks, columns = self.blocks, self.blocks.factors.columns
        wide = columns // blocks.columns * blocks.columns * blocks.overlaps
        if wide == 0:
            super().make_part(loops, rows, part_columns)
            return
        emitter, (first, last), (edge, beyond) = self.emitter, rows, part_columns
        all_wide = emitter.size(wide)
        if blocks.cuts_columns and self.worker is not None:
            step = emitter.size(blocks.columns)
            count = emitter.emit("floor_divide", emitter.emit("subtract", beyond, edge), step)
            all_wide = emitter.emit("minimum", all_wide, emitter.emit("multiply", count, step))
        height = emitter.size(maximum(blocks.part_rows + minimum(wide, 1) * (blocks.rows - blocks.part_rows), 1))
        all_lanes, self.in_part = self.lanes, True

        def block(waiting: Sequence[Value]) -> Sequence[Value]:
            top = emitter.position
            waiting = self._overlapped(loops, (top, last), (edge, all_wide), waiting)
            if wide != columns:
                # As many lanes as are left of a row: dividing more takes longer. Two halves of a vector take no longer.
                left = max(2, columns % blocks.columns) if isinstance(columns, int) else all_lanes // 2
                self.lanes = min(all_lanes, 1 << (left - 1).bit_length())
                below = emitter.emit("minimum", emitter.emit("add", top, height), last)
                self.multiply(loops, (top, below), (emitter.arithmetic("add", edge, all_wide), beyond))
                self.lanes = all_lanes
            return waiting

        once_more = emitter.emit("add", last, height)
        nothing = (first, edge, emitter.size(blocks.rows))
        emitter.loop(first, once_more, height, nothing, block)

    def _overlapped(self, loops: list[Loop], rows: Ends, columns: Ends, waiting: Sequence[Value]) -> Sequence[Value]:
        """The blocks of a row of blocks, if this comes before the last row: from one column on, so many columns.

        ``waiting`` is the block that is still to be worked on: its first row and column, and how many of its rows are
        done. The last of these blocks is the next.
        """
        emitter, size, blocks = self.emitter, self.emitter.size, self.blocks
        (top, last), (first_column, wide), one = rows, columns, size(1)
        left = emitter.emit("maximum", emitter.emit("subtract", last, top), size(0))
        is_row = emitter.emit("minimum", left, one)
        steps = emitter.emit("multiply", is_row, size(blocks.factors.inner))
        number_of_blocks = emitter.emit("floor_divide", wide, size(blocks.columns))
        others = emitter.emit("multiply", is_row, emitter.emit("subtract", number_of_blocks, one))
        some = emitter.emit("minimum", wide, one)
        count = emitter.emit("multiply", emitter.emit("add", others, one), some)
        start = emitter.emit("minimum", top, size(blocks.factors.rows - blocks.rows))
        done = emitter.emit("subtract", top, start)

        def block(carried: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            edge = emitter.emit("multiply", number, size(blocks.columns))
            edge = emitter.arithmetic("add", first_column, edge)
            row, column, of_these = carried
            self._multiply_and_work(loops, (start, edge), (row, column, of_these), steps)
            return start, edge, done

        return emitter.loop(size(0), count, one, waiting, block)

    def _multiply_and_work(
        self, loops: list[Loop], origin: tuple[Value, Value], waiting: tuple[Value, Value, Value], steps: Value
    ) -> None:
        """Multiply the block that begins here, and work on the one that waits."""
        emitter, size, blocks, (row, column, done) = self.emitter, self.emitter.size, self.blocks, waiting
        itemsize, pitch = size(self.dtype.itemsize), size(blocks.columns * self.dtype.itemsize)
        before = size(self.behind - blocks.block_bytes)
        place = emitter.arithmetic("add", self.start_of(self.product, 0), before)
        factors = self.multiplication().factors(*origin, size(0))

        def work(down: Value, across: Value) -> None:
            line = emitter.emit("add", place, emitter.emit("multiply", down, pitch))
            self.inside = emitter.emit("add", line, emitter.emit("multiply", across, itemsize))
            self._work_at(loops, emitter.emit("add", row, down), emitter.emit("add", column, across))
            self.inside = None

        emitter.here(
            "overlap_block", self.buffers[self.product], place, pitch, *factors, steps, done, size(blocks.rows),
            types=(), regions=(emitter.turns(work),),
            ahead=cost.STEPS_AHEAD, rows=blocks.rows, columns=blocks.columns, lanes=self.lanes, dtype=self.dtype,
        )  # fmt: skip

    def _work_at(self, loops: list[Loop], row: Value, column: Value) -> None:
        """The elementwise rest on the vector that begins here."""
        emitter, (*around, innermost) = self.emitter, loops
        with ExitStack() as stack:
            if around:
                stack.enter_context(emitter.step(around[0], row))
            else:
                column = emitter.emit("add", self.in_line(row), column)
            stack.enter_context(emitter.step(innermost, column, self.lanes))
            self.nodes((Store(self.region.yielded),))

    def offset(self, access: Access) -> Value:
        return self.inside if self.inside is not None and access.buffer is self.product else super().offset(access)
