"""The ops that can fail, as a file holds them: what a message and a traceback need of each, and what calls Python.

The place of an op has that of the call that led to it, and many ops share these, so places are a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jitflow.cache.codec import Damaged, Outside, pack, unpack
from jitflow.ir.location import Loc

if TYPE_CHECKING:
    from jitflow.ir.core import Op
    from jitflow.ir.types import Type

__all__ = ["Site", "sites_as_data", "sites_of"]

_TOLD = ("error", "message", "literal")
"""What the failure of an op asks of its attributes (`failures.py`); one that calls Python is asked for all it has."""
_CALLS = frozenset({"invoke", "host_call"})


def sites_as_data(sites: Sequence[Op], outside: Outside | None = None) -> dict[str, Any]:
    """The sites of a program as JSON. Raises `Unstorable`, as for a callback."""
    places: dict[int, int] = {}
    table: list[Any] = []

    def place(loc: Loc | None) -> int:
        if loc is None:
            return -1
        if id(loc) not in places:
            caller = place(loc.caller)
            table.append([loc.file, loc.line, loc.function, loc.column, loc.end_column, loc.device, caller])
            places[id(loc)] = len(table) - 1
        return places[id(loc)]

    ops = [[op.name, place(op.loc), _types(op), _attributes(op, outside)] for op in sites]
    return {"places": table, "ops": ops}


def _types(op: Op) -> list[Any]:
    """The types of the operands: of a message, numbers have their own; all else is reported in whole words."""
    from jitflow.ir.types import Scalar

    kinds: Iterable[Type] = (operand.type for operand in op.operands)
    return [pack(Scalar(kind.dtype, kind.weak)) if isinstance(kind, Scalar) else None for kind in kinds]


def _attributes(op: Op, outside: Outside | None) -> list[Any]:
    wanted = op.attributes if op.name in _CALLS else [name for name in _TOLD if name in op.attributes]
    return [[name, pack(op.attributes[name], outside)] for name in wanted]


class _Operand(NamedTuple):
    """An operand of an op that was written."""

    type: Type


class Site:
    """An op that was written, with what its failure and its call need. Its types are read when it fails.

    So a process that finds its code need not know the IR.
    """

    def __init__(self, name: str, types: Sequence[Any], attributes: Mapping[str, Any], loc: Loc) -> None:
        self.name, self.attributes, self.loc, self._types = name, attributes, loc, types

    @cached_property
    def operands(self) -> tuple[_Operand, ...]:
        """What it was given."""
        from jitflow.ir.types import Index

        return tuple(_Operand(Index() if kind is None else unpack(kind)) for kind in self._types)


def sites_of(data: Mapping[str, Any], outside: Outside | None = None) -> tuple[Site, ...]:
    """The ops that were written."""
    places: list[Loc] = []
    for file, line, function, column, end_column, device, caller in data["places"]:
        if not -1 <= caller < len(places):
            raise Damaged("expected a place that stands before")
        led = places[caller] if caller >= 0 else None
        places.append(Loc(str(file), int(line), str(function), int(column), int(end_column), str(device), led))
    return tuple(
        Site(str(name), types, {str(key): unpack(value, outside) for key, value in attributes}, places[place])
        for name, place, types, attributes in data["ops"]
    )
