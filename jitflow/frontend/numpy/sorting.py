"""Order: sorting and partitioning along an axis, by NumPy's own routines."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, axis_of_method, known_axis, new, static_int
from jitflow.frontend.numpy.routines import library_call, new_results, split
from jitflow.frontend.numpy.shape import flat_value
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.runtime.calls import routines

__all__ = ["FUNCTIONS", "argpartition", "argsort", "partition", "sort"]


def _along(function: Any, a: Any, axis: Any) -> tuple[Value, Any]:
    """The array and its axis; no axis means all elements in a row."""
    value = array_operand(a)
    if axis is None:
        return flat_value(value), -1
    # sort and partition take bools, as NumPy reads them
    return value, axis_of_method(axis) if function in (np.argsort, np.argpartition) else known_axis(axis)


def _shape(function: Any, value: Value) -> tuple[Dim, ...]:
    """The shape of the result; the positions in an array without axes are those of its one element."""
    return values.dims(value) or ((1,) if function in (np.argsort, np.argpartition) else ())


def _refuse_fields(order: Any) -> None:
    if order is not None:
        raise UserValueError("Cannot specify order when the array has no fields.")


def _ordered(function: Any) -> Any:
    def handler(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
        _refuse_fields(order)
        value, place = _along(function, a, axis)
        options = {"axis": place, "kind": kind, "stable": stable}
        return new_results(function, [value], [_shape(function, value)], options, effect="none")

    handler.__name__ = function.__name__
    return handler


def _partitioned(function: Any) -> Any:
    def handler(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
        _refuse_fields(order)
        value, place = _along(function, a, axis)
        kinds = [I64 if function is np.argpartition else values.dtype_of_value(value)]
        arguments = split(value, kth=kth, axis=place, kind=kind)
        return arguments.new(function, [_shape(function, value)], kinds=kinds)

    handler.__name__ = function.__name__
    return handler


sort = _ordered(np.sort)
argsort = _ordered(np.argsort)
partition = _partitioned(np.partition)
argpartition = _partitioned(np.argpartition)


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Indirect sorting by several keys, the last one first."""
    lines = list(keys) if isinstance(keys, tuple | list) else [keys]
    if isinstance(keys, tracers.ArrayTracer):
        count = static_int(tracers.size_of(values.dims(keys.value)[0]), "the number of keys")
        lines = [keys[place] for place in range(count)]
    if not lines:
        raise UserTypeError("need sequence of keys with len > 0 in lexsort")
    given = [array_operand(line) for line in lines]
    shape = values.dims(given[0])
    for line in given[1:]:
        if values.rank(line) != len(shape):
            raise UserValueError("all keys need to be the same shape")
        for dim, other in zip(shape, values.dims(line), strict=True):
            broadcasting.require_equal(dim, other, "all keys need to be the same shape")
    return new_results(routines.lexsort, given, [shape or None], {"axis": static_int(axis, "axis")})


def sort_complex(a: Any) -> Any:
    value = array_operand(a)
    (found,) = library_call(np.sort_complex, [value], [values.dims(value)], effect="none")
    return new(found)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.sort: sort,
        np.argsort: argsort,
        np.partition: partition,
        np.argpartition: argpartition,
        np.lexsort: lexsort,
        np.sort_complex: sort_complex,
    }
)
