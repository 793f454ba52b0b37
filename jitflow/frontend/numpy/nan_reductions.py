"""Reductions that pass over nan. On numbers that have none they are the plain ones."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, dtype_argument, new
from jitflow.frontend.numpy import reductions, statistics
from jitflow.frontend.numpy.calling import as_result, output_dtype
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.dtypes import DType

__all__ = ["FUNCTIONS"]


def _has_nan(array: Any) -> bool:
    return array.dtype.kind in "fcV"


def _replaced(array: Any, number: float) -> Any:
    """The array with a number in place of nan."""
    if not _has_nan(array):
        return array
    return np.where(np.isnan(array), astype(array, array.dtype).dtype.type(number), array)


def _given(**keywords: Any) -> dict[str, Any]:
    return {name: value for name, value in keywords.items() if value is not ABSENT}


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = ABSENT,
           initial: Any = ABSENT, where: Any = ABSENT) -> Any:  # fmt: skip
    extra = _given(keepdims=keepdims, initial=initial, where=where)
    return np.sum(_replaced(as_tracer(a), 0), axis=axis, dtype=dtype, out=out, **extra)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = ABSENT,
            initial: Any = ABSENT, where: Any = ABSENT) -> Any:  # fmt: skip
    extra = _given(keepdims=keepdims, initial=initial, where=where)
    return np.prod(_replaced(as_tracer(a), 1), axis=axis, dtype=dtype, out=out, **extra)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumsum(_replaced(as_tracer(a), 0), axis=axis, dtype=dtype, out=out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return np.cumprod(_replaced(as_tracer(a), 1), axis=axis, dtype=dtype, out=out)


def _extremum(ufunc: np.ufunc) -> Any:
    def handler(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = ABSENT,
                where: Any = True) -> Any:  # fmt: skip
        array = as_tracer(a)
        where = True if where is ABSENT else where
        return reductions.reduce_ufunc(ufunc, array, axis, None, out, keepdims, initial, where)

    return handler


def _argument(function: Any, worst: float) -> Any:
    def handler(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        array = as_tracer(a)
        if _has_nan(array):
            every = np.all(np.isnan(array), axis=axis)
            some = every if every.ndim == 0 else np.any(every)
            fine = emit("logical_not", values.as_scalar(array_operand(some)))
            nothing = emit("equal", values.size(broadcasting.total_size(array.value)), values.size(0))
            values.check(emit("logical_or", fine, nothing), ValueError, "All-NaN slice encountered")
            array = _replaced(array, worst)
        keep = False if keepdims is ABSENT else keepdims
        return function(array, axis=axis, out=out, keepdims=keep)

    return handler


def _counts(array: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    return np.sum(~np.isnan(array), axis=axis, dtype=np.intp, keepdims=keepdims, where=where)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = ABSENT, *,
            where: Any = ABSENT) -> Any:  # fmt: skip
    array = as_tracer(a)
    keep, mask = keepdims is not ABSENT and bool(keepdims), True if where is ABSENT else where
    if not _has_nan(array):
        return statistics.mean(array, axis, dtype, out, keep, where=mask)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise UserTypeError("If a is inexact, then dtype must be inexact")
    into = _inexact(out)
    total = reductions.reduce_value(np.add, _replaced(array, 0).value, axis, dtype, keep, reductions.ABSENT, mask, into)
    total = total if into is None else values.cast(total, into)
    return as_result(statistics.divided_by_count(total, _counts(array, axis, keep, mask).value), out)


def _inexact(out: Any) -> DType | None:
    """The dtype of an output, which has to be one of floats."""
    into = output_dtype(out)
    if into is not None and into.kind not in "fc":
        raise UserTypeError("If a is inexact, then out must be inexact")
    return into


def nanvar(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ABSENT, *,
           where: Any = ABSENT, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    ddof = statistics.degrees_lost(ddof, correction)
    array = as_tracer(a)
    keep, mask = keepdims is not ABSENT and bool(keepdims), True if where is ABSENT else where
    if not _has_nan(array):
        return statistics.var(array, axis, dtype, out, ddof, keep, where=mask, mean=mean)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise UserTypeError("If a is inexact, then dtype must be inexact")
    _inexact(out)
    centre = nanmean(array, axis, dtype, keepdims=True, where=mask) if mean is ABSENT else mean
    apart = astype(array - centre, array.dtype)
    deviation = np.where(np.isnan(array), dtype_argument(array.dtype).numpy.type(0), apart)
    squares = np.real(deviation * np.conjugate(deviation)) if array.dtype.kind == "c" else deviation * deviation
    total = np.sum(squares, axis=axis, dtype=dtype, keepdims=keep, where=mask)
    freedom = _counts(array, axis, keep, mask) - ddof
    quotient = new(statistics.divided_by_count(total.value, freedom.value))
    result = np.where(freedom <= 0, quotient.dtype.type(np.nan), quotient)[()]
    return result if out is None else as_result(result.value, out)


def nanstd(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = ABSENT, *,
           where: Any = ABSENT, mean: Any = ABSENT, correction: Any = ABSENT) -> Any:  # fmt: skip
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    if _has_nan(as_tracer(a)):
        _inexact(out)
    return statistics.root(variance.value, out)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.nansum: nansum,
        np.nanprod: nanprod,
        np.nancumsum: nancumsum,
        np.nancumprod: nancumprod,
        np.nanmax: _extremum(np.fmax),
        np.nanmin: _extremum(np.fmin),
        np.nanargmax: _argument(np.argmax, -np.inf),
        np.nanargmin: _argument(np.argmin, np.inf),
        np.nanmean: nanmean,
        np.nanvar: nanvar,
        np.nanstd: nanstd,
    }
)
