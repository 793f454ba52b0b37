"""Products with what works on them: by tiles of our own where that is faster, else by the library first.

The choice depends on the shape alone, so the bits do too. Where sizes are known at run time only, the host program
branches round the library's product, and the kernel, which is the same both ways, is told which it was. The library's
product and the scrap of the tiles are one piece of memory, which is there before the branch: behind the first write to
a variable that outlives the program nothing may fail.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value
from jitflow.ir.dims import Dim, evaluate, minimum, symbols
from jitflow.ir.dims import product as product_of_dims
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.absorb import without_product
from jitflow.passes.lower.fusions import (
    allocate_outputs,
    give_results,
    layouts_of,
    lower_fusion,
    places_of,
)
from jitflow.passes.lower.library import is_for_library, lower_matmul, multiply_into
from jitflow.passes.lower.numbers import with_numbers
from jitflow.passes.lower.overlapped_tiles import lower_tiles
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.lower.tiles import scrap_layout

__all__ = ["lower_product"]

_MOST_WORK = 6 << 26
"""Multiplications, times the bytes of an element, up to which tiles are worth it: about a millisecond of one thread.
They are faster beyond, too, but the library may use several threads where the rest of the program has one."""
_LONGEST_SUM = 2048
"""Addends from which on one sum after the other would round more often than the library, which adds up blocks."""
_LARGEST_RIGHT = 1 << 20
"""Bytes of a right matrix from which on walking down it costs more than copying it into another order."""


def lower_product(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion that holds a product, or have the library multiply first, as the sizes say."""
    product, rest = without_product(op)
    type = product.result.type
    assert isinstance(type, Tensor)
    itemsize = type.dtype.itemsize
    choice = _prefers_tiles(host, product)
    if choice == 0:
        lower_matmul(host, product)
        storage = host.storage[product.result]
        lower_fusion(host, rest)
        host.free(storage)
        return
    layout, count = scrap_layout(host.target, itemsize, type.dims[1])
    scrap = host.allocate(type.dtype, (count + (1 - choice) * product_of_dims(type.dims),))
    host.storage[product.result], host.layouts[product.result] = scrap, layout
    if choice != 1:
        _multiply_unless(host, choice, product, scrap)
    rest = with_numbers(host, rest)
    places = places_of(host, rest, product.operands)
    outputs = allocate_outputs(host, rest, places, [_in_order(result) for result in rest.results])
    fusion = _with_factors(rest, product)
    into = {position: places[result].layout for position, result in enumerate(op.results) if result in places}
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    kernel = lower_tiles(
        fusion, layouts_of(host, fusion), host.target, choice, name=name, into=into, columns=_columns(host, product)
    )
    host.launch(kernel, fusion.operands, outputs)
    host.free(scrap)
    give_results(host, rest, places, outputs)


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


def _in_order(result: Value) -> Layout:
    assert isinstance(result.type, Tensor)
    return contiguous(result.type.dims, result.type.dtype.itemsize)


def _prefers_tiles(host: OwningProgram, product: Op) -> Dim:
    """1 where tiles are faster, else 0, as an expression over sizes.

    The right matrix must have its rows without gaps. A factor that the library cannot take as it lies is copied for it,
    which must not happen in a branch.
    """
    left, right = product.operands
    itemsize = _itemsize(product.result)
    if host.target.tile is None or host.layouts[right].strides[1] != itemsize:
        return 0
    if not (is_for_library(host, left) and is_for_library(host, right)):
        return 0
    rows, inner = dims_of(left.type)
    columns = dims_of(right.type)[1]
    height, _ = host.target.tile
    right_bytes = inner * columns * itemsize
    little = 1 - minimum(rows * right_bytes // _MOST_WORK, 1)
    near = 1 - minimum(right_bytes // _LARGEST_RIGHT, 1)
    short = 1 - minimum(inner // (_LONGEST_SUM + 1), 1)
    return minimum(rows // height, 1) * little * near * short


def _columns(host: OwningProgram, product: Op) -> int | None:
    """How many columns a product had at the first call, None if that is not known."""
    columns, hints = dims_of(product.result.type)[1], dict(host.function.attributes.get("hints", ()))
    return evaluate(columns, hints) if hints.keys() >= set(symbols(columns)) else None


def _itemsize(value: Value) -> int:
    assert isinstance(value.type, Tensor)
    return value.type.dtype.itemsize
