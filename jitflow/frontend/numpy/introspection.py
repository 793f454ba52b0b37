"""Questions about arrays that are answered while tracing: shapes, dtypes, kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays import broadcasting, promotion
from jitflow.frontend.arrays.operands import as_value, normalized_axes, numpy_says, operand
from jitflow.frontend.numpy.shape import broadcast_shapes
from jitflow.frontend.recording import values
from jitflow.ir.dims import product
from jitflow.ir.dtypes import DType

__all__ = ["FUNCTIONS", "REPLACEMENTS", "size"]


def shape(a: Any) -> tuple[Any, ...]:
    return tuple(tracers.size_of(dim) for dim in values.dims(as_value(a)))


def ndim(a: Any) -> int:
    return values.rank(as_value(a))


def size(a: Any, axis: Any = None) -> Any:
    value = as_value(a)
    dims = values.dims(value)
    if axis is None:
        return tracers.size_of(broadcasting.total_size(value))
    return tracers.size_of(product([dims[place] for place in normalized_axes(axis, len(dims))]))


def nbytes(a: Any) -> Any:
    value = as_value(a)
    return tracers.size_of(broadcasting.total_size(value) * values.dtype_of_value(value).itemsize)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """NumPy's answer, tracers being arrays or weak numbers of their dtypes."""
    items = [_placeholder(item) for item in arrays_and_dtypes]
    return promotion.result_dtype(*items).numpy


def _placeholder(item: Any) -> Any:
    if isinstance(item, tracers.Tracer | np.ndarray | np.generic | int | float | complex):
        return operand(item)
    return _element_type(item)


def _element_type(dtype: Any) -> DType:
    return tracers.element_type(numpy_says(np.dtype, dtype))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    source = from_.dtype if isinstance(from_, tracers.ArrayTracer | tracers.ScalarTracer) else from_
    return numpy_says(np.can_cast, source, to, casting)


def _is_complex(x: Any) -> bool:
    return x is not None and values.dtype_of_value(as_value(x)).is_complex


def isrealobj(x: Any) -> bool:
    return not _is_complex(x)


def isscalar(element: Any) -> bool:
    if isinstance(element, tracers.Tracer):
        return not isinstance(element, tracers.ArrayTracer)
    return np.isscalar(element)


def common_type(*arrays: Any) -> Any:
    return numpy_says(np.common_type, *(np.zeros(1, array.dtype) for array in arrays))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.shape: shape,
        np.ndim: ndim,
        np.size: size,
        np.result_type: result_type,
        np.can_cast: can_cast,
        np.iscomplexobj: _is_complex,
        np.isrealobj: isrealobj,
        np.common_type: common_type,
    }
)

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType({np.isscalar: isscalar, np.broadcast_shapes: broadcast_shapes})
"""Functions that do not dispatch on their arguments."""
