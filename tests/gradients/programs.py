"""Functions of one array or number, to be differentiated by it: loops, branches, storage, views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PROGRAMS"]

Array = Any
RANDOM = np.random.default_rng(5)


def straight(x: Array) -> Any:
    return np.sum(np.sin(x) * x / (1 + x * x))


def newton(a: float) -> float:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def recurrence(x: Array) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        s = np.sin(s) + x[i] * 2.0
    return s


def heat(u: Array) -> Any:
    u = u.copy()
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u * u).sum()


def mutates_its_argument(u: Array) -> Any:
    u[1:] *= u[:-1]
    u += 1.0
    return (u * u).sum()


def swapped(u: Array) -> Any:
    v = np.zeros_like(u)
    for _ in range(5):
        v[1:] = u[:-1] * 2 + v[1:] * u[1:]
        v[0] = u[0]
        u, v = v, u
    return u.sum()


def recurrent_network(weights: Array) -> Any:
    h = np.zeros(weights.shape[0])
    for t in range(6):
        h = np.tanh(h @ weights + 0.1 * t)
    return h.sum()


def over_rows(x: Array) -> float:
    s = 0.0
    for row in x:
        s = s + np.sin(row).sum() * row[0]
    return s


def cholesky(a: Array) -> Any:
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] + (n if i == j else 0)
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    return factor.sum()


def branch_in_a_loop(x: Array) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            s = s + x[i] * s
            s *= 0.9
        else:
            s = s * 0.5 + x[i]
    return s


def branch_of_arrays(x: Array) -> Any:
    y = np.sin(x) if x.sum() > 3.0 else x * x
    return (y * x).sum()


def through_views(x: Array) -> Any:
    y = x.copy()
    z = y[::2]
    z *= 3.0
    y[1] = y[0] * y[2]
    return (y * y).sum()


def gathered(x: Array) -> Any:
    i = np.array([0, 2, 2, 5, -1])
    return (np.sin(x[i]) * x[i[::-1]]).sum()


def nested_loops(x: float) -> float:
    s = x
    for i in range(4):
        for _ in range(3 + i):
            s = np.sin(s) * x + s
    return s


def two_states(x: float) -> Any:
    u, v = np.zeros(5), np.ones(5)
    for _ in range(6):
        u[1:] = u[:-1] + x * v[1:]
        v[0] = u[4] * x
    return u.sum() + v.sum()


def left_early(x: Array) -> float:
    s = 0.0
    for value in x:
        if value > 0.9:
            break
        s = s + value * value
    return s


def with_continue(x: Array) -> float:
    s = 1.0
    for value in x:
        if value < 0.3:
            continue
        s *= 1 + value
    return s


def while_in_a_for(x: float) -> float:
    total = 0.0
    for i in range(4):
        y = x + i
        while y > 1.0:
            y = np.sqrt(y) * 0.9
        total += y * x
    return total


def more_turns_each_time(x: Array) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        y, k = x[i], 0
        while k < i:
            y = np.sin(y) * x[k] + y
            k += 1
        total += y
    return total


def running_product(x: Array) -> Any:
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * x[i] + x[-i]
    return y.sum()


def backwards(x: Array) -> float:
    s = 0.0
    for i in range(x.shape[0] - 1, -1, -2):
        s = s * x[i] + np.cos(x[i])
    return s


def shrinking(x: Array) -> Any:
    total = 0.0
    while x.shape[0] > 1:
        x = x[1:] * x[:-1]
        total = total + x.sum()
    return total


PROGRAMS: list[tuple[Callable[[Any], Any], Any]] = [
    (straight, RANDOM.random(7)),
    (newton, 2.7),
    (recurrence, RANDOM.random(7)),
    (heat, RANDOM.random(9)),
    (mutates_its_argument, RANDOM.random(6)),
    (swapped, RANDOM.random(6)),
    (recurrent_network, RANDOM.random((4, 4))),
    (over_rows, RANDOM.random((4, 3))),
    (cholesky, (lambda b: b @ b.T)(RANDOM.random((4, 4)))),
    (branch_in_a_loop, RANDOM.random(8)),
    (branch_of_arrays, RANDOM.random(8)),
    (branch_of_arrays, RANDOM.random(8) * 0.1),
    (through_views, RANDOM.random(8)),
    (gathered, RANDOM.random(6)),
    (nested_loops, 0.7),
    (two_states, 0.3),
    (left_early, RANDOM.random(12)),
    (with_continue, RANDOM.random(12)),
    (while_in_a_for, 1.9),
    (more_turns_each_time, RANDOM.random(6)),
    (running_product, RANDOM.random(7)),
    (backwards, RANDOM.random(7)),
    (shrinking, RANDOM.random(5)),
]
