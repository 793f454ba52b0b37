"""Programs that are split over devices by what they say. Each is plain NumPy where jitflow is not asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow

PROGRAMS: list[Callable[..., Any]] = []
"""Each has its arguments in the attribute ``arguments``."""


def program(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a program, with what it is called with."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function.arguments = arguments  # type: ignore[attr-defined]
        PROGRAMS.append(function)
        return function

    return add


def vector(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(count)


@program(vector(1000), 0.5)
def fork_and_join(x, a):
    with jitflow.device("cpu:1"):
        left = np.tanh(x) * a
    with jitflow.device("cpu:2"):
        right = np.exp(-x * x)
    return left.sum() + right, left[::2]


@program(vector(64).reshape(8, 8), vector(64, 1).reshape(8, 8), 5)
def state_on_two_devices(a, b, steps):
    a, b = a.copy(), b.copy()
    for _ in range(steps):
        with jitflow.device("cpu:1"):
            a += b @ a / 8
        with jitflow.device("cpu:2"):
            b -= 0.1 * a.T
    return a, b


@program(np.array([3.0, 1.0, 2.0]), 1e-6)
def a_condition_from_elsewhere(x, tolerance):
    with jitflow.device("cpu:1"):
        y = x.copy()
    turns = 0
    error = 1.0
    while error > tolerance:
        with jitflow.device("cpu:1"):
            y = 0.5 * (y + x / y)
        with jitflow.device("cpu:2"):
            error = np.abs(y * y - x).max()
        turns += 1
    return y, turns, error


@program(vector(50), 0.3)
def branches(x, bound):
    with jitflow.device("cpu:1"):
        mean = x.mean()
        if mean > bound:
            y = x * 2
        else:
            y = x - 1
            with jitflow.device("cpu:2"):
                y = np.cos(y)
    return y, mean


@program(vector(40))
def caller_sees_stores(x):
    with jitflow.device("cpu:1"):
        total = x.sum()
    x[3] = total
    with jitflow.device("cpu:2"):
        y = np.sqrt(np.abs(x))
    x += y
    return y


@program(vector(30), 7)
def sizes_that_only_one_device_finds(x, k):
    with jitflow.device("cpu:1"):
        positive = x[x > 0]
        where = np.nonzero(x > 0.5)[0]
    with jitflow.device("cpu:2"):
        y = positive * 2
    return y, where, y[:k].sum()


@program(vector(20), 3)
def bad_index(x, i):
    x[0] = 7.0
    with jitflow.device("cpu:1"):
        value = x[i]
    x[1] = value
    return x.copy()


@program(vector(20), 30)
def bad_index_on_a_device(x, i):
    x[0] = 7.0
    with jitflow.device("cpu:1"):
        value = x[i]
    x[1] = value
    return x.copy()


@program(vector(12).reshape(3, 4), vector(5, 1))
def operands_that_do_not_meet(x, y):
    with jitflow.device("cpu:1"):
        a = x.sum(axis=0)
    with jitflow.device("cpu:2"):
        b = y * 2
    x[0, 0] = 99.0
    return a + b


@program(vector(100).astype(np.float32), np.arange(100, dtype=np.int16), np.uint8(200), True)
def dtypes(x, k, u, flag):
    with jitflow.device("cpu:1"):
        a = x * k
        b = k + u
    with jitflow.device("cpu:2"):
        c = (x + 1j * k).conj()
        d = x > 0 if flag else x < 0
    return a, b, c, d, u


@program(vector(0), vector(1))
def nothing_and_one(x, y):
    with jitflow.device("cpu:1"):
        return np.concatenate([x, y]), x.sum(), (x + y).shape[0]
