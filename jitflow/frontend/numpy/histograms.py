"""Histograms: over bins of one width as programs (`uniform_bins`), all others by NumPy's own routines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays.operands import array_operand, refuse
from jitflow.frontend.numpy.elementwise import astype
from jitflow.frontend.numpy.routines import fresh, split
from jitflow.frontend.numpy.uniform_bins import uniform_edges, uniform_histogram
from jitflow.frontend.recording import values
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.dims import Dim
from jitflow.runtime.calls import routines

__all__ = ["FUNCTIONS"]


def _counts(bins: Any) -> tuple[Any, Dim, Dim]:
    """What goes to the routine for ``bins``, how many bins there are, and how many edges."""
    bins = pinned(bins)
    if isinstance(bins, str):
        return bins, fresh("bins"), fresh("edges")
    if isinstance(bins, tracers.ArrayTracer | np.ndarray | list | tuple):
        edges = array_operand(bins)
        if values.rank(edges) > 1:
            raise UserValueError("`bins` must be 1d, when an array")
        if values.rank(edges):
            (count,) = values.dims(edges)
            return edges, count - 1, count
    count = tracers.dim_of(bins)
    return bins, count, count + 1


def _edges(bins: Any, made: Any) -> Any:
    """The edges as NumPy gives them: the array that was given as such, or those that were made."""
    return bins if isinstance(bins, tracers.ArrayTracer) and bins.ndim else made


def _limits(range: Any, low: str = "low", high: str = "high") -> dict[str, Any]:
    """The ends of a range as arguments of their own."""
    return {} if range is None else {low: range[0], high: range[1]}


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    given, count, edges = _counts(bins)
    if pinned(density):
        found, edges = histogram(a, bins, range, weights=weights)
        return found / astype(np.diff(edges), np.float64) / found.sum(), edges
    weight, array = None if weights is None else array_operand(weights), array_operand(a)
    if isinstance(given, tracers.SizeTracer | int) and not isinstance(given, bool):
        found = uniform_histogram(array, count, range, weight)
        if found is not None:
            return found
    arguments = split(array, bins=given, weights=weight, **_limits(range))
    found, made = arguments.new(routines.histogram, [(count,), (edges,)])
    return found, _edges(bins, made)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    given, count, _ = _counts(bins)
    if isinstance(given, tracers.SizeTracer | int) and not isinstance(given, bool):
        weight = None if weights is None else array_operand(weights)
        found = uniform_edges(array_operand(a), count, range, weight)
        if found is not None:
            return found
    return histogram(a, bins, range, weights=weights)[1]


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    several = isinstance(bins, list | tuple) and len(bins) == 2
    if isinstance(bins, tracers.ArrayTracer) and bins.ndim and bins.shape[0] == 2:
        raise refuse("np.histogram2d with numbers of bins in an array", "give them in a list: bins=[n, m]")
    (bins_x, count_x, edges_x), (bins_y, count_y, edges_y) = (
        _counts(item) for item in (bins if several else (bins, bins))
    )
    limits = {} if range is None else _limits(range[0], "low_x", "high_x") | _limits(range[1], "low_y", "high_y")
    weight = None if weights is None else array_operand(weights)
    arguments = split(
        array_operand(x), array_operand(y), bins_x=bins_x, bins_y=bins_y, density=density, weights=weight, **limits
    )
    shapes = [(count_x, count_y), (edges_x,), (edges_y,)]
    found, made_x, made_y = arguments.new(routines.histogram2d, shapes)
    given_x, given_y = bins if several else (bins, bins)
    return found, _edges(given_x, made_x), _edges(given_y, made_y)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {np.histogram: histogram, np.histogram_bin_edges: histogram_bin_edges, np.histogram2d: histogram2d}
)
