"""Rewriting: rules as named data, and the driver that applies them.

A rule looks at one op, whose operands are simplified already, and says what computes the same; or it says nothing. Most
rules are a line of algebra (`algebra.py`), the others a function. The driver goes over a function once; what a
rule makes goes through all rules before anything sees it, so one sweep reaches the fixpoint. A rule must lead to
something smaller or closer to the normal form, so that this ends.

What a rule may not do: change rounding, the sign of a zero, whether a nan comes out, the dtype, or whether something
raises. The driver takes care of shape (a number that replaces an array is broadcast) and of identity: a result that was
an array of its own stays one (`jitflow.passes.rules.identity`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.ir.core import Builder, Function, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, substitute
from jitflow.ir.dtypes import DType
from jitflow.ir.printer import print_op
from jitflow.ir.types import Index, Scalar, Tensor, Type, Vector, map_dims
from jitflow.passes.analyses.integers import Integers
from jitflow.passes.analyses.lengths import Lengths
from jitflow.passes.rules.identity import keep_apart
from jitflow.records import dataclass

__all__ = ["NUMBERS", "Replacement", "Rewriter", "Rule", "RuleTable", "dtype_of_value", "rewrite"]

Replacement = Value | tuple[Value, ...] | None
"""What stands for an op's results: a value, several, or None where the rule has nothing to say."""

NUMBERS = ("constant", "broadcast", "splat", "size")
"""What `Rewriter.constant` finds numbers behind."""

_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Rule:
    """``apply(op, rewriter)`` is asked about every op called one of ``ops``; ``algebra`` says what it does.

    With ``needs`` it is asked only if an op of one of these names gives an operand, as most rules look at two ops, and
    most pairs of ops are none that a rule is about. ``size`` stands for any size, ``same`` for an operand that is there
    twice.
    """

    name: str
    ops: tuple[str, ...]
    algebra: str
    apply: Callable[[Op, Rewriter], Replacement]
    needs: tuple[str, ...] = ()


class RuleTable:
    """Rules by what they look at, in the order in which they are asked."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_name: dict[str, list[Rule]] = {}
        for rule in rules:
            for name in rule.ops:
                self._by_name.setdefault(name, []).append(rule)
        self._known: dict[tuple[str, frozenset[str]], tuple[Rule, ...]] = {}

    def __contains__(self, name: str) -> bool:
        """Whether any rule looks at ops of a name."""
        return name in self._by_name

    def about(self, name: str, given: frozenset[str]) -> tuple[Rule, ...]:
        """The rules that look at an op whose operands are ``given`` by ops of these names."""
        key = name, given
        found = self._known.get(key)
        if found is None:
            rules = self._by_name.get(name, ())
            found = tuple(rule for rule in rules if not rule.needs or not given.isdisjoint(rule.needs))
            self._known[key] = found
        return found


def rewrite(function: Function, rules: RuleTable, fired: Counter[str] | None = None) -> Function:
    """The function after one sweep of the rules; ``fired`` counts by name how often each replaced something."""
    return Rewriter(function, rules, Counter() if fired is None else fired).run()


class Rewriter:
    """The state of a sweep, and what rules ask for and build with."""

    def __init__(self, function: Function, rules: RuleTable, fired: Counter[str]) -> None:
        self.function = function
        self.fired = fired
        self.builder = Builder()
        self._rules = rules
        self._values: dict[Value, Value] = {}
        self._sizes: dict[str, Dim] = {}
        self._producers: dict[Value, Op] = {}
        self._depth = 0
        self.integers = Integers(function, self._producers.get)
        self._lengths = Lengths(self.integers, self._values)

    def run(self) -> Function:
        region = keep_apart(self.function.region, self._region(self.function.region))
        return replace(self.function, region=region)

    # What rules ask

    def producer(self, value: Value, *names: str) -> Op | None:
        """The op that gives ``value``, if it is called one of ``names``; any if none are given."""
        op = self._producers.get(value)
        return op if op is not None and (not names or op.name in names) else None

    def constant(self, value: Value) -> Any:
        """The Python number that ``value`` is, everywhere if it is an array; None if it is not known."""
        if isinstance(value.type, Index):
            return value.type.dim if isinstance(value.type.dim, int) else None
        op = self.producer(value, "constant", "broadcast", "splat")
        if op is None:
            return None
        if op.name != "constant":
            return self.constant(op.operands[0])
        number = op.attributes["value"]
        return None if isinstance(number, tuple) else python_number(number, op.attributes["type"].dtype)

    def holds(self, dim: Dim) -> bool:
        """Whether ``dim >= 0`` is known here."""
        return self.integers.bounds.proves(dim)

    def may_be_negative(self, dim: Dim) -> bool:
        """Whether ``dim`` mentions the position of a loop that may count below zero, of which dims know nothing."""
        return self.integers.bounds.may_be_negative(dim)

    # What rules build with

    def add(self, name: str, *operands: Value, types: Sequence[Type] | None = None, **attributes: Any) -> Replacement:
        """New ops, simplified: the values that stand for their results."""
        self.builder.add(name, *operands, types=types, **attributes)
        return self._simplify(self.builder.ops.pop())

    def make(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """`add` for an op with one result."""
        results = self.add(name, *operands, **attributes)
        if isinstance(results, tuple):
            (result,) = results
            return result
        assert results is not None
        return results

    def current(self, value: Value) -> Value:
        """What stands for a value of the function as it was given."""
        return self._values.get(value, value)

    def number(self, number: Any, kind: Type) -> Value:
        """``number`` as a value of a type, in every element."""
        if isinstance(kind, Index):
            return self.make("size", dim=int(number))
        if isinstance(kind, Tensor) and kind.dims:
            return self.make("broadcast", self.number(number, Scalar(kind.dtype)), dims=kind.dims, axes=())
        if isinstance(kind, Vector):
            return self.make("splat", self.number(number, Scalar(kind.dtype)), lanes=kind.lanes)
        assert isinstance(kind, Scalar | Tensor)
        exact = np.asarray(number).astype(kind.dtype.numpy)[()]
        return self.make("constant", value=python_number(exact, kind.dtype), type=kind)

    def as_type(self, value: Value, kind: Type) -> Value | None:
        """``value`` in another shape or kind of scalar, None if it cannot stand for a value of that type."""
        if value.type == kind:
            return value
        if isinstance(kind, Index) and isinstance(value.type, Index):
            return value if kind.dim is None or substitute(kind.dim, self._sizes) == value.type.dim else None
        if not isinstance(value.type, Scalar | Tensor) or not isinstance(kind, Scalar | Tensor | Vector):
            return None
        if dtype_of_value(value) != kind.dtype or (isinstance(value.type, Tensor) and value.type.dims):
            return None
        if isinstance(kind, Scalar):
            return self.make("cast", value, dtype=kind.dtype, **({"weak": True} if kind.weak else {}))
        if isinstance(kind, Vector):
            return self.make("splat", value, lanes=kind.lanes) if isinstance(value.type, Scalar) else None
        return self.make("broadcast", value, dims=kind.dims, axes=())

    def rename_size(self, name: str, dim: Dim) -> None:
        """From here on the size ``name``, which the op at hand would bind, is ``dim``."""
        self._sizes[name] = dim

    def inline(self, region: Region, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """The ops of a region in place of the op that has it: the values that it yields."""
        self._values.update(zip(region.parameters, arguments, strict=True))
        for op in region.body:
            self._op(op)
        return tuple(self._values.get(value, value) for value in region.yielded)

    # The sweep

    def _region(self, region: Region) -> Region:
        outer, self.builder.ops = self.builder.ops, []
        parameters = tuple(self._retyped(parameter) for parameter in region.parameters)
        for op in region.ops:
            self._op(op)
        ops, self.builder.ops = tuple(self.builder.ops), outer
        return Region(parameters, ops)

    def _op(self, op: Op) -> None:
        self.builder.loc = op.loc
        operands = tuple(self._values.get(operand, operand) for operand in op.operands)
        attributes = op.attributes
        if self._sizes and attributes:
            attributes = MappingProxyType({key: self._renamed(value) for key, value in attributes.items()})
        if operands != op.operands or self._sizes:
            results = tuple(map(self._retyped, op.results))
            replacement = self._simplify(Op(op.definition, operands, results, attributes, op.regions, op.loc))
        else:
            replacement = self._simplify(op)
        self._replace(op.results, replacement)

    def _simplify(self, op: Op) -> Replacement:
        """What stands for the results of an op, after asking every rule and appending what is needed."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CompilerBug("expected rules that end", operation=print_op(op), location=op.loc)
        try:
            for rule in self._rules.about(op.name, self._given(op)) if op.name in self._rules else ():
                results = self._fitting(op, rule.apply(op, self))
                if results is not None:
                    self.fired[rule.name] += 1
                    return results
        finally:
            self._depth -= 1
        if op.regions:
            op = replace(op, regions=self._regions(op))
        self.builder.ops.append(op)
        self._producers.update(dict.fromkeys(op.results, op))
        if op.name == "check":
            self.integers.learn(op.operands[0], True)
        elif op.name == "to_index" and "binds" in op.attributes:
            self.integers.bound(op)
        elif not op.regions:
            self._lengths.pass_op(op)
        return op.results

    def _given(self, op: Op) -> frozenset[str]:
        """What gives the operands of an op, as rules may need it."""
        given = []
        for operand in op.operands:
            producer = self._producers.get(operand)
            if producer is not None:
                given.append(producer.name)
            if isinstance(operand.type, Index):
                given.append("size")
        if len(op.operands) > 1 and len(set(op.operands)) < len(op.operands):
            given.append("same")
        return frozenset(given)

    def _regions(self, op: Op) -> tuple[Region, ...]:
        regions: list[Region] = []
        self._lengths.enter(op)
        for number, region in enumerate(op.regions):
            mark = self.integers.enter(op, number, regions)
            self._lengths.begin()
            regions.append(self._region(region))
            self._lengths.end()
            self.integers.leave(mark, op, number)
        self._lengths.leave()
        return tuple(regions)

    def _fitting(self, op: Op, replacement: Replacement) -> Replacement:
        """The replacement with the types of the op's results, None if it cannot have them."""
        if replacement is None:
            return None
        values = replacement if isinstance(replacement, tuple) else (replacement,)
        fitting: list[Value] = []
        for value, result in zip(values, op.results, strict=True):
            typed = self.as_type(value, result.type)
            if typed is None:
                return None
            fitting.append(typed)
        return tuple(fitting)

    def _replace(self, old: Sequence[Value], new: Replacement) -> None:
        values = new if isinstance(new, tuple) else (new,)
        for before, after in zip(old, values, strict=True):
            if before is not after and after is not None:
                self._values[before] = after

    def _retyped(self, value: Value) -> Value:
        if not self._sizes:
            return value
        kind = map_dims(value.type, lambda dim: substitute(dim, self._sizes))
        if kind == value.type:
            return value
        self._values[value] = Value(kind, value.name)
        return self._values[value]

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._renamed, value))
        if isinstance(value, Tensor):
            return map_dims(value, lambda dim: substitute(dim, self._sizes))
        return substitute(value, self._sizes) if isinstance(value, Expression) else value


def dtype_of_value(value: Value) -> DType | None:
    """The element type of a value, None for what has none."""
    kind = value.type
    return kind.dtype if isinstance(kind, Scalar | Tensor | Vector) else None


def python_number(number: Any, dtype: DType) -> Any:
    """A number of that dtype as the Python number that has the same value."""
    return {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype.kind](number)
