"""Kernels of matrix products alone, and how threads share these and those of fusions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from zlib import crc32

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import DType
from jitflow.ir.printer import print_function
from jitflow.ir.types import Buffer
from jitflow.passes.lower.kernels.blocks import Ends, Multiplication, Place
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.lower.kernels.kernel import Kernel, KernelArgument
from jitflow.passes.lower.kernels.sharing import Shared, share
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.products import Blocks
from jitflow.passes.schedule.target import Target

__all__ = ["lower_packing", "lower_plain", "share_product"]

Batch = Sequence[tuple[Dim, Sequence[Dim]]]
"""The axes of many products, each with how far apart these are in all arrays."""


def share_product(
    kernel: Shared, blocks: Blocks, work: Dim, body: Callable[[Ends, Ends, Sequence[Value]], None], batch: Batch = ()
) -> None:
    """Make a product that costs so much ``work`` an element, or many: all rows and columns, or a thread's pieces.

    ``body`` gets the rows and columns of a piece, and where its product begins along the axes of the batch.
    """
    emitter, size, factors = kernel.emitter, kernel.emitter.size, blocks.factors
    down, across = blocks.pieces_down, blocks.pieces_across
    is_cut = down != 1 or across != 1

    def places_in(number: Value) -> tuple[Sequence[Value], Value, Value]:
        """Where the piece of this number is: its product along the batch, and which piece down and across that is."""
        places = list[Value]()
        number, column = _divided(emitter, number, across)
        number, row = _divided(emitter, number, down)
        for dim, _strides in batch[:0:-1]:
            number, place = _divided(emitter, number, dim)
            places.insert(0, place)
        return [number, *places] if batch else (), row, column

    def make(first: Value, last: Value) -> None:
        """Make pieces of one product, which lie side by side."""
        places, row, column = places_in(first)
        _, low, right = (places, row, column) if first is last else places_in(last)
        rows = _ends(emitter, (row, low), blocks.piece_rows, factors.rows)
        body(rows, _ends(emitter, (column, right), blocks.piece_columns, factors.columns), places)

    def pieces(first: Value, last: Value) -> None:
        def piece(carried: Sequence[Value]) -> Sequence[Value]:
            assert emitter.scope.index is not None
            make(emitter.scope.index, emitter.scope.index)
            return carried

        if batch:
            emitter.loop(first, last, size(1), (), piece)
        elif is_cut and kernel.worker is not None:
            make(first, emitter.emit("subtract", last, size(1)))
        else:
            body((size(0), size(factors.rows)), (size(0), size(factors.columns)), ())

    count = product([dim for dim, _ in batch]) * down * across
    share(kernel, count, 1, blocks.piece_rows * blocks.piece_columns * work, pieces)


def _divided(emitter: Emitter, number: Value, count: Dim) -> tuple[Value, Value]:
    """How often a count is in a number, and what is left."""
    if count == 1:
        return number, emitter.size(0)
    size = emitter.size(count)
    quotient = emitter.emit("divide_truncated", number, size)
    return quotient, emitter.emit("subtract", number, emitter.emit("multiply", quotient, size))


def _ends(emitter: Emitter, pieces: Ends, length: Dim, stop: Dim) -> Ends:
    """Where the first of some pieces of this length starts, and the last ends."""
    if length == stop:
        return emitter.size(0), emitter.size(stop)
    (first, last), size = pieces, emitter.size(length)
    end = emitter.emit("multiply", emitter.emit("add", last, emitter.size(1)), size)
    return emitter.emit("multiply", first, size), emitter.emit("minimum", end, emitter.size(stop))


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


def lower_plain(
    blocks: Blocks, dtype: DType, target: Target, offsets: Sequence[Dim], batch: Batch, row_stride: Dim, *, name: str
) -> Kernel:
    """The kernel of products that nothing follows: factors and results begin at these offsets."""
    packs = blocks.packs_left != 0
    kernel, factors = _Plain(target, dtype, [*["operand"] * (2 + packs), "output"]), blocks.factors
    emitter, (left, right, *packed, result) = kernel.emitter, kernel.buffers
    size = emitter.size
    pitch, itemsize = size(row_stride), size(factors.itemsize)

    def part(rows: Ends, columns: Ends, places: Sequence[Value]) -> None:
        starts = [size(offset) for offset in offsets]
        for place, (_, strides) in zip(places, batch, strict=True):
            moved = [emitter.arithmetic("multiply", place, size(stride)) for stride in strides]
            starts = [emitter.arithmetic("add", *pair) for pair in zip(starts, moved, strict=True)]

        def block(row: Value, column: Value, top: Value, edge: Value) -> Sequence[Value]:
            down, across = emitter.emit("multiply", row, pitch), emitter.emit("multiply", column, itemsize)
            return result, emitter.arithmetic("add", starts[2], emitter.emit("add", down, across)), pitch

        panels = kernel.scratch(blocks.panel_bytes) if blocks.panel_bytes != 0 else Place(result, size(0))
        factors = Place(left, starts[0]), Place(right, starts[1])
        packed_left = Place(packed[0], size(0)) if packs else None
        Multiplication(emitter, dtype, blocks, *factors, panels, packed_left).run(rows, columns, block)

    share_product(kernel, blocks, factors.inner, part, batch)
    return kernel.finish(name)


def lower_packing(blocks: Blocks, dtype: DType, target: Target, offset: Dim, *, name: str) -> Kernel:
    """The kernel that copies the left matrix, which begins at this offset, into panels."""
    kernel, factors = _Plain(target, dtype, ["operand", "output"]), blocks.factors
    emitter, (matrix, panels) = kernel.emitter, kernel.buffers
    size, (stride, step), count = emitter.size, factors.left, blocks.packed_rows
    starts, *_ = blocks.packed_left

    def panels_of(first: Value, last: Value) -> None:
        to = emitter.emit("multiply", first, size(starts))
        start = emitter.arithmetic("add", size(offset), emitter.emit("multiply", first, size(stride)))
        emitter.here(
            "pack_panels", panels, to, matrix, start, size(step), size(stride),
            size(blocks.rows * starts), emitter.emit("subtract", last, first), size(factors.inner),
            ahead=cost.ROWS_AHEAD, columns=blocks.rows,
            lanes=min(blocks.lanes, 1 << (blocks.rows - 1).bit_length()), dtype=dtype,
        )  # fmt: skip

    share(kernel, count, blocks.rows, factors.inner, panels_of)
    return kernel.finish(name)
