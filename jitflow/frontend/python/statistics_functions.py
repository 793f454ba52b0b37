"""Functions of `statistics`, traced as Python's library writes them where that computes without fractions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording.trace import active_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.surface import surface

__all__ = ["of_statistics"]

_AS_WRITTEN = ("fmean", "median", "median_high", "median_low", "mode", "multimode", "quantiles")
_IN_NUMPY = {
    "correlation": "np.corrcoef(x, y)[0, 1]",
    "covariance": "np.cov(x, y)[0, 1]",
    "linear_regression": "np.polyfit(x, y, 1)",
    "pstdev": "np.std(x)",
    "pvariance": "np.var(x)",
    "stdev": "np.std(x, ddof=1)",
    "variance": "np.var(x, ddof=1)",
}


def of_statistics(function: Any) -> Callable[..., Any]:
    """What runs in the place of a function of `statistics`, which may be imported at any time."""
    name = function.__name__

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        if active_trace() is None:
            return function(*args, **keywords)
        if any(isinstance(argument, tracers.ArrayTracer) for argument in args):
            raise _refusal(f"statistics.{name} of an array", f"np.{'median' if 'median' in name else 'mean'}(x)")
        if name != "mean" and name not in _AS_WRITTEN:
            raise _refusal(f"statistics.{name}, which computes with fractions,", _IN_NUMPY.get(name, "use NumPy's"))
        first, *rest = args
        items = surface.constructor_of(list)(first)
        if name == "mean":
            from jitflow.frontend.python import written_statistics

            function_written: Any = written_statistics.mean
        else:
            function_written = function
        return surface.written(function_written)(items, *rest, **keywords)

    return call


def _refusal(what: str, instead: str) -> Exception:
    return located(UserNotImplementedError(f"{what} is not compiled", mend=f"{instead}"))
