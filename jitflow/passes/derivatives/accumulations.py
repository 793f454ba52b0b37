"""Running sums, products, maxima: linear recurrences along an axis, forwards for tangents, backwards for cotangents.

The tangent of a running product is ``t[k] = x[k] t[k - 1] + y[k - 1] dx[k]``, that of a running maximum ``dx[k]`` where
``x[k]`` is the largest so far, else ``t[k - 1]``. Both are ``t[k] = factor[k] t[k - 1] + ...``; cotangents follow the
transposed recurrence from the other end. A loop computes them, without a division, and so they are right where elements
are 0 and can be differentiated again. Of equally large elements the last one counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, symbol
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of
from jitflow.passes.derivatives.reductions import exclusive, reversed_along
from jitflow.passes.derivatives.rules import Arriving, Change, Tangent, Transpose, given

__all__ = ["TANGENTS", "TRANSPOSES", "recurrence"]


def _sum(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    axis = op.attributes["axis"]
    backwards = reversed_along(m, given(cotangents), axis)
    return (reversed_along(m, m("accumulate_add", backwards, axis=axis), axis),)


def _factors(m: Notation, op: Op) -> tuple[Value, Value]:
    """The factors of the recurrence, and those with which changes of the operand enter it."""
    (operand,), axis = op.operands, op.attributes["axis"]
    if op.name == "accumulate_multiply":
        return operand, exclusive(m, op.result, axis)
    chosen = m("equal", operand, op.result)
    dtype = dtype_of(operand)
    return m("cast", m("logical_not", chosen), dtype=dtype), m("cast", chosen, dtype=dtype)


def _transpose(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
    carried, entering = (_adjoint(m, factor) for factor in _factors(m, op))
    total = recurrence(m, carried, given(cotangents), op.attributes["axis"], backwards=True)
    return (m("multiply", entering, total),)


def _tangent(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change]:
    carried, entering = _factors(m, op)
    change = m("multiply", entering, given(tangents))
    return (recurrence(m, carried, change, op.attributes["axis"], backwards=False),)


def _adjoint(m: Notation, factor: Value) -> Value:
    return m("conjugate", factor) if dtype_of(factor).is_complex else factor


def recurrence(m: Notation, factor: Value, addend: Value, axis: int, *, backwards: bool) -> Value:
    """``t[k] = factor[k] t[k - 1] + addend[k]``; backwards ``t[k] = factor[k + 1] t[k + 1] + addend[k]``."""
    dims, dtype = dims_of(addend.type), dtype_of(addend)
    rest = (*dims[:axis], *dims[axis + 1 :])
    row = Tensor(dtype, rest) if rest else Scalar(dtype)
    memory = m("variable", m.zeros(addend.type))
    name = m.fresh("turn")
    position, carried = Value(Index(symbol(name))), Value(row)
    place = dims[axis] - 1 - symbol(name) if backwards else symbol(name)
    inner = m.inside()
    element, multiple = (_row(inner, value, axis, place) for value in (addend, factor))
    if backwards:
        total = inner("add", carried, element)
        handed_on = inner("multiply", multiple, total)
    else:
        total = handed_on = inner("add", inner("multiply", multiple, carried), element)
    inner.add("store", _row(inner, memory, axis, place), total)
    region = inner.builder.region((position, carried), (inner.converted(handed_on, row),))
    m.add("for", m.size(0), m.size(dims[axis]), m.size(1), m.zeros(row), types=(row,), regions=(region,))
    return m("load", memory)


def _row(m: Notation, value: Value, axis: int, place: Dim) -> Value:
    """What is at one position of an axis."""
    dims = dims_of(value.type)
    starts = tuple(place if number == axis else 0 for number in range(len(dims)))
    sizes = tuple(1 if number == axis else dim for number, dim in enumerate(dims))
    row = m("slice", value, starts=starts, sizes=sizes, steps=(1,) * len(dims))
    return m("reshape", row, dims=(*dims[:axis], *dims[axis + 1 :]))


TRANSPOSES: dict[str, Transpose] = {
    "accumulate_add": _sum,
    "accumulate_multiply": _transpose,
    "accumulate_maximum": _transpose,
    "accumulate_minimum": _transpose,
}

TANGENTS: dict[str, Tangent] = {
    "accumulate_multiply": _tangent,
    "accumulate_maximum": _tangent,
    "accumulate_minimum": _tangent,
}
