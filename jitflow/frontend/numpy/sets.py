"""Arrays as sets. How many elements there are, is for the data to say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.frontend.arrays.operands import array_operand, new, normalized_axis, static_int
from jitflow.frontend.numpy.routines import Shape, fresh, library_call, new_results, sampled
from jitflow.frontend.recording import values
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["FUNCTIONS"]


def unique(ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False,
           axis: Any = None, *, equal_nan: Any = True, sorted: Any = True) -> Any:  # fmt: skip
    value, count = array_operand(ar), fresh("unique")
    axis = None if axis is None else static_int(axis, "axis")
    shapes: list[Shape] = [_with_unique(value, axis, count)]
    shapes += [(count,)] if return_index else []
    shapes += [_inverse_shape(value, axis)] if return_inverse else []
    shapes += [(count,)] if return_counts else []
    options = {
        "return_index": bool(return_index), "return_inverse": bool(return_inverse),
        "return_counts": bool(return_counts), "axis": axis, "equal_nan": bool(equal_nan),
    }  # fmt: skip
    if not sorted:
        options["sorted"] = False
    return new_results(np.unique, [value], shapes, options)


def _with_unique(value: Value, axis: Any, count: Dim) -> Shape:
    if axis is None:
        return (count,)
    place = normalized_axis(axis, values.rank(value))
    dims = values.dims(value)
    return (*dims[:place], count, *dims[place + 1 :])


def _inverse_shape(value: Value, axis: Any) -> Shape:
    """Where each element stands among the unique ones. NumPy 2.0 gave other shapes than those that came later."""
    sample = sampled(np.unique, [value], {"return_inverse": True, "axis": axis})[1]
    if axis is None:
        return values.dims(value) if np.ndim(sample) == values.rank(value) else (_total(value),)
    place = normalized_axis(axis, values.rank(value))
    dims = values.dims(value)
    if np.ndim(sample) == 1:
        return (dims[place],)
    return tuple(dim if axis_ == place else 1 for axis_, dim in enumerate(dims))


def _total(value: Value) -> Dim:
    total: Dim = 1
    for dim in values.dims(value):
        total = total * dim
    return total


def _unique_of_array_api(function: Any) -> Any:
    def handler(x: Any, /) -> Any:
        value, count = array_operand(x), fresh("unique")
        if function is np.unique_values:
            return new_results(function, [value], [(count,)])
        shape_of: dict[str, Shape] = {"inverse_indices": values.dims(value)}
        kind = type(sampled(function, [value]))
        shapes = [shape_of.get(name, (count,)) for name in kind._fields]
        return kind(*map(new, library_call(function, [value], shapes)))

    handler.__name__ = function.__name__
    return handler


def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *,
         kind: Any = None) -> Any:  # fmt: skip
    value = array_operand(element)
    options = {"assume_unique": bool(assume_unique), "invert": bool(invert), "kind": kind}
    return new_results(np.isin, [value, array_operand(test_elements)], [values.dims(value)], options)


def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    operands, count = [array_operand(ar1), array_operand(ar2)], fresh("common")
    shapes = [(count,)] * (3 if return_indices else 1)
    options = {"assume_unique": bool(assume_unique), "return_indices": bool(return_indices)}
    return new_results(np.intersect1d, operands, shapes, options)


def union1d(ar1: Any, ar2: Any) -> Any:
    return new_results(np.union1d, [array_operand(ar1), array_operand(ar2)], [(fresh("union"),)])


def _difference(function: Any) -> Any:
    def handler(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
        operands = [array_operand(ar1), array_operand(ar2)]
        return new_results(function, operands, [(fresh("rest"),)], {"assume_unique": bool(assume_unique)})

    handler.__name__ = function.__name__
    return handler


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.unique: unique,
        np.unique_all: _unique_of_array_api(np.unique_all),
        np.unique_counts: _unique_of_array_api(np.unique_counts),
        np.unique_inverse: _unique_of_array_api(np.unique_inverse),
        np.unique_values: _unique_of_array_api(np.unique_values),
        np.isin: isin,
        np.intersect1d: intersect1d,
        np.union1d: union1d,
        np.setdiff1d: _difference(np.setdiff1d),
        np.setxor1d: _difference(np.setxor1d),
    }
)
