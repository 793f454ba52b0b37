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


def lbfgs(
    evaluate: Any, w: Array, calls: int, rate: float = 1.0, iterations: int = 20, history: int = 100
) -> Iterator[tuple[float, Array]]:
    """What each of several calls of `torch.optim.LBFGS.step` gives without a line search: the loss, and ``w``."""
    moves: list[Array] = []
    changes: list[Array] = []
    scale, steps, size = 1.0, 0, 0.0
    direction = last = np.zeros_like(w)
    for _ in range(calls):
        first, g = evaluate(w)
        loss = first
        for turn in range(1, iterations + 1):
            if abs(g).max() <= 1e-7:
                break
            steps += 1
            if steps == 1:
                direction = -g
            else:
                change, move = g - last, size * direction
                if change @ move > 1e-10:
                    changes, moves = [*changes, change][-history:], [*moves, move][-history:]
                    scale = change @ move / (change @ change)
                direction, weights = -g, []
                for y, s in zip(changes[::-1], moves[::-1], strict=True):
                    weights.append(s @ direction / (y @ s))
                    direction = direction - weights[-1] * y
                direction = direction * scale
                for y, s, weight in zip(changes, moves, weights[::-1], strict=True):
                    direction = direction + s * (weight - y @ direction / (y @ s))
            size = min(1.0, 1 / abs(g).sum()) * rate if steps == 1 else rate
            if g @ direction > -1e-9:
                break
            last = g
            w = w + size * direction
            if turn == iterations:
                break
            before = loss
            loss, g = evaluate(w)
            if abs(size * direction).max() <= 1e-9 or abs(loss - before) < 1e-9:
                break
        yield first, w
