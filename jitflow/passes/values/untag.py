"""Untagging: a list does not note of which kind its items are where nobody asks.

``parent = list(range(n))`` holds ints of Python's, and NumPy's as soon as a node of an array is stored there. Where
items are compared, and are indices, but neither returned nor computed with, it is all the same, and an entry is half as
long.

    %0: list<either<i64, int>> = make_container {...}           %0: list<i64> = make_container {...}
    %1: tag, %2: i64 = get_item %0, %i                   ->     %2: i64 = get_item %0, %i
    set_item %0, %j, %1, %2                                     set_item %0, %j, %2

It is done for lists and deques of numbers that one word carries, and that nothing but ops on their entries, branches
and loops sees. Whether a kind is asked for is found out by trying: a list that notes none gives some number for it, and
whatever becomes of that, nobody may need it in the end (`dce`).
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.types import Container, Several, Tag, containers_in
from jitflow.passes.values.dce import dce

__all__ = ["untag"]

_ON_ENTRIES = frozenset(
    """
    make_container get_item set_item append_item insert_item drop_item remove_item clear_container container_length
    if for while yield
    """.split()
)


def untag(function: Function) -> Function:
    """The function with lists that note no kinds where nobody needs to know them."""
    made = {op.result.type for op in walk(function.region) if op.name == "make_container"}
    for kind in made:
        if isinstance(kind, Container) and _is_carried_by_one(kind) and _is_inside(function, kind):
            function = _Untagging(kind).tried(function)
    return function


def _is_carried_by_one(kind: Container) -> bool:
    """Whether the items of a list are numbers of several kinds in one word."""
    item = kind.item
    return kind.key is None and isinstance(item, Several) and set(item.places) == {(0,)}


def _is_inside(function: Function, kind: Container) -> bool:
    """Whether nothing but ops on entries sees the lists of a type."""
    if any(kind in containers_in(value.type) for value in (*function.parameters, *function.results)):
        return False
    for op in walk(function.region):
        if op.name == "recur" and kind in (*op.attributes.get("read", ()), *op.attributes.get("written", ())):
            return False
        inner = [parameter for region in op.regions for parameter in region.parameters]
        for value in (*op.operands, *op.results, *inner):
            if kind in containers_in(value.type) and (value.type != kind or op.name not in _ON_ENTRIES):
                return False
    return True


class _Untagging:
    def __init__(self, kind: Container) -> None:
        assert isinstance(kind.item, Several)
        self.kind = kind
        self.plain = replace(kind, item=kind.item.carriers[0])
        self.values: dict[Value, Value] = {}
        self.unknown: set[Value] = set()
        """What stands for the kinds."""

    def tried(self, function: Function) -> Function:
        """The function with plain lists, or as it is if somebody needs to know a kind."""
        found = dce(replace(function, region=self.region(function.region)))
        asked = any(not self.unknown.isdisjoint(op.operands) for op in walk(found.region))
        return function if asked else found

    def region(self, region: Region) -> Region:
        builder = Builder()
        parameters = tuple(map(self.renewed, region.parameters))
        for op in region.ops:
            builder.loc = op.loc
            self.op(op, builder)
        return Region(parameters, tuple(builder.ops))

    def renewed(self, value: Value) -> Value:
        """A value where it is given, which is a plain list now if it was one of these."""
        if value.type == self.kind:
            self.values[value] = Value(self.plain, value.name)
        return self.values.get(value, value)

    def op(self, op: Op, builder: Builder) -> None:
        operands = [self.values.get(operand, operand) for operand in op.operands]
        regions = tuple(map(self.region, op.regions))
        results = tuple(map(self.renewed, op.results))
        attributes = op.attributes
        if op.operands and op.operands[0].type == self.kind:
            if op.name == "get_item":
                tag, *results_left = results
                results = tuple(results_left)
                self.values[tag] = builder.make("constant", value=0, type=Tag())
                self.unknown.add(self.values[tag])
            elif op.name in ("set_item", "append_item", "insert_item"):
                del operands[-2]
        elif op.name == "make_container" and op.result.type == self.kind:
            attributes = MappingProxyType({**attributes, "type": self.plain})
        builder.ops.append(
            replace(op, operands=tuple(operands), results=results, regions=regions, attributes=attributes)
        )
