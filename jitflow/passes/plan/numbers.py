"""Fusions that are nothing but arithmetic on numbers, and what in others must be memory."""

from __future__ import annotations

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.types import Tensor, dims_of

__all__ = ["is_number_work", "looked_up"]


def is_number_work(op: Op) -> bool:
    """Whether a fusion computes nothing but numbers, one of each."""
    return all(_is_number_op(inner) for inner in op.regions[0].body)


def _is_number_op(op: Op) -> bool:
    if "view" in op.definition.traits or op.name in ("constant", "size"):
        return not isinstance(op.result.type, Tensor) or op.name not in ("constant", "size")
    if "gather" in op.definition.traits:
        return not dims_of(op.result.type) and op.attributes.get("mode", "raise") == "raise"
    return "elementwise" in op.definition.traits and not any(dims_of(value.type) for value in (*op.operands, op.result))


def looked_up(region: Region) -> set[Value]:
    """What elements are looked up in, itself or as a view: that is memory, though it holds a single number."""
    found: set[Value] = set()
    for op in reversed(region.ops):
        for inside in op.regions:
            memory = looked_up(inside)
            found |= memory
            if op.name == "fusion":
                found.update(value for parameter, value in zip(inside.parameters, op.operands, strict=True)
                             if parameter in memory)  # fmt: skip
        if "gather" in op.definition.traits or ("view" in op.definition.traits and op.result in found):
            found.add(op.operands[0])
    return found
