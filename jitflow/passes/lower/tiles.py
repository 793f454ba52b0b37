"""A matrix product as a kernel: tiles of the result, each worked on by what the fusion does with the product.

Some rows of some vectors stay in registers while the inner axis is walked (``multiply_tile``). They go to a scrap of
memory that stays in the first cache, where the elementwise rest of the fusion reads them, when all columns are there.

    for row by 16:
      for column by 48:
        multiply_tile scrap[:, column..], left[row.., :], right[:, column..]
      for r in row..row + 16:  for c by 16:  ... scrap[r, c] ...

Where everything lies without gaps the rest is one loop, in which no vector ends with a row. Every element is summed up
along the inner axis, each product and sum rounded once: one after the other, but for a few last columns, of which a
vector has partial sums. So its bits depend on its column and on how the factors lie, neither on its row nor on what
reads it. The last rows are those of a tile that starts earlier; only what is new of it is worked on.

Rejected: to divide and take roots for one tile while the next is multiplied. Processors do both at once, but they look
only so far ahead that the two must alternate every few instructions; what that costs in loops and in compile time was
more than it brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.lower.kernel import Kernel, KernelLowering
from jitflow.passes.lower.nest import Access, Loop, Nest
from jitflow.passes.lower.schedule import Schedule
from jitflow.passes.lower.sharing import Span, span_over
from jitflow.passes.lower.target import Target

__all__ = ["lower_tiles", "scrap_layout"]


def scrap_layout(target: Target, itemsize: int, columns: Dim) -> tuple[Layout, Dim]:
    """How some rows of a product lie in their scrap of memory, and how many elements all have, one a thread."""
    assert target.tile is not None
    return Layout(0, (columns * itemsize, itemsize)), target.tile[0] * columns * target.threads


def lower_tiles(
    op: Op,
    layouts: Sequence[Layout | None],
    target: Target,
    choice: Dim,
    *,
    name: str,
    into: Mapping[int, Layout],
) -> Kernel:
    """The kernel of a fusion whose first operand is a product and whose last two are the factors of that.

    ``layouts`` are those of its operands. Of the product it gets a scrap of memory, which lies as `scrap_layout`, if
    the ``choice``, 0 or 1, is 1, else the product itself.
    """
    (region,) = op.regions
    by_parameter = {
        parameter: layout for parameter, layout in zip(region.parameters, layouts, strict=True) if layout is not None
    }
    kernel = _Tiles(op, Nest(region, by_parameter), target, True, into, ())
    kernel.choice = choice
    return kernel.run(name)


class _Tiles(KernelLowering):
    """``height`` rows of ``width`` columns are a tile."""

    choice: Dim = 1
    """Whether to multiply at all."""

    def make_schedule(self, keep_order: bool, placed: dict[Value, Layout]) -> Schedule:
        return Schedule(self.nest, keep_order, placed, periodic=False)

    def make_span(self) -> Span | None:
        """Set out what is multiplied, and share the rows."""
        assert self.target.tile is not None
        self.product, *_, self.left, self.right = self.region.parameters
        assert isinstance(self.product.type, Tensor)
        self.dtype = self.product.type.dtype
        self.height, nbytes = self.target.tile
        self.width = nbytes // self.dtype.itemsize
        (rows, inner), columns = dims_of(self.left.type), dims_of(self.right.type)[1]
        pitch, _ = self.nest.layouts[self.product].strides
        self.rows[self.product] = self.height * pitch * self.choice
        return span_over(self, None, rows, self.height, columns * (inner * self.choice + self.schedule.cost))

    def _outer_loops(self, loops: list[Loop]) -> None:
        emitter, rows, columns = self.emitter, dims_of(self.left.type)[0], dims_of(self.right.type)[1]
        zero, height = emitter.size(0), emitter.size(self.height)
        first, last = (zero, emitter.size(rows)) if self.span is None else (self.span.first, self.span.last)

        def block(_: Sequence[Value]) -> Sequence[Value]:
            top = emitter.scope.index
            assert top is not None
            start = emitter.arithmetic("minimum", top, emitter.size(rows - self.height))
            below = emitter.arithmetic("minimum", emitter.emit("add", top, height), emitter.size(rows))

            def tile(_: Sequence[Value]) -> Sequence[Value]:
                edge = emitter.scope.index
                assert edge is not None
                self._multiply(start, edge, columns)
                return ()

            emitter.loop(zero, emitter.size(columns * self.choice), emitter.size(self.width), (), tile)
            origin = emitter.arithmetic("multiply", start, emitter.size(self.choice))
            self._work(loops, origin, top, below)
            return ()

        emitter.loop(first, last, height, (), block)

    def _multiply(self, start: Value, edge: Value, columns: Dim) -> None:
        """The tile whose first row and column these are."""
        emitter, size, itemsize = self.emitter, self.emitter.size, self.dtype.itemsize
        (row_stride, left_step), (right_step, column_stride) = (
            self.nest.layouts[factor].strides for factor in (self.left, self.right)
        )
        pitch, _ = self.nest.layouts[self.product].strides
        inside = emitter.arithmetic("multiply", edge, size(itemsize))
        at = emitter.arithmetic("add", self.start_of(self.product, 0), inside)
        emitter.here(
            "multiply_tile", self.buffers[self.product], at, size(pitch),
            self.buffers[self.left], self._from(self.left, start, row_stride), size(row_stride), size(left_step),
            self.buffers[self.right], self._from(self.right, edge, column_stride), size(right_step),
            emitter.emit("subtract", size(columns), edge), size(dims_of(self.left.type)[1]),
            rows=self.height, columns=self.width, dtype=self.dtype,
        )  # fmt: skip

    def _from(self, factor: Value, position: Value, stride: Dim) -> Value:
        """The byte offset of a position along one axis of a factor."""
        emitter = self.emitter
        share = emitter.arithmetic("multiply", position, emitter.size(stride))
        return emitter.arithmetic("add", emitter.size(self.nest.layouts[factor].offset), share)

    def _work(self, loops: list[Loop], origin: Value, top: Value, below: Value) -> None:
        """The elementwise rest on the rows from ``top`` on, where the product begins with the row ``origin``."""
        emitter, size = self.emitter, self.emitter.size
        *around, innermost = loops
        step, self.origin = size(self.lanes), {innermost: size(0)}

        def store(_: Sequence[Value]) -> Sequence[Value]:
            self._store_results(set(loops))
            return ()

        def along(_: Sequence[Value]) -> Sequence[Value]:
            emitter.loop(size(0), size(innermost.dim), step, (), store, innermost, self.lanes, masked=True)
            return ()

        if around:
            (row,) = around
            self.origin[row] = origin
            emitter.loop(top, below, size(1), (), along, row)
        else:
            columns = size(dims_of(self.right.type)[1])
            first, stop, self.origin[innermost] = (
                emitter.emit("multiply", row, columns) for row in (top, below, origin)
            )
            emitter.loop(first, stop, step, (), store, innermost, self.lanes, masked=True)

    def _streams(self, access: Access) -> Value | None:
        return None

    def _offset(self, access: Access) -> Value:
        if access.buffer is not self.product:
            return super()._offset(access)
        emitter, offset = self.emitter, self.start_of(access.buffer, 0)
        for scope in emitter.scopes:
            if scope.loop is not None and scope.index is not None:
                inside = emitter.emit("subtract", scope.index, self.origin[scope.loop])
                share = emitter.arithmetic("multiply", inside, emitter.size(access.strides[scope.loop]))
                offset = emitter.arithmetic("add", offset, share)
        return offset
