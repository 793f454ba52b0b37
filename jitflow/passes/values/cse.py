"""Common subexpression elimination: what was computed before is not computed again.

    %0: f32[n] = exp %x                         %0: f32[n] = exp %x
    %1: f32[n] = exp %x                 ->      %2: f32[n] = add %0, %0
    %2: f32[n] = add %0, %1

Two ops are one if they have the same operands (in either order where that does not matter) and attributes, and the
first stands before the second in the same region or an enclosing one. An op that may fail counts as well: it has not
failed the first time. What reads storage counts until something conflicts with it (`jitflow.ir.effects`), also in the
regions behind it; in a loop, until something in the loop does. An integer that becomes a size twice is one size.

A branch on a number that chooses numbers is one with another that does the same; other ops with regions are left alone,
and so is what makes storage of its own. Results that were arrays of their own stay so
(`jitflow.passes.rules.identity`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from jitflow.ir.by_place import ByPlace
from jitflow.ir.core import Function, Op, Region, Value, renamed_region
from jitflow.ir.dims import Dim, Expression, substitute, symbol
from jitflow.ir.effects import Effects
from jitflow.ir.equality import exact_key
from jitflow.ir.types import Index, Scalar, Type, map_dims
from jitflow.passes.rules.identity import keep_apart

__all__ = ["cse"]

Key = tuple[Any, ...]
_NONE: frozenset[str] = frozenset()


def cse(function: Function) -> Function:
    """The function with each common subexpression computed once."""
    sweep = _Sweep(Effects(function))
    region = keep_apart(function.region, sweep.region(function.region, {}, _Reads()))
    return replace(function, region=renamed_region(region, {}, sweep.sizes) if sweep.sizes else region)


class _Reads:
    """Ops that read storage, by their keys, as long as nothing has conflicted with them."""

    def __init__(self) -> None:
        self.ops: dict[Key, Op] = {}
        self.places = ByPlace[Key]()

    def copy(self) -> _Reads:
        other = _Reads()
        other.ops, other.places = dict(self.ops), self.places.copy()
        return other

    def add(self, key: Key, op: Op, effects: Effects) -> None:
        self.ops[key] = op
        self.places.add(key, effects.touched(op))

    def leave(self, op: Op, effects: Effects) -> None:
        """Forget those that an op conflicts with."""
        for key in self.places.meeting(effects.touched(op)):
            if effects.conflict(self.ops[key], op):
                del self.ops[key]
                self.places.discard(key)


class _Sweep:
    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        self.values: dict[Value, Value] = {}
        self.numbers: dict[Value, int] = {}
        self.sizes: dict[str, Dim] = {}
        """Sizes that are other sizes. Until the end the function still mentions them."""

    def region(self, region: Region, outer: dict[Key, Op], read_outside: _Reads) -> Region:
        known = dict(outer)
        reads = read_outside.copy()
        ops: list[Op] = []
        for op in region.ops:
            op = self.mapped(op)
            if op.regions:
                op = self.entered(op, known, reads)
            accesses = self.effects.of(op)
            kinds = {access.kind for access in accesses} if accesses else _NONE
            if not kinds <= {"check", "reads"}:
                reads.leave(op, self.effects)
            elif self.may_be_known(op):
                key = self.key(op)
                earlier = (reads.ops if "reads" in kinds else known).get(key)
                if earlier is not None:
                    self.replace(op, earlier)
                    continue
                if "reads" in kinds:
                    reads.add(key, op, self.effects)
                else:
                    known[key] = op
            ops.append(op)
        return Region(region.parameters, tuple(ops))

    def may_be_known(self, op: Op) -> bool:
        """Whether an op gives what one like it has given, or fails if that would have failed."""
        if not op.regions:
            return op.name == "check" or (bool(op.results) and op.name != "copy")
        inside = [inner for region in op.regions for inner in region.ops]
        results = [result for each in (op, *inside) for result in each.results]
        return (
            op.name == "if"
            and not any(inner.regions or "binds" in inner.attributes for inner in inside)
            and all(isinstance(result.type, Scalar) for result in results)
        )

    def entered(self, op: Op, known: dict[Key, Op], reads: _Reads) -> Op:
        """The op with its regions swept."""
        if op.name != "if":
            reads = reads.copy()
            reads.leave(op, self.effects)
        return replace(op, regions=tuple(self.region(inner, known, reads) for inner in op.regions))

    def replace(self, op: Op, earlier: Op) -> None:
        self.values.update(zip(op.results, earlier.results, strict=True))
        if "binds" in op.attributes:
            self.sizes[op.attributes["binds"]] = symbol(earlier.attributes["binds"])

    def mapped(self, op: Op) -> Op:
        if self.values.keys().isdisjoint(op.operands):
            return op
        operands = tuple([self.values.get(operand, operand) for operand in op.operands])
        return Op(op.definition, operands, op.results, op.attributes, op.regions, op.loc)

    def key(self, op: Op) -> Key:
        if op.name == "check":  # what it would say it has not said
            return ("check", self.number(op.operands[0]))
        operands = [self.number(operand) for operand in op.operands]
        if "commutative" in op.definition.traits:
            operands.sort()
        given = op.attributes.items()
        if "binds" in op.attributes:  # the name does not matter, nor a type that mentions it
            attributes = sorted((name, exact_key(value)) for name, value in given if name != "binds")
            return (op.name, *operands, "binds", *attributes)
        attributes = sorted([(name, exact_key(self.present(value))) for name, value in given])
        if op.definition.infer is not None and not any(isinstance(result.type, Index) for result in op.results):
            return (op.name, *operands, "|", *attributes)
        types = (self.present(result.type) for result in op.results)  # which do not follow from the rest
        return (op.name, *operands, "|", *attributes, *types, *map(self.region_key, op.regions))

    def region_key(self, region: Region) -> Key:
        """The keys of a region's ops, whose results are told by their places."""
        for place, result in enumerate(result for op in region.ops for result in op.results):
            self.numbers[result] = -1 - place
        return tuple(map(self.key, region.ops))

    def present(self, value: Any) -> Any:
        """An attribute or type with its sizes by their present names."""
        if not self.sizes:
            return value
        if isinstance(value, tuple):
            return tuple(map(self.present, value))
        if isinstance(value, Expression):
            return substitute(value, self.sizes)
        if isinstance(value, get_args(Type)):
            return map_dims(value, lambda dim: substitute(dim, self.sizes))
        return value

    def number(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))
