"""The loops of a matrix product round its blocks, as `schedule/products.py` sets them out.

    for edge by width:
      for top by height:
        for at by depth:
          for row by rows:
            for column by columns:
              multiply_block block[row, column], left[row.., at..], right[at.., column..]
            what follows, on a row of blocks, behind the last part of the steps

Parts of the right matrix are packed in front of the loop over rows, the left matrix by a kernel of its own. Where it is
known at run time only whether lanes are columns or steps, a branch round each block says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from zlib import crc32

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.dtypes import DType
from jitflow.ir.printer import print_function
from jitflow.ir.types import Buffer
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.lower.kernel import Kernel, KernelArgument
from jitflow.passes.lower.sharing import Shared, share
from jitflow.passes.schedule.products import AHEAD, Blocks
from jitflow.passes.schedule.target import Target

__all__ = ["Ends", "Multiplication", "Place", "lower_packing", "lower_plain", "share_product"]

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
    """Room for what is packed."""
    choice: Dim = 1
    """0 where the library has multiplied, and only what follows is left to do."""

    def run(
        self,
        rows: Ends,
        columns: Ends,
        block: Callable[[Value, Value, Value, Value], Sequence[Value]],
        follow: Callable[[Value, Value, Value, Value, Value], None] | None = None,
    ) -> None:
        """All blocks of some rows and columns.

        ``block(row, column, top, edge)`` is where a block of the result is: its buffer, its offset, and how far its
        rows are apart. ``follow(top, edge, row, below, beyond)`` works on finished rows.
        """
        emitter, size, blocks = self.emitter, self.emitter.size, self.blocks
        inner, width, height = blocks.factors.inner, maximum(blocks.part_columns, 1), maximum(blocks.part_rows, 1)

        def across() -> None:
            edge = self.position
            beyond = emitter.emit("minimum", emitter.emit("add", edge, size(width)), columns[1])
            stop = self._if(self.choice, edge, beyond)

            def down() -> None:
                top = self.position
                below = emitter.emit("minimum", emitter.emit("add", top, size(height)), rows[1])

                def part() -> None:
                    at = self.position
                    until = emitter.emit("minimum", emitter.emit("add", at, size(blocks.depth)), size(inner))
                    steps = emitter.emit("subtract", until, at)
                    if blocks.packs_right:
                        self._pack_right((edge, stop), at, steps)

                    def line() -> None:
                        row = self.position

                        def panel() -> None:
                            column = self.position
                            left = (emitter.emit("subtract", below, row), emitter.emit("subtract", beyond, column))
                            self._block(block(row, column, top, edge), (row, column, at), edge, (*left, steps, at))

                        self._loop(edge, stop, blocks.column_step, panel)
                        if follow is not None:
                            last = emitter.emit("add", row, size(blocks.row_step))
                            end = emitter.emit("minimum", last, below)
                            self._behind_last(until, lambda: follow(top, edge, row, end, beyond))

                    self._loop(top, below, blocks.row_step, line)

                self._loop(size(0), size(maximum(inner, 1)), blocks.depth, part)

            self._loop(*rows, height, down)

        self._loop(*columns, width, across)

    def _if(self, condition: Dim, start: Value, stop: Value) -> Value:
        """Where a loop stops that has turns only where a condition is 1."""
        if condition == 1:
            return stop
        emitter = self.emitter
        count = emitter.emit("subtract", stop, start)
        return emitter.emit("add", start, emitter.emit("multiply", count, emitter.size(condition)))

    @property
    def position(self) -> Value:
        """Where the innermost open loop is."""
        index = self.emitter.scope.index
        assert index is not None
        return index

    def _loop(self, start: Value, stop: Value, step: Dim, body: Callable[[], None]) -> None:
        def once(_: Sequence[Value]) -> Sequence[Value]:
            body()
            return ()

        self.emitter.loop(start, stop, self.emitter.size(step), (), once)

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
        turned = {"turned": True} if blocks.factors.are_turned else {}

        def panel() -> None:
            column = self.position
            emitter.here(
                "pack_panel", self.panels.buffer, self._panel(column, edge), self.right.buffer,
                self._lying(self.right, (column, stride), (at, step)), size(step), size(stride),
                emitter.emit("subtract", beyond, column), steps,
                columns=blocks.columns, lanes=blocks.lanes, dtype=self.dtype, **turned,
            )  # fmt: skip

        self._loop(edge, self._if(1 - blocks.along, edge, beyond), blocks.columns, panel)

    def _panel(self, column: Value, edge: Value) -> Value:
        """Where the panel of a column is, if a part begins with the column ``edge``."""
        emitter, blocks = self.emitter, self.blocks
        inside = emitter.emit("multiply", emitter.emit("subtract", column, edge), emitter.size(blocks.line_bytes))
        return emitter.emit("add", self.panels.offset, inside)

    def _lying(self, factor: Place, *places: tuple[Value, Dim]) -> Value:
        """Where a factor is, as it lies, at some positions, each with how far these are apart."""
        emitter, offset = self.emitter, factor.offset
        for position, stride in places:
            share = emitter.arithmetic("multiply", position, emitter.size(stride))
            offset = emitter.arithmetic("add", offset, share)
        return offset

    def _block(
        self, block: Sequence[Value], start: tuple[Value, Value, Value], edge: Value, counts: Sequence[Value]
    ) -> None:
        """One block of the result, whose first row, column and step are given."""
        emitter, along = self.emitter, self.blocks.along
        if along == 0:
            self._by_columns(block, start, edge, counts)
        elif along == 1:
            self._by_steps(block, start, counts)
        else:
            emitter.branch(
                emitter.emit("greater", emitter.size(along), emitter.size(0)),
                lambda: self._by_steps(block, start, counts),
                lambda: self._by_columns(block, start, edge, counts),
            )

    def factors(self, row: Value, column: Value, at: Value) -> Sequence[Value]:
        """The matrices from a row, column and step on, and how far rows and steps are apart; no right one is packed."""
        size, (starts, row_stride, left_step) = self.emitter.size, self.blocks.left
        step, stride = self.blocks.factors.right
        return (
            self.left.buffer, self._lying(self.left, (row, starts), (at, left_step)), size(row_stride),
            size(left_step), self.right.buffer, self._lying(self.right, (column, stride), (at, step)), size(step),
        )  # fmt: skip

    def _by_columns(
        self, block: Sequence[Value], start: tuple[Value, Value, Value], edge: Value, counts: Sequence[Value]
    ) -> None:
        """A block whose lanes are columns."""
        size, blocks = self.emitter.size, self.blocks
        left, right = self.factors(*start)[:4], self.factors(*start)[4:]
        if blocks.packs_right:
            step = size(blocks.columns * blocks.factors.itemsize)
            right = self.panels.buffer, self._panel(start[1], edge), step
        self.emitter.here(
            "multiply_block", *block, *left, *right, *counts, size(AHEAD),
            rows=blocks.rows, columns=blocks.columns, lanes=blocks.lanes, dtype=self.dtype,
        )  # fmt: skip

    def _by_steps(self, block: Sequence[Value], start: tuple[Value, Value, Value], counts: Sequence[Value]) -> None:
        """A block whose lanes are steps."""
        size, blocks, (_, column_stride) = self.emitter.size, self.blocks, self.blocks.factors.right
        left, left_at, row_stride, _, right, right_at, _ = self.factors(*start)
        self.emitter.here(
            "multiply_along", *block, size(blocks.factors.itemsize), left, left_at, row_stride,
            right, right_at, size(column_stride), *counts,
            rows=blocks.along_rows, columns=blocks.along_columns, lanes=blocks.lanes, dtype=self.dtype,
        )  # fmt: skip


class _Plain:
    """A kernel under construction that is no nest: its parameters are buffers."""

    def __init__(self, target: Target, dtype: DType, kinds: Sequence[str]) -> None:
        self.target, self.dtype = target, dtype
        self.emitter = Emitter()
        self.worker: Value | None = None
        self.parts = 1
        positions = [sum(other == kind for other in kinds[:place]) for place, kind in enumerate(kinds)]
        self.arguments = [KernelArgument(kind, position) for kind, position in zip(kinds, positions, strict=True)]
        self.buffers = [Value(Buffer(dtype), "buffer") for _ in kinds]
        self.emitter.depth_of |= dict.fromkeys(self.buffers, 0)

    def scratch(self, nbytes: Dim) -> Place:
        """Room for so many bytes, for each thread that takes a span: asked for inside of what they share."""
        buffer = Value(Buffer(self.dtype), "scratch")
        self.emitter.depth_of[buffer] = 0
        self.arguments.append(KernelArgument("scratch", 0, nbytes * self.parts, self.dtype))
        self.buffers.append(buffer)
        if self.worker is None:
            return Place(buffer, self.emitter.size(0))
        return Place(buffer, self.emitter.emit("multiply", self.worker, self.emitter.size(nbytes)))

    def finish(self, name: str) -> Kernel:
        """The kernel. Many programs have the same, so its name tells what it does."""
        sizes = [(dim, value) for dim, value in self.emitter.sizes.items() if not isinstance(dim, int)]
        arguments = (*self.arguments, *(KernelArgument("size", 0, dim) for dim, _ in sizes))
        region = self.emitter.close([*self.buffers, *(value for _, value in sizes)], [])
        shared = MappingProxyType({"shared": True})
        digest = crc32(print_function(Function("", region, (), "loop", shared), locations=False).encode())
        return Kernel(Function(f"{name}_{digest:08x}", region, (), "loop", shared), arguments, ())


def share_product(kernel: Shared, blocks: Blocks, count: Dim, work: Dim, body: Callable[[Ends, Ends], None]) -> None:
    """Make a product with so many rows and so much work for an element: all rows and columns, or a thread's.

    Threads share rows, or columns where these are packed, so that nobody packs what others do.
    """
    size, width = kernel.emitter.size, blocks.factors.columns
    rows, columns = (size(0), size(count)), (size(0), size(width))
    if blocks.packs_right:
        share(kernel, width, blocks.columns, count * work, lambda *some: body(rows, some))
    else:
        share(kernel, count, blocks.rows, width * work, lambda *some: body(some, columns))


def lower_plain(
    blocks: Blocks, dtype: DType, target: Target, offsets: tuple[Dim, Dim], choice: Dim, *, name: str
) -> Kernel:
    """The kernel of a product that nothing follows, from its factors, which begin at these offsets.

    Where the ``choice`` is 0 it does nothing.
    """
    kernel, factors = _Plain(target, dtype, ["operand", "operand", "output"]), blocks.factors
    emitter, (left, right, result) = kernel.emitter, kernel.buffers
    size = emitter.size
    pitch, itemsize = size(factors.columns * factors.itemsize), size(factors.itemsize)

    def block(row: Value, column: Value, top: Value, edge: Value) -> Sequence[Value]:
        down, across = emitter.emit("multiply", row, pitch), emitter.emit("multiply", column, itemsize)
        return result, emitter.emit("add", down, across), pitch

    def part(rows: Ends, columns: Ends) -> None:
        panels = kernel.scratch(blocks.panel_bytes * choice) if blocks.panel_bytes != 0 else Place(result, size(0))
        places = Place(left, size(offsets[0])), Place(right, size(offsets[1])), panels
        Multiplication(emitter, dtype, blocks, *places).run(rows, columns, block)

    share_product(kernel, blocks, factors.rows * choice, factors.inner, part)
    return kernel.finish(name)


def lower_packing(blocks: Blocks, dtype: DType, target: Target, offset: Dim, choice: Dim, *, name: str) -> Kernel:
    """The kernel that copies the left matrix, which begins at this offset, into panels, where the ``choice`` is 1."""
    kernel, factors = _Plain(target, dtype, ["operand", "output"]), blocks.factors
    emitter, (matrix, panels) = kernel.emitter, kernel.buffers
    size, (stride, step), count = emitter.size, factors.left, factors.rows * choice

    def panel(last: Value) -> None:
        row = emitter.scope.index
        assert row is not None
        to = emitter.emit("multiply", row, size(factors.inner * factors.itemsize))
        start = emitter.arithmetic("add", size(offset), emitter.emit("multiply", row, size(stride)))
        emitter.here(
            "pack_panel", panels, to, matrix, start, size(step), size(stride), emitter.emit("subtract", last, row),
            size(factors.inner), columns=blocks.rows, lanes=min(blocks.lanes, 1 << (blocks.rows - 1).bit_length()),
            dtype=dtype,
        )  # fmt: skip

    def panels_of(first: Value, last: Value) -> None:
        def one(_: Sequence[Value]) -> Sequence[Value]:
            panel(last)
            return ()

        emitter.loop(first, last, size(blocks.rows), (), one)

    share(kernel, count, blocks.rows, factors.inner, panels_of)
    return kernel.finish(name)
