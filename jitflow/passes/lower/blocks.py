"""The loops of a matrix product round its blocks, as `schedule/products.py` sets them out.

    for edge by width:
      for top by height:
        for at by depth:
          for row by rows:
            for column by columns:
              multiply_block block[row, column], left[row.., at..], right[at.., column..]
            what follows, on a row of blocks, behind the last part of the steps

Where the schedule is known at run time only, a branch round each block says whether its lanes are columns or steps and
whether the right matrix is packed; the loops are the same.
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
from jitflow.passes.lower.sharing import share
from jitflow.passes.schedule.products import ALONG, Blocks
from jitflow.passes.schedule.target import Target

__all__ = ["Ends", "Multiplication", "Place", "lower_packing", "lower_plain"]

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
        inner, width = size(self.blocks.factors.inner), maximum(blocks.widest, 1)

        def across() -> None:
            edge = self.position
            beyond = emitter.emit("minimum", emitter.emit("add", edge, size(width)), columns[1])

            def down() -> None:
                top = self.position
                below = emitter.emit("minimum", emitter.emit("add", top, size(blocks.height)), rows[1])

                def part() -> None:
                    at = self.position
                    until = emitter.emit("minimum", emitter.emit("add", at, size(blocks.depth)), inner)
                    steps = emitter.emit("subtract", until, at)

                    def line() -> None:
                        row = self.position
                        stop = beyond if self.choice == 1 else emitter.emit("multiply", beyond, size(self.choice))

                        def panel() -> None:
                            column = self.position
                            left = (emitter.emit("subtract", below, row), emitter.emit("subtract", beyond, column))
                            self._block(block(row, column, top, edge), (row, column, at), (*left, steps, at))

                        self._loop(edge, stop, blocks.column_step, panel)
                        if follow is not None:
                            last = emitter.emit("add", row, size(blocks.row_step))
                            end = emitter.emit("minimum", last, below)
                            self._behind_last(until, lambda: follow(top, edge, row, end, beyond))

                    self._loop(top, below, blocks.row_step, line)

                self._loop(size(0), size(maximum(self.blocks.factors.inner, 1)), blocks.depth, part)

            self._loop(*rows, blocks.height, down)

        self._loop(*columns, width, across)

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

    def _block(self, block: Sequence[Value], start: tuple[Value, Value, Value], counts: Sequence[Value]) -> None:
        """One block of the result, whose first row, column and step are given."""
        emitter, along, (row, column, at) = self.emitter, self.blocks.along, start
        left, right = self.blocks.left, self.blocks.right
        left_at = self._along(self._along(self.left.offset, row, left.starts), at, left.step)
        right_at = self._along(self._along(self.right.offset, column, right.starts), at, right.step)
        if along == 0:
            self._by_columns(block, left_at, right_at, counts)
        elif along == 1:
            self._by_steps(block, left_at, right_at, counts)
        else:
            emitter.branch(
                emitter.emit("greater", emitter.size(along), emitter.size(0)),
                lambda: self._by_steps(block, left_at, right_at, counts),
                lambda: self._by_columns(block, left_at, right_at, counts),
            )

    def factors(self, row: Value, column: Value) -> Sequence[Value]:
        """What blocks whose lanes are columns read from this row and column on: two matrices, and how these lie."""
        size, left, right = self.emitter.size, self.blocks.left, self.blocks.right
        left_at = self._along(self.left.offset, row, left.starts)
        right_at = self._along(self.right.offset, column, right.starts)
        return (
            self.left.buffer, left_at, size(left.lines), size(left.step),
            self.right.buffer, right_at, size(right.step),
        )  # fmt: skip

    def _by_columns(self, block: Sequence[Value], left: Value, right: Value, counts: Sequence[Value]) -> None:
        """A block whose lanes are columns."""
        size, blocks = self.emitter.size, self.blocks
        self.emitter.here(
            "multiply_block", *block, self.left.buffer, left, size(blocks.left.lines), size(blocks.left.step),
            self.right.buffer, right, size(blocks.right.step), *counts, size(blocks.ahead),
            rows=blocks.rows, columns=blocks.columns, lanes=blocks.lanes, dtype=self.dtype,
        )  # fmt: skip

    def _by_steps(self, block: Sequence[Value], left: Value, right: Value, counts: Sequence[Value]) -> None:
        """A block whose lanes are steps."""
        size, blocks, (rows, columns) = self.emitter.size, self.blocks, ALONG
        self.emitter.here(
            "multiply_along", *block, size(blocks.factors.itemsize), self.left.buffer, left, size(blocks.left.lines),
            self.right.buffer, right, size(blocks.right.lines), *counts,
            rows=rows, columns=columns, lanes=blocks.lanes, dtype=self.dtype,
        )  # fmt: skip

    def _along(self, offset: Value, position: Value, stride: Dim) -> Value:
        """A byte offset, and so many strides more."""
        share = self.emitter.arithmetic("multiply", position, self.emitter.size(stride))
        return self.emitter.arithmetic("add", offset, share)


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

    def finish(self, name: str) -> Kernel:
        """The kernel. Many programs have the same, so its name tells what it does."""
        sizes = [(dim, value) for dim, value in self.emitter.sizes.items() if not isinstance(dim, int)]
        arguments = (*self.arguments, *(KernelArgument("size", 0, dim) for dim, _ in sizes))
        region = self.emitter.close([*self.buffers, *(value for _, value in sizes)], [])
        shared = MappingProxyType({"shared": True})
        digest = crc32(print_function(Function("", region, (), "loop", shared), locations=False).encode())
        return Kernel(Function(f"{name}_{digest:08x}", region, (), "loop", shared), arguments, ())


def lower_plain(
    blocks: Blocks, dtype: DType, target: Target, offsets: tuple[Dim, Dim], choice: Dim, *, name: str
) -> Kernel:
    """The kernel of a product that nothing follows, from its factors, which begin at these offsets.

    Where the ``choice`` is 0 it does nothing.
    """
    kernel, factors = _Plain(target, dtype, ["operand", "operand", "output"]), blocks.factors
    emitter, (left, right, result) = kernel.emitter, kernel.buffers
    size, count = emitter.size, factors.rows * choice
    pitch, itemsize = size(factors.columns * factors.itemsize), size(factors.itemsize)

    def block(row: Value, column: Value, top: Value, edge: Value) -> Sequence[Value]:
        down, across = emitter.emit("multiply", row, pitch), emitter.emit("multiply", column, itemsize)
        return result, emitter.emit("add", down, across), pitch

    places = Place(left, size(offsets[0])), Place(right, size(offsets[1]))
    columns = (size(0), size(factors.columns))

    def rows(first: Value, last: Value) -> None:
        Multiplication(emitter, dtype, blocks, *places).run((first, last), columns, block)

    share(kernel, count, blocks.rows, factors.columns * factors.inner, rows)
    return kernel.finish(name)


def lower_packing(
    dtype: DType, target: Target, lines: tuple[Dim, Dim], steps: tuple[Dim, Dim], offset: Dim, width: int, *, name: str
) -> Kernel:
    """The kernel that copies a matrix into panels of ``width`` lines, from how many lines and steps it has.

    Beside each of both is how far they are apart.
    """
    kernel = _Plain(target, dtype, ["operand", "output"])
    emitter, (matrix, panels) = kernel.emitter, kernel.buffers
    size, (count, stride), (inner, step) = emitter.size, lines, steps
    lanes = min(target.vector_bytes // dtype.itemsize, 1 << (width - 1).bit_length())
    if target.processor is not None:
        lanes = min(target.processor.vector_bytes // dtype.itemsize, lanes)
    turned = {} if stride == dtype.itemsize else {"turned": True}

    def panel(last: Value) -> None:
        line = emitter.scope.index
        assert line is not None
        to = emitter.emit("multiply", line, size(inner * dtype.itemsize))
        start = emitter.arithmetic("add", size(offset), emitter.emit("multiply", line, size(stride)))
        emitter.here(
            "pack_panel", panels, to, matrix, start, size(step), size(stride), emitter.emit("subtract", last, line),
            size(inner), columns=width, lanes=lanes, dtype=dtype, **turned,
        )  # fmt: skip

    def all_panels(first: Value, last: Value) -> None:
        def one(_: Sequence[Value]) -> Sequence[Value]:
            panel(last)
            return ()

        emitter.loop(first, last, size(width), (), one)

    share(kernel, count, width, inner, all_panels)
    return kernel.finish(name)
