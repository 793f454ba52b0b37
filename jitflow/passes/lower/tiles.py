"""A matrix product as a kernel: tiles of the result, each worked on by what the fusion does with the product.

A tile is a few rows of a few vectors, which stay in registers while the inner axis is walked (``multiply_tile``). It
goes to a scrap of memory that stays in the first cache, where the elementwise rest of the fusion reads it.

    for row by 16:  for column by 48:
      multiply_tile scrap, left[row.., :], right[:, column..]
      for r in row..row + 16:  for c in column..column + 48 by 16:  ... scrap[r, c] ...

Every element is summed up along the inner axis, one after the other, each product and sum rounded once: its bits
depend neither on the tile that it is in nor on what reads it. The last rows are those of a tile that starts earlier;
only what is new of it is worked on.
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
from jitflow.passes.lower.target import Target

__all__ = ["lower_tiles", "scrap_layout"]


def scrap_layout(target: Target, itemsize: int) -> tuple[Layout, int]:
    """How a tile lies in its scrap of memory, and how many bytes that has."""
    assert target.tile is not None
    rows, nbytes = target.tile
    return Layout(0, (nbytes, itemsize)), rows * nbytes


def lower_tiles(
    op: Op,
    layouts: Sequence[Layout | None],
    target: Target,
    *,
    name: str,
    into: Mapping[int, Layout],
) -> Kernel:
    """The kernel of a fusion whose first operand is a product and whose last two are the factors of that.

    ``layouts`` are those of its operands; of the product it gets a scrap of memory, which lies as `scrap_layout`.
    """
    (region,) = op.regions
    by_parameter = {
        parameter: layout for parameter, layout in zip(region.parameters, layouts, strict=True) if layout is not None
    }
    return _Tiles(op, Nest(region, by_parameter), target, True, into, ()).run(name)


class _Tiles(KernelLowering):
    """``height`` rows of ``width`` columns are a tile."""

    def make_schedule(self, keep_order: bool, placed: dict[Value, Layout]) -> Schedule:
        return Schedule(self.nest, keep_order, placed, periodic=False, joining=False)

    def _outer_loops(self, loops: list[Loop]) -> None:
        assert self.target.tile is not None
        self.product, *_, self.left, self.right = self.region.parameters
        assert isinstance(self.product.type, Tensor)
        self.dtype = self.product.type.dtype
        self.height, nbytes = self.target.tile
        self.width = nbytes // self.dtype.itemsize
        self.row, self.column = self.outer
        emitter, row, column = self.emitter, self.row, self.column
        zero, height, width = emitter.size(0), emitter.size(self.height), emitter.size(self.width)
        self.origin: dict[Loop, Value] = {}

        def across(_: Sequence[Value]) -> Sequence[Value]:
            top = emitter.scope.index
            assert top is not None
            start = emitter.arithmetic("minimum", top, emitter.size(row.dim - self.height))
            below = emitter.arithmetic("minimum", emitter.emit("add", top, height), emitter.size(row.dim))

            def tile(_: Sequence[Value]) -> Sequence[Value]:
                edge = emitter.scope.index
                assert edge is not None
                right = emitter.arithmetic("minimum", emitter.emit("add", edge, width), emitter.size(column.dim))
                self.origin = {row: start, column: edge}
                self._multiply(start, edge)
                self._work((top, below), (edge, right))
                return ()

            emitter.loop(zero, emitter.size(column.dim), width, (), tile)
            return ()

        emitter.loop(zero, emitter.size(row.dim), height, (), across)

    def _multiply(self, start: Value, edge: Value) -> None:
        """The tile whose first row and column these are."""
        emitter, size = self.emitter, self.emitter.size
        (row_stride, left_step), (right_step, column_stride) = (
            self.nest.layouts[factor].strides for factor in (self.left, self.right)
        )
        emitter.here(
            "multiply_tile", self.buffers[self.product], size(0),
            self.buffers[self.left], self._from(self.left, start, row_stride), size(row_stride), size(left_step),
            self.buffers[self.right], self._from(self.right, edge, column_stride), size(right_step),
            emitter.emit("subtract", size(self.column.dim), edge), size(dims_of(self.left.type)[1]),
            rows=self.height, columns=self.width, dtype=self.dtype,
        )  # fmt: skip

    def _from(self, factor: Value, position: Value, stride: Dim) -> Value:
        """The byte offset of a position along one axis of a factor."""
        emitter = self.emitter
        share = emitter.arithmetic("multiply", position, emitter.size(stride))
        return emitter.arithmetic("add", emitter.size(self.nest.layouts[factor].offset), share)

    def _work(self, rows: tuple[Value, Value], columns: tuple[Value, Value]) -> None:
        """The elementwise rest on the elements of a tile between these rows and columns."""
        emitter, step = self.emitter, self.emitter.size(self.lanes)

        def along(_: Sequence[Value]) -> Sequence[Value]:
            def store(_: Sequence[Value]) -> Sequence[Value]:
                self._store_results({self.row, self.column})
                return ()

            emitter.loop(*columns, step, (), store, self.column, self.lanes, masked=True)
            return ()

        emitter.loop(*rows, emitter.size(1), (), along, self.row)

    def _streams(self, access: Access) -> Value | None:
        return None

    def _offset(self, access: Access) -> Value:
        if access.buffer is not self.product:
            return super()._offset(access)
        emitter = self.emitter
        offset = emitter.size(0)
        for scope in emitter.scopes:
            if scope.loop is not None and scope.index is not None:
                inside = emitter.emit("subtract", scope.index, self.origin[scope.loop])
                share = emitter.arithmetic("multiply", inside, emitter.size(access.strides[scope.loop]))
                offset = emitter.arithmetic("add", offset, share)
        return offset
