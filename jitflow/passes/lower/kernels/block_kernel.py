"""A matrix product as a kernel: each row of blocks is worked on by what the fusion does with the product.

The blocks go to a scrap of memory that stays in the caches, where the elementwise rest of the fusion reads them when
their sums are complete (`blocks.py`).

    for row by 8:
      for column by 48:
        multiply_block scrap[.., column..], left[row.., :], right[:, column..]
      for r in row..row + 8:  for c by 16:  ... scrap[r, c] ...

Where everything lies without gaps, and blocks are as wide as the product, the rest is one loop, in which no vector ends
with a row. The bits depend on the shape and on how the factors lie, not on what reads the product.

Where the rest divides or takes roots, it goes on while the next block is multiplied (`overlapped_blocks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop
from jitflow.passes.lower.kernels.blocks import Ends, Multiplication, Place
from jitflow.passes.lower.kernels.kernel import KernelLowering
from jitflow.passes.lower.kernels.product_kernels import share_product
from jitflow.passes.schedule.choose import register_lanes
from jitflow.passes.schedule.products import Blocks
from jitflow.passes.schedule.target import Target
from jitflow.passes.schedule.tree import Store

__all__ = ["BlockKernel", "scrap_layout"]


def scrap_layout(target: Target, blocks: Blocks) -> tuple[Layout, Dim]:
    """How a part of a product lies in its scrap of memory, and how many elements all threads need.

    Behind its rows there is room for a block, and for panels.
    """
    itemsize, width = blocks.factors.itemsize, blocks.part_columns
    layout = Layout(0, (width * itemsize, itemsize))
    room = (blocks.block_bytes if blocks.may_overlap else 0) + blocks.panel_bytes
    return layout, (blocks.kept_rows * width + room // itemsize) * target.threads


class BlockKernel(KernelLowering):
    """The kernel of a fusion that works on the blocks of a product."""

    blocks: Blocks
    packed: Value | None = None
    """The left matrix as it is packed, if it may be."""
    in_part: bool = False
    """Whether blocks have only some of the columns where all rows are one loop."""

    @property
    def is_periodic(self) -> bool:
        return False

    def emit_loops(self, name: str) -> None:
        """Set out what is multiplied, and share it."""
        self.set_out()
        blocks = self.blocks

        def part(rows: Ends, columns: Ends, _: Sequence[Value]) -> None:
            self.in_part = self.worker is not None and blocks.cuts_columns
            self.make_part(list(self.outer), rows, columns)

        share_product(self, blocks, blocks.factors.inner + self.joined.cost, part)

    def set_out(self) -> None:
        """What is multiplied, and the scrap of memory that it goes to."""
        self.lanes = register_lanes(self.joined, self.target)
        self.product, *factors = self.region.parameters
        if self.blocks.packs_left != 0:
            self.packed = factors.pop()
        *_, self.left, self.right = factors
        assert isinstance(self.product.type, Tensor)
        self.dtype = self.product.type.dtype
        pitch, _ = self.nest.layouts[self.product].strides
        self.behind = self.blocks.kept_rows * pitch
        if self.blocks.may_overlap:
            self.behind += self.blocks.block_bytes
        self.rows[self.product] = self.behind + self.blocks.panel_bytes

    def make_part(self, loops: list[Loop], rows: Ends, columns: Ends) -> None:
        """Make some rows and columns."""
        self.multiply(loops, rows, columns)

    def multiply(self, loops: list[Loop], rows: Ends, columns: Ends) -> None:
        """Make some rows and columns, and work on them."""
        emitter = self.emitter
        pitch, itemsize = map(emitter.size, self.nest.layouts[self.product].strides)

        def block(row: Value, column: Value, top: Value, edge: Value) -> Sequence[Value]:
            down = emitter.emit("multiply", emitter.emit("subtract", row, top), pitch)
            across = emitter.emit("multiply", emitter.emit("subtract", column, edge), itemsize)
            place = emitter.emit("add", self.start_of(self.product, 0), emitter.emit("add", down, across))
            return self.buffers[self.product], place, pitch

        def follow(top: Value, edge: Value, row: Value, below: Value, beyond: Value) -> None:
            self._work(loops, (top, edge), (row, below), (edge, beyond))

        def near(row: Value, column: Value) -> None:
            self._bring_near(loops, row, column)

        self.multiplication().run(rows, columns, block, follow, near)

    def _bring_near(self, loops: list[Loop], row: Value, column: Value) -> None:
        """Ask for what the rest reads and writes of the block that begins here, while that is multiplied."""
        emitter, blocks, (*around, innermost) = self.emitter, self.blocks, loops
        loads = (self.joined.access(load) for load in self.nest.loads if load.buffer is not self.product)
        with ExitStack() as stack:
            if around:
                stack.enter_context(emitter.step(around[0], row))
            else:
                column = emitter.arithmetic("add", self.in_line(row), column)
            stack.enter_context(emitter.step(innermost, column))
            for access in (*loads, *(access for _, _, access in self.outputs.values())):
                itemsize, across = access.dtype.itemsize, access.strides.get(innermost, 0)
                pitch = access.strides.get(around[0], 0) if around else blocks.factors.columns * itemsize
                if across == itemsize and pitch != 0:
                    emitter.here(
                        "bring_near", self.buffers[access.buffer], self.offset(access), emitter.size(pitch),
                        rows=blocks.rows, bytes=blocks.columns * itemsize,
                    )  # fmt: skip

    def multiplication(self) -> Multiplication:
        """The loops round blocks, which know how the factors lie."""
        panels = self.emitter.arithmetic("add", self.start_of(self.product, 0), self.emitter.size(self.behind))
        places = self._place(self.left), self._place(self.right), Place(self.buffers[self.product], panels)
        packed = None if self.packed is None else Place(self.buffers[self.packed], self.emitter.size(0))
        return Multiplication(self.emitter, self.dtype, self.blocks, *places, packed)

    def _place(self, factor: Value) -> Place:
        return Place(self.buffers[factor], self.emitter.size(self.nest.layouts[factor].offset))

    def _work(self, loops: list[Loop], origin: tuple[Value, Value], rows: Ends, columns: Ends) -> None:
        """The elementwise rest on some rows and columns, where the scrap begins with the row and column ``origin``."""
        emitter, (*around, innermost) = self.emitter, loops
        top, edge = origin
        flat = not around
        self.origin = {innermost: emitter.arithmetic("add", self.in_line(top), edge) if flat else edge}
        self.origin.update(dict.fromkeys(around, top))

        def store(_: Sequence[Value]) -> Sequence[Value]:
            self.nodes((Store(self.region.yielded),))
            return ()

        def vectors(start: Value, stop: Value) -> None:
            emitter.loop(start, stop, emitter.size(self.lanes), (), store, innermost, self.lanes, masked=True)

        def line(_: Sequence[Value]) -> Sequence[Value]:
            row = emitter.position
            before = self.in_line(row) if flat else emitter.size(0)
            vectors(*(emitter.arithmetic("add", before, column) for column in columns))
            return ()

        if flat and not self.in_part:
            vectors(*map(self.in_line, rows))
        else:
            emitter.loop(*rows, emitter.size(1), (), line, None if flat else around[0])

    def in_line(self, row: Value) -> Value:
        """The element that a row begins with, where all rows are one loop."""
        return self.emitter.emit("multiply", row, self.emitter.size(self.blocks.factors.columns))

    def offset(self, access: Access) -> Value:
        if access.buffer is not self.product:
            return super().offset(access)
        emitter, offset = self.emitter, self.start_of(access.buffer, 0)
        for scope in emitter.scopes:
            if scope.loop is not None and scope.index is not None:
                inside = emitter.emit("subtract", scope.index, self.origin[scope.loop])
                share = emitter.arithmetic("multiply", inside, emitter.size(access.strides[scope.loop]))
                offset = emitter.arithmetic("add", offset, share)
        return offset
