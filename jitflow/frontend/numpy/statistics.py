"""Mean, variance and what is made of them.

NumPy divides a float32 sum by an int64 count, which happens in float64; so do we. A variance is one ``reduce_m2``,
the sum of squared deviations from the mean, which is at least as accurate as NumPy's two sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from jitflow.errors import UserRuntimeError, UserTypeError, UserValueError
from jitflow.frontend.arrays.broadcasting import bound_by_call, is_one, require_equal
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_value,
    dtype_argument,
    kept_axes,
    new,
    numpy_says,
    operand,
)
from jitflow.frontend.arrays.promotion import result_dtype
from jitflow.frontend.control.logic import truth
from jitflow.frontend.numpy.calling import as_result, compute, output_dtype, require_reduced, store_out, where_mask
from jitflow.frontend.numpy.elementwise import astype
from jitflow.frontend.numpy.reductions import ABSENT, keep_axes, reduce_value, reduction_axes
from jitflow.frontend.numpy.shape import broadcast_value
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit, size_value
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import F32, F64, DType

__all__ = ["FUNCTIONS", "count_value", "divided_by_count", "mean_value"]


def count_value(value: Value, axes: tuple[int, ...], where: Any, keepdims: bool) -> Value:
    """How many elements each result of a reduction is made of."""
    if where is True:
        return size_value(product([values.dims(value)[axis] for axis in axes]))
    mask = broadcast_value(values.as_array(where_mask(where)), values.dims(value))
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


def mean_value(
    value: Value,
    axis: Any,
    dtype: Any = None,
    keepdims: bool = False,
    where: Any = True,
    into: DType | None = None,
) -> Value:
    """`mean` on a value, for an array of the dtype ``into``: the sum is put there before it is divided."""
    axes = reduction_axes(axis, values.rank(value), strict=where is True)
    loop, result = sum_dtype(values.dtype_of_value(value), dtype)
    count = count_value(value, axes, where, keepdims)  # first: a mask that does not fit is found there
    found = None if dtype is None and loop == values.dtype_of_value(value) else loop
    total = reduce_value(np.add, value, axes, found, keepdims, ABSENT, where, into)
    return values.cast(divided_by_count(total if into is None else values.cast(total, into), count), into or result)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *,
         where: Any = True) -> Any:  # fmt: skip
    keep = kept_axes(keepdims)
    return as_result(mean_value(array_operand(a), axis, dtype, keep, where, output_dtype(out)), out)


def variance_value(
    value: Value,
    axis: Any,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any = ABSENT,
    into: DType | None = None,
) -> Value:
    """`var` on a value, for an array of the dtype ``into``."""
    axes = reduction_axes(axis, values.rank(value), strict=where is True)
    source = values.dims(value)
    found = values.dtype_of_value(value)
    loop = dtype_argument(dtype) if dtype is not None else F64 if found.kind in "biu" else found
    result = loop if dtype is not None else loop.real
    value = values.as_array(value)
    is_plain = dtype is None or (loop.is_float and result_dtype(found, loop) == loop)
    if is_plain:
        value = values.cast(value, F32 if loop.name in ("f16", "bf16") else loop)
    if is_plain and where is True and mean is ABSENT and not loop.is_complex and axes:
        total = emit("reduce_m2", value, axes=axes)
        total = keep_axes(total, source, axes) if keepdims else total
    else:
        total = _squared_deviations(value, axes, keepdims, where, mean, None if is_plain else loop)
    lost = operand(ddof)
    if where is True and isinstance(lost, Value) and values.rank(lost):
        truth(new(lost))  # NumPy asks whether as many are lost as there are
    (left,) = compute(np.subtract, (count_value(value, axes, where, keepdims), lost))
    (freedom,) = compute(np.maximum, (left, 0))
    return values.cast(divided_by_count(total if into is None else values.cast(total, into), freedom), into or result)


def _squared_deviations(
    value: Value, axes: tuple[int, ...], keepdims: bool, where: Any, mean: Any, dtype: DType | None
) -> Value:
    """The sum of the squares of what the elements are apart from the mean, both sums in ``dtype``."""
    centre = mean_value(value, axes, dtype, True, where) if mean is ABSENT else array_operand(mean)
    (deviation,) = compute(np.subtract, (value, centre))
    if values.dtype_of_value(deviation).is_complex:
        parts = (emit("real", deviation), emit("imag", deviation))
        squares = emit("add", *(emit("multiply", part, part) for part in parts))
    else:
        squares = emit("multiply", deviation, deviation)
    return reduce_value(np.add, values.as_array(squares), axes, dtype, keepdims, ABSENT, where)


def root(variance: Value, out: Any) -> Any:
    """The square root of a variance, in its dtype."""
    (result,) = compute(np.sqrt, (variance,))
    if out is not None:
        require_reduced(result, out)
        return store_out(result, out, name="sqrt")
    wanted = values.dtype_of_value(variance)
    if values.rank(variance) and wanted.kind in "biu":  # NumPy puts it where the variance is
        numpy_says(np.sqrt, np.ones((), wanted.numpy), out=np.ones((), wanted.numpy))
    return new(values.cast(result, wanted))


def degrees_lost(ddof: Any, correction: Any) -> Any:
    """``ddof``, which the Array API calls ``correction``."""
    if correction is ABSENT:
        return ddof
    if ddof not in (0, 0.0):
        raise UserValueError("ddof and correction can't be provided simultaneously.")
    return correction


def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    keep = kept_axes(keepdims)
    lost, into = degrees_lost(ddof, correction), output_dtype(out)
    return as_result(variance_value(array_operand(a), axis, dtype, lost, keep, where, mean, into), out)


def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    keep = kept_axes(keepdims)
    lost, into = degrees_lost(ddof, correction), output_dtype(out)
    return root(variance_value(array_operand(a), axis, dtype, lost, keep, where, mean, into), out)


def average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = ABSENT) -> Any:
    array = new(array_operand(a))
    keep = {} if keepdims is ABSENT else {"keepdims": keepdims}
    axes = None if axis is None else numpy_says(normalize_axis_tuple, axis, array.ndim, argname="axis")
    if weights is None:
        result = np.mean(array, axis=axes, **keep)
        count = _averaged(array.value, result.value)
        scale: Any = new(values.cast(size_value(count), values.dtype_of_value(result.value)))
    else:
        weight = _weights(array, new(array_operand(weights)), axes)
        loop = np.result_type(array.dtype, weight.dtype, *(["f8"] if array.dtype.kind in "biu" else []))
        scale = np.sum(weight, axis=axes, dtype=loop, **keep)
        some = values.as_scalar(array_operand(np.any(np.equal(scale, 0.0))))
        values.check(emit("logical_not", some), ZeroDivisionError, "Weights sum to zero, can't be normalized")
        result = np.sum(np.multiply(array, weight, dtype=loop), axis=axes, **keep) / scale
    return (result, np.broadcast_to(scale, result.shape).copy()[()]) if returned else result


def _averaged(source: Value, result: Value) -> Dim:
    """How many elements each mean is made of. NumPy computes it by a division, which no means at all make fail."""
    means = product(values.dims(result))
    if current_trace().known(means, ">=", 1) is not True:
        some = emit("not_equal", values.size(means), values.size(0))
        values.check(some, ZeroDivisionError, "division by zero")
    return product(values.dims(source)) // means


def _weights(array: Any, weights: Any, axes: tuple[int, ...] | None) -> Any:
    """The weights in the shape of the array: as they are, or along the axes that are averaged over."""
    along = None if axes is None else tuple(array.shape[axis] for axis in axes)
    if along is None or (array.ndim == weights.ndim and along != array.shape and weights.shape == array.shape):
        if array.ndim != weights.ndim or weights.shape != array.shape:
            raise UserTypeError("Axis must be specified when shapes of a and weights differ.")
        return weights
    assert axes is not None
    if len(weights.shape) != len(along) or weights.shape != along:
        raise UserValueError("Shape of weights must be consistent with shape of a along specified axis.")
    ordered = np.transpose(weights, np.argsort(axes).tolist())
    sizes = iter(ordered.shape)
    return np.reshape(ordered, tuple(next(sizes) if place in axes else 1 for place in range(array.ndim)))


def cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None, fweights: Any = None,
        aweights: Any = None, *, dtype: Any = None) -> Any:  # fmt: skip
    if ddof is not None and ddof != int(ddof):
        raise UserValueError("ddof must be integer")
    given = [new(array_operand(item)) for item in (m, y) if item is not None]
    for name, item in zip("my", given, strict=False):
        if item.ndim > 2:
            raise UserValueError(f"{name} has more than 2 dimensions")
    loop = np.result_type(*(item.dtype for item in given), np.float64) if dtype is None else np.dtype(dtype)
    tables: list[Any] = [np.atleast_2d(astype(item, loop)) for item in given]
    table, *more = tables
    table = table if rowvar or given[0].ndim == 1 else table.T
    count, trace = values.dims(table.value)[0], current_trace()
    if loop != np.float64 and bound_by_call(count) and trace.decide(count, "==", 0, "a covariance"):
        return np.zeros((0, 0))
    more = [rows if rowvar or is_one(values.dims(rows.value)[0]) else rows.T for rows in more]
    table = np.concatenate([table, *more], axis=0) if more else table
    lost = (0 if bias else 1) if ddof is None else int(ddof)
    counts = None if fweights is None else _weights_of_observations("fweights", fweights, table)
    importance = None if aweights is None else _weights_of_observations("aweights", aweights, table)
    weight = importance if counts is None else counts if importance is None else counts * importance
    if weight is None:
        mean_of_rows, freedom = np.mean(table, axis=1), table.shape[1]
    else:
        mean_of_rows, sums = average(table, axis=1, weights=weight, returned=True)
        freedom = sums[0]
    if lost:
        freedom -= lost if importance is None else lost * np.sum(weight * importance) / freedom
    centred = astype(table - mean_of_rows[:, None], loop, casting="same_kind")
    turned = (centred if weight is None else centred * weight).T
    scatter = np.dot(centred, np.conjugate(turned))
    scaled = scatter * np.true_divide(1, np.maximum(np.multiply(freedom, 1.0), 0.0))
    return np.squeeze(astype(scaled, scatter.dtype))


def _weights_of_observations(name: str, given: Any, table: Any) -> Any:
    """Weights that `cov` takes: a number for each column, a whole one if it says how often the column is there."""
    weight = new(as_value(given, F64))
    if name == "fweights":
        _require_of_all(np.equal(weight, np.rint(weight)), TypeError, "fweights must be integer")
    if weight.ndim > 1:
        raise UserRuntimeError(f"cannot handle multidimensional {name}")
    message = f"incompatible numbers of samples and {name}"
    own = numpy_says(values.dims(weight.value).__getitem__, 0)
    require_equal(values.dims(table.value)[1], own, message, error=RuntimeError)
    _require_of_all(np.logical_not(np.less(weight, 0)), ValueError, f"{name} cannot be negative")
    return weight


def _require_of_all(holds: Any, error: type[Exception], message: str) -> None:
    values.check(values.as_scalar(array_operand(np.all(holds))), error, message)


def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    covariance = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(covariance) == 0:
        return covariance / covariance
    deviation = np.sqrt(np.real(np.diagonal(covariance)))
    scaled = covariance / deviation[:, None] / deviation[None, :]
    if scaled.dtype.kind != "c":
        return np.clip(scaled, -1, 1)
    parts = (np.clip(part, -1, 1) for part in (np.real(scaled), np.imag(scaled)))
    return new(emit("complex", *(part.value for part in parts)))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {np.mean: mean, np.var: var, np.std: std, np.average: average, np.cov: cov, np.corrcoef: corrcoef}
)
