"""A second copy of a region, in the code around it: values and sizes of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jitflow.ir.core import Op, Region, Value, clone_op
from jitflow.ir.dims import Dim, symbol
from jitflow.passes.analyses.order import sizes_inside

__all__ = ["renewed"]


def renewed(
    region: Region,
    operands: Sequence[Value],
    fresh: Callable[[str], str],
    known: frozenset[str],
    captured: Mapping[Value, Value] | None = None,
) -> tuple[tuple[Op, ...], tuple[Value, ...]]:
    """The ops of ``region`` once more, for ``operands``, and what they yield.

    ``fresh`` names a size after another, ``known`` are those from outside of the region; ``captured`` says what stands
    for values from outside.
    """
    inside = dict.fromkeys(sizes_inside(region))
    sizes: dict[str, Dim] = {name: symbol(fresh(name)) for name in inside if name not in known}
    values = {**(captured or {}), **dict(zip(region.parameters, operands, strict=True))}
    ops = tuple(_renamed(clone_op(op, values, sizes), sizes) for op in region.body)
    return ops, tuple(values.get(value, value) for value in region.yielded)


def _renamed(op: Op, sizes: dict[str, Dim]) -> Op:
    """An op that binds sizes by their new names."""
    regions = tuple(
        Region(inner.parameters, tuple(_renamed(each, sizes) for each in inner.ops)) for inner in op.regions
    )
    attributes = op.attributes
    if "binds" in attributes:
        attributes = {**attributes, "binds": str(sizes[attributes["binds"]])}
    return replace(op, attributes=attributes, regions=regions)
