"""Common subexpression elimination: what was computed before is not computed again.

    %0: f32[n] = exp %x                         %0: f32[n] = exp %x
    %1: f32[n] = exp %x                 ->      %2: f32[n] = add %0, %0
    %2: f32[n] = add %0, %1

Two ops are one if they have the same operands (in either order where that does not matter) and attributes, and the
first stands before the second in the same region or an enclosing one. An op that may fail counts as well: it has not
failed the first time. What reads storage counts until something conflicts with it (`jitflow.ir.effects`).

It leaves ops with regions alone, and what makes storage of its own. Results that were arrays of their own stay so
(`jitflow.passes.identity`).
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.effects import Effects
from jitflow.passes.identity import keep_apart

__all__ = ["cse"]

Key = tuple[Any, ...]


def cse(function: Function) -> Function:
    """The function with each common subexpression computed once."""
    return replace(function, region=_Sweep(Effects(function)).region(function.region, {}))


class _Sweep:
    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.values: dict[Value, Value] = {}
        self.numbers: dict[Value, int] = {}

    def region(self, region: Region, outer: dict[Key, Op]) -> Region:
        known = dict(outer)
        reads: dict[Key, Op] = {}
        ops: list[Op] = []
        for op in region.ops:
            op = self.mapped(op)
            if op.regions:
                op = replace(op, regions=tuple(self.region(inner, known) for inner in op.regions))
            kinds = {access.kind for access in self.effects.of(op)}
            if not kinds <= {"check", "reads"}:
                reads = {key: read for key, read in reads.items() if not self.effects.conflict(read, op)}
            elif (not op.regions and op.results and op.name != "copy") or op.name == "check":
                table = reads if "reads" in kinds else known
                key = self.key(op)
                if key in table:
                    self.values.update(zip(op.results, table[key].results, strict=True))
                    continue
                table[key] = op
            ops.append(op)
        return keep_apart(region, Region(region.parameters, tuple(ops)))

    def mapped(self, op: Op) -> Op:
        if not any(operand in self.values for operand in op.operands):
            return op
        return replace(op, operands=tuple(self.values.get(operand, operand) for operand in op.operands))

    def key(self, op: Op) -> Key:
        operands = [self.number(operand) for operand in op.operands]
        if "commutative" in op.definition.traits:
            operands.sort()
        attributes = sorted((name, _exact(value)) for name, value in op.attributes.items()) if op.attributes else ()
        return (op.name, *operands, "|", *attributes, *(result.type for result in op.results))

    def number(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def _exact(value: Any) -> Any:
    """A key that tells 1, 1.0 and True apart, and 0.0 from -0.0, and finds a nan equal to itself."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, complex):
        return ("complex", struct.pack("<dd", value.real, value.imag))
    return (type(value).__name__, value)
