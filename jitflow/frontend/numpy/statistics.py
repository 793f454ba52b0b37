"""Mean, variance and what is made of them.

NumPy divides a float32 sum by an int64 count, which happens in float64; so do we. A variance is one ``reduce_m2``,
the sum of squared deviations from the mean, which is at least as accurate as NumPy's two sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.calling import compute, store_out, where_mask
from jitflow.frontend.numpy.broadcasting import broadcast_to
from jitflow.frontend.numpy.operands import array_operand, as_value, dtype_argument, new, normalized_axes, operand
from jitflow.frontend.numpy.reductions import ABSENT, fold, keep_axes, reduce_value
from jitflow.frontend.numpy.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import F32, F64, I64, DType

__all__ = ["FUNCTIONS", "count_value", "divided_by_count", "mean_value", "size_value"]


def size_value(dim: Dim) -> Value:
    """A dim as a strong i64."""
    return values.constant(dim, I64) if isinstance(dim, int) else emit("cast", values.size(dim), dtype=I64)


def count_value(value: Value, axes: tuple[int, ...], where: Any, keepdims: bool) -> Value:
    """How many elements each result of a reduction is made of."""
    if where is True:
        return size_value(product([values.dims(value)[axis] for axis in axes]))
    mask = broadcast_to(values.as_array(where_mask(where)), values.dims(value))
    return reduce_value(np.add, mask, axes, np.int64, keepdims)


def divided_by_count(total: Value, count: Value) -> Value:
    """``total / count`` in the dtype that NumPy divides in, back in the dtype of ``total``."""
    (quotient,) = compute(np.true_divide, (total, count))
    return values.cast(quotient, values.dtype_of_value(total))


def sum_dtype(found: DType, dtype: Any) -> tuple[DType, DType]:
    """In which dtype a mean is summed, and the dtype of the mean: float16 goes through float32."""
    if dtype is not None:
        wanted = dtype_argument(dtype)
        return wanted, wanted
    if found.kind in "biu":
        return F64, F64
    return (F32, found) if found.name == "f16" else (found, found)


def mean_value(value: Value, axis: Any, dtype: Any = None, keepdims: bool = False, where: Any = True) -> Value:
    """`mean` on a value."""
    axes = normalized_axes(axis, values.rank(value))
    loop, result = sum_dtype(values.dtype_of_value(value), dtype)
    total = reduce_value(np.add, value, axes, loop, keepdims, ABSENT, where)
    return values.cast(divided_by_count(total, count_value(value, axes, where, keepdims)), result)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
         where: Any = True) -> Any:  # fmt: skip
    result = mean_value(array_operand(a), axis, dtype, bool(keepdims and keepdims is not ABSENT), where)
    return new(result) if out is None else store_out(result, out, "unsafe")


def variance_value(
    value: Value, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, mean: Any = ABSENT
) -> Value:
    """`var` on a value."""
    axes = tuple(sorted(normalized_axes(axis, values.rank(value))))
    source = values.dims(value)
    found = values.dtype_of_value(value)
    loop = dtype_argument(dtype) if dtype is not None else F64 if found.kind in "biu" else found
    result = loop.real
    value = values.as_array(values.cast(value, F32 if loop.name in ("f16", "bf16") else loop))
    if where is True and mean is ABSENT and not loop.is_complex and axes:
        total = emit("reduce_m2", value, axes=axes)
        total = keep_axes(total, source, axes) if keepdims else total
    else:
        total = _squared_deviations(value, axes, keepdims, where, mean)
    (left,) = compute(np.subtract, (count_value(value, axes, where, keepdims), operand(ddof)))
    (freedom,) = compute(np.maximum, (left, 0))
    return values.cast(divided_by_count(total, freedom), result)


def _squared_deviations(value: Value, axes: tuple[int, ...], keepdims: bool, where: Any, mean: Any) -> Value:
    centre = mean_value(value, axes, None, True, where) if mean is ABSENT else array_operand(mean)
    (deviation,) = compute(np.subtract, (value, centre))
    if values.dtype_of_value(deviation).is_complex:
        parts = (emit("real", deviation), emit("imag", deviation))
        squares = emit("add", *(emit("multiply", part, part) for part in parts))
    else:
        squares = emit("multiply", deviation, deviation)
    return reduce_value(np.add, values.as_array(squares), axes, None, keepdims, ABSENT, where)


def _ddof(ddof: Any, correction: Any) -> Any:
    if correction is ABSENT:
        return ddof
    if ddof not in (0, 0.0):
        raise UserValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    keep = bool(keepdims and keepdims is not ABSENT)
    result = variance_value(array_operand(a), axis, dtype, _ddof(ddof, correction), keep, where, mean)
    return new(result) if out is None else store_out(result, out, "unsafe")


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    keep = bool(keepdims and keepdims is not ABSENT)
    result = emit("sqrt", variance_value(array_operand(a), axis, dtype, _ddof(ddof, correction), keep, where, mean))
    return new(result) if out is None else store_out(result, out, "unsafe")


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.mean: mean, np.var: var, np.std: std})
