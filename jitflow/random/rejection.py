"""Rejection for whole arrays: those that were refused draw again, until nobody is left.

Each round draws for the elements that are still waiting, whose positions are an array that gets shorter; so the work is
that of a loop over the elements, and it is array code all the same. A single number is a loop of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.random.machine import Machine

__all__ = ["until_accepted"]

Attempt = Callable[..., tuple[Any, Any]]


def until_accepted(m: Machine, shape: tuple[Any, ...], needed: Any, parameters: Sequence[Any], attempt: Attempt) -> Any:
    """A draw of f64 for each element in which ``needed`` holds, 0 in the others.

    ``attempt(shape, *parameters)`` draws once, and says which draws are accepted.
    """
    if not shape:
        return _number(m, needed, parameters, attempt)
    drawn = m.zeros(shape)
    flat = [_flat(parameter, shape) for parameter in parameters]
    waiting = np.nonzero(np.ravel(np.broadcast_to(needed, shape)))[0]

    def again(waiting: Any) -> Any:
        chosen = [parameter[waiting] if parameter.ndim else parameter for parameter in flat]
        made, accepted = attempt((waiting.shape[0],), *chosen)
        drawn[waiting] = np.where(accepted, made, 0.0)
        return waiting[~accepted]

    m.repeat_while(lambda waiting: waiting.shape[0] > 0, again, waiting)
    return np.reshape(drawn, shape)


def _number(m: Machine, needed: Any, parameters: Sequence[Any], attempt: Attempt) -> Any:
    def again(carry: tuple[Any, Any]) -> tuple[Any, Any]:
        made, accepted = attempt((), *parameters)
        return made, ~accepted

    return m.repeat_while(lambda carry: carry[1], again, (m.number(0.0), needed))[0]


def _flat(parameter: Any, shape: tuple[Any, ...]) -> Any:
    """A number, or an array as one axis, an element for each of ``shape``."""
    return np.ravel(np.broadcast_to(parameter, shape)) if parameter.ndim else parameter
