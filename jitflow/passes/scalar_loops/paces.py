"""Paces: of numbers that keep pace with each other in a loop, one is counted.

Where each turn of a ``while`` takes one from a position and adds one to a count, the count behind the loop is what it
was before, and as many as the position went. So nobody need count it meanwhile.

    %j, %n = while %i, %m (%j: i64, %n: i64) {...}         %j = while %i (%j: i64) {...} (%j: i64) {
    (%j: i64, %n: i64) {                                     ...
      ...                                            ->      %1 = subtract %j, %one
      %1 = subtract %j, %one                                 yield %1
      %2 = add %n, %one                                    }
      yield %1, %2                                         %gone = subtract %i, %j
    }                                                      %n = add %m, %gone

It is done for a number that nothing else in the loop asks for. The one that is kept goes by 1, so that no division is
needed; sums wrap around in both as they did.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, uses, walk
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Scalar
from jitflow.passes.scalar_loops.outline import in_scalar_kernels
from jitflow.records import dataclass

__all__ = ["paces"]


def paces(host: Function) -> Function:
    """The host program and its kernels of scalar code, whose loops count once what keeps pace."""
    return in_scalar_kernels(host, "while", lambda kernel: _Kernel(kernel).region(kernel.region))


@dataclass(frozen=True, slots=True)
class _Pace:
    """The carried value ``number``, what each turn adds to it, and the op that does."""

    number: int
    step: int
    op: Op


class _Kernel:
    def __init__(self, function: Function) -> None:
        self.producer = {result: op for op in walk(function.region) for result in op.results}
        self.counts: Counter[Value] = uses(function.region)

    def region(self, region: Region) -> Region:
        builder = Builder()
        for op in region.ops:
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            followers, leader = self.found(op) if op.name == "while" else ([], None)
            if leader is None or not followers:
                builder.ops.append(op)
            else:
                _rewrite(op, followers, leader, builder)
        return Region(region.parameters, tuple(builder.ops))

    def found(self, loop: Op) -> tuple[list[_Pace], _Pace | None]:
        """The numbers that need not be counted, and the one that says how far they go."""
        turn = loop.regions[1]
        paces = [pace for number in range(len(loop.operands)) if (pace := self.pace(turn, number)) is not None]
        followers = [pace for pace in paces if self.is_idle(loop, pace)]
        leaders = [pace for pace in paces if abs(pace.step) == 1]
        busy = [pace for pace in leaders if pace not in followers]
        leader = next(iter([*busy, *leaders]), None)
        return [pace for pace in followers if pace is not leader and _are_alike(loop, pace, leader)], leader

    def pace(self, turn: Region, number: int) -> _Pace | None:
        """How a carried 64-bit number goes by a constant each turn, if it does and may wrap around."""
        op = self.producer.get(turn.yielded[number])
        carried = turn.parameters[number]
        if op is None or op not in turn.ops or op.name not in ("add", "subtract") or op.attributes.get("checked"):
            return None
        if op.operands[0] is not carried or not isinstance(carried.type, Scalar) or carried.type.dtype != I64:
            return None
        constant = self.producer.get(op.operands[1])
        step = constant.attributes["value"] if constant is not None and constant.name == "constant" else 0
        return _Pace(number, step if op.name == "add" else -step, op) if step else None

    def is_idle(self, loop: Op, pace: _Pace) -> bool:
        """Whether a number is used for nothing but its own next one."""
        test, turn = loop.regions
        asked = self.counts[test.parameters[pace.number]], self.counts[turn.parameters[pace.number]]
        return asked == (0, 1) and self.counts[pace.op.result] == 1


def _are_alike(loop: Op, one: _Pace, other: _Pace | None) -> bool:
    return other is not None and loop.results[one.number].type == loop.results[other.number].type


def _rewrite(loop: Op, followers: list[_Pace], leader: _Pace, builder: Builder) -> None:
    """The loop without the numbers that follow, and what they are behind it."""
    dropped = {pace.number for pace in followers}
    kept = [number for number in range(len(loop.operands)) if number not in dropped]
    test, turn = loop.regions
    counting = {pace.op for pace in followers}
    last = replace(turn.ops[-1], operands=tuple(turn.yielded[number] for number in kept))
    regions = (
        Region(tuple(test.parameters[number] for number in kept), test.ops),
        Region(
            tuple(turn.parameters[number] for number in kept),
            (*(op for op in turn.body if op not in counting), last),
        ),
    )
    operands, results = (tuple(values[number] for number in kept) for values in (loop.operands, loop.results))
    builder.ops.append(replace(loop, operands=operands, results=results, regions=regions))
    builder.loc = loop.loc
    ends = loop.results[leader.number], loop.operands[leader.number]
    turns = builder.make("subtract", *(ends if leader.step > 0 else reversed(ends)))
    for pace in followers:
        taken = turns
        if pace.step != 1:
            taken = builder.make("multiply", turns, builder.make("constant", value=pace.step, type=turns.type))
        builder.add("add", loop.operands[pace.number], taken)
        builder.ops[-1] = replace(builder.ops[-1], results=(loop.results[pace.number],))
