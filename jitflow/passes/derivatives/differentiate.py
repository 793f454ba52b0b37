"""Differentiation: ops that ask for a derivative become the ops that compute it, the innermost first.

    %y: f64, %dx: f64[n] = vjp %x, %one {inputs=1, outputs=1} (%1: f64[n]) {       %2: f64[n] = multiply %x, %x
      %2: f64[n] = multiply %1, %1                                                 %3: f64 = reduce_add %2
      %3: f64 = reduce_add %2 {axes=[0]}                                     ->    %4: f64[n] = broadcast %one
      yield %3                                                                     %5: f64[n] = multiply %4, %x
    }                                                                              %6: f64[n] = add %5, %5

A `vmap` asks for all examples at once, and is written out among them (`jitflow.passes.batching`): a derivative may be
inside of a batch, and a batch inside of a derivative.

What is differentiated has been simplified and promoted before, so that most of what it stores is values; the ops of the
forward sweep stay in their order, effects included, and the reverse sweep follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from jitflow.ir.core import Builder, Function, Op, Region, Value, renamed_op, walk
from jitflow.ir.dims import Expression
from jitflow.ir.dtypes import I64
from jitflow.ir.effects import Effects
from jitflow.ir.ops.derivative import DERIVATIVE_NAMES
from jitflow.ir.types import Tensor, Type, dims_of
from jitflow.passes.analyses.order import bound_sizes, named_sizes, sizes_inside
from jitflow.passes.derivatives.activity import Activity
from jitflow.passes.derivatives.alone import read_alone
from jitflow.passes.derivatives.contents import with_contents
from jitflow.passes.derivatives.forward import Forward
from jitflow.passes.derivatives.lift import lift_loads
from jitflow.passes.derivatives.notation import Notation
from jitflow.passes.derivatives.remember import Keeping, Level
from jitflow.passes.derivatives.reverse import CHOOSING, Reversal, Sweep, zeros_where_none
from jitflow.passes.derivatives.rows import gather_rows
from jitflow.passes.derivatives.shadows import Shadows
from jitflow.passes.derivatives.sink import sink_loads
from jitflow.passes.runner import run
from jitflow.passes.values.agree import agree
from jitflow.passes.values.cse import cse
from jitflow.passes.values.dce import dce
from jitflow.passes.values.promote import promote
from jitflow.passes.values.simplify import simplify

__all__ = ["differentiate"]


def differentiate(function: Function) -> Function:
    """The function without ops that ask for a derivative."""
    while any(op.name in DERIVATIVE_NAMES for op in walk(function.region)):
        function = _prepared(function)
        copying = with_contents(function)
        if copying is not function:
            function = _prepared(copying)
        function = _Differentiation(function).run()
    return function


def _prepared(function: Function) -> Function:
    return run(function, _PREPARING)


_PREPARING = tuple((one.__name__, one) for one in (agree, cse, simplify, promote, simplify, cse, dce))


class _Differentiation:
    """One round, in which ops that have none inside are written out."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.effects = Effects(function)
        self.taken = {name for op in walk(function.region) for name in op.sizes} | {*sizes_inside(function.region)}
        self.producers = {result: op for op in walk(function.region) for result in op.results}
        self.written = _ASKING if any(op.name in _ASKING for op in walk(function.region)) else DERIVATIVE_NAMES
        """The ops that are written out: those that only say how to derive something, when nobody asks any more."""
        self.kept: list[str] = []
        """What reverse sweeps keep, and what they compute again."""

    def run(self) -> Function:
        known = frozenset(name for parameter in self.function.parameters for name in named_sizes(parameter.type))
        region = self.region(self.function.region, known, {})
        attributes = self.function.attributes
        if self.kept:
            attributes = MappingProxyType({**attributes, "kept": (*attributes.get("kept", ()), *self.kept)})
        return replace(self.function, region=region, attributes=attributes)

    def region(self, region: Region, known: frozenset[str], values: dict[Value, Value]) -> Region:
        """A region with what is innermost in it written out. ``known`` are the sizes that are bound around it."""
        known |= {name for parameter in region.parameters for name in named_sizes(parameter.type)}
        ops: list[Op] = []
        for op in region.ops:
            if op.name in self.written and not _asks_inside(op):
                op = renamed_op(op, values)
                ops += _WRITERS[op.name](self, op, known, values)
            else:
                operands = tuple([values.get(operand, operand) for operand in op.operands])
                regions = tuple([self.region(inner, known, values) for inner in op.regions])
                stays = operands == op.operands and not regions
                ops.append(op if stays else replace(op, operands=operands, regions=regions))
            known |= set(bound_sizes(op))
        return Region(region.parameters, tuple(ops))

    def fresh(self, name: str) -> str:
        """A size name that is not taken, like ``name``."""
        base, number = name.split(".")[0], 1
        while (unique := f"{base}.{number}") in self.taken:
            number += 1
        self.taken.add(unique)
        return unique

    # -- reverse mode

    def vjp(self, op: Op, known: frozenset[str], values: dict[Value, Value]) -> list[Op]:
        """The forward sweep and the reverse one."""
        (region,) = op.regions
        count, outputs = op.attributes["inputs"], op.attributes["outputs"]
        inputs, seeds = op.operands[:count], op.operands[count : count + outputs]
        variables = op.operands[count + outputs :]
        hints = dict(self.function.attributes.get("hints", ()))
        region, gathers = sink_loads(gather_rows(region, hints), self.effects)
        region = lift_loads(region, self.effects, _written(region, self.effects))
        self.producers.update({result: inner for inner in walk(region) for result in inner.results})
        outer = Level(region, known)
        memory = [root for variable in variables for root in self.effects.places(variable)]
        activity = Activity(region, self.effects, (*region.parameters, *memory), region.yielded[:outputs])
        shadows = Shadows(region, activity, self.producers)
        keeping = Keeping(self.effects, _written(region, self.effects), shadows, hints)
        doubtful = any(op.name in CHOOSING for op in walk(region))
        alone = read_alone(self.function, region)
        reversal = Reversal(activity, keeping, shadows, self.producers, self.fresh, alone, gathers, doubtful)
        sweep = Sweep(reversal, outer)
        m = sweep.m
        m.builder.loc = op.loc
        for variable in filter(sweep.is_active, memory):
            sweep.accumulate(variable)
        for value, seed in zip(region.yielded, seeds, strict=False):
            sweep.contribute(value, seed)
        sweep.run(region)
        m.builder.loc = op.loc
        results = op.results[len(region.yielded) :]
        arrived = [
            *map(sweep.cotangent, region.parameters),
            *(m("load", sweep.shadow(place)) if sweep.is_active(place) else None for place in variables),
        ]
        gradients = [
            m.converted(zeros_where_none(m, cotangent, result.type), result.type)
            for cotangent, result in zip(arrived, results, strict=True)
        ]
        forward = keeping.rebuilt(region)
        self.kept += keeping.decisions.values()
        ops = [*shadows.outside(), *forward.body, *m.builder.ops]
        return self.inlined(op, ops, (*forward.yielded, *gradients), inputs, known, values)

    # -- forward mode

    def jvp(self, op: Op, known: frozenset[str], values: dict[Value, Value]) -> list[Op]:
        """The region with its tangents."""
        (region,) = op.regions
        count, outputs = op.attributes["inputs"], op.attributes["outputs"]
        inputs, tangents = op.operands[:count], op.operands[count:]
        activity = Activity(region, self.effects, region.parameters, region.yielded[:outputs])
        forward = Forward(activity, self.producers, self.fresh, known)
        ops, found = forward.run(region, tangents, outputs)
        m = Notation(Builder(loc=op.loc))
        found = [
            m.converted(tangent, _of_dims(result.type, tangent))
            for tangent, result in zip(found, op.results[len(region.yielded) :], strict=True)
        ]
        return self.inlined(op, [*ops, *m.builder.ops], (*region.yielded, *found), inputs, known, values)

    def inlined(
        self, op: Op, ops: Sequence[Op], results: Sequence[Value], inputs: Sequence[Value], known: frozenset[str],
        values: dict[Value, Value],
    ) -> list[Op]:  # fmt: skip
        """``ops``, in which the inputs stand for the region's parameters, and ``results`` for those of ``op``."""
        mapped = dict(zip(op.regions[0].parameters, inputs, strict=False))
        written = [renamed_op(inner, mapped) for inner in ops]
        m = Notation(Builder(loc=op.loc))
        for old, new in zip(op.results, results, strict=True):
            values[old] = _renamed(m, mapped.get(new, new), old.type, known)
            known |= set(named_sizes(old.type))
        return [*written, *m.builder.ops]

    # -- batches

    def vmap(self, op: Op, known: frozenset[str], values: dict[Value, Value]) -> list[Op]:
        """The region for all examples at once."""
        from jitflow.passes.batching import batch  # which is written with what derivatives are

        ops, results = batch(op, self.fresh, known)
        return self.inlined(op, ops, results, (), known, values)

    def plain(self, op: Op, known: frozenset[str], values: dict[Value, Value]) -> list[Op]:
        """Outside of every derivative, a function with a rule of its own is that function."""
        first = op.regions[0]
        region = self.region(first, known, values)
        return self.inlined(op, region.body, region.yielded, op.operands, known, values)

    def stop_gradient(self, op: Op, known: frozenset[str], values: dict[Value, Value]) -> list[Op]:
        """Outside of every derivative it is its operand."""
        values[op.result] = op.operands[0]
        return []


_ASKING = frozenset(("vjp", "jvp", "vmap"))
"""The ops that ask for a derivative or a batch; the others say what a derivative is."""

_WRITERS: dict[str, Callable[[_Differentiation, Op, frozenset[str], dict[Value, Value]], list[Op]]] = {
    "vjp": _Differentiation.vjp,
    "jvp": _Differentiation.jvp,
    "vmap": _Differentiation.vmap,
    "stop_gradient": _Differentiation.stop_gradient,
    "custom_vjp": _Differentiation.plain,
    "recompute": _Differentiation.plain,
}


def _of_dims(kind: Type, value: Value) -> Type:
    """A type with the dims of a value, whose sizes have got no other names as yet (`_renamed`)."""
    if isinstance(kind, Tensor) and isinstance(value.type, Tensor):
        return Tensor(kind.dtype, value.type.dims)
    return kind


def _renamed(m: Notation, value: Value, kind: Type, known: frozenset[str]) -> Value:
    """``value`` as a type whose sizes may have other names, which are bound here."""
    if value.type == kind or not isinstance(kind, Tensor):
        return value
    for dim, other in zip(dims_of(kind), dims_of(value.type), strict=True):
        if isinstance(dim, Expression) and dim.is_symbol and str(dim) not in known and dim != other:
            m("to_index", m("cast", m.size(other), dtype=I64), binds=str(dim))
            known |= {str(dim)}
    if value.type == kind:
        return value
    return m("broadcast", value, dims=dims_of(kind), axes=tuple(range(len(dims_of(kind)))), assumed=True)


def _asks_inside(op: Op) -> bool:
    return any(inner.name in _ASKING for region in op.regions for inner in walk(region))


def _written(region: Region, effects: Effects) -> frozenset[Value]:
    """The storage that no reverse sweep can read again: what is written to, and what lives in one turn or branch."""
    found = {
        place
        for op in region.ops
        for access in effects.of(op)
        if access.kind in ("writes", "external")
        for place in access.places
    }
    for op in walk(region):
        if op.name in ("store", "scatter"):
            found |= effects.places(op.operands[0])
        for inner in op.regions:
            found.update(result for each in inner.ops if each.name == "variable" for result in each.results)
    return frozenset(found)
