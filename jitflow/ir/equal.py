"""Whether two functions are the same but for the names of their values.

Sizes are compared by name: they are part of types. Locations do not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.printer import attribute_text

__all__ = ["structurally_equal"]


def structurally_equal(left: Function, right: Function) -> bool:
    """Whether the functions, and those that they call, have the same ops on the same values in the same order."""
    return (
        (left.name, left.layer, left.facts) == (right.name, right.layer, right.facts)
        and _same_attributes(left.attributes, right.attributes)
        and _same_region(left.region, right.region, {})
        and len(left.functions) == len(right.functions)
        and all(map(structurally_equal, left.functions, right.functions))
    )


def _same_region(left: Region, right: Region, pairs: dict[Value, Value]) -> bool:
    return (
        _pair(left.parameters, right.parameters, pairs)
        and len(left.ops) == len(right.ops)
        and all(_same_op(a, b, pairs) for a, b in zip(left.ops, right.ops, strict=True))
    )


def _same_op(left: Op, right: Op, pairs: dict[Value, Value]) -> bool:
    return (
        left.definition is right.definition
        and len(left.operands) == len(right.operands)
        and all(pairs.get(a, a) is b for a, b in zip(left.operands, right.operands, strict=True))
        and _same_attributes(left.attributes, right.attributes)
        and len(left.regions) == len(right.regions)
        and all(_same_region(a, b, pairs) for a, b in zip(left.regions, right.regions, strict=True))
        and _pair(left.results, right.results, pairs)
    )


def _pair(left: Sequence[Value], right: Sequence[Value], pairs: dict[Value, Value]) -> bool:
    """Take the values of both sides as each other's counterparts, if their types agree."""
    if [value.type for value in left] != [value.type for value in right]:
        return False
    pairs.update(zip(left, right, strict=True))
    return True


def _same_attributes(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Compared as text, so that nan equals nan and 0.0 differs from -0.0."""
    return left.keys() == right.keys() and all(
        attribute_text(value) == attribute_text(right[key]) for key, value in left.items()
    )
