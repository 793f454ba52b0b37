"""Hoist: memory that every turn of a loop allocates and gives back is allocated once, before the loop.

That is so for an allocation whose size is known outside of the loop and whose memory does not leave the turn: it is
given back by the region that allocates it. From inner loops it moves out step by step.

    for %0, %n, %1 (%i: index) {                   %t = alloc %size
      %t = alloc %size                             for %0, %n, %1 (%i: index) {
      launch %x, %t {kernel="k"}            ->       launch %x, %t {kernel="k"}
      free %t, %size                                 yield
      yield                                        }
    }                                              free %t, %size

What a turn needs one after the other is the same memory, as large as the largest of it. Of a size that only the turn
knows it is enough that something outside bounds it: the last block of a loop over blocks is no larger than the others.
Other memory stays where it is. Where threads share a loop, each has memory of its own (`private.py`).
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.location import Loc
from jitflow.ir.types import Index
from jitflow.passes.lower.private import private, renamed, unshared, why_alone
from jitflow.records import dataclass

__all__ = ["hoist"]


def hoist(host: Function) -> Function:
    """Move allocations out of the loops of a host program; its attribute ``turns`` says which of them threads share."""
    if not any(op.name in _LOOPS for op in walk(host.region)):
        return host
    numbers = {op.result: op.attributes["dim"] for op in walk(host.region) if op.name == "size"}
    hoisting = _Hoisting({value for value, number in numbers.items() if isinstance(number, int) and number < 0}, [])
    region = hoisting.region(host.region)
    attributes = {**host.attributes, **({"turns": tuple(hoisting.said)} if hoisting.said else {})}
    return replace(host, region=region, attributes=MappingProxyType(attributes))


_LOOPS = ("for", "while", "share")


@dataclass(frozen=True, slots=True)
class _Hoisting:
    negative: set[Value]
    """The numbers below 0."""
    said: list[str]

    def region(self, region: Region) -> Region:
        ops: list[Op] = []
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            ops += self._around(op) if op.name in _LOOPS else [op]
        return Region(region.parameters, tuple(ops))

    def _around(self, op: Op) -> list[Op]:
        """A loop between the memory that it needs, and what gives that back."""
        before: list[Op] = []
        after: list[Op] = []
        inside, regions = _defined(op), []
        for inner in op.regions:
            moved, freed, rest = _taken_out(inner, inside, self.negative)
            regions.append(rest)
            before += moved
            after += freed
        op = replace(op, regions=tuple(regions))
        if op.name != "share":
            return [*before, op, *after]
        reason = why_alone(op)
        self.said.append(f"loop ({op.loc}): " + (f"on one thread: {reason}" if reason else "shared by threads"))
        if reason:
            return [*before, *unshared(op), *after]
        before, op, after = private(op, before, after)
        return [*before, op, *after]


def _taken_out(region: Region, inside: set[Value], negative: set[Value]) -> tuple[list[Op], list[Op], Region]:
    """The allocations that a region gives back itself, what gives them back, and the region without either.

    One takes the memory of another that has been given back by then, which is as large as the larger of the two.
    """
    given_back = {op.operands[0] for op in region.ops if op.name == "free"}
    before, after = Builder(), Builder()
    bounds = _Bounds(region, inside, negative, before)
    free: list[Value] = []
    given_up: dict[Value, Loc] = {}
    shared: dict[Value, Value] = {}
    sizes: dict[Value, list[Value]] = {}
    kinds = {op.result: (op.result.type, op.attributes) for op in region.ops if op.name == "alloc"}
    ops: list[Op] = []
    for op in region.ops:
        first = op.operands[0] if op.operands else None
        size = bounds.of(first) if first is not None and op.name == "alloc" and op.result in given_back else None
        if size is not None:
            fitting = [buffer for buffer in free if kinds[buffer] == (op.result.type, op.attributes)]
            fitting = [buffer for buffer in fitting if size in sizes[buffer]] or fitting
            shared[op.result] = buffer = fitting[-1] if fitting else op.result
            if fitting:
                free.remove(buffer)
            if size not in sizes.setdefault(buffer, []):
                sizes[buffer].append(size)
        elif op.name == "free" and first in shared:
            free.append(shared[first])
            given_up[shared[first]] = op.loc
        else:
            ops.append(op)
    for alloc in (op for op in region.ops if op.name == "alloc" and op.result in sizes):
        before.loc, after.loc = alloc.loc, given_up[alloc.result]
        total, *others = sizes[alloc.result]
        for other in others:
            total = before.make("maximum", total, other)
        before.ops.append(replace(alloc, operands=(total,)))
        after.add("free", alloc.result, total)
    names = {buffer: other for buffer, other in shared.items() if buffer is not other}
    ops = [renamed(op, names) for op in ops] if names else ops
    return before.ops, after.ops, Region(region.parameters, tuple(ops))


class _Bounds:
    """What sizes that the turns of a loop compute are at most, as ops in front of it."""

    def __init__(self, region: Region, inside: set[Value], negative: set[Value], before: Builder) -> None:
        self.inside, self.negative, self.before = inside, negative, before
        self.producers = {result: op for op in region.ops for result in op.results}
        self.known: dict[Value, Value | None] = {}
        self.same: dict[Value, Value | None] = {}

    def of(self, size: Value) -> Value | None:
        """A value from outside that a size is never larger than. Sizes are not negative."""
        if size not in self.known:
            self.known[size] = self._exactly(size) or self._at_most(self.producers.get(size))
        return self.known[size]

    def _exactly(self, size: Value) -> Value | None:
        """A size that does not depend on the turn."""
        if size not in self.inside:
            return size
        if size not in self.same:
            op = self.producers.get(size)
            is_plain = op is not None and op.name in _ARITHMETIC and isinstance(op.result.type, Index)
            found = list(map(self._exactly, op.operands)) if op is not None and is_plain else [None]
            known = [operand for operand in found if operand is not None]
            is_known = op is not None and len(known) == len(found)
            self.same[size] = self.before.make(op.name, *known, **op.attributes) if op and is_known else None
        return self.same[size]

    def _at_most(self, op: Op | None) -> Value | None:
        if op is None or op.name not in _RISING or not self.negative.isdisjoint(op.operands):
            return None
        if op.name == "to_index":  # a size that has been given a name
            named = self.producers.get(op.operands[0])
            is_size = named is not None and named.name == "cast" and isinstance(named.operands[0].type, Index)
            return self.of(named.operands[0]) if named is not None and is_size else None
        if not isinstance(op.result.type, Index):
            return None
        if op.name == "divide_truncated" and self._exactly(op.operands[1]) is None:
            return None
        found = [bound for operand in op.operands if (bound := self.of(operand)) is not None]
        if op.name == "minimum" and len(found) == 1:
            return found[0]
        if len(found) < len(op.operands):
            return None
        return self.before.make(op.name, *found)


_ARITHMETIC = ("size", "add", "subtract", "multiply", "divide_truncated", "minimum", "maximum")
_RISING = ("add", "multiply", "divide_truncated", "minimum", "maximum", "to_index")
"""What never falls as its operands rise, but for a divisor."""


def _defined(op: Op) -> set[Value]:
    """Every value that is defined inside an op."""
    inner = [o for region in op.regions for o in walk(region)]
    parameters = {p for o in (op, *inner) for region in o.regions for p in region.parameters}
    return parameters.union(result for o in inner for result in o.results)
