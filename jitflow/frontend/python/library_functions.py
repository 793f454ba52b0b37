"""Functions of libraries that must know tracers: of NumPy, and of what may be imported at any time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from jitflow.frontend.arrays.operands import ArraySource
from jitflow.frontend.control.steps import Source
from jitflow.frontend.outside.known_arrays import adopted
from jitflow.frontend.python.of_constants import Known, of_constants
from jitflow.frontend.python.statistics_functions import of_statistics
from jitflow.frontend.tracers import Tracer
from jitflow.frontend.tracers.surface import surface

__all__ = ["by_path", "numpy_function"]


def numpy_function(function: Any) -> Callable[..., Any]:
    """A function of NumPy that also sees tracers in lists and tuples, in which NumPy does not look for them.

    Those that it does see go straight to their handler: some of NumPy's dispatchers would loop over them.
    """

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if any(_holds_tracer(argument) for argument in (*args, *keywords.values())):
            return surface.apply_function(function, args, keywords)
        return adopted(function(*args, **keywords))

    return call


def _holds_tracer(thing: Any) -> bool:
    of_items = isinstance(thing, list | tuple)
    return any(map(_holds_tracer, thing)) if of_items else isinstance(thing, Tracer | Source | ArraySource)


_BY_MODULE = {"re": of_constants, "statistics": of_statistics, "textwrap": of_constants}


def by_path(function: Any) -> Any:
    """What runs in the place of a function of a module that may be imported at any time."""
    if isinstance(function, re.Pattern):
        return Known(function)
    module = getattr(function, "__module__", None) if isinstance(function, FunctionType) else None
    if module in _BY_MODULE:
        return _BY_MODULE[module](function)
    if not isinstance(module, str) or not module.startswith(("scipy.", "numpy.polynomial.")):
        return None
    handler = surface.by_path.get(f"{'.'.join(module.split('.')[:2])}.{function.__name__}")
    return None if handler is None else _with_tracers(function, handler)


def _with_tracers(function: Any, handler: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        traced = any(_holds_tracer(argument) for argument in (*args, *keywords.values()))
        return handler(*args, **keywords) if traced else adopted(function(*args, **keywords))

    return call
