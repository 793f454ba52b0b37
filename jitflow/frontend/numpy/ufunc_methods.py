"""Methods of ufuncs that no kernel computes: NumPy's own loops, called as routines."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import (
    array_operand,
    dtype_argument,
    folded_axes,
    new,
    refuse,
    static_int,
)
from jitflow.frontend.arrays.promotion import ufunc_dtypes
from jitflow.frontend.numpy.calling import store_out
from jitflow.frontend.numpy.routines import library_call, sampled
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64, DType
from jitflow.runtime.calls import routines

__all__ = ["accumulate", "begun_in", "only_axis", "reduce", "reduceat"]


def _options(ufunc: np.ufunc, axis: Any, dtype: Any) -> dict[str, Any]:
    if getattr(np, ufunc.__name__, None) is not ufunc:
        raise refuse(f"a method of the ufunc {ufunc.__name__}", "write the loop, or use NumPy's own ufuncs")
    return {"ufunc": ufunc.__name__, "axis": axis, "dtype": None if dtype is None else dtype_argument(dtype)}


def reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """``ufunc.reduceat``: a reduction of each stretch that two neighbouring indices bound."""
    value = array_operand(array)
    marks = array_operand(np.zeros(0, np.int64) if isinstance(indices, list | tuple) and not indices else indices)
    place = only_axis("reduceat", value, axis)
    dims = values.dims(value)
    out = out[0] if isinstance(out, tuple) else out
    if dtype is None and isinstance(out, tracers.ArrayTracer):
        into = dtype_argument(out.dtype)
        dtype = ufunc_dtypes(ufunc, (value,), casting="unsafe", reduction=True, into=into)[-1].numpy
    options = _options(ufunc, place, dtype)
    kind = _kind(ufunc, value, dtype, routines.accumulate)
    shape: tuple[Dim, ...] = (*dims[:place], *values.dims(marks), *dims[place + 1 :])
    if values.rank(marks) != 1 or not values.dtype_of_value(marks).is_integer:
        raise UserValueError("expected a line of integers as indices of reduceat")
    (found,) = library_call(routines.reduceat, [value, marks], [shape], options, kinds=[kind])
    return new(found) if out is None else store_out(found, out, "unsafe")


def only_axis(method: str, value: Value, axis: Any) -> int:
    """The axis that a ufunc's ``accumulate`` or ``reduceat`` goes along."""
    parts = [(item,) for item in axis] if isinstance(axis, tuple) else [axis]
    axes = [place for part in parts for place in folded_axes(part, values.rank(value))]
    if not values.rank(value):
        raise UserTypeError(f"cannot {method} on a scalar")
    if len(axes) != 1:
        raise UserValueError(f"{method} does not allow multiple axes")
    return axes[0]


def accumulate(ufunc: np.ufunc, value: Value, axis: Any, dtype: Any) -> Value:
    """``ufunc.accumulate`` of a ufunc that has no op of its own."""
    options = _options(ufunc, static_int(axis, "axis"), dtype)
    (found,) = library_call(routines.accumulate, [value], [values.dims(value)], options)
    return found


def reduce(ufunc: np.ufunc, value: Value, axis: Any, dtype: Any, keepdims: bool) -> Value:
    """``ufunc.reduce`` of a ufunc that has no op of its own."""
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise UserValueError("reduce only supported for binary functions")
    places = folded_axes(axis, values.rank(value))
    option = None if axis is None or not values.rank(value) else places
    dims = values.dims(value)
    kept = tuple(1 if place in places else dim for place, dim in enumerate(dims) if keepdims or place not in places)
    options = {**_options(ufunc, option, dtype), "keepdims": keepdims}
    (found,) = library_call(routines.reduce, [value], [kept or None], options)
    return found


def begun_in(value: Value, source: Value, axes: tuple[int, ...], into: DType | None) -> Value:
    """``value``, its first elements along ``axes`` as memory of dtype ``into`` holds those of ``source``.

    There, a fold without an identity begins. Of very long arrays, NumPy puts there what it has so far as well, each
    time that a buffer is full.
    """
    own, loop = values.dtype_of_value(source), values.dtype_of_value(value)
    if into is None or into.kind not in "biu" or np.can_cast(own.numpy, into.numpy):
        return value
    held = values.cast(values.cast(source, into), loop)
    begins = [emit("equal", place, values.constant_like(0, place))
              for place in (values.iota(I64, values.dims(value), axis) for axis in axes)]  # fmt: skip
    return values.select(functools.reduce(partial(emit, "logical_and"), begins), held, value) if begins else held


def _kind(ufunc: np.ufunc, value: Value, dtype: Any, routine: Any) -> Any:
    return sampled(routine, [value], _options(ufunc, 0, dtype)).dtype
