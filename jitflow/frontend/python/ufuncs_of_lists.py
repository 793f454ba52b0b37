"""Ufuncs of lists: ``np.exp([x, y])``.

NumPy looks for tracers among the operands of a ufunc, and not in lists and tuples, of which it makes arrays itself. So
a ufunc is NumPy's own until one has done that; then the trace starts anew, and names of ufuncs stand for these.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers import Tracer
from jitflow.frontend.tracers.surface import surface

__all__ = ["ufunc_of_lists"]

_METHODS = ("reduce", "accumulate", "outer", "reduceat", "at")


def ufunc_of_lists(ufunc: np.ufunc) -> Any:
    """What stands for a ufunc; None if it may stand for itself."""
    trace = active_trace()
    return None if trace is None or not trace.choices.answer(Site(Choice.LOOKED_INTO)) else _looking_into(ufunc)


@cache
def _looking_into(ufunc: np.ufunc) -> Any:
    return _UfuncOfLists(ufunc)


class _UfuncOfLists:
    """A ufunc that also sees tracers in lists and tuples."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        return self._called("__call__", *inputs, **keywords)

    def __getattr__(self, name: str) -> Any:
        return partial(self._called, name) if name in _METHODS else getattr(self._ufunc, name)

    def _called(self, method: str, *inputs: Any, **keywords: Any) -> Any:
        if any(_has_tracer(item) for item in inputs):
            return surface.apply_ufunc(self._ufunc, method, inputs, keywords)
        return getattr(self._ufunc, method)(*inputs, **keywords)


def _has_tracer(thing: Any) -> bool:
    return isinstance(thing, Tracer | Recorded) or (isinstance(thing, list | tuple) and any(map(_has_tracer, thing)))
