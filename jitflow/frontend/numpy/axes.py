"""Axes that come and go: `expand_dims`, `squeeze`, `atleast_1d` and its like."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, converted_axes, folded_axes, normalized_axes, view
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["FUNCTIONS", "squeeze"]


def expand_dims(a: Any, axis: Any) -> Any:
    value = array_operand(a)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    count = len(axes)
    added = normalized_axes(axes, values.rank(value) + count)
    rest = iter(values.dims(value))
    return view(values.reshape(value, tuple(1 if place in added else next(rest)
                                            for place in range(values.rank(value) + count))))  # fmt: skip


def _check_found(dim: Dim, is_one: bool) -> None:
    """Check, when the program runs, that a size which it finds is 1, or that it is not."""
    if is_one:
        values.check(emit("equal", values.size(dim), values.size(1)), ValueError, _NOT_ONE)
    else:
        values.check(emit("not_equal", values.size(dim), values.size(1)), UserNotImplementedError, _FOUND_ONE)


_FOUND_ONE = "np.squeeze(...) without an axis, of an array in which the running program has found a size of 1"
_NOT_ONE = "cannot select an axis to squeeze out which has size not equal to one"


def squeeze(a: Any, axis: Any = None) -> Any:
    value = array_operand(a)
    dims = values.dims(value)
    if isinstance(a, np.generic):
        converted_axes(() if axis is None else axis, 1)
        return a
    dropped = [place for place, dim in enumerate(dims) if broadcasting.is_one(dim)]
    if axis is not None:
        ones, dropped = dropped, list(folded_axes(axis, len(dims)))
        if any(broadcasting.bound_by_call(dims[place]) for place in dropped if place not in ones):
            raise UserValueError(_NOT_ONE)
    for place, dim in enumerate(dims):
        if not broadcasting.bound_by_call(dim) and (place in dropped or axis is None):
            _check_found(dim, is_one=place in dropped)
    if not dropped and isinstance(a, tracers.ArrayTracer):
        return a
    sizes = [1 if place in dropped else dim for place, dim in enumerate(dims)]
    value = values.slice_axes(value, [0] * len(dims), sizes, [1] * len(dims))
    return view(values.reshape(value, tuple(dim for place, dim in enumerate(dims) if place not in dropped)))


def at_least(rank: int) -> Any:
    """``atleast_1d`` and its like: where the new axes go is NumPy's choice."""

    def widen(value: Value) -> Value:
        dims = values.dims(value)
        if len(dims) >= rank:
            return value
        padded = {0: (1,) * rank, 1: (1, *dims, 1)[:rank] if rank == 3 else (1, *dims), 2: (*dims, 1)}[len(dims)]
        return values.reshape(value, padded)

    def handler(*arrays: Any) -> Any:
        widened = tuple(
            array
            if isinstance(array, tracers.ArrayTracer) and array.ndim >= rank
            else view(widen(array_operand(array)))
            for array in arrays
        )
        return widened[0] if len(widened) == 1 else widened

    return handler


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.expand_dims: expand_dims,
        np.squeeze: squeeze,
        np.atleast_1d: at_least(1),
        np.atleast_2d: at_least(2),
        np.atleast_3d: at_least(3),
    }
)
