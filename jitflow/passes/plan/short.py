"""Sizes that are short at the first call: columns of points, channels of pictures.

A loop of three steps is best as no loop at all, so the host program holds a version for the short length beside the one
for all lengths, and branches. Nothing compiles when the length changes.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Function, Region, Value, clone_op, walk
from jitflow.ir.dims import Dim, Expression, substitute
from jitflow.ir.types import Tensor, map_dims
from jitflow.passes.schedule import cost

__all__ = ["short_sizes", "with_sizes"]


def short_sizes(function: Function) -> dict[str, int]:
    """The innermost sizes of array parameters that were short, from the attribute ``hints``."""
    hints = dict(function.attributes.get("hints", ()))
    if not hints or sum(1 for _ in walk(function.region)) > cost.MOST_OPS_TWICE:
        return {}
    short: dict[str, int] = {}
    for parameter in function.parameters:
        if isinstance(parameter.type, Tensor) and parameter.type.rank > 1:
            inner = parameter.type.dims[-1]
            known = hints.get(str(inner), 0)
            if isinstance(inner, Expression) and inner.is_symbol and 2 <= known <= cost.LONGEST_KNOWN:
                short[str(inner)] = known
    return short


def with_sizes(function: Function, sizes: dict[str, int]) -> Function:
    """The function for these numbers in place of the sizes."""
    numbers: dict[str, Dim] = dict(sizes)
    values: dict[Value, Value] = {}
    for parameter in function.parameters:
        type = map_dims(parameter.type, lambda dim: substitute(dim, numbers))
        values[parameter] = Value(type, parameter.name)
    ops = tuple(clone_op(op, values, numbers) for op in function.region.ops)
    hints = tuple((name, size) for name, size in function.attributes.get("hints", ()) if name not in sizes)
    attributes = MappingProxyType({**function.attributes, "hints": hints})
    parameters = tuple(values[parameter] for parameter in function.parameters)
    return replace(function, region=Region(parameters, ops), attributes=attributes)
