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

Where the rest divides or takes roots, it goes on while the next tile is multiplied (`overlapped_tiles.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.fusion.nest import Access, Loop
from jitflow.passes.lower.kernel import KernelLowering
from jitflow.passes.schedule.choose import register_lanes
from jitflow.passes.schedule.cost import worth_threads
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tree import Store

__all__ = ["Tiles", "scrap_layout"]


def scrap_layout(target: Target, itemsize: int, columns: Dim) -> tuple[Layout, Dim]:
    """How some rows of a product lie in their scrap of memory, and how many elements all have, one a thread.

    Behind the rows there is room for a tile.
    """
    assert target.tile is not None
    height, width = target.tile
    return Layout(0, (columns * itemsize, itemsize)), height * (columns + width // itemsize) * target.threads


class Tiles(KernelLowering):
    """The kernel of a fusion whose first operand is a product and whose last two are the factors of that.

    ``height`` rows of ``width`` columns are a tile.
    """

    choice: Dim = 1
    """1 to multiply, with a scrap of memory for the product, which lies as `scrap_layout`; 0 to get the product."""
    expected: int | None = None
    """How many columns there were at the first call, where it is known."""

    @property
    def is_periodic(self) -> bool:
        return False

    def emit_loops(self, name: str) -> None:
        """Set out what is multiplied, and share the rows."""
        self.lanes = register_lanes(self.joined, self.target)
        assert self.target.tile is not None
        self.product, *_, self.left, self.right = self.region.parameters
        assert isinstance(self.product.type, Tensor)
        self.dtype = self.product.type.dtype
        self.height, nbytes = self.target.tile
        self.width = nbytes // self.dtype.itemsize
        (rows, inner), columns = dims_of(self.left.type), dims_of(self.right.type)[1]
        pitch, _ = self.nest.layouts[self.product].strides
        self.rows[self.product] = self.height * (pitch + nbytes) * self.choice
        work = columns * (inner * self.choice + self.joined.cost)
        if worth_threads(rows, self.height, work, self.target.threads):
            self.share(None, rows, self.height, work, lambda: self._outer_loops(list(self.outer)))
        else:
            self._outer_loops(list(self.outer))

    @property
    def shape(self) -> tuple[Dim, Dim]:
        """How many rows and columns the product has."""
        return dims_of(self.left.type)[0], dims_of(self.right.type)[1]

    def ends_of_rows(self) -> tuple[Value, Value]:
        """The rows that are to be made."""
        if self.span is not None:
            return self.span.first, self.span.last
        return self.emitter.size(0), self.emitter.size(self.shape[0])

    def _outer_loops(self, loops: list[Loop]) -> None:
        emitter, (first, last) = self.emitter, self.ends_of_rows()

        def block(_: Sequence[Value]) -> Sequence[Value]:
            top = emitter.scope.index
            assert top is not None
            self.block(loops, top, last, 0)
            return ()

        emitter.loop(first, last, emitter.size(self.height), (), block)

    def block(self, loops: list[Loop], top: Value, last: Value, start_column: Dim) -> None:
        """The rows from ``top`` on, of which the columns from a first one on are multiplied and worked on."""
        emitter, (rows, columns) = self.emitter, self.shape
        start = emitter.arithmetic("minimum", top, emitter.size(rows - self.height))
        below = emitter.arithmetic("minimum", emitter.emit("add", top, emitter.size(self.height)), last)

        def tile(_: Sequence[Value]) -> Sequence[Value]:
            edge = emitter.scope.index
            assert edge is not None
            pitch, itemsize = self.nest.layouts[self.product].strides
            inside = emitter.arithmetic("multiply", edge, emitter.size(itemsize))
            at = emitter.arithmetic("add", self.start_of(self.product, 0), inside)
            operands = (self.buffers[self.product], at, emitter.size(pitch), *self.factors(start, edge))
            left = emitter.emit("subtract", emitter.size(columns), edge)
            emitter.here("multiply_tile", *operands, left, self.steps, **self.tile_of(self.height))
            return ()

        stop_column = emitter.size(columns * self.choice)
        emitter.loop(emitter.size(start_column), stop_column, emitter.size(self.width), (), tile)
        origin = emitter.arithmetic("multiply", start, emitter.size(self.choice))
        self._work(loops, origin, top, below, start_column)

    def factors(self, start: Value, edge: Value) -> tuple[Value, ...]:
        """Where the factors lie of a tile whose first row and column these are."""
        size = self.emitter.size
        (row_stride, left_step), (right_step, column_stride) = (
            self.nest.layouts[factor].strides for factor in (self.left, self.right)
        )
        return (
            self.buffers[self.left], self._from(self.left, start, row_stride), size(row_stride), size(left_step),
            self.buffers[self.right], self._from(self.right, edge, column_stride), size(right_step),
        )  # fmt: skip

    @property
    def steps(self) -> Value:
        """How long the inner axis is."""
        return self.emitter.size(dims_of(self.left.type)[1])

    def tile_of(self, rows: int) -> dict[str, Any]:
        """The attributes of a tile."""
        return {"rows": rows, "columns": self.width, "dtype": self.dtype}

    def _from(self, factor: Value, position: Value, stride: Dim) -> Value:
        """The byte offset of a position along one axis of a factor."""
        emitter = self.emitter
        share = emitter.arithmetic("multiply", position, emitter.size(stride))
        return emitter.arithmetic("add", emitter.size(self.nest.layouts[factor].offset), share)

    def _work(self, loops: list[Loop], origin: Value, top: Value, below: Value, start_column: Dim) -> None:
        """The elementwise rest on the rows from ``top`` on, where the product begins with the row ``origin``."""
        emitter, size, columns = self.emitter, self.emitter.size, self.emitter.size(self.shape[1])
        *around, innermost = loops

        def store(_: Sequence[Value]) -> Sequence[Value]:
            self.nodes((Store(self.region.yielded),))
            return ()

        def vectors(start: Value, stop: Value) -> None:
            emitter.loop(start, stop, size(self.lanes), (), store, innermost, self.lanes, masked=True)

        def along(_: Sequence[Value]) -> Sequence[Value]:
            before = size(0) if around else self.in_line(emitter.scope.index)
            vectors(emitter.arithmetic("add", before, size(start_column)), emitter.arithmetic("add", before, columns))
            return ()

        self.begin(loops, origin)
        if around:
            emitter.loop(top, below, size(1), (), along, around[0])
        elif start_column == 0:
            vectors(self.in_line(top), self.in_line(below))
        else:
            emitter.loop(top, below, size(1), (), along)

    def begin(self, loops: list[Loop], origin: Value) -> None:
        """Say which row the product in memory begins with."""
        *around, innermost = loops
        self.origin = {innermost: self.emitter.size(0) if around else self.in_line(origin)}
        self.origin.update(dict.fromkeys(around, origin))

    def in_line(self, row: Value | None) -> Value:
        """The element that a row begins with, where all rows are one loop."""
        assert row is not None
        return self.emitter.emit("multiply", row, self.emitter.size(self.shape[1]))

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
