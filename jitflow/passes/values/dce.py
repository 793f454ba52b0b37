"""Dead code elimination: drop what nobody needs.

An op stays if one of its results is needed, if it does something besides computing them (a store, a print), or if it
may fail: a `check` stays, and so does an index out of range. One backward sweep; an ``if`` loses the results that
nobody needs before its regions are looked at, and a loop what it only carries round for its own sake. A tape goes,
with its pushes and pops, if nobody uses what is popped or looked at.

    %0: f32[n] = exp %x                         %1: f32[n] = log %x
    %1: f32[n] = log %x                 ->      yield %1
    yield %1

Relies on `jitflow.ir.effects` for what may be dropped. An op that binds a size is needed where the size is mentioned.
It keeps variables that are only stored to: `promote` sees those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jitflow.ir.core import Function, Op, Region, Value, walk
from jitflow.ir.effects import is_removable
from jitflow.ir.types import Index, dims_of, sizes_of_type

__all__ = ["dce"]


def dce(function: Function) -> Function:
    """The function without what nobody needs."""
    own = {name for value in function.parameters for name in sizes_of_type(value.type)}
    region = _Sweep(own).region(function.region)
    while unused := _unused_tapes(region):
        region = _Sweep(own).region(_without_tapes(region, unused))
    return replace(function, region=region)


def _unused_tapes(region: Region) -> set[Value]:
    """The tapes of which nobody uses what is popped or looked at."""
    ops = list(walk(region))
    tapes = {op.result for op in ops if op.name == "tape"}
    if not tapes:
        return tapes
    used = {operand for op in ops for operand in op.operands}
    for op in ops:
        if op.name not in ("push", "pop", "peek", "poke"):
            tapes.difference_update(op.operands)  # it flows somewhere
        elif op.name in ("pop", "peek") and op.result in used:
            tapes.discard(op.operands[0])
    return tapes


def _without_tapes(region: Region, tapes: set[Value]) -> Region:
    kept = (op for op in region.ops if tapes.isdisjoint((*op.results, *op.operands)))
    return Region(
        region.parameters,
        tuple(replace(op, regions=tuple(_without_tapes(inner, tapes) for inner in op.regions)) for op in kept),
    )


class _Sweep:
    def __init__(self, own: set[str]) -> None:
        """``own``: sizes that the function's parameters bind, which need no op."""
        self.own = own
        self.values: set[Value] = set()
        self.sizes: set[str] = set()

    def region(self, region: Region) -> Region:
        kept: list[Op] = []
        for op in reversed(region.ops):
            if op.name == "if":
                op = self.narrowed(op)
            elif op.name in ("for", "while") and op.results:
                op = self.carrying_less(op)
            if not self.needed(op):
                continue
            self.values.update(op.operands)
            self.sizes.update(op.sizes)
            if op.regions:
                op = replace(op, regions=tuple(map(self.region, op.regions)))
            kept.append(op)
        return Region(region.parameters, tuple(reversed(kept)))

    def needed(self, op: Op) -> bool:
        if op.name == "yield" or any(result in self.values for result in op.results) or not is_removable(op):
            return True
        return any(name in self.sizes for name in self.bound(op))

    def bound(self, op: Op) -> Iterator[str]:
        """The sizes that an op may bind."""
        if "binds" in op.attributes:
            yield op.attributes["binds"]
        elif op.definition.infer is None and "sized" not in op.definition.traits:
            for result in op.results:
                yield from (name for name in sizes_of_type(result.type) if name not in self.own)

    def narrowed(self, op: Op) -> Op:
        """An ``if`` without the results that nobody needs."""
        if any(True for _ in self.bound(op)):
            return op
        used = [position for position, result in enumerate(op.results) if result in self.values]
        if len(used) == len(op.results):
            return op
        return replace(
            op,
            results=tuple(op.results[position] for position in used),
            regions=tuple(_yielding(region, used) for region in op.regions),
        )

    def carrying_less(self, op: Op) -> Op:
        """A loop without the values that neither its turns nor anything behind it needs."""
        first = 3 if op.name == "for" else 0
        *tests, body = op.regions
        parameters = [region.parameters[len(region.parameters) - len(op.results) :] for region in op.regions]
        needed = {
            number
            for number, result in enumerate(op.results)
            if result in self.values or any(dims_of(result.type) != dims_of(op.operands[first + number].type)
                                            or dims_of(result.type) != dims_of(own[number].type) for own in parameters)
            or isinstance(result.type, Index)
        }  # fmt: skip
        while True:
            live = {value for test in tests for value in test.yielded}
            live.update(body.yielded[number] for number in needed)
            for region in op.regions:
                _mark(region, live)
            found = {number for own in parameters for number, value in enumerate(own) if value in live}
            if found <= needed:
                break
            needed |= found
        if len(needed) == len(op.results):
            return op
        kept = sorted(needed)
        regions = []
        for region, own in zip(op.regions, parameters, strict=True):
            position = region.parameters[: len(region.parameters) - len(own)]
            taking = Region((*position, *(own[number] for number in kept)), region.ops)
            regions.append(_yielding(taking, kept) if region is body else taking)
        carried = (op.operands[first + number] for number in kept)
        results = tuple(op.results[number] for number in kept)
        return replace(op, operands=(*op.operands[:first], *carried), results=results, regions=tuple(regions))


def _mark(region: Region, live: set[Value]) -> None:
    """Add to ``live`` what the ops of a region need to give what is live already, and for what they do besides."""
    for op in reversed(region.body):
        binds = "binds" in op.attributes or (
            op.regions and any(True for r in op.results for _ in sizes_of_type(r.type))
        )
        if binds or not is_removable(op) or any(result in live for result in op.results):
            live.update(op.operands)
            for inner in op.regions:
                for nested in walk(inner):
                    live.update(nested.operands)


def _yielding(region: Region, positions: list[int]) -> Region:
    closing = region.ops[-1]
    narrowed = replace(closing, operands=tuple(closing.operands[position] for position in positions))
    return Region(region.parameters, (*region.body, narrowed))
