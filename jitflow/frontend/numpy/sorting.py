"""Sorting: order along an axis, by NumPy's own routines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.frontend.numpy import values
from jitflow.frontend.numpy.operands import array_operand, new, static_int
from jitflow.frontend.numpy.routines import library_call
from jitflow.frontend.numpy.shape import flat_value
from jitflow.ir.core import Value

__all__ = ["FUNCTIONS", "argsort", "sort"]


def _along(a: Any, axis: Any) -> tuple[Value, Any]:
    """The array and its axis; no axis means all elements in a row."""
    value = array_operand(a)
    return (flat_value(value), -1) if axis is None else (value, static_int(axis, "axis"))


def _ordered(function: Any) -> Any:
    def handler(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        if order is not None:
            raise UserValueError("Cannot specify order when the array has no fields.")
        value, place = _along(a, axis)
        (result,) = library_call(
            function, [value], [values.dims(value)], {"axis": place, "kind": kind, "stable": stable}, effect="none"
        )
        return new(result)

    return handler


sort = _ordered(np.sort)
argsort = _ordered(np.argsort)

FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.sort: sort, np.argsort: argsort})
