"""A matrix product whose elements one kernel alone reads is computed in that kernel.

The tiles of such a product (`lower/tiles.py`) are worked on while they are near: a bias and a relu, or an optimiser's
step, of which the gradient then never lies in memory. The kernel must be elementwise over the rows and columns of the
product, and must read it as it is. Beside a contraction it may read what is one number for each row or each column of
it. Relies on `fuse`, runs behind `reload`, and moves no product past a write to what it reads.

    %0: f32[n, m] = matmul %x, %w            %1: f32[n, m] = fusion %b, %x, %w (%p: f32[m], %q: f32[n, k], ...) {
    %1: f32[n, m] = fusion %0, %b (...)  ->    %2: f32[n, m] = matmul %q, %r
                                               ...
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, uses, walk
from jitflow.ir.effects import Effects
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.fusion.axes import Axes, is_axis_view
from jitflow.passes.fusion.beside import arrays_beside, axes_varied, in_c_order
from jitflow.records import dataclass

__all__ = ["absorb", "is_elementwise", "product_of", "without_product"]

_OF_TAPES = frozenset(("push", "pop", "peek", "poke"))
_PRODUCTS = ("matmul", "contract")
_DTYPES = {"matmul": ("f32", "f64", "f16", "bf16", "i32"), "contract": ("f32", "f64")}


def absorb(function: Function) -> Function:
    """Move matrix products into the kernels that read them; ``decisions`` says which."""
    if not any(op.name in _PRODUCTS for op in walk(function.region)):
        return function
    overlap = bool(function.attributes.get("overlap"))
    absorbing = _Absorbing(Effects(function), uses(function.region), _loads(function), overlap)
    region = absorbing.region(function.region)
    decisions = (*function.attributes.get("decisions", ()), *absorbing.decisions)
    return replace(
        function, region=region, attributes=MappingProxyType({**function.attributes, "decisions": decisions})
    )


def product_of(fusion: Op) -> Op | None:
    """The product that a fusion holds, in terms of the parameters of its region."""
    first = fusion.regions[0].ops[0]
    return first if first.name in _PRODUCTS else None


def without_product(fusion: Op) -> tuple[Op, Op]:
    """The product that a fusion holds, as an op beside it, and the fusion whose first operand it then is."""
    (region,) = fusion.regions
    product, *rest = region.ops
    outer = dict(zip(region.parameters, fusion.operands, strict=True))
    result = Value(product.result.type, "product")
    beside = replace(product, operands=tuple(outer[factor] for factor in product.operands), results=(result,))
    others = [parameter for parameter in region.parameters if parameter not in product.operands]
    inside = Region((product.result, *others), tuple(rest))
    return beside, replace(fusion, operands=(result, *(outer[other] for other in others)), regions=(inside,))


def _with_product(fusion: Op, product: Op) -> Op:
    """The fusion with a product inside that was an operand of it."""
    (region,) = fusion.regions
    factors = tuple(Value(operand.type, operand.name) for operand in product.operands)
    pairs = list(zip(fusion.operands, region.parameters, strict=True))
    inside = next(parameter for operand, parameter in pairs if operand is product.result)
    others = [(operand, parameter) for operand, parameter in pairs if operand is not product.result]
    parameters = (*(parameter for _, parameter in others), *factors)
    body = (replace(product, operands=factors, results=(inside,)), *region.ops)
    operands = (*(operand for operand, _ in others), *product.operands)
    return replace(fusion, operands=operands, regions=(Region(parameters, body),))


@dataclass(slots=True)
class _Absorbing:
    effects: Effects
    uses: Counter[Value]
    loads: dict[Value, Op]
    overlap: bool
    """Whether arguments that are written to may lie on others."""
    decisions: list[str] = field(default_factory=list)

    def region(self, region: Region) -> Region:
        """The region with its products moved, and those of the regions inside it."""
        products: dict[Value, int] = {}
        ops: list[Op | None] = []
        changing = [number for number, op in enumerate(region.ops) if self._changes(op)]
        for number, op in enumerate(region.ops):
            if op.name in _PRODUCTS:
                products[op.result] = number
            elif op.name == "fusion":
                start = next((products[operand] for operand in op.operands if operand in products), None)
                product = None if start is None else ops[start]
                if (
                    start is not None
                    and product is not None
                    and self._fits(product, op)
                    and self._may_wait(
                        product,
                        [region.ops[at] for at in changing[bisect(changing, start) : bisect(changing, number - 1)]],
                    )
                ):
                    op, ops[start] = _with_product(op, product), None
                    self.decisions.append(f"{op.attributes['kernel']} may make tiles of {product.name} ({product.loc})")
            elif op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            ops.append(op)
        return Region(region.parameters, tuple(op for op in ops if op is not None))

    def _fits(self, product: Op, fusion: Op) -> bool:
        """Whether a fusion works on a product element by element, and nobody else needs it."""
        type = product.result.type
        assert isinstance(type, Tensor)
        if type.dtype.name not in _DTYPES[product.name] or self.uses[product.result] != 1:
            return False
        if fusion.operands.count(product.result) != 1:
            return False
        (region,) = fusion.regions
        inside = region.parameters[fusion.operands.index(product.result)]
        if product.name == "contract":
            return _follows_rows_or_columns(product, region, inside)
        return type.rank == 2 and 1 not in type.dims and is_elementwise(region, inside)

    def _changes(self, op: Op) -> bool:
        """Whether an op may change what a product reads; behind all others a product may be computed as well."""
        return any(access.kind in ("writes", "external") for access in self.effects.of(op)) or any(
            inner.name in _OF_TAPES for inner in walk(Region((), (op,)))
        )

    def _may_wait(self, product: Op, between: Sequence[Op]) -> bool:
        """Whether none of the ops ``between``, which change something, writes to what a product reads."""
        shown = [self.loads[operand] for operand in product.operands if operand in self.loads]
        if any(self.effects.conflict(op, load) for op in between for load in shown):
            return False
        if any(inner.name in _OF_TAPES for inner in walk(Region((), tuple(between)))):
            return False  # what is popped lies on its tape for a while
        accesses = (access for op in between for access in self.effects.of(op))
        return not self.overlap or all(access.kind not in ("writes", "external") for access in accesses)


def is_elementwise(region: Region, product: Value) -> bool:
    """Whether each element that a region computes is of one element of a product, in the product's order of axes."""
    axes, computed = Axes(), {product}
    for op in region.body:
        if "view" in op.definition.traits:
            if op.operands[0] not in computed:
                continue
            if not is_axis_view(op):
                return False
        elif op.name in ("constant", "size"):
            continue
        elif op.name != "iota" and "elementwise" not in op.definition.traits:
            return False
        axes.relate(op)
        computed.update(op.results)
    spanned = axes.classes(product)
    found = (axes.classes(value) for value in (*computed, *region.yielded) if dims_of(value.type))
    long = sum(dim != 1 for dim in dims_of(product.type))
    return len(spanned) == long and all(classes == spanned for classes in found)


def _follows_rows_or_columns(contraction: Op, region: Region, inside: Value) -> bool:
    """Whether a region computes one array, and reads what is one number for each row or column beside it."""
    beside = arrays_beside(region, inside, in_c_order(region))
    if beside is None or len(region.yielded) != 1 or region.yielded[0] is inside:
        return False
    left, right, kept = (contraction.attributes[name] for name in ("left", "right", "kept"))
    alone = [{axis for axis, label in enumerate(kept) if label not in other} for other in (left, right)]
    varied = [axes_varied(value, layout) for value, layout in beside.items()]
    dtypes = {value.type.dtype for value in (inside, region.yielded[0]) if isinstance(value.type, Tensor)}
    return len(dtypes) == 1 and all(any(axes.isdisjoint(others) for others in alone) for axes in varied)


def _loads(function: Function) -> dict[Value, Op]:
    """For each value that shows storage through a load, that load."""
    found: dict[Value, Op] = {}
    for op in walk(function.region):
        if op.name == "load":
            found[op.result] = op
        elif "view" in op.definition.traits and op.operands[0] in found:
            found[op.result] = found[op.operands[0]]
    return found
