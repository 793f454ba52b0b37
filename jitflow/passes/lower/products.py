"""Products: by blocks of our own where that is faster, else by the library, and then what works on them.

The choice depends on the shape alone, so the bits do too. Where sizes are known at run time only, the host program
branches round the library's product, and the kernel of a fusion, which is the same both ways, is told which it was. The
library's product and the scrap of the blocks are one piece of memory, which is there before the branch: behind the
first write to a variable that outlives the program nothing may fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.dims import product as product_of_dims
from jitflow.ir.dtypes import F32, F64
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.lower.block_kernel import scrap_layout
from jitflow.passes.lower.blocks import lower_packing, lower_plain
from jitflow.passes.lower.fusions import (
    allocate_outputs,
    give_results,
    layouts_of,
    lower_fusion,
    placed_layouts,
    places_of,
)
from jitflow.passes.lower.library import each_matrix, multiply_into
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.overlapped_blocks import lower_blocks
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.plan.products import factors_of
from jitflow.passes.schedule.products import Blocks, choose_blocks, prefers_blocks

__all__ = ["lower_matmul", "lower_product"]


def lower_matmul(host: OwningProgram, op: Op) -> None:
    """The product in memory of its own."""
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    left, right = op.operands
    *batch, _, _ = type.dims
    choice = prefers_blocks(factors_of(op, host.layouts), host.target.processor) if type.dtype in (F32, F64) else 0
    if choice == 0:
        multiply_into(host, op, storage)
    elif not batch:
        _multiply(host, op, storage, choice)
    else:
        layouts = host.layouts[left], host.layouts[right], storage.layout
        each_matrix(host, tuple(batch), layouts, lambda starts: _multiply_one(host, op, storage, choice, starts))
    host.give(op.result, storage)


def _multiply_one(host: OwningProgram, op: Op, storage: Storage, choice: Dim, starts: Sequence[Value]) -> None:
    """A product of a batch, whose matrices start at these byte offsets."""
    build, matrices = host.builder, list[Value]()
    for operand, start in zip(op.operands, starts, strict=False):
        assert isinstance(operand.type, Tensor)
        type = Tensor(operand.type.dtype, operand.type.dims[-2:])
        layout = Layout(0, host.layouts[operand].strides[-2:])
        matrix = Value(type, operand.name)
        buffer = build.make("offset", host.storage[operand].buffer, start)
        host.storage[matrix] = Storage(buffer, None, -1, type.dtype, type.dims, layout)
        host.layouts[matrix] = layout
        matrices.append(matrix)
    assert isinstance(op.result.type, Tensor)
    result = Value(Tensor(op.result.type.dtype, op.result.type.dims[-2:]), op.result.name)
    one = replace(op, operands=tuple(matrices), results=(result,))
    _multiply(host, one, Storage(build.make("offset", storage.buffer, starts[-1]), None, -1, storage.dtype), choice)


def _multiply(host: OwningProgram, op: Op, storage: Storage, choice: Dim) -> None:
    """A product of two matrices goes to memory in C order: by blocks, if the ``choice`` is 1."""
    type = op.result.type
    assert isinstance(type, Tensor)
    blocks = _schedule(host, op)
    if choice != 1:
        _multiply_unless(host, choice, op, storage)
    op, temporary = _packed(host, op, blocks, choice)
    left, right = (host.layouts[factor].offset for factor in op.operands)
    kernel = lower_plain(blocks, type.dtype, host.target, (left, right), choice, name=f"product_{type.dtype.name}")
    host.launch(kernel, op.operands, [storage])
    if temporary is not None:
        host.free(temporary)


def lower_product(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion that holds a product, or have the library multiply first, as the sizes say."""
    planned = host.plan.products[op]
    product, rest, choice = planned.product, planned.rest, planned.choice
    type = product.result.type
    assert isinstance(type, Tensor)
    if choice == 0:
        storage = host.allocate(type.dtype, type.dims)
        multiply_into(host, product, storage)
        host.give(product.result, storage)
        lower_fusion(host, rest)
        host.free(storage)
        return
    blocks = _schedule(host, product)
    layout, count = scrap_layout(host.target, blocks, choice)
    scrap = host.allocate(type.dtype, (count + (1 - choice) * product_of_dims(type.dims),))
    host.storage[product.result], host.layouts[product.result] = scrap, layout
    if choice != 1:
        _multiply_unless(host, choice, product, scrap)
    product, temporary = _packed(host, product, blocks, choice)
    rest = with_numbers(host, rest)
    places = places_of(host, rest)
    outputs = allocate_outputs(host, rest, places)
    fusion = _with_factors(rest, product)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    kernel = lower_blocks(
        fusion, layouts_of(host, fusion), host.target, blocks, choice, name=name, into=placed_layouts(host, op),
        columns=_expected(host, blocks.factors.columns),
    )  # fmt: skip
    host.launch(kernel, fusion.operands, outputs)
    host.free(scrap)
    if temporary is not None:
        host.free(temporary)
    give_results(host, rest, outputs)


def _schedule(host: OwningProgram, product: Op) -> Blocks:
    """The schedule of a product, in terms of the sizes of the program."""
    assert host.target.processor is not None
    factors = factors_of(product, host.layouts)
    return choose_blocks(factors, host.target.processor, dict(host.function.attributes.get("hints", ())))


def _expected(host: OwningProgram, columns: Dim) -> int | None:
    """How many columns a product had at the first call, None if that is not known."""
    hints = dict(host.function.attributes.get("hints", ()))
    return evaluate(columns, hints) if hints.keys() >= set(symbols(columns)) else None


def _packed(host: OwningProgram, product: Op, blocks: Blocks, choice: Dim) -> tuple[Op, Storage | None]:
    """A product whose left matrix is packed, if the schedule says so, and the memory of that."""
    left, right = product.operands
    if not blocks.packs_left:
        return product, None
    storage, factors = host.storage[left], blocks.factors
    count = choice * ((factors.rows + blocks.rows - 1) // blocks.rows) * blocks.rows * factors.inner
    panels = host.allocate(storage.dtype, (count,))
    offset, name = host.layouts[left].offset, f"pack_{storage.dtype.name}"
    kernel = lower_packing(blocks, storage.dtype, host.target, offset, choice, name=name)
    host.launch(kernel, [left], [panels])
    packed = Value(left.type, left.name)
    host.storage[packed], host.layouts[packed] = panels, Layout(0, host.layouts[left].strides)
    return replace(product, operands=(packed, right)), panels


def _multiply_unless(host: OwningProgram, choice: Dim, product: Op, scrap: Storage) -> None:
    """Have the library multiply into the scrap, which then has room for all, unless the kernel will."""
    condition = host.builder.make("greater", host.dim(choice), host.dim(0))
    nothing = Builder().region((), ())
    host.scopes.enter(product.loc)
    multiply_into(host, product, scrap)
    multiplied = host.scopes.leave().builder.region((), ())
    host.builder.add("if", condition, types=(), regions=(nothing, multiplied))


def _with_factors(fusion: Op, product: Op) -> Op:
    """A fusion that reads a product with its factors as further operands."""
    (region,) = fusion.regions
    factors = tuple(Value(factor.type, factor.name) for factor in product.operands)
    inside = Region((*region.parameters, *factors), region.ops)
    return replace(fusion, operands=(*fusion.operands, *product.operands), regions=(inside,))
