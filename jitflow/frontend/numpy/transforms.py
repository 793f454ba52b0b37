"""`numpy.fft`, by NumPy's own routines: one call for a transform along any number of axes.

Where the length of an axis is known only when the program runs it goes along as a number; a transform of several axes
with such lengths is one call for each axis, from the last to the first, as NumPy does it.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError, UserValueError
from jitflow.frontend.arrays.operands import array_operand, new, normalized_axis, numpy_says, sizes_of, static_int
from jitflow.frontend.numpy.calling import require_shape, store_out
from jitflow.frontend.numpy.routines import split
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum

__all__ = ["FUNCTIONS"]

_HALF_IN = frozenset({"irfft", "hfft"})
"""Transforms whose input holds the half of a symmetric axis."""

_HALF_OUT = frozenset({"rfft", "ihfft"})
"""Transforms whose result does."""


def _length_out(name: str, size: Dim, points: Dim | None) -> Dim:
    """The size of the axis in the result, for ``points`` of the transform (None: as many as there are)."""
    if name in _HALF_OUT:
        return (size if points is None else points) // 2 + 1
    if points is not None:
        return points
    return maximum(2 * (size - 1), 0) if name in _HALF_IN else size  # an axis without elements is an error of NumPy's


def _along_axis(function: Any) -> Any:
    name = function.__name__

    def handler(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        value = array_operand(a)
        points = None if n is None else tracers.dim_of(n if name in _HALF_OUT or n is False else sizes_of((n,))[0])
        place = static_int(axis, "axis")
        if points is None:
            numpy_says(operator.getitem, values.dims(value), place)  # what NumPy looks at first
        shown = points if points is None or isinstance(points, int) else tracers.size_of(points)
        arguments = split(value, n=shown, axis=place, norm=norm)
        dims = list(values.dims(value))
        if dims:
            where = normalized_axis(axis, len(dims))
            dims[where] = _length_out(name, dims[where], points)
        known = isinstance(points, int)
        sample = arguments.sampled(function) if known else split(value, axis=place, norm=norm).sampled(_LONGER[name])
        (result,) = arguments.call(function, [tuple(dims)], kinds=[sample.dtype])
        return _finish(result, out)

    handler.__name__ = name
    return handler


def _sample_irfft(a: Any, **options: Any) -> Any:
    return np.fft.irfft(a, 2, **options)


def _sample_hfft(a: Any, **options: Any) -> Any:
    return np.fft.hfft(a, 2, **options)


def _finish(result: Value, out: Any) -> Any:
    require_shape(result, out, "output array has wrong shape.", "output array has wrong shape.")
    return new(result) if out is None else store_out(result, out)


_LONGER: Mapping[str, Any] = MappingProxyType(
    {name: getattr(np.fft, name) for name in ("fft", "ifft", "rfft", "ihfft")}
    | {"irfft": _sample_irfft, "hfft": _sample_hfft}
)
"""Transforms that have something to do on a sample of one element."""

FORWARD = {name: _along_axis(getattr(np.fft, name)) for name in _LONGER}


def _of_axes(function: Any, default: Any) -> Any:
    """A transform of several axes: ``rfftn`` and ``irfftn`` and their like treat the last one in their own way."""
    name = function.__name__
    inverse, real = name.startswith("i"), name.lstrip("i").startswith("r")

    def handler(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        value = array_operand(a)
        places = _axes(value, s, axes)
        points: list[Dim | None] = [None] * len(places) if s is None else [tracers.dim_of(item) for item in s]
        if len(points) != len(places):
            raise UserValueError("Shape and axes have different lengths.")
        if s is None:
            numpy_says(np.take, range(values.rank(value)), places)  # what NumPy looks at first
        if not places:
            if real:
                raise UserIndexError("tuple index out of range" if inverse else "list index out of range")
            return new(value)
        # -1 is the size that the axis has, also where it holds the half of one.
        points = [values.dims(value)[place] if item == -1 else item for place, item in zip(places, points, strict=True)]
        if all(item is None for item in points):
            result = _at_once(function, value, places, norm, real, inverse, named=axes is not None)
        else:
            result = _one_by_one(value, list(zip(places, points, strict=True)), norm, real, inverse)
        return _finish(result, out)

    handler.__name__ = name
    return handler


def _at_once(
    function: Any, value: Value, places: Sequence[int], norm: Any, real: bool, inverse: bool, *, named: bool
) -> Value:
    """``named``: whether the program says which axes; NumPy takes longer where it is told of all."""
    dims = list(values.dims(value))
    last = normalized_axis(places[-1], len(dims))
    for place in places:
        normalized_axis(place, len(dims))
    if real:
        dims[last] = _length_out("irfft" if inverse else "rfft", dims[last], None)
    one = "irfft" if real and inverse else "rfft" if real else "fft"
    sample = split(value, axis=last, norm=norm).sampled(_LONGER[one])
    if one == "irfft" and len(places) > 1:  # of what the transforms along the other axes make
        sample = split(value, axis=last, norm=norm).sampled(_LONGER["fft"]).real
    axes = tuple(places) if named else None
    (result,) = split(value, axes=axes, norm=norm).call(function, [tuple(dims)], kinds=[sample.dtype])
    return result


def _one_by_one(value: Value, order: list[tuple[int, Dim | None]], norm: Any, real: bool, inverse: bool) -> Value:
    plain = FORWARD["ifft" if inverse else "fft"]
    last = FORWARD["irfft" if inverse else "rfft"] if real else plain
    steps = [(plain, *step) for step in order[:-1]]
    steps = [*steps, (last, *order[-1])] if real and inverse else [(last, *order[-1]), *reversed(steps)]
    result = new(value)
    for transform, place, points in steps:
        result = transform(result, None if points is None else tracers.size_of(points), place, norm)
    found: Value = result.value
    return found


def _axes(value: Value, s: Any, axes: Any) -> Sequence[int]:
    if axes is None:
        count = values.rank(value) if s is None else len(s)
        return list(range(-count, 0))
    return [static_int(axis, "axis") for axis in axes]


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        **{getattr(np.fft, name): handler for name, handler in FORWARD.items()},
        **{
            function: _of_axes(function, (-2, -1))
            for function in (np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2)
        },
        **{function: _of_axes(function, None) for function in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn)},
    }
)
