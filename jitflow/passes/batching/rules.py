"""What becomes of single ops: one op, or a few, on all examples at once, whose other axes move by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.ops import OPS
from jitflow.ir.types import Index, Scalar, dims_of
from jitflow.passes.batching.examples import Examples, InTurns
from jitflow.passes.batching.indexing import gathered, reshape_spot
from jitflow.passes.batching.storage import STORAGE
from jitflow.passes.derivatives.notation import rank

__all__ = ["RULES"]

Rule = Callable[[Examples, Op], Sequence[Value]]


def _elementwise(e: Examples, op: Op) -> Sequence[Value]:
    """Numbers that are the same for all examples stand beside arrays as they did."""
    attributes = {name: value for name, value in op.attributes.items() if name not in ("single", "weak")}
    if op.name == "cast" and op.operands[0] in e.made:  # of a size, too
        return (e.m("cast", e.made[op.operands[0]], **attributes),)
    if attributes.get("checked") or any(isinstance(operand.type, Index) for operand in op.operands):
        raise InTurns
    dims = dims_of(op.result.type)
    operands = [
        operand if operand not in e.made and not rank(operand) else e.spread(operand, dims) for operand in op.operands
    ]
    return (e.m(op.name, *operands, **attributes),)


def _same(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m(op.name, e.made[op.operands[0]], **dict(op.attributes)),)


def _reduction(e: Examples, op: Op) -> Sequence[Value]:
    axes = tuple(axis + 1 for axis in op.attributes["axes"])
    return (e.m(op.name, e.made[op.operands[0]], axes=axes),)


def _accumulation(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m(op.name, e.made[op.operands[0]], axis=op.attributes["axis"] + 1),)


# -- shapes, of values and of places


def _reshape(e: Examples, op: Op) -> Sequence[Value]:
    spot = e.spots.get(op.operands[0])
    if spot is not None:
        e.spots[op.result] = reshape_spot(e, spot, op.attributes["dims"])
        return ()
    assumed = {"assumed": True} if op.attributes.get("assumed") else {}
    return (e.m("reshape", e.made[op.operands[0]], dims=(e.count, *op.attributes["dims"]), **assumed),)


def _transpose(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("transpose", e.made[op.operands[0]], axes=(0, *(axis + 1 for axis in op.attributes["axes"]))),)


def _slice(e: Examples, op: Op) -> Sequence[Value]:
    starts, sizes, steps = (op.attributes[name] for name in ("starts", "sizes", "steps"))
    made = e.made[op.operands[0]]
    return (e.m("slice", made, starts=(0, *starts), sizes=(e.count, *sizes), steps=(1, *steps)),)


def _broadcast(e: Examples, op: Op) -> Sequence[Value]:
    dims, axes = (e.count, *op.attributes["dims"]), (0, *(axis + 1 for axis in op.attributes["axes"]))
    assumed = {"assumed": True} if op.attributes.get("assumed") else {}
    return (e.m("broadcast", e.made[op.operands[0]], dims=dims, axes=axes, **assumed),)


def _diagonal(e: Examples, op: Op) -> Sequence[Value]:
    axes = tuple(axis + 1 for axis in op.attributes["axes"])
    return (e.m("diagonal", e.made[op.operands[0]], **{**op.attributes, "axes": axes}),)


def _window(e: Examples, op: Op) -> Sequence[Value]:
    axes = tuple(axis + 1 for axis in op.attributes["axes"])
    return (e.m("window", e.made[op.operands[0]], **{**op.attributes, "axes": axes}),)


def _concatenate(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("concatenate", *map(e.stacked, op.operands), axis=op.attributes["axis"] + 1),)


def _empty(e: Examples, op: Op) -> Sequence[Value]:
    return (e.m("empty", dtype=op.attributes["dtype"], dims=(e.count, *op.attributes["dims"])),)


# -- products


def _matmul(e: Examples, op: Op) -> Sequence[Value]:
    """Where one matrix is the same for all examples, the rows or columns of the other are those of one matrix.

    Of one step, as the gradient of a matrix by a vector is, a product is elements that are multiplied.
    """
    left, right = op.operands
    attributes = dict(op.attributes)
    (rows, steps), (_, columns) = dims_of(left.type)[-2:], dims_of(right.type)[-2:]
    m = e.m
    if rank(left) > 2 or (left in e.made) == (right in e.made):
        if steps == 1 and not attributes:
            dims = (e.count, *dims_of(op.result.type))
            return (m("multiply", *(e.repeated(operand, dims) for operand in op.operands)),)
        return (m("matmul", e.stacked(left), e.stacked(right), **attributes),)
    if left in e.made:
        flat = m("reshape", e.made[left], dims=(e.count * rows, steps))
        found = m("matmul", flat, right, **attributes)
        return (m("reshape", found, dims=(e.count, rows, columns), assumed=True),)
    lying = m("reshape", m("transpose", e.made[right], axes=(0, 2, 1)), dims=(e.count * columns, steps))
    found = m("matmul", lying, m("transpose", left, axes=(1, 0)), **attributes)
    found = m("reshape", found, dims=(e.count, columns, rows), assumed=True)
    return (m("transpose", found, axes=(0, 2, 1)),)


def _contract(e: Examples, op: Op) -> Sequence[Value]:
    """The examples have a label of their own."""
    left, right, kept = (op.attributes[name] for name in ("left", "right", "kept"))
    label = max((*left, *right), default=-1) + 1
    labels = [
        (label, *own) if operand in e.made else tuple(own)
        for operand, own in zip(op.operands, (left, right), strict=True)
    ]
    operands = [e.made.get(operand, operand) for operand in op.operands]
    return (e.m("contract", *operands, left=labels[0], right=labels[1], kept=(label, *kept)),)


# -- checks


def _check(e: Examples, op: Op) -> Sequence[Value]:
    """It holds for every example; if it does not, its message is that of the first for which it does not."""
    condition, *told = op.operands
    m = e.m
    if condition not in e.made:
        raise InTurns
    holds = m("reduce_logical_and", e.made[condition], axes=(0,))
    varying = [value for value in told if value in e.made]
    if not varying:
        m.add("check", holds, *told, **dict(op.attributes))
        return ()
    inside = m.inside()
    first = inside("reduce_argmin", e.made[condition], axes=(0,))
    values = {value: inside("gather", e.made[value], first, axis=0, mode="clip") for value in varying}
    named = [
        inside.builder.make("cast", values[value], dtype=value.type.dtype, weak=True)
        if value in values and isinstance(value.type, Scalar) and value.type.weak
        else values.get(value, value)
        for value in told
    ]
    inside.add("check", holds, *named, **dict(op.attributes))
    m.add("if", holds, types=[], regions=(m.inside().builder.region((), ()), inside.builder.region((), ())))
    return ()


def _having(trait: str) -> list[str]:
    return [name for name, row in OPS.items() if trait in row.traits and row.layer in ("any", "tensor")]


RULES: dict[str, Rule] = {
    **dict.fromkeys(_having("elementwise"), _elementwise),
    **dict.fromkeys(_having("reduction"), _reduction),
    **dict.fromkeys(_having("accumulation"), _accumulation),
    "stop_gradient": _same,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "broadcast": _broadcast,
    "diagonal": _diagonal,
    "window": _window,
    "concatenate": _concatenate,
    "empty": _empty,
    "matmul": _matmul,
    "contract": _contract,
    "gather": gathered,
    "check": _check,
    **STORAGE,
}
"""For each op what gives its results for all examples. It may raise `InTurns`; what is not here always takes turns."""
