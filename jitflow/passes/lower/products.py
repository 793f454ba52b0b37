"""Products with what works on them: by tiles of our own where that is faster, else by the library first.

The choice depends on the shape alone, so the bits do too. Where sizes are known at run time only, the host program
branches round the library's product, and the kernel, which is the same both ways, is told which it was. The library's
product and the scrap of the tiles are one piece of memory, which is there before the branch: behind the first write to
a variable that outlives the program nothing may fail.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, evaluate, symbols
from jitflow.ir.dims import product as product_of_dims
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.lower.fusions import (
    allocate_outputs,
    give_results,
    layouts_of,
    lower_fusion,
    placed_layouts,
    places_of,
)
from jitflow.passes.lower.library import lower_matmul, multiply_into
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.overlapped_tiles import lower_tiles
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.lower.tiles import scrap_layout

__all__ = ["lower_product"]


def lower_product(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion that holds a product, or have the library multiply first, as the sizes say."""
    planned = host.plan.products[op]
    product, rest, choice = planned.product, planned.rest, planned.choice
    type = product.result.type
    assert isinstance(type, Tensor)
    if choice == 0:
        lower_matmul(host, product)
        storage = host.storage[product.result]
        lower_fusion(host, rest)
        host.free(storage)
        return
    layout, count = scrap_layout(host.target, type.dtype.itemsize, type.dims[1])
    scrap = host.allocate(type.dtype, (count + (1 - choice) * product_of_dims(type.dims),))
    host.storage[product.result], host.layouts[product.result] = scrap, layout
    if choice != 1:
        _multiply_unless(host, choice, product, scrap)
    rest = with_numbers(host, rest)
    places = places_of(host, rest)
    outputs = allocate_outputs(host, rest, places)
    fusion = _with_factors(rest, product)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    kernel = lower_tiles(
        fusion, layouts_of(host, fusion), host.target, choice, name=name, into=placed_layouts(host, op),
        columns=_columns(host, product),
    )  # fmt: skip
    host.launch(kernel, fusion.operands, outputs)
    host.free(scrap)
    give_results(host, rest, outputs)


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


def _columns(host: OwningProgram, product: Op) -> int | None:
    """How many columns a product had at the first call, None if that is not known."""
    columns, hints = dims_of(product.result.type)[1], dict(host.function.attributes.get("hints", ()))
    return evaluate(columns, hints) if hints.keys() >= set(symbols(columns)) else None
