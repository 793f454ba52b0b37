"""Chains of two products with a softmax between them, on a GPU: one kernel, which `cuda/emit_attend.py` prints.

    for matrix in parallel:  (of batches)
      for row by 128 in parallel:
        attend left[matrix, row.., :], right[matrix, :, :], third[matrix, :, :], out[matrix]
          (i, j, product): ... score, made of the product as the program does
          (x): exp of x

The factors' rows must be short enough for registers (`GPU_WIDTHS`); others, which only the running program may know, go
through memory, product by product. Each of the factors is read along its rows, and copied first if it lies otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.dims import product as dims_product
from jitflow.ir.dtypes import F32
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.ops import OPS
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.fusion.chain_products import Chain, chain_of
from jitflow.passes.fusion.nest import Access, Loop, nest_of
from jitflow.passes.lower.fusions import layouts_of
from jitflow.passes.lower.kernels.emitter import Scope
from jitflow.passes.lower.kernels.ways import lower_nest
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.lower.tile_products import TileKernel, multiply_on_grid
from jitflow.passes.schedule.cost import GPU_TILE, GPU_TILE_WARPS, GPU_WIDTHS
from jitflow.passes.schedule.tiles import ChainTiles

__all__ = ["lower_chain"]


def lower_chain(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a chain, or its parts where rows of the factors are too long."""
    op = with_numbers(host, op)
    chain = chain_of(op)
    assert chain is not None
    type = op.result.type
    assert isinstance(type, Tensor)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    storage = host.allocate(type.dtype, type.dims)
    longest = maximum(dims_of(chain.first.operands[0].type)[-1], type.dims[-1])
    _choose(host, op, chain, storage, name, longest, GPU_WIDTHS)
    host.give(op.result, storage)


def _choose(
    host: OwningProgram, op: Op, chain: Chain, storage: Storage, name: str, longest: Dim, widths: Sequence[int]
) -> None:
    """The kernel of the first of these widths into which the longest rows fit, which only the program may know."""
    if not widths:
        _apart(host, op, chain, storage, name)
        return
    width, *others = widths
    too_long = minimum(longest // (width + 1), 1)
    if too_long == 0:
        _launch(host, op, chain, storage, f"{name}_{width}", width)
    elif too_long == 1:
        _choose(host, op, chain, storage, name, longest, others)
    else:
        regions = []
        condition = host.builder.make("greater", host.dim(too_long), host.dim(0))
        for number in range(2):
            host.scopes.enter(host.builder.loc)
            if number == 0:
                _choose(host, op, chain, storage, name, longest, others)
            else:
                _launch(host, op, chain, storage, f"{name}_{width}", width)
            regions.append(host.scopes.leave().builder.region((), ()))
        host.builder.add("if", condition, types=(), regions=tuple(regions))


def _apart(host: OwningProgram, op: Op, chain: Chain, storage: Storage, name: str) -> None:
    """Each product in memory, and the softmax."""
    (region,) = op.regions
    outer = dict(zip(region.parameters, op.operands, strict=True))
    first = replace(chain.first, operands=tuple(outer[factor] for factor in chain.first.operands))
    product = Value(first.result.type, "product")
    scores = _of(host, product)
    multiply_on_grid(host, replace(first, results=(product,)), scores)
    others = [parameter for parameter in region.parameters if parameter not in _factors(chain)]
    weights = Value(chain.weights.type, "weights")
    inside = Region(
        (chain.first.result, *others), (*region.body[1:-1], Op(OPS["yield"], (chain.weights,), (), loc=op.loc))
    )
    rest = replace(op, operands=(product, *(outer[one] for one in others)), results=(weights,), regions=(inside,))
    made = _of(host, weights)
    kernel = lower_nest(rest, nest_of(rest, layouts_of(host, rest)), host.target, name=name)
    host.launch(kernel, rest.operands, [made])
    host.free(scores)
    last = replace(chain.last, operands=(weights, outer[chain.last.operands[1]]))
    multiply_on_grid(host, last, storage)
    host.free(made)


def _of(host: OwningProgram, value: Value) -> Storage:
    """Memory for a value."""
    assert isinstance(value.type, Tensor)
    storage = host.allocate(value.type.dtype, value.type.dims)
    host.give(value, storage)
    return storage


def _factors(chain: Chain) -> tuple[Value, ...]:
    return (*chain.first.operands, chain.last.operands[1])


def _launch(host: OwningProgram, op: Op, chain: Chain, storage: Storage, name: str, width: int) -> None:
    (region,) = op.regions
    outer = dict(zip(region.parameters, op.operands, strict=True))
    type = chain.first.result.type
    assert isinstance(type, Tensor)
    factors, copies = list[Value](), list[Storage]()
    for factor, axis in zip(_factors(chain), (-1, -2, -1), strict=True):
        given = outer[factor]
        assert isinstance(given.type, Tensor)
        if host.layouts[given].strides[axis] != given.type.dtype.itemsize:
            given, copy = _along(host, given, axis)
            copies.append(copy)
        factors.append(given)
    others = [parameter for parameter in region.parameters if parameter not in _factors(chain)]
    product = Value(type, "product")
    host.storage[product], host.layouts[product] = host.storage[factors[0]], _nowhere(type)  # it lies nowhere
    made = Builder(loc=op.loc)
    made.ops += chain.prologue
    score = made.make("copy", chain.scores)
    inside = made.region((*others, chain.first.result, *_factors(chain)), (score,))
    scores = Value(chain.scores.type, "scores")
    operands = (*(outer[one] for one in others), product, *factors)
    fusion = replace(op, operands=operands, results=(scores,), regions=(inside,))
    nest = nest_of(fusion, layouts_of(host, fusion))
    lowering = _ChainKernel(fusion, nest, host.target, False, {}, ())
    lowering.product, lowering.chain = chain.first.result, chain
    form = chain.last.operands[1].type
    assert isinstance(form, Tensor)
    lowering.chain_tiles = ChainTiles(form.dtype.name, width)
    host.launch(lowering.run(name), fusion.operands, [storage])
    for copied in copies:
        host.free(copied)


def _along(host: OwningProgram, factor: Value, axis: int) -> tuple[Value, Storage]:
    """A copy whose elements along an axis lie side by side."""
    assert isinstance(factor.type, Tensor)
    dims, itemsize = factor.type.dims, factor.type.dtype.itemsize
    layout = contiguous(dims, itemsize)
    if axis == -2:
        turned = contiguous((*dims[:-2], dims[-1], dims[-2]), itemsize)
        layout = Layout(0, (*turned.strides[:-2], turned.strides[-1], turned.strides[-2]))
    storage = host.allocate(factor.type.dtype, dims, layout)
    host.copy_into(factor, storage, layout)
    copy = Value(factor.type, factor.name)
    host.give(copy, storage)
    return copy, storage


def _nowhere(type: Tensor) -> Layout:
    """As a product lies that is only numbers in registers: with gaps behind each axis, so that no two are one loop."""
    strides: list[Dim] = []
    total: Dim = type.dtype.itemsize
    for dim in reversed(type.dims):
        strides.insert(0, total)
        total = (dim + 1) * total
    return Layout(0, tuple(strides))


class _ChainKernel(TileKernel):
    """The kernel of a chain: its output is the last product, whatever its region yields."""

    chain: Chain
    chain_tiles: ChainTiles

    def declare_output(self, value: Value) -> None:
        result = self.chain.last.result.type
        assert isinstance(result, Tensor)
        buffer = self.buffer_for(Value(result, "out"), result.dtype)
        self.outputs[value] = (
            buffer,
            contiguous(result.dims, result.dtype.itemsize),
            Access(value, result.dtype, 0, {}),
        )

    def emit_loops(self, name: str) -> None:
        """Each team has some rows of one of the matrices."""
        emitter, size = self.emitter, self.emitter.size
        left, right, third = self.region.parameters[-3:]
        ((out, layout, _),) = self.outputs.values()
        result, type = self.chain.last.result.type, self.chain.first.result.type
        assert isinstance(result, Tensor)
        assert isinstance(type, Tensor)
        *batch, rows, columns = type.dims
        self.matrices = Loop(dims_product(batch), reduced=False) if batch else None
        sizes = {"rows": rows, "steps": dims_of(left.type)[-1], "columns": columns, "values": result.dims[-1]}
        self.schedule_tiles(name, self.chain_tiles, {"matrices": dims_product(batch), **sizes} if batch else sizes)

        def place(buffer: Value, lies: Layout, axis: int) -> list[Value]:
            return [buffer, self._start_of_matrix(lies, batch), size(lies.strides[axis])]

        def factor(value: Value, axis: int) -> list[Value]:
            return place(self.buffers[value], self.nest.layouts[value], axis)

        def tile(_: Sequence[Value]) -> Sequence[Value]:
            top = emitter.position
            operands = [*factor(left, -2), *factor(right, -1), *factor(third, -2), *place(out, layout, -2)]
            counts = [size(dim) for dim in (rows, columns, dims_of(left.type)[-1], result.dims[-1])]
            dtype = self.chain.first.operands[0].type
            assert isinstance(dtype, Tensor)
            emitter.here(
                "attend", *operands, *counts, top, types=(), regions=(self._score(batch), self._power()),
                dtype=dtype.dtype, out=result.dtype, form=self.chain_tiles.form, tile=GPU_TILE,
                width=self.chain_tiles.width, threads=GPU_TILE_WARPS, room=self.chain_tiles.room,
            )  # fmt: skip
            return ()

        def matrix(_: Sequence[Value]) -> Sequence[Value]:
            emitter.loop(size(0), size(rows), size(GPU_TILE), (), tile, parallel=True)
            return ()

        if self.matrices is None:
            matrix(())
        else:
            emitter.loop(size(0), size(self.matrices.dim), size(1), (), matrix, self.matrices, parallel=True)

    def _score(self, batch: Sequence[Dim]) -> Region:
        """What the program makes of an element of the product."""
        emitter = self.emitter
        row, column, number = Value(Index(), "row"), Value(Index(), "column"), Value(Scalar(F32), "product")
        places = self._places_of_matrix(batch)
        depth = len(emitter.scopes)
        emitter.depth_of |= dict.fromkeys((row, column, number), depth)
        emitter.scopes.append(Scope(Builder(), depth))
        type = self.product.type
        assert isinstance(type, Tensor)
        position = dict(zip(_nowhere(type).strides, (*places, row, column), strict=True))
        access = next(load for load in self.nest.loads if load.buffer is self.product)
        with ExitStack() as stack:
            for loop, stride in self.joined.access(access).strides.items():
                stack.enter_context(emitter.step(loop, position[stride]))
            element = number if type.dtype == F32 else emitter.emit("cast", number, dtype=type.dtype)
            shown = [value for value in self.nest.layouts if self.nest.buffer_of(value) is self.product]
            emitter.scope.cache.update(dict.fromkeys(shown, element))
            score = self.value(self.region.yielded[0])
            if score.type != Scalar(F32):
                score = emitter.emit("cast", score, dtype=F32)
        return emitter.close([row, column, number], [score])

    def _power(self) -> Region:
        emitter = self.emitter
        number = Value(Scalar(F32), "x")
        depth = len(emitter.scopes)
        emitter.depth_of[number] = depth
        emitter.scopes.append(Scope(Builder(), depth))
        return emitter.close([number], [emitter.emit("exp", number)])
