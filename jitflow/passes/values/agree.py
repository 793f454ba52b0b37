"""Sizes that a check or the guard has found equal get one name, or the number that they are.

Two arguments have sizes of their own, ``n`` and ``k``, until they meet in an operation, where the frontend puts a
check. Behind the check they are the same number, but what was computed from either argument alone would still look like
another loop, and would not fuse, or not be one long loop with the others. So from the check on, one name stands for
both, or the number where one of them is known, and values that are older enter the rest of the program through a
``broadcast`` that changes nothing. Variables, which keep theirs and enter wherever they are loaded or stored to, lend
their names to other sizes: a batch enters once, and a step of an optimiser has a third fewer ops.

What the guard has found holds from the start, what a check outside of a region has found inside as well; what one
inside has found holds until the region ends, where values that flow out get back the sizes that are awaited there.
Relies on checks standing before what trusts them. It leaves parameters, results and the checks themselves as they are.

    check n == k                               check n == k
    %0: f32[n] = broadcast %y {assumed}   ->   %y2: f32[n] = broadcast %y {assumed}
    %1: f32[n] = multiply %x, %0               %1: f32[n] = multiply %x, %y2
    %2: f32[k] = multiply %y, %y               %2: f32[n] = multiply %y2, %y2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeGuard

from jitflow.ir.core import Builder, Function, Op, Region, Value, renamed_op, walk, with_sizes
from jitflow.ir.dims import Dim, Expression, substitute, symbols
from jitflow.ir.types import Index, Place, Tensor, Type, Variable, dims_of, map_dims, sizes_of_type

__all__ = ["agree"]

Names = dict[str, Dim]


def agree(function: Function) -> Function:
    """Use one name for sizes that checks have found equal."""
    agreeing = _Agreeing(function)
    names: Names = {}
    for older, newer in _equal_from_the_start(function):
        agreeing.note(older, newer, names)
    if not names and not any(True for op in walk(function.region) for _ in agreeing.found_equal(op)):
        return function
    if any(
        isinstance(value.type, Variable) for op in walk(function.region) for r in op.regions for value in r.parameters
    ):
        return function  # a variable that flows has no other name for its sizes
    region = agreeing.region(function.region, names, {}, outermost=True)
    return replace(function, region=region)


def _equal_from_the_start(function: Function) -> Iterator[tuple[Dim, Dim]]:
    """The pairs of sizes that the guard has found equal, in the order of the parameters."""
    order = [dim for parameter in function.parameters for dim in _dims(parameter.type)]
    for fact in function.facts:
        sizes = {dim for dim in (fact.left, fact.right) if _is_name(dim)}
        if fact.relation == "==" and sizes <= {*order}:
            if len(sizes) == 2:
                older, newer = sorted(sizes, key=order.index)
                yield older, newer
            elif len(sizes) == 1:
                yield from _pair(fact.left, fact.right)


def _dims(kind: Type) -> tuple[Dim, ...]:
    if isinstance(kind, Index):
        return () if kind.dim is None else (kind.dim,)
    return dims_of(kind)


class _Agreeing:
    def __init__(self, function: Function) -> None:
        self.producer = {result: op for op in walk(function.region) for result in op.results}
        self.copies: dict[Value, Value] = {}
        kinds = [parameter.type for parameter in function.parameters if isinstance(parameter.type, Variable)]
        self.lasting = {name for kind in kinds for name in sizes_of_type(kind)}
        """The sizes of variables."""

    def region(self, region: Region, names: Names, entered: dict[Value, Value], outermost: bool = False) -> Region:
        """The region with sizes by the names that they have where it begins, and by those that its checks find."""
        awaited = [_renamed(value.type, names) for value in region.yielded]
        names, entered = dict(names), dict(entered)
        builder = Builder()
        parameters = region.parameters if outermost else tuple(self._parameter(p, names) for p in region.parameters)
        for op in region.body:
            builder.loc = op.loc
            self._visit(op, builder, names, entered)
            for older, newer in self.found_equal(op):
                self.note(older, newer, names)
        closing = region.ops[-1]
        yielded = [self.copies.get(value, value) for value in closing.operands]
        if not outermost:
            yielded = [_as_type(builder, value, kind) for value, kind in zip(yielded, awaited, strict=True)]
        builder.ops.append(replace(closing, operands=tuple(yielded)))
        return Region(parameters, tuple(builder.ops))

    def _visit(self, op: Op, builder: Builder, names: Names, entered: dict[Value, Value]) -> None:
        if not op.regions and names.keys().isdisjoint(op.sizes) and self.copies.keys().isdisjoint(op.operands):
            builder.ops.append(op)
            return
        operands = [self.copies.get(operand, operand) for operand in op.operands]
        if op.name in ("check", "size") or _is_size_test(op):
            builder.ops.append(renamed_op(op, self.copies))
            return
        operands = [_enter(builder, operand, entered, names) for operand in operands]
        regions = tuple(self.region(region, names, entered) for region in op.regions)
        results = tuple(self._parameter(result, names) for result in op.results)
        attributes = with_sizes(op.attributes, names)
        builder.ops.append(Op(op.definition, tuple(operands), results, attributes, regions, op.loc))

    def _parameter(self, value: Value, names: Names) -> Value:
        """A value that an op or a region defines anew, with its sizes by their present names."""
        kind = _renamed(value.type, names)
        if kind != value.type:
            self.copies[value] = Value(kind, value.name)
        return self.copies.get(value, value)

    def found_equal(self, check: Op) -> Iterator[tuple[Dim, Dim]]:
        """The pairs of sizes that are equal if the op is a check that holds."""
        waiting = [check.operands[0]] if check.name == "check" else []
        while waiting:
            test = self.producer.get(waiting.pop())
            if test is not None and test.name == "logical_and":
                waiting += reversed(test.operands)
            if test is None or test.name != "equal":
                continue
            yield from _pair(*(o.type.dim if isinstance(o.type, Index) else None for o in test.operands))

    def note(self, older: Dim, newer: Dim, names: Names) -> None:
        """From here on two sizes are one, which goes by the older name, or by that of a variable's."""
        older, newer = substitute(older, names), substitute(newer, names)
        if isinstance(newer, int) or (
            _is_name(older) and str(newer) in self.lasting and str(older) not in self.lasting
        ):
            older, newer = newer, older
        if older != newer and _is_name(newer):
            names.update({name: older for name, dim in names.items() if dim == newer})
            names[str(newer)] = older


def _pair(left: Dim | None, right: Dim | None) -> Iterator[tuple[Dim, Dim]]:
    """The two as older and newer, if each is a name or a number and one is a name: numbers are older than all names."""
    if _is_name(left) and (_is_name(right) or isinstance(right, int)):
        yield (left, right) if _is_name(right) else (right, left)
    elif isinstance(left, int) and _is_name(right):
        yield left, right


def _is_name(dim: Dim | None) -> TypeGuard[Expression]:
    return isinstance(dim, Expression) and dim.is_symbol


def _renamed(kind: Type, names: Names) -> Type:
    return map_dims(kind, lambda dim: substitute(dim, names)) if names else kind


def _is_size_test(op: Op) -> bool:
    return bool(op.operands) and not op.regions and all(isinstance(operand.type, Index) for operand in op.operands)


def _enter(builder: Builder, value: Value, entered: dict[Value, Value], names: Names) -> Value:
    """The value with its sizes by their present names."""
    while value in entered:
        value = entered[value]
    dims = dims_of(value.type)
    if isinstance(value.type, Tensor | Variable | Place) and any(name in names for d in dims for name in symbols(d)):
        entered[value] = _as_type(builder, value, _renamed(value.type, names))
        value = entered[value]
    return value


def _as_type(builder: Builder, value: Value, kind: Type) -> Value:
    """The value seen with the dims of ``kind``, which are other names for its own."""
    dims = dims_of(kind)
    if dims_of(value.type) == dims:
        return value
    return builder.make("broadcast", value, dims=dims, axes=tuple(range(len(dims))), assumed=True)
