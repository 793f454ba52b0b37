"""The methods and attributes of arrays and NumPy scalars: each is a function of the other modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from jitflow.frontend.numpy import reductions, shape, statistics

__all__ = ["ATTRIBUTES", "METHODS"]

METHODS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
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
        "var": statistics.var,
        "std": statistics.std,
        "reshape": shape.reshape_method,
        "ravel": shape.ravel,
        "flatten": shape.flatten,
        "transpose": shape.transpose_method,
        "swapaxes": shape.swapaxes,
        "squeeze": shape.squeeze,
    }
)

ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "T": shape.transpose,
        "mT": shape.matrix_transpose,
    }
)
