"""``sliding_window_view``: a view of the windows, to which nothing can be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from numpy.lib.stride_tricks import sliding_window_view

from jitflow.errors import UserValueError
from jitflow.frontend.arrays.operands import normalized_axis, read_only_view, refuse, shape_argument
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers import dim_of, size_of
from jitflow.ir.core import Value

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
    value = array.value
    pairs = tuple(zip(axes, lengths, strict=True))
    for group in (pairs,) if len(set(axes)) == len(axes) else zip(pairs):
        value = _windows(value, group)
    return read_only_view(value)


def _windows(value: Value, lengths: Sequence[tuple[int, Any]]) -> Value:
    """The windows of some lengths along different axes."""
    dims = values.dims(value)
    for axis, length in lengths:
        if length > size_of(dims[axis]):
            raise UserValueError("window shape cannot be larger than input array shape")
    axes, sizes = tuple(axis for axis, _ in lengths), tuple(dim_of(length) for _, length in lengths)
    counts = tuple(dims[axis] - size + 1 for axis, size in zip(axes, sizes, strict=True))
    ones = (1,) * len(axes)
    return emit("window", value, axes=axes, counts=counts, sizes=sizes, steps=ones, dilations=ones)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({sliding_window_view: windows})
