"""Window functions, by the formulas of NumPy's documentation: their length may be a size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.tracers.scalar import pinned

__all__ = ["FUNCTIONS"]


def _window(formula: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The function of a length for a formula of the places ``1-M, 3-M ... M-1`` and of ``M - 1``."""

    def handler(M: Any) -> Any:  # noqa: N803
        M = tracers.as_size(pinned(M))  # noqa: N806
        if M < 1:
            return np.zeros(0)
        if M == 1:
            return np.ones(1)
        return formula(arange(1 - M, M, 2), M - 1)

    return handler


def _bartlett(places: Any, last: Any) -> Any:
    return np.where(np.less_equal(places, 0), 1 + places / last, 1 - places / last)


def _blackman(places: Any, last: Any) -> Any:
    return 0.42 + 0.5 * np.cos(np.pi * places / last) + 0.08 * np.cos(2.0 * np.pi * places / last)


def _hamming(places: Any, last: Any) -> Any:
    return 0.54 + 0.46 * np.cos(np.pi * places / last)


def _hanning(places: Any, last: Any) -> Any:
    return 0.5 + 0.5 * np.cos(np.pi * places / last)


def kaiser(M: Any, beta: Any) -> Any:  # noqa: N803
    M, beta = tracers.as_size(pinned(M)), astype(as_tracer(beta), np.float64)  # noqa: N806
    if M == 1:
        return np.ones(1)
    half = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((arange(0, M) - half) / half) ** 2.0)) / np.i0(beta)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.bartlett: _window(_bartlett),
        np.blackman: _window(_blackman),
        np.hamming: _window(_hamming),
        np.hanning: _window(_hanning),
        np.i0: as_written(np.i0),
        np.kaiser: kaiser,
    }
)
