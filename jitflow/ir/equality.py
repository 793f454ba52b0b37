"""What is equal in meaning: attributes of ops, regions and functions whatever their values are called."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, get_args

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, substitute, symbol, symbols
from jitflow.ir.effects import may_fail
from jitflow.ir.location import NOWHERE, Loc
from jitflow.ir.records import Attributes
from jitflow.ir.types import Index, Type, map_dims

__all__ = ["Renaming", "exact_key", "function_key", "or_before", "region_key"]


_TYPES = get_args(Type)
_PLAIN = (int, str, float)


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


@lru_cache(maxsize=1 << 12)
def _shared(kind: Type) -> Type:
    """One object for all types that are equal: keys full of them are compared in no time."""
    return kind


class Renaming:
    """Sizes by the order in which they are met: what differs in their names alone is equal behind it."""

    def __init__(self) -> None:
        self.names: dict[str, Dim] = {}
        self._types: dict[Type, Type] = {}

    def __call__(self, item: Any) -> Any:
        """A dim, a type, a layout, or a tuple or record with such in it, in which sizes have other names."""
        if isinstance(item, _PLAIN):
            return item
        if isinstance(item, Expression):
            for name in symbols(item):
                if name not in self.names:
                    self.names[name] = symbol(f"size{len(self.names)}")
            return substitute(item, self.names)
        if isinstance(item, tuple):
            return tuple([self(part) for part in item])
        if isinstance(item, _TYPES):
            if item not in self._types:
                self._types[item] = _shared(map_dims(item, self))
            return self._types[item]
        if is_dataclass(item) and not isinstance(item, type):
            return (type(item), *[self(getattr(item, one.name)) for one in fields(item)])
        return item


def region_key(region: Region, sizes: Renaming | None = None) -> tuple[Any, ...]:
    """A key that regions share which compute the same of what they are handed, and fail at the same lines.

    With ``sizes``, also those whose sizes have other names.
    """
    rename: Callable[[Any], Any] = sizes or (lambda item: item)
    return _key(region, rename, lambda op: op.loc if may_fail(op) else NOWHERE, lambda item: exact_key(rename(item)))


def _key(
    region: Region,
    kind: Callable[[Type], Type],
    place: Callable[[Op], Loc],
    attribute: Callable[[Any], Any] = exact_key,
) -> tuple[Any, ...]:
    """``kind`` is what counts of a type, ``place`` of where an op comes from, ``attribute`` of an attribute."""
    return _Key(kind, place, attribute).of_region(region)


class _Key:
    def __init__(
        self, kind: Callable[[Type], Type], place: Callable[[Op], Loc], attribute: Callable[[Any], Any]
    ) -> None:
        self._kind, self._place, self._attribute = kind, place, attribute
        self._numbers: dict[Value, int] = {}

    def of_region(self, region: Region) -> tuple[Any, ...]:
        return tuple(chain((self._defined(region.parameters),), map(self._of_op, region.ops)))

    def _of_op(self, op: Op) -> tuple[Any, ...]:
        numbers = self._numbers
        operands = tuple([numbers[operand] for operand in op.operands])
        regions = tuple(map(self.of_region, op.regions))
        attributes = _attributes(op.attributes, self._attribute)
        return op.name, operands, attributes, regions, self._defined(op.results), self._place(op)

    def _defined(self, values: tuple[Value, ...]) -> tuple[Any, ...]:
        for value in values:
            self._numbers[value] = len(self._numbers)
        return tuple([self._kind(value.type) for value in values])


def or_before(before: Function, after: Function) -> Function:
    """``after``, or ``before`` if the two are the same but for records that were made anew."""
    same = (
        before.name == after.name
        and before.layer == after.layer
        and before.facts == after.facts
        and before.attributes is after.attributes
        and before.functions == after.functions
        and _are_same(before.region, after.region)
    )
    return before if same else after


def _are_same(one: Region, other: Region) -> bool:
    if one.parameters != other.parameters or len(one.ops) != len(other.ops):
        return False
    return all(mine is its or _is_same(mine, its) for mine, its in zip(one.ops, other.ops, strict=True))


def _is_same(one: Op, other: Op) -> bool:
    return (
        one.definition is other.definition
        and one.operands == other.operands
        and one.results == other.results
        and one.attributes is other.attributes
        and one.loc is other.loc
        and len(one.regions) == len(other.regions)
        and all(map(_are_same, one.regions, other.regions))
    )


def _attributes(attributes: Attributes, key: Callable[[Any], Any] = exact_key) -> tuple[Any, ...]:
    return tuple(sorted([(name, key(value)) for name, value in attributes.items()])) if attributes else ()
