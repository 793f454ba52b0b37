"""``sliding_window_view``: a copy of the windows, which imitates a view (`jitflow.frontend.recording.imitations`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jitflow.errors import UserValueError
from jitflow.frontend.arrays.operands import normalized_axis, read_only_view, refuse, shape_argument
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import size_of

__all__ = ["FUNCTIONS"]


def windows(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False) -> Any:
    if writeable:
        raise refuse("sliding_window_view with writeable=True", "write to the array itself")
    array = as_tracer(x)
    lengths = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    if any(type(length) is int and length < 0 for length in lengths):
        raise UserValueError("`window_shape` cannot contain negative values")
    lengths = [size_of(dim) for dim in shape_argument(tuple(lengths))]
    if axis is None:
        axes = tuple(range(array.ndim))
        if len(lengths) != len(axes):
            raise UserValueError(
                "Since axis is `None`, must provide window_shape for all dimensions of `x`; got "
                f"{len(lengths)} window_shape elements and `x.ndim` is {array.ndim}."
            )
    else:
        axes = tuple(normalized_axis(one, array.ndim) for one in (axis if isinstance(axis, tuple | list) else (axis,)))
        if len(lengths) != len(axes):
            raise UserValueError(
                f"Must provide matching length window_shape and axis; got {len(lengths)} window_shape elements and "
                f"{len(axes)} axes elements."
            )
    found = array
    for place, length in zip(axes, lengths, strict=True):
        if length > found.shape[place]:
            raise UserValueError("window shape cannot be larger than input array shape")
        places = arange(found.shape[place] - length + 1)[:, np.newaxis] + arange(length)
        found = np.moveaxis(np.take(found, places, axis=place), place + 1, -1)
    storage = current_trace().storage
    storage.imitations.add(storage.root(found.value), array.value, "sliding_window_view")
    return read_only_view(found.value)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({sliding_window_view: windows})
