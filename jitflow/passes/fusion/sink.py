"""Sink: what becomes part of a concatenation is computed behind the checks that say how long it is.

Where only the running program knows that two arrays are of one size, a check says so, and behind it a broadcast with
the attribute ``assumed`` gives one array the size of the other. A kernel in front of the check could not write to where
the part belongs (`plan/destinations.py`), for which there is no room if the check fails.

    %0: f64[m] = fusion %y {...}                      check %2, %n, %m
    check %2, %n, %m                             ->   %0: f64[m] = fusion %y {...}
    %1: f64[n] = broadcast %0 {assumed=true, ..}      %1: f64[n] = broadcast %0 {assumed=true, ..}
    %3: f64[n + n] = concatenate %x, %1 {axis=0}      %3: f64[n + n] = concatenate %x, %1 {axis=0}

Only what cannot fail is moved, and only past what does nothing but check, so that programs fail as before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from jitflow.ir.core import Function, Op, Region, Value, uses, walk

__all__ = ["sink"]


def sink(function: Function) -> Function:
    """Move kernels behind checks, towards the concatenations that their results are parts of."""
    if not any(op.attributes.get("assumed") for op in walk(function.region)):
        return function
    return replace(function, region=_sunk(function.region))


def _sunk(region: Region) -> Region:
    ops = [
        replace(op, regions=tuple(map(_sunk, op.regions))) if op.regions and op.name != "fusion" else op
        for op in region.ops
    ]
    counts = uses(region)
    producer = {result: op for op in ops for result in op.results}
    for whole in [op for op in ops if op.name == "concatenate"]:
        for part in whole.operands:
            chain = _chain(part, producer, counts)
            if chain:
                between = ops[ops.index(chain[0]) : ops.index(whole)]
                rest = [op for op in between if op not in chain]
                if all(map(_only_checks, rest)):
                    start = ops.index(chain[0])
                    ops[start : start + len(between)] = [*rest, *chain]
    return Region(region.parameters, tuple(ops))


def _chain(part: Value, producer: dict[Value, Op], counts: Counter[Value]) -> Sequence[Op]:
    """A kernel and the views through which it becomes a part, if one of them assumes what was checked; else nothing."""
    chain: list[Op] = []
    value = part
    while counts[value] == 1 and value in producer and "view" in producer[value].definition.traits:
        chain.append(producer[value])
        value = chain[-1].operands[0]
    source = producer.get(value)
    if source is None or source.name != "fusion" or counts[value] != 1 or len(source.results) != 1:
        return ()
    if not any(op.attributes.get("assumed") for op in chain) or any(op.own_effects for op in source.regions[0].ops):
        return ()
    return [source, *reversed(chain)]


def _only_checks(op: Op) -> bool:
    """Whether an op does nothing that what is moved past it could tell."""
    if op.name == "fusion":
        return True
    return not op.regions and all(effect.kind == "check" for effect in op.own_effects)
