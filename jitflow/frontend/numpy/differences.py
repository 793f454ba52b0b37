"""Differences of neighbours, and polynomials: functions that NumPy writes in Python, in its words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays.operands import normalized_axes, static_int
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.introspection import ndim

__all__ = ["FUNCTIONS"]


def _along(rank: int, axis: int, item: Any) -> tuple[Any, ...]:
    """An index that is ``item`` on one axis and everything on the others."""
    return tuple(item if place == axis else slice(None) for place in range(rank))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    array = np.ravel(as_tracer(ary))
    parts = [array[1:] - array[:-1]]
    for name, end, place in (("to_begin", to_begin, 0), ("to_end", to_end, len(parts))):
        if end is None:
            continue
        edge = np.ravel(as_tracer(end))
        if not np.can_cast(edge.dtype, array.dtype, "same_kind"):
            raise UserTypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.insert(place if name == "to_begin" else len(parts), astype(edge, array.dtype))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    array = as_tracer(f)
    axes = normalized_axes(axis, array.ndim)
    spacings = _spacings(array, axes, varargs)
    if edge_order > 2:
        raise UserValueError("'edge_order' greater than 2 not supported")
    if array.dtype.kind in "iu":
        array = astype(array, np.float64)
    for place in axes:
        if array.shape[place] < edge_order + 1:
            raise UserValueError("Shape of array too small to calculate a numerical gradient, "
                                 "at least (edge_order + 1) elements are required.")  # fmt: skip
    found = [_slope(array, place, spacing, edge_order) for place, spacing in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _spacings(array: Any, axes: tuple[int, ...], given: tuple[Any, ...]) -> list[Any]:
    """The distances along every axis: a number, or an array of the differences of coordinates."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and ndim(given[0]) == 0:
        return list(given) * len(axes)
    if len(given) != len(axes):
        raise UserTypeError("invalid number of arguments")
    spacings = []
    for place, item in zip(axes, given, strict=True):
        if ndim(item) == 0:
            spacings.append(item)
            continue
        if ndim(item) != 1:
            raise UserValueError("distances must be either scalars or 1d")
        points = as_tracer(item)
        if points.shape[0] != array.shape[place]:
            raise UserValueError("when 1d, distances must match the length of the corresponding dimension")
        spacings.append(np.diff(astype(points, np.float64) if points.dtype.kind in "iu" else points))
    return spacings


def _slope(f: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """The derivative along one axis: central inside, one-sided at both ends."""

    def part(start: int | None, stop: int | None) -> Any:
        return f[_along(f.ndim, axis, slice(start, stop))]

    uniform = np.ndim(spacing) == 0
    if uniform:
        inside = (part(2, None) - part(None, -2)) / (2.0 * spacing)
    else:
        inside = _weighted(f, axis, spacing[:-1], spacing[1:])
    if edge_order == 1:
        first, last = (spacing, spacing) if uniform else (spacing[0], spacing[-1])
        begin = (part(1, 2) - part(0, 1)) / first
        end = (part(-1, None) - part(-2, -1)) / last
    else:
        begin, end = _second_order_ends(part, spacing, uniform)
    kind = f.dtype if f.dtype.kind in "fc" else np.dtype(np.float64)
    return np.concatenate([astype(piece, kind) for piece in (begin, inside, end)], axis=axis)


def _weighted(f: Any, axis: int, before: Any, after: Any) -> Any:
    """The central derivative with unequal distances."""
    shape = tuple(-1 if place == axis else 1 for place in range(f.ndim))
    a = np.reshape(-(after) / (before * (before + after)), shape)
    b = np.reshape((after - before) / (before * after), shape)
    c = np.reshape(before / (after * (before + after)), shape)
    left, middle, right = (f[_along(f.ndim, axis, part)] for part in (slice(None, -2), slice(1, -1), slice(2, None)))
    return a * left + b * middle + c * right


def _second_order_ends(part: Any, spacing: Any, uniform: bool) -> tuple[Any, Any]:
    if uniform:
        begin = (-1.5 / spacing, 2.0 / spacing, -0.5 / spacing)
        end = (0.5 / spacing, -2.0 / spacing, 1.5 / spacing)
    else:
        one, two = spacing[0], spacing[1]
        begin = (-(2.0 * one + two) / (one * (one + two)), (one + two) / (one * two), -one / (two * (one + two)))
        one, two = spacing[-2], spacing[-1]
        end = (two / (one * (one + two)), -(two + one) / (one * two), (2.0 * two + one) / (two * (one + two)))
    a, b, c = begin
    first = a * part(0, 1) + b * part(1, 2) + c * part(2, 3)
    a, b, c = end
    return first, a * part(-3, -2) + b * part(-2, -1) + c * part(-1, None)


def polyval(p: Any, x: Any) -> Any:
    """Horner's rule, written out: the number of coefficients is fixed."""
    if isinstance(p, list | tuple):
        coefficients = list(p if any(isinstance(item, tracers.Tracer) for item in p) else np.asarray(p))
    else:
        array = as_tracer(p)
        count = static_int(array.shape[0], "the number of coefficients")
        coefficients = [array[place] for place in range(count)]
    points = as_tracer(x)
    result = np.zeros_like(points)
    for coefficient in coefficients:
        result = result * points + coefficient
    return result


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.diff: as_written(np.diff, "n"),
        np.ediff1d: ediff1d,
        np.trapezoid: as_written(np.trapezoid),
        np.gradient: gradient,
        np.polyval: polyval,
    }
)
