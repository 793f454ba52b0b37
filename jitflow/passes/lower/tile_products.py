"""Products on a GPU that tiles make (`schedule/tiles.py`): one kernel, with what the program does with the product.

    for matrix in parallel:  (of batches)
      for row by 128 in parallel:
        for column by 128 in parallel:
          multiply_tile left[matrix, row.., :], right[matrix, :, column..] (i, j, number):
            ... number ...; write result[matrix, i, j]

What does not lie along rows or columns is copied first. A product that nothing works on is one that is copied to where
it belongs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dims import product as dims_product
from jitflow.ir.dtypes import F32
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Index, Scalar, Tensor
from jitflow.passes.fusion.nest import Loop, nest_of
from jitflow.passes.lower.fusions import allocate_outputs, give_results, layouts_of, placed_layouts, places_of
from jitflow.passes.lower.kernels.emitter import Scope
from jitflow.passes.lower.kernels.kernel import Kernel, KernelLowering
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.products import lower_matmul, lower_product, with_factors
from jitflow.passes.lower.program import Storage
from jitflow.passes.schedule.cost import GPU_PITCH, GPU_TILE, GPU_TILE_WARPS
from jitflow.passes.schedule.given import following, given_for
from jitflow.passes.schedule.scheduled_tiles import ScheduledTiles
from jitflow.passes.schedule.tiles import ChainTiles, Tiles, choose_tiles, is_along, prefers_tiles
from jitflow.passes.schedule.tree import Store

__all__ = ["TileKernel", "lower_matmul_on_grid", "lower_product_on_grid", "multiply_on_grid"]


def lower_matmul_on_grid(host: OwningProgram, op: Op) -> None:
    """The product in memory of its own."""
    if not prefers_tiles(op, host.layouts, fastmath=bool(host.function.attributes.get("fastmath"))):
        lower_matmul(host, op)
        return
    assert isinstance(op.result.type, Tensor)
    storage = host.allocate(op.result.type.dtype, op.result.type.dims)
    multiply_on_grid(host, op, storage)
    host.give(op.result, storage)


def multiply_on_grid(host: OwningProgram, op: Op, storage: Storage) -> None:
    """Products in tiles, into memory in C order."""
    assert isinstance(op.result.type, Tensor)
    one = Tensor(op.result.type.dtype, op.result.type.dims[-2:])
    product = Value(one, "product")
    inside, parameter = Builder(loc=op.loc), Value(one, "product")
    region = inside.region((parameter,), (inside.make("copy", parameter),))
    outside = Builder(loc=op.loc)
    outside.add("fusion", product, types=[one], regions=(region,))
    multiplied, layout = replace(op, results=(product,)), contiguous(one.dims, one.dtype.itemsize)
    _launch_tiles(host, multiplied, outside.ops[0], [storage], {0: layout}, host.kernel_name("product"))


def lower_product_on_grid(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion that holds a product, or have the library multiply first."""
    planned = host.plan.products[op]
    if planned.behind_library:
        lower_product(host, op)
        return
    rest = with_numbers(host, planned.rest)
    places = places_of(host, rest)
    outputs = allocate_outputs(host, rest, places)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    _launch_tiles(host, planned.product, rest, outputs, placed_layouts(host, op), name)
    give_results(host, rest, outputs)


def _launch_tiles(
    host: OwningProgram, product: Op, rest: Op, outputs: Sequence[Storage], into: Mapping[int, Layout], name: str
) -> None:
    """Launch a kernel that multiplies, and does the ``rest`` with the product, its first operand or another one."""
    factors, copies = [], []
    for factor in product.operands:
        assert isinstance(factor.type, Tensor)
        if not is_along(host.layouts[factor], factor.type.dtype):
            copy = Value(factor.type, factor.name)
            copies.append(host.contiguous_copy(factor))
            host.give(copy, copies[-1])
            factor = copy
        factors.append(factor)
    (region,) = rest.regions
    fusion = with_factors(rest, factors)
    assert isinstance(product.result.type, Tensor)
    type = product.result.type
    host.storage[product.result] = host.storage[factors[0]]  # it lies nowhere
    host.layouts[product.result] = contiguous(type.dims, type.dtype.itemsize)
    assert isinstance(factors[0].type, Tensor)
    tiles = choose_tiles(factors[0].type.dtype, *(host.layouts[factor] for factor in factors))
    nest = nest_of(fusion, layouts_of(host, fusion))
    lowering = TileKernel(fusion, nest, host.target, False, into, ())
    lowering.product = region.parameters[rest.operands.index(product.result)]
    lowering.tiles = tiles
    host.launch(lowering.run(name), fusion.operands, outputs)
    for copied in copies:
        host.free(copied)


class TileKernel(KernelLowering):
    """The kernel of a fusion that works on a product, tile by tile."""

    product: Value
    tiles: Tiles
    matrices: Loop | None = None
    """The loop over all matrices, where there are several."""

    def emit_loops(self, name: str) -> None:
        """Every tile of the result is a team's."""
        emitter, size = self.emitter, self.emitter.size
        left, right = self.region.parameters[-2:]
        assert isinstance(left.type, Tensor)
        assert isinstance(right.type, Tensor)
        tiles, dtype, (rows, steps) = self.tiles, left.type.dtype, left.type.dims[-2:]
        columns = right.type.dims[-1]
        batch = left.type.dims[:-2]
        sizes = {"rows": rows, "steps": steps, "columns": columns}
        self.schedule_tiles(name, tiles, {"matrices": dims_product(batch), **sizes} if batch else sizes)

        def factor(value: Value) -> list[Value]:
            layout = self.nest.layouts[value]
            start = self._start_of_matrix(layout, batch)
            return [self.buffers[value], start, *map(size, layout.strides[-2:])]

        def tile(_: Sequence[Value]) -> Sequence[Value]:
            starts = [scope.index for scope in emitter.scopes[-2:] if scope.index is not None]
            emitter.here(
                "multiply_tile", *factor(left), *factor(right), size(rows), size(columns), size(steps), *starts,
                types=(), regions=(self._rest(columns),), dtype=dtype, form=tiles.form, tile=GPU_TILE,
                steps=tiles.depth, along=(tiles.left_along_steps, tiles.right_along_steps), threads=GPU_TILE_WARPS,
                room=tiles.room, pitch=GPU_PITCH,
            )  # fmt: skip
            return ()

        def line(_: Sequence[Value]) -> Sequence[Value]:
            emitter.loop(size(0), size(columns), size(GPU_TILE), (), tile, parallel=True)
            return ()

        def matrix(_: Sequence[Value]) -> Sequence[Value]:
            emitter.loop(size(0), size(rows), size(GPU_TILE), (), line, parallel=True)
            return ()

        if not batch:
            matrix(())
            return
        self.matrices = Loop(dims_product(batch), reduced=False)
        for _, _, access in self.outputs.values():
            access.strides[self.matrices] = rows * columns * access.dtype.itemsize
        emitter.loop(size(0), size(self.matrices.dim), size(1), (), matrix, self.matrices, parallel=True)

    def schedule_tiles(self, name: str, tiles: Tiles | ChainTiles, sizes: Mapping[str, Dim]) -> None:
        """Have a schedule to print, and refuse another that is given for the kernel of this name."""
        self.scheduled = ScheduledTiles(self.op, tiles, sizes, self.target)
        if given := given_for(self.target, name):
            with following(given, ScheduledTiles.kind, self.scheduled.loops_text):
                pass

    def _start_of_matrix(self, layout: Layout, batch: Sequence[Dim]) -> Value:
        """Where the matrix of a factor begins whose number the loop over all has."""
        emitter, size = self.emitter, self.emitter.size
        start = size(layout.offset)
        for place, stride in zip(self._places_of_matrix(batch), layout.strides, strict=False):
            start = emitter.arithmetic("add", start, emitter.arithmetic("multiply", place, size(stride)))
        return start

    def _places_of_matrix(self, batch: Sequence[Dim]) -> list[Value]:
        """Where along the axes of a batch that matrix is."""
        emitter, size, places = self.emitter, self.emitter.size, list[Value]()
        if not batch:
            return []
        left = next(scope.index for scope in emitter.scopes if scope.loop is self.matrices)
        assert left is not None
        for dim in batch[:0:-1]:
            around = emitter.emit("divide_truncated", left, size(dim))
            places.insert(0, emitter.emit("subtract", left, emitter.emit("multiply", around, size(dim))))
            left = around
        return [left, *places]

    def _finish(self, name: str) -> Kernel:
        """The kernel, without the product among what it is given."""
        kernel = super()._finish(name)
        number, region = self.region.parameters.index(self.product), kernel.function.region
        given = (*region.parameters[:number], *region.parameters[number + 1 :])
        arguments = (*kernel.arguments[:number], *kernel.arguments[number + 1 :])
        return replace(
            kernel, function=replace(kernel.function, region=replace(region, parameters=given)), arguments=arguments
        )

    def _rest(self, columns: Dim) -> Region:
        """What is done with an element of the product."""
        emitter = self.emitter
        row, column, number = Value(Index(), "row"), Value(Index(), "column"), Value(Scalar(F32), "product")
        depth = len(emitter.scopes)
        emitter.depth_of |= dict.fromkeys((row, column, number), depth)
        emitter.scopes.append(Scope(Builder(), depth))
        assert isinstance(self.product.type, Tensor)
        dtype, dims = self.product.type.dtype, self.product.type.dims
        access = next(load for load in self.nest.loads if load.buffer is self.product)
        strides = self.joined.access(access).strides
        with ExitStack() as stack:
            for loop, stride in strides.items():
                position = column if stride == dtype.itemsize and dims[1] != 1 else row
                if len(strides) == 1 and 1 not in dims:  # rows and columns are one loop
                    position = emitter.emit("add", emitter.emit("multiply", row, emitter.size(columns)), column)
                stack.enter_context(emitter.step(loop, position))
            element = number if dtype == F32 else emitter.emit("cast", number, dtype=dtype)
            shown = [value for value in self.nest.layouts if self.nest.buffer_of(value) is self.product]
            emitter.scope.cache.update(dict.fromkeys(shown, element))
            self.nodes((Store(self.region.yielded),))
        return emitter.close([row, column, number], [])
