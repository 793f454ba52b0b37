"""Chains: what a turn of a loop takes from the one before joins the smallest of several integers last.

The turns of a loop wait for each other as long as the chain of ops is between what one hands on and what the next does.
Of integers it makes no difference in which order the smallest or largest is found, so what does not wait goes first.

    %1: i64 = minimum %left, %above                  %1: i64 = minimum %above, %corner
    %2: i64 = minimum %1, %corner            ->      %2: i64 = minimum %left, %1
    yield %2              ; the next %left           yield %2

It looks at the numbers that loops carry, and at ops that every turn comes to; sums and products of integers LLVM orders
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, uses, walk
from jitflow.ir.types import Scalar
from jitflow.passes.scalar_loops.turns import with_turns

__all__ = ["chain"]

_EXTREMES = ("minimum", "maximum")


def chain(function: Function) -> Function:
    """The function with what its loops carry joining others late."""
    if not any(op.name in ("for", "while") for op in walk(function.region)):
        return function
    if not any(op.name in _EXTREMES for op in walk(function.region)):
        return function
    return replace(function, region=with_turns(function.region, _turn))


def _turn(region: Region, carried: int) -> Region:
    """The body of a loop with its chains in order."""
    if not carried or sum(map(_is_extreme, region.body)) < 2:
        return region
    waiting = _Waiting(region, region.parameters[len(region.parameters) - carried :])
    counts = uses(region)
    builder = Builder()
    made: dict[Value, Op] = {}
    for op in region.ops:
        builder.ops.append(op)
        if not _is_extreme(op):
            continue
        made[op.result] = op
        for joined, other in (op.operands, op.operands[::-1]):
            inner = made.get(joined)
            if inner is None or inner.name != op.name or counts[joined] != 1:
                continue
            late = [value for value in inner.operands if waiting.waits(value, op)]
            if len(late) == 1 and not waiting.waits(other, op):
                builder.ops.pop()
                builder.loc = op.loc
                (early,) = (value for value in inner.operands if value is not late[0])
                first = builder.make(op.name, early, other)
                waiting.inherit(first, early, other)
                made[op.result] = replace(op, operands=(late[0], first))
                builder.ops.append(made[op.result])
                builder.ops.remove(inner)
                del made[joined]
                counts[first] = 1
                break
    return Region(region.parameters, tuple(builder.ops))


def _is_extreme(op: Op) -> bool:
    return op.name in _EXTREMES and isinstance(op.result.type, Scalar) and op.result.type.dtype.is_integer


class _Waiting:
    """Which values of a body wait for numbers that in turn wait for an op."""

    def __init__(self, region: Region, carried: Sequence[Value]) -> None:
        self._sources: dict[Value, frozenset[int]] = {value: frozenset({n}) for n, value in enumerate(carried)}
        """The carried numbers that a value is computed from."""
        for op in region.body:
            sources = frozenset[int]().union(*(self._sources.get(value, frozenset()) for value in _operands(op)))
            self._sources.update(dict.fromkeys(op.results, sources))
        self._region = region
        self._yielded = region.yielded[len(region.yielded) - len(carried) :]
        self._behind: dict[Op, frozenset[int]] = {}

    def inherit(self, value: Value, *operands: Value) -> None:
        """A new value is computed from others."""
        self._sources[value] = frozenset[int]().union(*(self._sources.get(v, frozenset()) for v in operands))

    def waits(self, value: Value, op: Op) -> bool:
        """Whether a value is computed from a number that the turn before computed with ``op``."""
        sources = self._sources.get(value)
        return bool(sources) and not self._numbers_behind(op).isdisjoint(sources or ())

    def _numbers_behind(self, op: Op) -> frozenset[int]:
        """The carried numbers of later turns that an op has a part in."""
        if op not in self._behind:
            reached = self._reached(op)
            found = {number for number, value in enumerate(self._yielded) if value in reached}
            while True:
                more = {
                    number
                    for number, value in enumerate(self._yielded)
                    if not found.isdisjoint(self._sources.get(value, ()))
                }
                if more <= found:
                    break
                found |= more
            self._behind[op] = frozenset(found)
        return self._behind[op]

    def _reached(self, op: Op) -> set[Value]:
        reached = set(op.results)
        for other in self._region.body:
            if not reached.isdisjoint(_operands(other)):
                reached.update(other.results)
        return reached


def _operands(op: Op) -> list[Value]:
    """What an op and those inside it read."""
    return [*op.operands, *(value for region in op.regions for inner in walk(region) for value in inner.operands)]
