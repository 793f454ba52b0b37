"""Arrays that NumPy computes while tracing become arrays of the program.

A function of NumPy whose arguments are all known runs once, while tracing: ``np.linspace(0, 1, 11)``. The array that it
gives must be one of the program's all the same. Python would write to the array itself once for each trace, not once
for each turn of a loop, and could not look up a place that only the running program knows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import lift, wrap
from jitflow.ir.dtypes import dtype_of

__all__ = ["adopted", "adopting", "computes_arrays"]


def adopted(found: Any) -> Any:
    """What a function of NumPy gave, with tracers for its arrays."""
    if type(found) is np.ndarray:
        return found if dtype_of(found.dtype) is None else _array(found)
    if isinstance(found, list):
        return [adopted(item) for item in found]
    if isinstance(found, tuple):
        items = [adopted(item) for item in found]
        return type(found)._make(items) if hasattr(found, "_make") else tuple(items)
    return found


def _array(found: np.ndarray[Any, Any]) -> Any:
    value = lift(found)
    if found.flags.writeable:
        return wrap(value, owned=True)
    trace = current_trace()
    value = trace.make("copy", value)
    trace.storage.make_read_only(value)
    return wrap(value, owned=False)


def computes_arrays(thing: Any) -> bool:
    """Whether it is a function of NumPy's, in Python or in C."""
    if isinstance(thing, FunctionType | BuiltinFunctionType):
        return (thing.__module__ or "").partition(".")[0] == "numpy"
    return type(thing) is type(np.linspace)


@cache
def adopting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with arrays of the program as its results."""

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        return adopted(function(*args, **keywords))

    return call
