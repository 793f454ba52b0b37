"""The methods and attributes of arrays and NumPy scalars: each is a function of the other modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.frontend.arrays.operands import as_value, dtype_argument, refuse, view
from jitflow.frontend.containers.conversions import item
from jitflow.frontend.containers.lists import Listed, to_list
from jitflow.frontend.containers.made_containers import changeable
from jitflow.frontend.numpy import (
    assignment,
    axes,
    creation,
    elementwise,
    flat,
    introspection,
    linear,
    matrices,
    rearranging,
    reductions,
    reinterpreted,
    searching,
    shape,
    sorting,
    statistics,
    taking,
)
from jitflow.frontend.numpy.calling import call_ufunc
from jitflow.frontend.recording import values
from jitflow.frontend.tracers import VariableTracer

__all__ = ["ATTRIBUTES", "METHODS"]


def _conjugate(array: Any) -> Any:
    """The method gives a real array itself, where the function makes a new one; of a bool it stays a bool."""
    if array.dtype.kind != "c" and (isinstance(array, np.ndarray | VariableTracer) or array.dtype.kind == "b"):
        return array
    return call_ufunc(np.conjugate, array)


def _listed(array: Any) -> Any:
    """A list that the program may change."""
    found = to_list(array)
    return changeable("tolist()", found) if isinstance(found, Listed) and array.ndim == 1 else found


def _copied(array: Any, order: Any = "C") -> Any:
    """The method gives a scalar itself, where the function makes a 0-d array."""
    return array if isinstance(array, np.generic) else creation.copied(array, order)


def _viewed(array: Any, dtype: Any = None, type: Any = None) -> Any:
    """``array.view()``, another array object of the same elements or bytes."""
    if type is not None:
        raise refuse("view with another type", "leave the type out")
    if dtype is not None and dtype_argument(dtype).numpy != array.dtype:
        return reinterpreted.viewed_as(array, dtype)
    return view(as_value(array))


def _fill(array: Any, value: Any) -> None:
    """``array.fill(value)``."""
    assignment.fill(array, value)


def _itemsize(array: Any) -> int:
    return values.dtype_of_value(as_value(array)).itemsize


def _of_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """``var`` or ``std`` as a method, which knows no ``correction``."""

    def method(array: Any, *args: Any, **keywords: Any) -> Any:
        if "correction" in keywords:
            raise UserTypeError(f"_{function.__name__}() got an unexpected keyword argument 'correction'")
        return function(array, *args, **keywords)

    return method


METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        # reductions
        "sum": reductions.sum_,
        "prod": reductions.prod,
        "max": reductions.max_,
        "min": reductions.min_,
        "all": reductions.all_,
        "any": reductions.any_,
        "argmax": reductions.argmax,
        "argmin": reductions.argmin,
        "cumsum": reductions.cumsum,
        "cumprod": reductions.cumprod,
        "mean": statistics.mean,
        "var": _of_method(statistics.var),
        "std": _of_method(statistics.std),
        "trace": matrices.trace,
        # shapes
        "reshape": shape.reshape_method,
        "ravel": shape.ravel,
        "flatten": shape.flatten,
        "transpose": shape.transpose_method,
        "swapaxes": shape.swapaxes,
        "squeeze": axes.squeeze,
        "diagonal": matrices.diagonal,
        "repeat": rearranging.repeat,
        "take": taking.take,
        "choose": taking.choose,
        # order and places
        "argsort": sorting.argsort,
        "argpartition": sorting.argpartition,
        "nonzero": searching.nonzero,
        "compress": searching.compress_method,
        "searchsorted": searching.searchsorted,
        # elements
        "astype": elementwise.astype,
        "clip": elementwise.clip_method,
        "round": elementwise.round_,
        "conj": _conjugate,
        "conjugate": _conjugate,
        "copy": _copied,
        "view": _viewed,
        "dot": linear.dot,
        "fill": _fill,
        "put": assignment.put,
        "sort": assignment.in_place(sorting.sort),
        "partition": assignment.in_place(sorting.partition),
        "item": item,
        "tolist": _listed,
    }
)

ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "T": shape.transpose,
        "mT": shape.matrix_transpose_attribute,
        "real": elementwise.real,
        "imag": elementwise.imag,
        "flat": flat.Flat,
        "size": introspection.size,
        "nbytes": introspection.nbytes,
        "flags": introspection.Flags,
        "itemsize": _itemsize,
        "strides": reinterpreted.strides,
        "device": lambda array: "cpu",
    }
)
"""What tracers do not know by themselves; these know ``shape``, ``ndim`` and ``dtype``."""
