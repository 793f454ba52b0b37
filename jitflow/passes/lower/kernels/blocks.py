"""The loops of a matrix product round its blocks, as `schedule/products.py` sets them out.

    share pieces of rows and columns, of each product of a batch:
      for edge by width:
        for top by height:
          for at by depth:
            for row by rows:
              for column by columns:
                multiply_block block[row, column], left[row.., at..], right[at.., column..]
              what follows, on a row of blocks, behind the last part of the steps

Parts of the right matrix are packed in front of the blocks that read them, the left matrix by a kernel of its own.
Where it is known at run time only whether the right one is packed, or whether lanes are columns or steps, a branch
round each block says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.dtypes import DType
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.products import Blocks
from jitflow.records import dataclass

__all__ = ["Ends", "Multiplication", "Place"]

Ends = tuple[Value, Value]
"""Where a span of rows or columns starts, and where it ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """A matrix in memory: its buffer, and the byte offset of its first element."""

    buffer: Value
    offset: Value


@dataclass(frozen=True, slots=True)
class Multiplication:
    """The loops of a product, emitted into a kernel."""

    emitter: Emitter
    dtype: DType
    blocks: Blocks
    left: Place
    right: Place
    panels: Place
    """Room for what is packed of the right matrix."""
    packed: Place | None
    """The left matrix as it is packed."""

    def run(
        self,
        rows: Ends,
        columns: Ends,
        block: Callable[[Value, Value, Value, Value], Sequence[Value]],
        follow: Callable[[Value, Value, Value, Value, Value], None] | None = None,
        near: Callable[[Value, Value], None] = lambda row, column: None,
    ) -> None:
        """All blocks of some rows and columns.

        ``block(row, column, top, edge)`` is where a block of the result is: its buffer, its offset, and how far its
        rows are apart. ``follow(top, edge, row, below, beyond)`` works on finished rows. What is kept of the sums
        begins with the row ``top`` and the column ``edge``. ``near(row, column)`` asks for what will be needed when a
        block is finished, if all of it is more than stays in the caches.
        """
        emitter, size, blocks = self.emitter, self.emitter.size, self.blocks
        inner, width, height = blocks.factors.inner, maximum(blocks.part_columns, 1), maximum(blocks.part_rows, 1)

        def across() -> None:
            edge = self.position
            beyond = emitter.emit("minimum", emitter.emit("add", edge, size(width)), columns[1])

            def down() -> None:
                top = self.position
                below = emitter.emit("minimum", emitter.emit("add", top, size(height)), rows[1])

                def part() -> None:
                    at = self.position
                    until = emitter.emit("minimum", emitter.emit("add", at, size(blocks.depth)), size(inner))
                    steps = emitter.emit("subtract", until, at)
                    self._where(blocks.packs_right, lambda: self._pack_right((edge, beyond), at, steps))

                    def line() -> None:
                        row = self.position
                        inside = emitter.emit("subtract", row, top)
                        kept = emitter.emit("multiply", inside, size(1 - blocks.goes_on))
                        first = emitter.emit("add", top, kept)

                        def panel() -> None:
                            column = self.position
                            behind = emitter.emit("subtract", beyond, column)
                            behind = emitter.emit("minimum", behind, size(blocks.column_step))
                            left = emitter.emit("subtract", below, row), behind
                            place = block(row, column, first, edge)
                            self._where(blocks.spills, lambda: self._behind_last(until, lambda: near(row, column)))
                            self._block(place, (row, column, at), edge, (*left, steps, at))

                        self._loop(edge, beyond, blocks.column_step, panel)
                        if follow is not None:
                            last = emitter.emit("add", row, size(blocks.row_step))
                            end = emitter.emit("minimum", last, below)
                            self._behind_last(until, lambda: follow(first, edge, row, end, beyond))

                    self._loop(top, below, blocks.row_step, line)

                self._loop(size(0), size(maximum(inner, 1)), blocks.depth, part)

            self._loop(*rows, height, down)

        self._loop(*columns, width, across)

    @property
    def position(self) -> Value:
        """Where the innermost open loop is."""
        return self.emitter.position

    def _loop(self, start: Value, stop: Value, step: Dim, body: Callable[[], None]) -> None:
        def once(_: Sequence[Value]) -> Sequence[Value]:
            body()
            return ()

        self.emitter.loop(start, stop, self.emitter.size(step), (), once)

    def _where(self, flag: Dim, yes: Callable[[], None], no: Callable[[], None] = lambda: None) -> None:
        """One of two, by a flag: in a branch if that is known at run time only."""
        if flag == 0:
            no()
        elif flag == 1:
            yes()
        else:
            size = self.emitter.size
            self.emitter.branch(self.emitter.emit("greater", size(flag), size(0)), yes, no)

    def _behind_last(self, until: Value, body: Callable[[], None]) -> None:
        """Run a body where all steps are done."""
        emitter, inner, depth = self.emitter, self.blocks.factors.inner, self.blocks.depth
        if isinstance(inner, int) and isinstance(depth, int) and inner <= depth:
            body()
        else:
            emitter.branch(emitter.emit("greater_equal", until, emitter.size(inner)), body)

    def _pack_right(self, columns: Ends, at: Value, steps: Value) -> None:
        """Put some steps of some columns of the right matrix into panels."""
        emitter, size, blocks = self.emitter, self.emitter.size, self.blocks
        edge, beyond = columns
        step, stride = blocks.factors.right

        emitter.here(
            "pack_panels", self.panels.buffer, self.panels.offset, self.right.buffer,
            self._lying(self.right, (edge, stride), (at, step)), size(step), size(stride),
            size(blocks.columns * blocks.line_bytes), emitter.emit("subtract", beyond, edge), steps,
            ahead=cost.ROWS_AHEAD, columns=blocks.columns, lanes=blocks.lanes, dtype=self.dtype,
            turned=blocks.factors.are_turned,
        )  # fmt: skip

    def _panel(self, column: Value, start: Value) -> Value:
        """Where the panel of a column is, if those that are packed begin with the column ``start``."""
        emitter, blocks = self.emitter, self.blocks
        inside = emitter.emit("multiply", emitter.emit("subtract", column, start), emitter.size(blocks.line_bytes))
        return emitter.emit("add", self.panels.offset, inside)

    def _lying(self, factor: Place, *places: tuple[Value, Dim]) -> Value:
        """Where a factor is, as it lies, at some positions, each with how far these are apart."""
        emitter, offset = self.emitter, factor.offset
        for position, stride in places:
            share = emitter.arithmetic("multiply", position, emitter.size(stride))
            offset = emitter.arithmetic("add", offset, share)
        return offset

    def _block(
        self, block: Sequence[Value], place: tuple[Value, Value, Value], start: Value, counts: Sequence[Value]
    ) -> None:
        """One block of the result, whose first row, column and step are given, and the column where its part begins."""
        self._where(
            self.blocks.along,
            lambda: self._by_steps(block, place, counts),
            lambda: self._by_columns(block, place, start, counts),
        )

    def factors(self, row: Value, column: Value, at: Value) -> Sequence[Value]:
        """The matrices from a row, column and step on, and how far rows and steps are apart; none is packed."""
        return *self._left(row, at), *self._right(column, at)

    def _left(self, row: Value, at: Value) -> Sequence[Value]:
        size, (stride, step) = self.emitter.size, self.blocks.factors.left
        return self.left.buffer, self._lying(self.left, (row, stride), (at, step)), size(stride), size(step)

    def _right(self, column: Value, at: Value) -> Sequence[Value]:
        step, stride = self.blocks.factors.right
        return self.right.buffer, self._lying(self.right, (column, stride), (at, step)), self.emitter.size(step)

    def _packed_left(self, row: Value, at: Value) -> Sequence[Value]:
        size, (starts, stride, step) = self.emitter.size, self.blocks.packed_left
        assert self.packed is not None
        return self.packed.buffer, self._lying(self.packed, (row, starts), (at, step)), size(stride), size(step)

    def _by_columns(
        self, block: Sequence[Value], place: tuple[Value, Value, Value], start: Value, counts: Sequence[Value]
    ) -> None:
        """A block whose lanes are columns. While it is multiplied, a row of the next row of blocks is brought near."""
        emitter, size, blocks, (row, column, at) = self.emitter, self.emitter.size, self.blocks, place

        def multiply(left: Sequence[Value], left_ahead: Value) -> None:
            def by(right: Sequence[Value], ahead: Dim) -> None:
                emitter.here(
                    "multiply_block", *block, *left, *right, *counts, size(ahead), left_ahead, rows=blocks.rows,
                    columns=blocks.columns, lanes=blocks.lanes, few=cost.WAYS_OF_FEW, dtype=self.dtype,
                )  # fmt: skip

            panel = self.panels.buffer, self._panel(column, start), size(blocks.columns * blocks.factors.itemsize)
            self._where(
                blocks.packs_right,
                lambda: by(panel, cost.AHEAD_OF_A_LINE),
                lambda: by(self._right(column, at), blocks.ahead),
            )

        self._where(
            blocks.packs_left,
            lambda: multiply(self._packed_left(row, at), size(blocks.packed_left[-1] * cost.STEPS_AHEAD)),
            lambda: multiply(self._left(row, at), self._left_ahead(column, start)),
        )

    def _left_ahead(self, column: Value, start: Value) -> Value:
        """How far behind the last row of a block what is brought near lies: another row for each column of blocks."""
        emitter, size, blocks = self.emitter, self.emitter.size, self.blocks
        row_stride, left_step = blocks.factors.left
        if left_step != blocks.factors.itemsize:
            return size(left_step * cost.STEPS_AHEAD)
        number = emitter.emit("divide_truncated", emitter.emit("subtract", column, start), size(blocks.columns))
        following = emitter.emit("add", emitter.emit("minimum", number, size(blocks.rows - 1)), size(1))
        return emitter.emit("multiply", following, size(row_stride))

    def _by_steps(self, block: Sequence[Value], start: tuple[Value, Value, Value], counts: Sequence[Value]) -> None:
        """A block whose lanes are steps. While it is multiplied, the columns of the next are brought near."""
        size, blocks, (_, column_stride) = self.emitter.size, self.blocks, self.blocks.factors.right
        left, left_at, row_stride, _, right, right_at, _ = self.factors(*start)
        self.emitter.here(
            "multiply_along", *block, size(blocks.factors.itemsize), left, left_at, row_stride,
            right, right_at, size(column_stride), *counts, size(blocks.ahead),
            rows=blocks.along_rows, columns=blocks.along_columns, lanes=blocks.lanes, short=blocks.along_short_rows,
            dtype=self.dtype,
        )  # fmt: skip
