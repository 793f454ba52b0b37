"""One forward sweep that replaces values: what `expand` and `split_complex` share.

A `Rewriter` walks a function once, in order. It knows what stands for each old value (one new value, or several), and
puts the replacements into operands, region parameters, carried values and results. A subclass says which types change
(`types`) and treats the ops that it cares about (`op`); everything else is copied, or kept as it is where nothing in
it changed. New ops go through the builder, with the location of the op that they replace.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.types import Type
from jitflow.passes.expand.builder_machine import BuilderMachine

__all__ = ["Rewriter"]


class Rewriter:
    """Makes a new function from an old one; for one function only."""

    def __init__(self, machine: BuilderMachine) -> None:
        self.machine = machine
        self.builder = machine.builder
        self.replaced: dict[Value, tuple[Value, ...]] = {}

    def function(self, function: Function) -> Function:
        """The function rewritten, with the constants that were made in front."""
        region = self.region(function.region)
        ops = (*self.machine.constants, *region.ops)
        return replace(function, region=Region(region.parameters, ops))

    def types(self, type: Type) -> tuple[Type, ...]:
        """The types that take the place of one."""
        return (type,)

    def region(self, region: Region) -> Region:
        parameters = self.values(region.parameters)
        outside, self.builder.ops = self.builder.ops, []
        for op in region.ops:
            self.builder.loc = op.loc
            self.op(op)
        rewritten = Region(parameters, tuple(self.builder.ops))
        self.builder.ops = outside
        return rewritten

    def op(self, op: Op) -> None:
        """Add what stands for an op; by default a copy."""
        self.copy(op)

    def copy(self, op: Op) -> tuple[Value, ...]:
        """The same op on what stands for its operands, with its regions rewritten."""
        operands = self.operands(op)
        results = self.values(op.results)
        if operands != op.operands or results != op.results or op.regions:
            regions = tuple(self.region(region) for region in op.regions)
            op = replace(op, operands=operands, results=results, regions=regions)
        self.builder.ops.append(op)
        return results

    def operands(self, op: Op) -> tuple[Value, ...]:
        """What stands for the operands, one after the other."""
        replaced = self.replaced
        if not replaced:
            return op.operands
        return tuple(value for operand in op.operands for value in replaced.get(operand, (operand,)))

    def stands_for(self, value: Value) -> tuple[Value, ...]:
        return self.replaced.get(value, (value,))

    def values(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """New values where types change, the old ones elsewhere."""
        made: list[Value] = []
        for value in values:
            types = self.types(value.type)
            if len(types) == 1 and types[0] is value.type:
                made.append(value)
            else:
                self.replaced[value] = tuple(Value(type, value.name) for type in types)
                made.extend(self.replaced[value])
        return tuple(made)
