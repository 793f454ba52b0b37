"""Tiles of a matrix product, each worked on while the next is multiplied.

An optimiser's step divides and takes roots, which leaves most of a processor idle: it could multiply meanwhile. So the
work on a tile waits until the next is multiplied, and goes between the steps of that (``overlap_tile``):

    for tile, and once more with no steps:
      overlap_tile scrap, left[rows, :], right[:, columns] (r, c) { row r of the tile before, from column c on }

Only tiles that are whole vectors wide take part. What columns are left are multiplied and worked on block by block
(`Tiles`), and so are all where the library has multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, minimum
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop, nest_of
from jitflow.passes.lower.kernel import Kernel
from jitflow.passes.lower.tiles import Tiles
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tree import Store

__all__ = ["lower_tiles"]

_ROWS = 8
"""With three vectors each, the rows whose sums fit into 32 registers beside what the work needs."""
_SLOW = ("divide", "sqrt")


def lower_tiles(
    op: Op,
    layouts: Sequence[Layout | None],
    target: Target,
    choice: Dim,
    *,
    name: str,
    into: Mapping[int, Layout],
    columns: int | None,
) -> Kernel:
    """The kernel of a fusion whose first operand is a product and whose last two are the factors of that.

    ``layouts`` are those of its operands. Of the product it gets a scrap of memory, which lies as `scrap_layout`, if
    the ``choice``, 0 or 1, is 1, else the product itself. So many ``columns`` are expected, if it is known.
    """
    nest = nest_of(op, layouts)
    kind = OverlappedTiles if any(map(_is_slow, nest.computed)) else Tiles
    kernel = kind(op, nest, target, False, into, ())
    kernel.choice, kernel.expected = choice, columns
    return kernel.run(name)


def _is_slow(op: Op) -> bool:
    """Whether an op keeps a part of the processor busy for long."""
    type = op.results[0].type
    return op.name in _SLOW and isinstance(type, Tensor) and type.rank == 2 and type.dtype.kind == "f"


class OverlappedTiles(Tiles):
    """Tiles of which the last is still to be worked on."""

    inside: Value | None = None
    """Where the vector of the last tile that is worked on lies in the scrap of memory."""

    def _outer_loops(self, loops: list[Loop]) -> None:
        columns = self.shape[1]
        wide = columns // self.width * self.width * self.choice
        if wide == 0 or (self.expected is not None and self.expected < self.width):
            super()._outer_loops(loops)
            return
        emitter, (first, last) = self.emitter, self.ends_of_rows()
        height, all_lanes = emitter.size(self.height), self.lanes

        def block(waiting: Sequence[Value]) -> Sequence[Value]:
            top = emitter.scope.index
            assert top is not None
            waiting = self._overlapped(loops, top, last, wide, waiting)
            if wide != columns:
                if self.expected is not None:  # as many lanes as are left of a row: dividing more takes longer
                    left = max(2, self.expected % self.width or self.width)
                    self.lanes = min(all_lanes, 1 << (left - 1).bit_length())
                self.block(loops, top, last, wide)
                self.lanes = all_lanes
            return waiting

        once_more = emitter.emit("add", last, height)
        nothing = (first, emitter.size(0), emitter.size(_ROWS))
        emitter.loop(first, once_more, height, nothing, block)

    def _overlapped(
        self, loops: list[Loop], top: Value, last: Value, wide: Dim, waiting: Sequence[Value]
    ) -> Sequence[Value]:
        """The tiles of so many columns of a block of rows, if these come before the last.

        ``waiting`` is the tile that is still to be worked on: its first row and column, and how many of its rows are
        done. The last tile of these is the next.
        """
        emitter, size, (rows, _) = self.emitter, self.emitter.size, self.shape
        height, width, one = size(_ROWS), size(self.width), size(1)
        left = emitter.emit("maximum", emitter.emit("subtract", last, top), size(0))
        is_block = emitter.emit("minimum", left, one)
        steps = emitter.emit("multiply", is_block, self.steps)
        others = emitter.emit("multiply", is_block, size(self.height // _ROWS * (wide // self.width) - 1))
        tiles = emitter.emit("multiply", emitter.emit("add", others, one), size(minimum(wide, 1)))

        def tile(carried: Sequence[Value]) -> Sequence[Value]:
            down, edge, row, column, done = carried
            start = emitter.emit("minimum", down, size(rows - _ROWS))
            self._tile(loops, (start, edge), (row, column, done), steps)
            beyond = emitter.emit("add", edge, width)
            ahead = emitter.emit("maximum", emitter.emit("subtract", size(wide), beyond), size(0))
            more = emitter.emit("minimum", ahead, one)
            further = emitter.emit("multiply", emitter.emit("subtract", one, more), height)
            return (
                emitter.emit("add", down, further), emitter.emit("multiply", beyond, more), start, edge,
                emitter.emit("subtract", down, start),
            )  # fmt: skip

        return emitter.loop(size(0), tiles, one, (top, size(0), *waiting), tile)[2:]

    def _tile(
        self, loops: list[Loop], origin: tuple[Value, Value], waiting: tuple[Value, Value, Value], steps: Value
    ) -> None:
        """Multiply the tile that begins here, and work on the one that waits."""
        emitter, size, (row, column, done) = self.emitter, self.emitter.size, waiting
        itemsize = size(self.dtype.itemsize)
        pitch = size(self.width * self.dtype.itemsize)
        rows_before = size(self.height * self.nest.layouts[self.product].strides[0])
        place = emitter.arithmetic("add", self.start_of(self.product, 0), rows_before)

        def work(down: Value, across: Value) -> None:
            line = emitter.emit("add", place, emitter.emit("multiply", down, pitch))
            self.inside = emitter.emit("add", line, emitter.emit("multiply", across, itemsize))
            self._work_at(loops, emitter.emit("add", row, down), emitter.emit("add", column, across))
            self.inside = None

        emitter.here(
            "overlap_tile", self.buffers[self.product], place, pitch, *self.factors(*origin), steps, done, size(_ROWS),
            types=(), regions=(emitter.turns(work),), lanes=self.lanes, **self.tile_of(_ROWS),
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

    def _offset(self, access: Access) -> Value:
        return self.inside if self.inside is not None and access.buffer is self.product else super()._offset(access)
