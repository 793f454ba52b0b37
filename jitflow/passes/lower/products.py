"""Products: by blocks of our own where that is faster, else by the library, and then what works on them.

The choice depends on how the factors lie, so the bits do too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from jitflow.errors import UserValueError
from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dims import product as product_of_dims
from jitflow.ir.dtypes import I32
from jitflow.ir.equality import region_key
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.lower.figures import ProgramFigures, blocks_here
from jitflow.passes.lower.fusions import (
    allocate_outputs,
    give_results,
    layouts_of,
    lower_fusion,
    memory_of,
    placed_layouts,
    places_of,
)
from jitflow.passes.lower.kernels.block_kernel import scrap_layout
from jitflow.passes.lower.kernels.kernel import Kernel
from jitflow.passes.lower.kernels.overlapped_blocks import is_slow, lower_blocks
from jitflow.passes.lower.kernels.product_kernels import lower_packing, lower_plain
from jitflow.passes.lower.library import multiply_into
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.plan.products import factors_of, multiplies_by_blocks
from jitflow.passes.schedule.given import given_for
from jitflow.passes.schedule.products import Blocks, Factors, among_many, choose_blocks, completed, cut
from jitflow.passes.schedule.scheduled_product import ScheduledProduct, product_key
from jitflow.passes.schedule.target import PLAIN
from jitflow.passes.schedule.tuned import tuned_text

__all__ = ["lower_matmul", "lower_product", "with_factors"]


def lower_matmul(host: OwningProgram, op: Op) -> None:
    """The product in memory of its own, or where it is stored to."""
    op, copies = _in_groups(host, op)
    _lower_matmul(host, op)
    for copy in copies:
        host.free(copy)


def _lower_matmul(host: OwningProgram, op: Op) -> None:
    type = op.result.type
    assert isinstance(type, Tensor)
    place = host.plan.places.get(op.result)
    if place is not None:
        _multiply(host, op, memory_of(host, op.result, place), place.layout)
        return
    storage = host.allocate(type.dtype, type.dims)
    if multiplies_by_blocks(op, host.layouts, host.target.processor):
        _multiply(host, op, storage, storage.layout)
    else:
        multiply_into(host, op, storage)
    host.give(op.result, storage)


def _multiply(host: OwningProgram, op: Op, storage: Storage, layout: Layout) -> None:
    """Products of two matrices go by blocks to where rows lie side by side."""
    type = op.result.type
    assert isinstance(type, Tensor)
    *batch, _, _ = type.dims
    base, lying = f"product_{type.dtype.name}", [host.layouts[factor] for factor in op.operands]
    key = op.name, base, tuple(factor.type for factor in op.operands), (*lying, layout)
    name, scheduled = host.scopes.once(
        key, lambda: _schedule(host, op, op, host.kernel_name(base), batch=product_of_dims(batch))
    )
    blocks = scheduled.blocks
    factors, temporaries = _packed(host, op, blocks)
    layouts = [*(host.layouts[factor] for factor in op.operands), layout]
    strides = zip(*(one.strides[: len(batch)] for one in layouts), strict=True)
    offsets, steps, pitch = [one.offset for one in layouts], list(zip(batch, strides, strict=True)), layout.strides[-2]

    def make() -> Kernel:
        return lower_plain(blocks, type.dtype, host.target, offsets, steps, pitch, name=base)

    kernel = host.once(make, blocks, type.dtype, *offsets, *steps, pitch)
    host.launch(replace(kernel, scheduled=scheduled, known_as=name), factors, [storage])
    for temporary in temporaries:
        host.free(temporary)


def lower_product(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion that holds a product, or have the library multiply first."""
    planned = host.plan.products[op]
    product, rest = planned.product, planned.rest
    type = product.result.type
    assert isinstance(type, Tensor)
    if planned.behind_library:
        storage = host.allocate(type.dtype, type.dims)
        multiply_into(host, product, storage)
        host.give(product.result, storage)
        lower_fusion(host, rest)
        host.free(storage)
        return
    product, copies = _in_groups(host, product)
    into = placed_layouts(host, op)
    key = region_key(op.regions[0]), tuple(layouts_of(host, op)), tuple(into.items())
    base = op.attributes["kernel"] + host.suffix
    divides = type.dtype.kind == "f" and any(map(is_slow, rest.regions[0].body))
    name, scheduled = host.scopes.once(
        key, lambda: _schedule(host, product, op, host.kernel_name(base), divides=divides)
    )
    blocks = scheduled.blocks
    layout, count = scrap_layout(host.target, blocks)
    scrap = host.allocate(type.dtype, (count,))
    host.storage[product.result], host.layouts[product.result] = scrap, layout
    factors, packed = _packed(host, product, blocks)
    copies += packed
    rest = with_numbers(host, rest)
    places = places_of(host, rest)
    outputs = allocate_outputs(host, rest, places)
    fusion = with_factors(rest, factors)
    layouts = layouts_of(host, fusion)

    def make() -> Kernel:
        return lower_blocks(fusion, layouts, host.target, blocks, name=name, into=into)

    kernel = host.once(make, *layouts, *into.items(), blocks, region=fusion.regions[0])
    host.launch(replace(kernel, scheduled=scheduled), fusion.operands, outputs)
    host.free(scrap)
    for temporary in copies:
        host.free(temporary)
    give_results(host, rest, outputs)


def _schedule(
    host: OwningProgram, product: Op, op: Op, name: str, *, batch: Dim = 1, divides: bool = False
) -> tuple[str, ScheduledProduct]:
    """The ``name`` and the schedule of a product, which an ``op`` has in it, in terms of the sizes of the program.

    Its figures are added to these. It is that which the user gives for the kernel of this name, or measuring has found.
    """
    processor, threads, single = host.target.processor or PLAIN, host.target.threads, batch == 1
    target, factors = replace(host.target, processor=processor), factors_of(product, host.layouts)
    given = given_for(host.target, name)
    tuned = tuned_text(lambda: product_key(op, target, factors, single)) if given is None else None

    def choose(factors: Factors, figures: ProgramFigures) -> Blocks:
        blocks = choose_blocks(factors, processor, threads, figures, single=single, divides=divides)
        return completed(blocks, figures.unread)

    if given is None and tuned is None:
        blocks, figures = host.procedures.blocks(host.scopes, factors, name, choose, single, divides)
    else:
        blocks, figures = blocks_here(host.scopes, factors, choose)
    others = figures.unread
    if not single and threads > 1:
        blocks = cut(among_many(blocks, batch, threads, figures), others)
    chosen = ScheduledProduct(op, blocks, figures.known, target, single=single)
    if given is not None:
        chosen = chosen.following(given, others)
    elif tuned is not None:
        with suppress(UserValueError):  # it may be of another version of jitflow
            chosen = chosen.reading(tuned, others)
    if chosen.blocks is not blocks:
        chosen = replace(chosen, blocks=completed(chosen.blocks, others))
    return name, chosen


def _in_groups(host: OwningProgram, product: Op) -> tuple[Op, list[Storage]]:
    """A product of bytes whose steps lie side by side in groups, and the copies that it takes for that."""
    operands, copies = list(product.operands), list[Storage]()
    for place, (operand, stride) in enumerate(zip(operands, (1, I32.itemsize), strict=True)):
        if "group" in product.attributes and host.layouts[operand].strides[-1] != stride:
            operands[place] = Value(operand.type, operand.name)
            copies.append(host.contiguous_copy(operand))
            host.storage[operands[place]], host.layouts[operands[place]] = copies[-1], copies[-1].layout
    return (replace(product, operands=tuple(operands)) if copies else product), copies


def _packed(host: OwningProgram, product: Op, blocks: Blocks) -> tuple[Sequence[Value], list[Storage]]:
    """The factors of a product, and the left one as it is packed, where it is, with the memory of that."""
    left, right = product.operands
    if blocks.packs_left == 0:
        return product.operands, []
    storage, (starts, itemsize, _) = host.storage[left], blocks.packed_left
    count = ((blocks.packed_rows + blocks.rows - 1) // blocks.rows) * blocks.rows * (starts // itemsize)
    panels = host.allocate(storage.dtype, (count,))
    offset, name = host.layouts[left].offset, f"pack_{storage.dtype.name}"
    kernel = lower_packing(blocks, storage.dtype, host.target, offset, name=name)
    host.launch(kernel, [left], [panels])
    packed = Value(left.type, left.name)
    host.storage[packed], host.layouts[packed] = panels, Layout(0, host.layouts[left].strides)
    return (left, right, packed), [panels]


def with_factors(fusion: Op, factors: Sequence[Value]) -> Op:
    """A fusion that reads a product with the factors of that as further operands."""
    (region,) = fusion.regions
    inside = Region((*region.parameters, *(Value(factor.type, factor.name) for factor in factors)), region.ops)
    return replace(fusion, operands=(*fusion.operands, *factors), regions=(inside,))
