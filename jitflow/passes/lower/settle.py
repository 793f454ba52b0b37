"""Settle: from its first write to a variable that outlives it on, a program cannot fail any more.

A program that fails leaves such variables as they were. `jitflow.passes.values.commit` has put the writes behind
everything that the program itself may fail at. What lowering has added comes in front of them, too, or does not happen:
memory that is needed later is allocated before the first write, and loops behind it do not poll.

    launch %w {kernel="k0"}                        %t = alloc %size
    %size = multiply %n, %8                  ->    launch %w {kernel="k0"}
    %t = alloc %size                               launch %w, %t {kernel="k1"}
    launch %w, %t {kernel="k1"}

Memory whose size only a kernel, or a message, tells stays where it is. A program of a GPU is settled once more when its
movements are ops (`jitflow.backends.cuda.offload`): they need memory, too.

Of a program in several parts none can fail any more behind the first place where all ``meet``: others go on to write,
or to hand out results.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.passes.scalar_loops.outline import edges
from jitflow.passes.values.commit import Needs

__all__ = ["settle"]


def settle(host: Function) -> Function:
    """The host program that cannot fail behind its first write to the arguments in the slots ``lasting``."""
    slots = host.attributes.get("lasting", ())
    if not slots and not any(op.name == "meet" for op in walk(host.region)):
        return host
    arguments = (op for op in host.region.ops if op.name == "argument")
    lasting = {op.result for op in arguments if op.attributes["slot"] in slots}
    settling = _Settling(_Writes(host, lasting))
    region = settling.region(host.region)
    functions = tuple(
        replace(kernel, region=_without_polls(kernel.region)) if kernel.name in settling.kernels else kernel
        for kernel in host.functions
    )
    return replace(host, region=region, functions=functions)


class _Writes:
    """Which ops write to lasting variables."""

    def __init__(self, host: Function, lasting: Collection[Value]) -> None:
        self.kernels = {kernel.name: _written_positions(kernel) for kernel in host.functions}
        ops = list(walk(host.region))
        self.buffers, known = {*lasting}, 0
        while len(self.buffers) != known:
            known = len(self.buffers)
            for op in ops:
                for target, sources in edges(op):
                    if not self.buffers.isdisjoint(sources):
                        self.buffers.add(target)

    def by(self, op: Op) -> bool:
        """Whether an op, or one inside it, writes to a lasting variable, or waits for those who do."""
        if op.name == "meet":
            return True
        if op.name == "launch":
            return any(op.operands[place] in self.buffers for place in self.kernels[op.attributes["kernel"]])
        if op.name in ("write", "transfer"):
            return op.operands[0] in self.buffers
        return any(self.by(inner) for region in op.regions for inner in region.ops)


def _written_positions(kernel: Function) -> frozenset[int]:
    """The positions of the parameters that a kernel writes to."""
    shown: dict[Value, Value] = {}
    written: set[Value] = set()
    for op in walk(kernel.region):
        if op.name == "offset":
            shown[op.result] = shown.get(op.operands[0], op.operands[0])
        for effect in op.own_effects:
            if effect.kind == "writes":
                written.add(shown.get(op.operands[effect.operand], op.operands[effect.operand]))
    return frozenset(place for place, value in enumerate(kernel.parameters) if value in written)


class _Settling:
    def __init__(self, writes: _Writes) -> None:
        self.writes = writes
        self.kernels: set[str] = set()
        """Those that are launched behind the first write."""

    def region(self, region: Region) -> Region:
        """The region settled, where it writes at all."""
        ops = [
            replace(op, regions=tuple(map(self.region, op.regions))) if op.regions else op for op in region.ops
        ]  # fmt: skip
        first = next((number for number, op in enumerate(ops) if self.writes.by(op)), len(ops))
        needs = Needs(ops, first)
        allocations = (place for place in range(first + 1, len(ops)) if ops[place].name == "alloc")
        moved = dict.fromkeys(op for place in allocations for op in needs.of(place))
        behind = [op for op in ops[first:] if op not in moved]
        if behind and behind[0].name in ("if", "meet"):  # each branch of an `if` begins to write somewhere
            moved[behind.pop(0)] = None
        launches = (op for op in walk(Region((), tuple(behind))) if op.name == "launch")
        self.kernels |= {launch.attributes["kernel"] for launch in launches}
        return Region(region.parameters, (*ops[:first], *moved, *_without_polls(Region((), tuple(behind))).ops))


def _without_polls(region: Region) -> Region:
    ops = []
    for op in region.ops:
        attributes = MappingProxyType({name: value for name, value in op.attributes.items() if name != "polls"})
        ops.append(replace(op, attributes=attributes, regions=tuple(map(_without_polls, op.regions))))
    return Region(region.parameters, tuple(ops))
