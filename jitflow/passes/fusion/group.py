"""Products of bytes that were made i32 become products of the bytes, whose steps lie in groups of four.

    %0: i32[n, k] = cast %x            %2: u8[n, k] = bitwise_xor (bitcast %x), 128
    %1: i32[k, m] = cast %w       ->   %3: i32[k / 4, m] = four rows of %w in each
    %2: i32[n, m] = matmul %0, %1      %4: i32[n, m] = matmul %2, %3 {dtype=i32, group=4}
                                       %5: i32[n, m] = subtract %4, 128 * (sums of columns of %w)

Processors multiply u8 by i8: where the left operand is signed, 128 is added to it, and what sums have too much for that
is known from the right one alone; likewise, with the sign changed, where the right one is not. Steps that are missing
in the last group are zeros. All of it is exact, also where sums wrap around. To put the right matrix into groups takes
a pass over it, so products of a single row stay as they are.

Of `quantise` products come in groups already, with their weights packed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I8, I32, U8, DType
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.values.dce import dce

__all__ = ["group"]

_GROUP = 4
_SHIFT = 128


def group(function: Function) -> Function:
    """Put products of bytes into groups."""
    if not any(op.name == "matmul" and op.result.type.dtype == I32 for op in walk(function.region)):  # type: ignore[union-attr]
        return function
    return dce(replace(function, region=_grouped(function.region, {}, {})))


def _grouped(region: Region, narrow: dict[Value, Value], renamed: dict[Value, Value]) -> Region:
    """The region; ``narrow`` are the bytes that values of i32 were made of."""
    builder = Builder()
    for op in region.ops:
        builder.loc = op.loc
        operands = tuple(renamed.get(operand, operand) for operand in op.operands)
        op = replace(op, operands=operands, regions=tuple(_grouped(inner, narrow, renamed) for inner in op.regions))
        if op.name == "matmul" and all(operand in narrow for operand in operands) and _is_worth_it(op):
            renamed[op.result] = _product(builder, *(narrow[operand] for operand in operands))
            continue
        builder.ops.append(op)
        if op.name == "cast" and op.attributes["dtype"] == I32 and _is_of_bytes(op.operands[0]):
            narrow[op.result] = op.operands[0]
        elif "view" in op.definition.traits and op.operands[0] in narrow and isinstance(op.result.type, Tensor):
            shown = narrow[op.operands[0]]
            narrow[op.result] = builder.make(op.name, shown, *op.operands[1:], **dict(op.attributes))
    return Region(region.parameters, tuple(builder.ops))


def _is_of_bytes(value: Value) -> bool:
    return isinstance(value.type, Tensor) and value.type.rank >= 2 and value.type.dtype in (I8, U8)


def _is_worth_it(op: Op) -> bool:
    rows, columns = dims_of(op.result.type)[-2:]
    return len(dims_of(op.result.type)) == 2 and rows != 1 and columns != 1 and "group" not in op.attributes


def _product(builder: Builder, left: Value, right: Value) -> Value:
    m = builder.make
    if (_dtype(left), _dtype(right)) == (I8, U8):
        turned = (m("transpose", value, axes=(1, 0)) for value in (right, left))
        return m("transpose", _product(builder, *turned), axes=(1, 0))
    dims = dims_of(left.type)[0], dims_of(right.type)[1]
    beside: list[tuple[str, Value]] = []
    if _dtype(left) == I8:
        beside.append(("subtract", _sums(builder, right, 0, dims)))
        left = _shifted(builder, left, U8)
    elif _dtype(right) == U8:
        beside.append(("add", _sums(builder, left, 1, dims)))
        right = _shifted(builder, right, I8)
    left, words = _whole(builder, left, 1), _words(builder, _whole(builder, right, 0))
    found = m("matmul", left, words, dtype=I32, group=_GROUP)
    for name, number in beside:
        found = m(name, found, number)
    return found


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, Tensor)
    return value.type.dtype


def _constant(builder: Builder, number: int, dtype: DType) -> Value:
    return builder.make("constant", value=number, type=Scalar(dtype))


def _shifted(builder: Builder, value: Value, dtype: DType) -> Value:
    """Bytes of the other kind that are 128 larger, or smaller."""
    made = builder.make("bitwise_xor", _seen_as(builder, value, U8), _constant(builder, _SHIFT, U8))
    return _seen_as(builder, made, dtype)


def _seen_as(builder: Builder, value: Value, dtype: DType) -> Value:
    return value if _dtype(value) == dtype else builder.make("bitcast", value, dtype=dtype)


def _sums(builder: Builder, value: Value, axis: int, dims: tuple[Dim, Dim]) -> Value:
    """The sums of a factor over its steps, times 128, for each element of the product."""
    sums = builder.make("reduce_add", builder.make("cast", value, dtype=I32), axes=(axis,))
    shifted = builder.make("multiply", sums, _constant(builder, _SHIFT, I32))
    return builder.make("broadcast", shifted, dims=dims, axes=(1 - axis,))


def _words(builder: Builder, value: Value) -> Value:
    """Four rows of bytes as one of i32."""
    m, (steps, columns) = builder.make, dims_of(value.type)
    found = None
    for place in range(_GROUP):
        row = m("slice", value, starts=(place, 0), sizes=(_groups(steps), columns), steps=(_GROUP, 1))
        part = m("cast", _seen_as(builder, row, U8), dtype=I32)
        part = m("left_shift", part, _constant(builder, 8 * place, I32)) if place else part
        found = part if found is None else m("bitwise_or", found, part)
    assert found is not None
    return found


def _groups(steps: Dim) -> Dim:
    return (steps + _GROUP - 1) // _GROUP


def _whole(builder: Builder, value: Value, axis: int) -> Value:
    """A factor with zeros behind its last step, so that all groups are whole."""
    dims: list[Any] = list(dims_of(value.type))
    missing = _groups(dims[axis]) * _GROUP - dims[axis]
    if missing == 0:
        return value
    dims[axis] = missing
    zeros = builder.make("broadcast", _constant(builder, 0, _dtype(value)), dims=tuple(dims), axes=())
    return builder.make("concatenate", value, zeros, axis=axis)
