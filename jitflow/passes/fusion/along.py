"""One axis through an op: which axes of its operands and results are the same loop, and the op on a part of that loop.

`axes.py` says which axes are related; here a loop is followed that no op may fold or take apart. So what an op computes
for some of its positions is the op on these positions alone, bit for bit, which is what `itemize` rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.fusion.axes import Axes, Axis, is_axis_view, related_axes

__all__ = ["axes_along", "on_part"]

_VIEWS = frozenset(("transpose", "broadcast", "reshape", "slice"))


def axes_along(op: Op, known: Mapping[Value, int]) -> dict[Value, int] | None:
    """The axis of the loop in all operands and results that have it, those inside too, from ``known`` ones of some.

    None if not all results have it, if some op takes it apart, or if something has it on two axes.
    """
    axes = Axes()
    ops = (op, *op.regions[0].body) if op.name == "fusion" else (op,)
    for one in ops:
        for first, second in _related(one):
            axes.join(first, second)
    loops = {axes.find((value, axis)) for value, axis in known.items()}
    if len(loops) != 1:
        return None
    (loop,) = loops
    found: dict[Value, int] = {}
    for value in _values(ops):
        own = [axis for axis in range(len(dims_of(value.type))) if axes.find((value, axis)) == loop]
        if len(own) > 1:
            return None
        if own:
            found[value] = own[0]
    whole = all(_keeps(one, found) for one in ops) and all(result in found for result in op.results)
    return found if whole and len({_extent(value, axis) for value, axis in found.items()}) == 1 else None


def _values(ops: tuple[Op, ...]) -> Iterator[Value]:
    for op in ops:
        yield from op.operands
        yield from op.results
        for region in op.regions:
            yield from region.parameters


def _extent(value: Value, axis: int) -> Dim:
    return dims_of(value.type)[axis]


def _related(op: Op) -> Iterator[tuple[Axis, Axis]]:
    """Axes that are one loop; beside those of a nest those of products, kernels, and views that leave some alone."""
    if op.name == "matmul":
        for axis in range(len(dims_of(op.result.type)) - 2):
            for operand in op.operands:
                yield (operand, axis), (op.result, axis)
    elif op.name == "fusion":
        (region,) = op.regions
        arriving = zip(op.operands, region.parameters, strict=True)
        for outer, inner in (*arriving, *zip(op.results, region.yielded, strict=True)):
            for axis in range(len(dims_of(outer.type))):
                yield (outer, axis), (inner, axis)
    elif op.name == "reshape" and not is_axis_view(op):
        before, after = dims_of(op.operands[0].type), dims_of(op.result.type)
        if before and after and before[0] == after[0] != 1:
            yield (op.operands[0], 0), (op.result, 0)
    elif op.name == "slice":
        operand, parts = op.operands[0], [op.attributes[name] for name in ("starts", "sizes", "steps")]
        for axis, part in enumerate(zip(*parts, strict=True)):
            if part == (0, dims_of(operand.type)[axis], 1):
                yield (operand, axis), (op.result, axis)
    else:
        yield from related_axes(op)


def _keeps(op: Op, along: Mapping[Value, int]) -> bool:
    """Whether an op does at each position of the loop what it does at any other."""
    has = [operand for operand in op.operands if operand in along]
    traits = op.definition.traits
    if not has and (not op.results or op.results[0] not in along):
        return True
    if op.name in ("fusion", "yield", "matmul"):
        return True
    if op.name == "iota":
        return bool(along[op.result] != op.attributes["axis"])
    if "reduction" in traits:
        return along.get(op.operands[0]) not in op.attributes["axes"]
    if op.name == "gather" and op.operands[0] in along:
        return False
    return ("elementwise" in traits or op.name in _VIEWS or op.name == "gather") and op.result in along


def on_part(op: Op, loops: Sequence[Mapping[Value, int]], extents: Sequence[Dim], values: dict[Value, Value]) -> Op:
    """The op on so many positions of each of some loops. ``values`` are what it reads there; it learns its results."""

    def within(value: Value, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        for along, extent in zip(loops, extents, strict=True):
            if value in along:
                dims = (*dims[: along[value]], extent, *dims[along[value] + 1 :])
        return dims

    def part(value: Value) -> Value:
        type = value.type
        values[value] = Value(
            Tensor(type.dtype, within(value, type.dims)) if isinstance(type, Tensor) else type, value.name
        )
        return values[value]

    operands, attributes = tuple(values.get(operand, operand) for operand in op.operands), op.attributes
    for name in ("dims", "sizes"):
        if name in attributes and op.results:
            attributes = MappingProxyType({**attributes, name: within(op.results[0], attributes[name])})
    regions = tuple(
        Region(tuple(map(part, region.parameters)), tuple(on_part(one, loops, extents, values) for one in region.ops))
        for region in op.regions
    )
    return replace(op, operands=operands, results=tuple(map(part, op.results)), attributes=attributes, regions=regions)
