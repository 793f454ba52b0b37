"""Polls: loops that may turn long ask now and then whether to go on, so that Ctrl-C ends them.

The attribute ``polls`` of a loop says after how many of its turns, more or less, the next poll is due. That is many for
the loops of scalar kernels, which turn in a nanosecond, and few for loops of the host program, whose turns launch
kernels: each where threads share these, who take a few turns at a time. Loops inside share what their loops around have
left, so any nest polls in time. Loops that turn a few times, known beforehand, do not poll: their turns count for the
loop around them.

    for %0, %n, %1 (%i: index) {          ->      for %0, %n, %1 (%i: index) {
      ...                                           ...
    }                                             } {polls=65536}

A poll may end the program as a check that fails does. Kernels over arrays do not poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, walk

__all__ = ["poll"]

_KERNEL_TURNS = 1 << 16
_HOST_TURNS = 8
_FEW = 64


def poll(host: Function) -> Function:
    """The host program and its kernels of scalar code, with loops that poll."""
    if not any(op.name in ("for", "while") for function in (host, *host.functions) for op in walk(function.region)):
        return host
    functions = tuple(
        replace(function, region=_Marking(function, _KERNEL_TURNS).region(function.region))
        if function.attributes.get("scalar")
        else function
        for function in host.functions
    )
    return replace(host, region=_Marking(host, _HOST_TURNS).region(host.region), functions=functions)


class _Marking:
    def __init__(self, function: Function, turns: int) -> None:
        self.turns = turns
        self.numbers = _numbers(function.region)

    def region(self, region: Region) -> Region:
        return Region(region.parameters, tuple(self.op(op) for op in region.ops))

    def op(self, op: Op) -> Op:
        if not op.regions:
            return op
        around, self.turns = self.turns, 1 if op.name == "share" and self.turns == _HOST_TURNS else self.turns
        op = replace(op, regions=tuple(map(self.region, op.regions)))
        self.turns = around
        if op.name not in ("for", "while") or self.few_turns(op):
            return op
        turns = max(self.turns // sum(map(self.weight, op.regions)), 1)
        return replace(op, attributes=MappingProxyType({**op.attributes, "polls": turns}))

    def few_turns(self, op: Op) -> int:
        """How often a loop turns that turns a few times; 0 for any other."""
        start, stop, step = (
            (self.numbers.get(operand) for operand in op.operands[:3]) if op.name == "for" else [None] * 3
        )
        if start is None or stop is None or not step:
            return 0
        turns = len(range(start, stop, step))
        return turns if turns <= _FEW else 0

    def weight(self, region: Region) -> int:
        """What one run of a region counts for, beside the loops in it that count themselves."""
        inside = (
            (self.few_turns(op) or op.name == "if", sum(map(self.weight, op.regions)))
            for op in region.ops
            if op.regions
        )
        return 1 + sum(turns * weight for turns, weight in inside)


def _numbers(region: Region) -> Mapping[Value, int]:
    """The indices that are known."""
    found: dict[Value, int] = {}
    for op in walk(region):
        number = op.attributes.get("value" if op.name == "constant" else "dim")
        if op.name in ("constant", "size") and isinstance(number, int):
            found[op.result] = number
    return found
