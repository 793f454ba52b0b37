"""What is equal in meaning: attributes of ops, regions and functions whatever their values are called."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import chain
from typing import Any

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.effects import may_fail
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.records import Attributes
from jitflow.ir.types import Index, Type

__all__ = ["exact_key", "function_key", "region_key"]


def exact_key(value: Any) -> Any:
    """A key that tells 1, 1.0 and True apart, and 0.0 from -0.0, and finds a nan equal to itself."""
    if isinstance(value, tuple):
        return tuple(map(exact_key, value))
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, complex):
        return ("complex", struct.pack("<dd", value.real, value.imag))
    return (type(value).__name__, value)


def function_key(function: Function) -> tuple[Any, ...]:
    """A key that functions share which compute the same: it knows neither their names nor the lines they come from.

    Nor does it know what a size is known to equal: nothing is computed by that.
    """
    region = _key(function.region, lambda type: Index() if isinstance(type, Index) else type, lambda op: NOWHERE)
    return _attributes(function.attributes), region


def region_key(region: Region) -> tuple[Any, ...]:
    """A key that regions share which compute the same of what they are handed, and fail at the same lines."""
    return _key(region, lambda type: type, lambda op: op.loc if may_fail(op) else NOWHERE)


def _key(region: Region, kind: Callable[[Type], Type], place: Callable[[Op], Loc]) -> tuple[Any, ...]:
    """``kind`` is what counts of a type, ``place`` of where an op comes from."""
    numbers: dict[Value, int] = {}

    def defined(values: tuple[Value, ...]) -> tuple[Any, ...]:
        for value in values:
            numbers[value] = len(numbers)
        return tuple(kind(value.type) for value in values)

    def of_op(op: Op) -> tuple[Any, ...]:
        operands = tuple(numbers[operand] for operand in op.operands)
        regions = tuple(map(of_region, op.regions))
        return op.name, operands, _attributes(op.attributes), regions, defined(op.results), place(op)

    def of_region(inner: Region) -> tuple[Any, ...]:
        return tuple(chain((defined(inner.parameters),), map(of_op, inner.ops)))

    return of_region(region)


def _attributes(attributes: Attributes) -> tuple[Any, ...]:
    return tuple(sorted((name, exact_key(value)) for name, value in attributes.items()))
