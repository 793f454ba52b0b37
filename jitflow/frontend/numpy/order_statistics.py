"""Medians, percentiles and quantiles, by NumPy's own routines, and what their results' shapes are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays.operands import array_operand, as_value, new, normalized_axes, static_int
from jitflow.frontend.numpy.calling import as_result, store_out
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.numpy.routines import Shape, Split, split
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["FUNCTIONS"]


def _axes(axis: Any, value: Value) -> Any:
    """The axes as an option: None, a number, or a tuple of them."""
    if axis is None:
        return None
    if isinstance(axis, tuple | list):
        return tuple(static_int(item, "axis") for item in axis)
    return static_int(axis, "axis")


def _reduced(value: Value, axis: Any, keepdims: bool) -> tuple[Dim, ...]:
    dims = values.dims(value)
    folded = normalized_axes(axis, len(dims))
    if keepdims:
        return tuple(1 if place in folded else dim for place, dim in enumerate(dims))
    return tuple(dim for place, dim in enumerate(dims) if place not in folded)


def _finish(function: Any, arguments: Split, sample: Any, shape: tuple[Dim, ...], out: Any) -> Any:
    """The result; of rank 0 it is a number, or an array where NumPy's is one."""
    found: Shape = shape if shape or isinstance(sample, np.ndarray | tracers.VariableTracer) else None
    (result,) = arguments.call(function, [found])
    if function is np.median:
        return as_result(result, out)
    casting, name = ("unsafe", "") if function is np.nanmedian else ("same_kind", "add")
    return new(result) if out is None else store_out(result, out, casting, name)


def _kept(keepdims: Any) -> bool:
    return keepdims is not ABSENT and bool(keepdims)


def _median(function: Any) -> Any:
    def handler(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False,
                keepdims: Any = False) -> Any:  # fmt: skip
        value, keep = array_operand(a), _kept(keepdims)
        arguments = split(value, axis=_axes(axis, value), keepdims=keep)
        sample = arguments.sampled(function)
        return _finish(function, arguments, sample, _reduced(value, axis, keep), out)

    handler.__name__ = function.__name__
    return handler


def _fraction(q: Any) -> Value:
    """A Python number stays one: its dtype is that of the array."""
    return tracers.lift(q) if isinstance(q, int | float) else as_value(q)


def _quantile(function: Any) -> Any:
    def handler(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False,
                method: str = "linear", keepdims: Any = False, *, weights: Any = None) -> Any:  # fmt: skip
        value, keep, fraction = array_operand(a), _kept(keepdims), _fraction(pinned(q))
        given = None if weights is None else array_operand(weights)
        arguments = split(value, fraction, weights=given, axis=_axes(axis, value), method=method, keepdims=keep)
        sample = arguments.sampled(function)  # of ones: 1 is a percentile as well as a quantile
        shape = (*values.dims(fraction), *_reduced(value, axis, keep))
        if values.rank(fraction) > 1 and function in (np.nanpercentile, np.nanquantile):
            shape = _nan_shape(function, value, fraction, arguments)
        return _finish(function, arguments, sample, shape, out)

    handler.__name__ = function.__name__
    return handler


def _nan_shape(function: Any, value: Value, fraction: Value, arguments: Split) -> tuple[Dim, ...]:
    """Where NumPy puts the axes of several axes of fractions: asked with sizes that can be told apart."""
    dims = [*values.dims(fraction), *values.dims(value)]
    sizes = list(range(2, 2 + len(dims)))
    count = values.rank(fraction)
    options = {name: item for name, item in arguments.options.items() if name in ("axis", "keepdims")}
    found = function(np.ones(sizes[count:]), np.ones(sizes[:count]), **options).shape
    return tuple(1 if size == 1 else dims[size - 2] for size in found)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.median: _median(np.median),
        np.nanmedian: _median(np.nanmedian),
        np.percentile: _quantile(np.percentile),
        np.quantile: _quantile(np.quantile),
        np.nanpercentile: _quantile(np.nanpercentile),
        np.nanquantile: _quantile(np.nanquantile),
    }
)
