"""Activations: elementwise functions, and those that make a distribution of each row.

They are written so that no intermediate value overflows or cancels, and so that their derivatives are finite wherever
the function's is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitflow.transforms.gradients import stop_gradient

__all__ = ["below_zero", "gelu", "log_softmax", "relu", "sigmoid", "silu", "softmax"]


def relu(x: Any) -> Any:
    """``x`` where it is positive, and 0 elsewhere, elementwise; nan stays nan. The slope at 0 is 0."""
    return np.where(x <= 0, 0, x)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``, elementwise, accurate in both tails."""
    from scipy.special import expit

    return expit(x)


def silu(x: Any) -> Any:
    """``x * sigmoid(x)``, elementwise (Elfwing, Uchibe and Doya, 2017); also called swish."""
    return x * sigmoid(x)


def gelu(x: Any, approximate: bool = False) -> Any:
    """``x`` times the probability that a standard normal number is below it, elementwise.

    ``approximate`` takes the formula with tanh instead of the error function: within 0.0005, and what many trained
    models were trained with. Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    from scipy.special import ndtr

    return x * ndtr(x)


def softmax(x: Any, axis: int | None = -1) -> Any:
    """``exp(x)``, divided by its sum along an axis; None means over all elements. The shape is that of ``x``."""
    powers = np.exp(below_zero(x, axis))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax(x: Any, axis: int | None = -1) -> Any:
    """The logarithm of `softmax`, finite for all finite ``x``: nothing overflows, and no logarithm of 0 is taken."""
    shifted = below_zero(x, axis)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def below_zero(x: Any, axis: int | None) -> Any:
    """``x`` less its largest element along an axis: that changes no ratio of powers, and the largest power is 1.

    Since it changes nothing, what is subtracted is a constant to derivatives.
    """
    return x - stop_gradient(x.max(axis=axis, keepdims=True))
