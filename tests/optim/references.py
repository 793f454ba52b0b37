"""Optimisers in plain NumPy, one array at a time, written from the papers and `torch.optim`'s documentation.

A reference is a generator function: it is sent gradients, and yields what the parameter is after each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def sgd(w: Array, rate: float = 1e-3, weight_decay: float = 0.0) -> Iterator[Array]:
    while True:
        g = yield w
        w = w - rate * (g + weight_decay * w)


def momentum(
    w: Array, rate: float = 1e-3, momentum: float = 0.9, nesterov: bool = False, weight_decay: float = 0.0
) -> Iterator[Array]:
    v = np.zeros_like(w)
    while True:
        g = yield w
        g = g + weight_decay * w
        v = momentum * v + g
        w = w - rate * (g + momentum * v if nesterov else v)


def adagrad(
    w: Array, rate: float = 1e-2, decay: float = 0.0, first_sum: float = 0.1, weight_decay: float = 0.0
) -> Iterator[Array]:
    total, t = np.full_like(w, first_sum), 0
    while True:
        g = yield w
        g = g + weight_decay * w
        total = total + g**2
        w = w - rate / (1 + t * decay) * g / (np.sqrt(total) + 1e-10)
        t += 1


def adadelta(w: Array, rate: float = 1.0, rho: float = 0.9, weight_decay: float = 0.0) -> Iterator[Array]:
    square, moved = np.zeros_like(w), np.zeros_like(w)
    while True:
        g = yield w
        g = g + weight_decay * w
        square = rho * square + (1 - rho) * g**2
        change = np.sqrt(moved + 1e-6) / np.sqrt(square + 1e-6) * g
        moved = rho * moved + (1 - rho) * change**2
        w = w - rate * change


def rmsprop(
    w: Array, rate: float = 1e-2, rho: float = 0.99, weight_decay: float = 0.0, momentum: float = 0.0,
    centred: bool = False,
) -> Iterator[Array]:  # fmt: skip
    square, mean, v = np.zeros_like(w), np.zeros_like(w), np.zeros_like(w)
    while True:
        g = yield w
        g = g + weight_decay * w
        square = rho * square + (1 - rho) * g**2
        mean = rho * mean + (1 - rho) * g
        v = momentum * v + g / (np.sqrt(square - mean**2 if centred else square) + 1e-8)
        w = w - rate * v


def adam(
    w: Array, rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999, weight_decay: float = 0.0,
    decoupled: bool = False,
) -> Iterator[Array]:  # fmt: skip
    m, v, t = np.zeros_like(w), np.zeros_like(w), 0
    while True:
        g = yield w
        t += 1
        if decoupled:
            w = w * (1 - rate * weight_decay)
        else:
            g = g + weight_decay * w
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w = w - rate * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + 1e-8)


def trajectory(reference: Iterator[Array], gradient: Any, steps: int) -> list[Array]:
    """What the parameter is after each step, by gradients that depend on it."""
    w = next(reference)
    found = []
    for step in range(steps):
        w = reference.send(gradient(w, step))  # type: ignore[attr-defined]
        found.append(w)
    return found
