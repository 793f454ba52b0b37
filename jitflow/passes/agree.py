"""Sizes that a check has found equal get one name.

Two arguments have sizes of their own, ``n`` and ``k``, until they meet in an operation, where the frontend puts a
check. Behind the check they are the same number, but what was computed from either argument alone would still look like
another loop, and would not fuse. So from the check on, one name stands for both, and values that are older enter the
rest of the program through a ``broadcast`` that changes nothing.

Relies on checks standing before what trusts them. It leaves parameters, results and the checks themselves as they are,
and functions with regions alone.

    check n == k                               check n == k
    %0: f32[n] = broadcast %y {assumed}   ->   %y2: f32[n] = broadcast %y {assumed}
    %1: f32[n] = multiply %x, %0               %1: f32[n] = multiply %x, %y2
    %2: f32[k] = multiply %y, %y               %2: f32[n] = multiply %y2, %y2
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.ir.core import Builder, Function, Op, Value, clone_op
from jitflow.ir.dims import Dim, Expression, substitute, symbol, symbols
from jitflow.ir.types import Index, Tensor, dims_of

__all__ = ["agree"]


def agree(function: Function) -> Function:
    """Use one name for sizes that checks at the top level have found equal."""
    checked = any(op.name == "check" for op in function.region.body)
    if not checked or any(op.regions for op in function.region.body):
        return function
    builder = Builder()
    producer = {result: op for op in function.region.body for result in op.results}
    names: dict[str, Dim] = {}
    copies: dict[Value, Value] = {}
    entered: dict[Value, Value] = {}
    for op in function.region.ops:
        builder.loc = op.loc
        stays = op.name in ("check", "size", "yield") or _is_size_test(op)
        if stays:
            builder.ops.append(clone_op(op, copies))
        else:
            operands = [_enter(builder, copies.get(operand, operand), entered, names) for operand in op.operands]
            builder.ops.append(clone_op(op, copies, names, operands))
        if op.name == "check":
            for older, newer in _found_equal(op, producer):
                older, newer = _name(older, names), _name(newer, names)
                if older != newer:
                    names = {name: substitute(dim, {newer: symbol(older)}) for name, dim in names.items()}
                    names[newer] = symbol(older)
    return function.with_ops(builder.ops)


def _name(name: str, names: dict[str, Dim]) -> str:
    return str(names.get(name, name))


def _is_size_test(op: Op) -> bool:
    return bool(op.operands) and all(isinstance(operand.type, Index) for operand in op.operands)


def _found_equal(check: Op, producer: dict[Value, Op]) -> Iterator[tuple[str, str]]:
    """The pairs of sizes that are equal if the check holds."""
    test = producer.get(check.operands[0])
    if test is None or test.name != "equal":
        return
    left, right = (operand.type.dim if isinstance(operand.type, Index) else None for operand in test.operands)
    if isinstance(left, Expression) and isinstance(right, Expression) and left.is_symbol and right.is_symbol:
        yield str(left), str(right)


def _enter(builder: Builder, value: Value, entered: dict[Value, Value], names: dict[str, Dim]) -> Value:
    """The value with its sizes by their present names."""
    while value in entered:
        value = entered[value]
    dims = dims_of(value.type)
    if isinstance(value.type, Tensor) and any(name in names for dim in dims for name in symbols(dim)):
        renamed = tuple(substitute(dim, names) for dim in dims)
        axes = tuple(range(len(dims)))
        entered[value] = builder.make("broadcast", value, dims=renamed, axes=axes, assumed=True)
        value = entered[value]
    return value
