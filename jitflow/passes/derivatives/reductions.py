"""Reductions: the weights with which changes of the elements arrive at the result.

    d result = sum of weight * d element

So a reverse rule repeats the cotangent along the folded axes and multiplies by the weights, a forward one multiplies
the tangent by them and sums. Elements that are equally large share the derivative of a maximum equally.

The weight in a product is the product of all other elements, made of running products from both ends: no division, and
so nothing is lost where elements are 0, in second derivatives either.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import dims_of
from jitflow.passes.derivatives.factors import where
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank

__all__ = ["WEIGHTS", "exclusive", "reversed_along", "spread"]


def spread(m: Notation, value: Value, op: Op) -> Value:
    """Something of the shape of a reduction's result, repeated along the axes that it folded."""
    dims, axes = dims_of(op.operands[0].type), op.attributes["axes"]
    return m("broadcast", value, dims=dims, axes=tuple(axis for axis in range(len(dims)) if axis not in axes))


def _of_chosen(m: Notation, op: Op) -> Value:
    (operand,), axes = op.operands, op.attributes["axes"]
    chosen = m("equal", operand, spread(m, op.result, op))
    count = m("reduce_add", m("cast", chosen, dtype=dtype_of(operand)), axes=axes)
    return where(m, chosen, spread(m, m("divide", 1, count), op), 0)


def _of_squares(m: Notation, op: Op) -> Value:
    (operand,), axes = op.operands, op.attributes["axes"]
    size = product([dims_of(operand.type)[axis] for axis in axes])
    count = m("cast", m("cast", m.size(size), dtype=I64), dtype=dtype_of(operand))
    mean = m("divide", m("reduce_add", operand, axes=axes), count)
    return m("multiply", 2, m("subtract", operand, spread(m, mean, op)))


def _of_others(m: Notation, op: Op) -> Value:
    """The product of all other elements along the folded axes."""
    (operand,), axes = op.operands, op.attributes["axes"]
    dims = dims_of(operand.type)
    order = (*(axis for axis in range(len(dims)) if axis not in axes), *axes)
    kept = len(dims) - len(axes)
    moved = m("transpose", operand, axes=order)
    flat = m("reshape", moved, dims=(*dims_of(moved.type)[:kept], product([dims[axis] for axis in axes])))
    before = exclusive(m, m("accumulate_multiply", flat, axis=kept), kept)
    backwards = reversed_along(m, flat, kept)
    behind = reversed_along(m, exclusive(m, m("accumulate_multiply", backwards, axis=kept), kept), kept)
    others = m("reshape", m("multiply", before, behind), dims=dims_of(moved.type))
    return m("transpose", others, axes=tuple(order.index(axis) for axis in range(len(dims))))


def exclusive(m: Notation, products: Value, axis: int) -> Value:
    """Running products without the last factor of each: those of the element before, and 1."""
    dims = dims_of(products.type)
    before = m("subtract", m("iota", dtype=I64, dims=(dims[axis],), axis=0), 1)
    shifted = m("gather", products, before, axis=axis, mode="clip")
    first = m("broadcast", m("less", before, 0), dims=dims, axes=(axis,))
    return where(m, first, 1, shifted)


def reversed_along(m: Notation, value: Value, axis: int) -> Value:
    """An array with the elements along one axis in reverse order."""
    dims = dims_of(value.type)
    starts = tuple(dim - 1 if number == axis else 0 for number, dim in enumerate(dims))
    steps = tuple(-1 if number == axis else 1 for number in range(rank(value)))
    return m("slice", value, starts=starts, sizes=dims, steps=steps)


WEIGHTS: dict[str, Callable[[Notation, Op], Value]] = {
    "reduce_multiply": _of_others,
    "reduce_maximum": _of_chosen,
    "reduce_minimum": _of_chosen,
    "reduce_fmax": _of_chosen,
    "reduce_fmin": _of_chosen,
    "reduce_m2": _of_squares,
}
