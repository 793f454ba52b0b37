"""Matrix products that no library computes become a product and a sum, which fuse into one kernel.

BLAS has four dtypes; integers, bools and half floats go this way. Bools multiply with ``and`` and add with ``or``; half
floats are summed in f32 and rounded once.

    %2: i64[n, m] = matmul %a, %b    ->    %0: i64[n, m, k] = broadcast %a {axes=[0, 2]}
                                           %1: i64[m, k] = transpose %b
                                           %2: i64[n, m, k] = broadcast %1 {axes=[1, 2]}
                                           %3: i64[n, m, k] = multiply %0, %2
                                           %4: i64[n, m] = reduce_add %3 {axes=[2]}
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Function, Op, Region, Value, walk
from jitflow.ir.dtypes import BOOL, F32
from jitflow.ir.types import Tensor, dims_of

__all__ = ["BLAS_LETTERS", "contract"]

BLAS_LETTERS = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}
"""The dtypes that BLAS multiplies, with the first letter of its functions' names."""


def contract(function: Function) -> Function:
    """Write out the matrix products that are not for BLAS."""
    if not any(op.name == "matmul" and not _is_for_library(op) for op in walk(function.region)):
        return function
    return replace(function, region=_written_out(function.region, {}))


def _written_out(region: Region, renamed: dict[Value, Value]) -> Region:
    builder = Builder()
    for op in region.ops:
        operands = tuple(renamed.get(operand, operand) for operand in op.operands)
        if op.name == "matmul" and not _is_for_library(op):
            builder.loc = op.loc
            renamed[op.result] = _product(builder, *operands)
        else:
            regions = tuple(_written_out(inner, renamed) for inner in op.regions)
            builder.ops.append(replace(op, operands=operands, regions=regions))
    return Region(region.parameters, tuple(builder.ops))


def _is_for_library(op: Op) -> bool:
    assert isinstance(op.result.type, Tensor)
    return op.result.type.dtype.name in BLAS_LETTERS


def _product(builder: Builder, left: Value, right: Value) -> Value:
    assert isinstance(left.type, Tensor)
    dtype = left.type.dtype
    if dtype.name in ("f16", "bf16"):
        left, right = (builder.make("cast", operand, dtype=F32) for operand in (left, right))
        return builder.make("cast", _product(builder, left, right), dtype=dtype)
    *batch, rows, inner = dims_of(left.type)
    columns = dims_of(right.type)[-1]
    rank = len(batch)
    dims = (*batch, rows, columns, inner)
    batch_axes = tuple(range(rank))
    turned = builder.make("transpose", right, axes=(*batch_axes, rank + 1, rank))
    left = builder.make("broadcast", left, dims=dims, axes=(*batch_axes, rank, rank + 2))
    right = builder.make("broadcast", turned, dims=dims, axes=(*batch_axes, rank + 1, rank + 2))
    multiply, add = ("logical_and", "reduce_logical_or") if dtype == BOOL else ("multiply", "reduce_add")
    return builder.make(add, builder.make(multiply, left, right), axes=(rank + 2,))
