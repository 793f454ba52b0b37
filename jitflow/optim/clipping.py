"""Bounds for gradients, in any structure of dicts, lists and tuples of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.optim.structure import mapped

__all__ = ["clip_by_global_norm", "clip_by_value", "global_norm"]


def clip_by_value(gradients: Any, limit: float) -> Any:
    """The gradients with each element brought into ``-limit`` to ``limit``; nan stays nan."""
    return mapped(lambda gradient: np.clip(gradient, -limit, limit), gradients)


def global_norm(gradients: Any) -> Any:
    """The root of the sum of the squares of all elements of all arrays. Raises ValueError where there are none."""
    squares: list[Any] = []
    mapped(lambda gradient: squares.append((gradient * gradient).sum()), gradients)
    if not squares:
        raise UserValueError("there are no gradients whose norm could be taken", expected="one gradient or more")
    return np.sqrt(sum(squares[1:], squares[0]))


def clip_by_global_norm(gradients: Any, limit: float) -> Any:
    """The gradients, all divided by one number if they are longer than ``limit``, so that they have that length.

    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013; a millionth is added to
    the length as in PyTorch.
    """
    scale = np.minimum(limit / (global_norm(gradients) + 1e-6), 1.0)
    return mapped(lambda gradient: gradient * scale.astype(gradient.dtype), gradients)
