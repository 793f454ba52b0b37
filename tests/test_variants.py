"""Programs of the gallery written another way: results and mutated arguments are Python's, at several sizes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import EXACT, ITERATED, Tolerance, assert_all_same, assert_same

VARIANTS: list[tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]], Tolerance]] = []
RANDOM = np.random.default_rng(3)


def variant(arguments: Callable[[int], tuple[Any, ...]], tolerance: Tolerance = EXACT) -> Callable[[Any], Any]:
    """A program with arguments of about some size."""

    def note(function: Any) -> Any:
        VARIANTS.append((function, arguments, tolerance))
        return function

    return note


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@variant(lambda n: (RANDOM.normal(size=(4, 3, n)), RANDOM.normal(size=(n, 3 * n)), RANDOM.normal(size=(n, 3 * n))),
         ITERATED)  # fmt: skip
def gated_unit(x, w, u):
    size = len(u)
    h = np.zeros((x.shape[1], size))
    for step in x:
        ours, theirs = step @ w, h @ u
        update = sigmoid(ours[:, :size] + theirs[:, :size])
        reset = sigmoid(ours[:, size:-size] + theirs[:, size:-size])
        candidate = np.tanh(ours[:, -size:] + reset * theirs[:, -size:])
        h = update * h + (1 - update) * candidate
    return h


@variant(lambda n: (RANDOM.normal(size=(5, n)), RANDOM.normal(size=(n, 4 * n))), ITERATED)
def cell_of_four_parts(x, w):
    h = c = np.zeros(x.shape[1])
    states = []
    for t in range(3):
        i, f, g, o = np.split(x[t] @ w + np.tile(h, 4), 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states), c


@variant(lambda n: (n, n + 3, 20))
def julia_shrinking(width, height, limit):
    x = np.linspace(-1.5, 1.5, width)
    y = np.linspace(-1.2, 1.2, height)
    z = (x[np.newaxis, :] + 1j * y[:, np.newaxis]).ravel()
    counts = np.zeros(z.size, dtype=np.int32)
    alive = np.arange(z.size)
    n = 0
    while n < limit and alive.size:
        z = z * z + (-0.4 + 0.6j)
        inside = z.real * z.real + z.imag * z.imag < 4.0
        counts[alive[~inside]] = n + 1
        alive = alive[inside]
        z = z[inside]
        n += 1
    return counts.reshape(height, width), alive


@variant(lambda n: (RANDOM.integers(0, 50, n),))
def sort_by_selection_of_the_rest(x):
    rest = x.copy()
    out = np.empty_like(x)
    k = 0
    while rest.size > 0:
        least = rest.min()
        count = np.count_nonzero(rest == least)
        out[k : k + count] = least
        k += count
        rest = rest[rest != least]
    return out


@variant(lambda n: (5 * n,))
def odd_sieve(n):
    odd = np.ones(n // 2 + 1, dtype=bool)
    odd[0] = False
    i = 1
    while 2 * i * (i + 1) < odd.size:
        if odd[i]:
            odd[2 * i * (i + 1) :: 2 * i + 1] = False
        i += 1
    return 2 * np.flatnonzero(odd) + 1


@variant(lambda n: (4 * n,))
def number_of_divisors(n):
    divisors = np.zeros(n + 1, np.int64)
    for d in range(1, n + 1):
        divisors[d::d] += 1
    return divisors, divisors[::-3]


@variant(lambda n: (RANDOM.normal(size=16 * n), RANDOM.normal(size=12), 4))
def polyphase(signal, taps, phases):
    out = np.zeros(len(signal) // phases)
    for p in range(phases):
        part = signal[p::phases]
        for k, tap in enumerate(taps[p::phases]):
            out[k:] += tap * part[: len(part) - k]
    return out, out[::-phases]


@variant(lambda n: (RANDOM.normal(size=2**4), n % 3))
def lifting_wavelet(x, levels):
    step = 1
    for _ in range(levels + 2):
        even, odd = x[:: 2 * step], x[step :: 2 * step]
        odd -= even
        even += 0.5 * odd
        step *= 2
    return x * 1


@variant(lambda n: (RANDOM.random((n, n + 2)), RANDOM.random((n, n + 2)), 4))
def jacobi_by_swapping(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        b[0] = b[1]
        b[-1] = b[-2]
        b[:, 0] = b[:, 1]
        b[:, -1] = b[:, -2]
        a, b = b, a
    return a - b


@variant(lambda n: (RANDOM.random(n), RANDOM.random(n), RANDOM.random(n), RANDOM.random(n)))
def tridiagonal(below, middle, above, right):
    n = len(middle)
    for i in range(1, n):
        factor = below[i] / (middle[i - 1] + 2)
        middle[i] -= factor * above[i - 1]
        right[i] -= factor * right[i - 1]
    x = np.empty(n)
    x[-1] = right[-1] / (middle[-1] + 2)
    for i in range(n - 2, -1, -1):
        x[i] = (right[i] - above[i] * x[i + 1]) / (middle[i] + 2)
    return x


@variant(lambda n: (RANDOM.random((n, n)), 0.1, 3))
def rows_then_columns(u, r, steps):
    for _ in range(steps):
        for v in (u, u.T):
            for j in range(1, v.shape[0] - 1):
                v[j, 1:-1] = v[j, 1:-1] + r * (v[j - 1, 1:-1] - v[j, 2:])
            v[0] = v[1]
            v[-1, :] = v[-2, :]
    return u.sum(axis=0)


@pytest.mark.parametrize(("function", "arguments", "tolerance"), VARIANTS,
                         ids=[function.__name__ for function, _, _ in VARIANTS])  # fmt: skip
def test_variants(function, arguments, tolerance):
    compiled = jitflow.function(function)
    for size in (5, 4, 9, 3, 16):
        given = arguments(size)
        ours, theirs = copy.deepcopy(given), copy.deepcopy(given)
        found, expected = compiled(*ours), function(*theirs)
        assert_same(found, expected, tolerance)
        assert_all_same(ours, theirs, tolerance)
    assert compiled.cache_info().misses == 1
