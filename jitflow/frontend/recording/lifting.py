"""Storage that a function which calls itself uses is handed to it.

A region may use any value from around it. What is written to has to be an operand all the same: only then is it known
what a `recur`, which has no region of its own, reads and writes. Containers are known by their types, which it names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Op, Region, Value, walk
from jitflow.ir.types import Container, Place, Tape, Variable

__all__ = ["lifted"]


def lifted(region: Region, name: str, operands: Sequence[Value]) -> tuple[Region, list[Value]]:
    """The region of a recursion called ``name`` with a parameter for each storage from outside, and its operands."""
    storage = _storage_from_outside(region)
    external = any(effect.kind == "external" for op in walk(region) for effect in op.own_effects)
    inside = {value: _parameter(value) for value in storage}
    rewriting = _Rewriting(name, tuple(inside.values()), external, _containers_touched(region))
    body = tuple(rewriting.op(op, inside, rewriting.storage) for op in region.ops)
    return Region((*region.parameters, *inside.values()), body), [*operands, *storage]


def _containers_touched(region: Region) -> Mapping[str, Sequence[Container]]:
    """The types of the containers that a region reads, and those of which it writes to some."""
    found: dict[str, dict[Container, None]] = {"read": {}, "written": {}}
    names = {"reads": "read", "writes": "written"}
    for op in walk(region):
        for effect in (effect for effect in op.own_effects if effect.kind in names):
            kind = op.operands[effect.operand].type
            if isinstance(kind, Container):
                found[names[effect.kind]][kind] = None
    return {name: tuple(kinds) for name, kinds in found.items() if kinds}


def _parameter(value: Value) -> Value:
    kind = value.type
    return Value(Place(kind.dtype, kind.dims) if isinstance(kind, Variable) else kind, value.name)


def _storage_from_outside(region: Region) -> list[Value]:
    inside = {result for op in walk(region) for result in op.results} | set(region.parameters)
    inside |= {parameter for op in walk(region) for inner in op.regions for parameter in inner.parameters}
    used = (operand for op in walk(region) for operand in op.operands)
    return [*dict.fromkeys(v for v in used if isinstance(v.type, Variable | Place | Tape) and v not in inside)]


class _Rewriting:
    """Hands storage to a recursion's calls of itself, and to what calls it from within recursions inside."""

    def __init__(
        self, name: str, storage: tuple[Value, ...], external: bool, touched: Mapping[str, Sequence[Container]]
    ) -> None:
        self.name, self.storage, self.external, self.touched = name, storage, external, touched

    def op(
        self, op: Op, values: Mapping[Value, Value], storage: tuple[Value, ...], inner: frozenset[str] = frozenset()
    ) -> Op:
        """An op where other values stand for some, and ``storage`` is what there is to hand on."""
        operands = tuple(values.get(operand, operand) for operand in op.operands)
        attributes: dict[str, Any] = dict(op.attributes)
        if op.name == "recur" and attributes["function"] in inner | {self.name}:
            first = len(operands)
            operands += storage
            attributes["storage"] = (*attributes.get("storage", ()), *range(first, len(operands)))
            if self.external:
                attributes["external"] = True
            for each, kinds in self.touched.items():
                attributes[each] = tuple(dict.fromkeys((*attributes.get(each, ()), *kinds)))
        regions = op.regions
        if op.name == "recursion" and self._is_called_in(op):
            parameters = tuple(map(_parameter, storage))
            operands += storage
            names = dict(zip(storage, parameters, strict=True))
            known = {value: names.get(now, now) for value, now in values.items()}
            (region,) = op.regions
            own = inner | {attributes["function"]}
            ops = tuple(self.op(each, known, parameters, own) for each in region.ops)
            regions = (Region((*region.parameters, *parameters), ops),)
        elif op.regions:
            regions = tuple(
                Region(region.parameters, tuple(self.op(each, values, storage, inner) for each in region.ops))
                for region in op.regions
            )
        if regions is op.regions and operands == op.operands and attributes == op.attributes:
            return op
        return replace(op, operands=operands, attributes=MappingProxyType(attributes), regions=regions)

    def _is_called_in(self, recursion: Op) -> bool:
        return any(op.name == "recur" and op.attributes["function"] == self.name for op in walk(recursion.regions[0]))
