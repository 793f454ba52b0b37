"""What is added to a place whose cotangent was taken out is stored there, if nothing else looks at it in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_parts import numerical

X = np.random.default_rng(2).standard_normal(9) * 0.5


def heat(x: Any) -> Any:
    for _ in range(len(x) - 5):
        x[1:-1] += 0.2 * (x[2:] - 2 * x[1:-1] + x[:-2])
    return (x**2).sum()


def squared_neighbours(x: Any) -> Any:
    for _ in range(len(x) - 6):
        x[2:] += 0.3 * x[:-2] ** 2
    return (x**3).sum()


def two_fields(x: Any) -> Any:
    e, h = x.copy(), np.zeros_like(x)
    for _ in range(len(x) - 4):
        h[:-1] -= 0.5 * (e[1:] - e[:-1])
        e[1:] -= 0.5 * (h[1:] - h[:-1])
    return (e**2).sum() + h[2] * h[5]


def over_a_part(x: Any) -> Any:
    for _ in range(len(x) - 6):
        x[2:6] = x[2:6] * x[1:5] + x[3:7]
        x[4:8] = np.sin(x[4:8])
    return (x**2).sum()


def replaced_by_others(x: Any) -> Any:
    for _ in range(len(x) - 6):
        x[1:-1] = 0.5 * (x[2:] + x[:-2])
    return (x**2).sum()


def through_two_names(x: Any) -> Any:
    inner, left = x[1:-1], x[:-2]
    for _ in range(len(x) - 6):
        inner += 0.3 * left**2
        left *= 0.9
    return (x**2).sum()


def elements(x: Any) -> Any:
    for i in range(1, len(x) - 1):
        x[i] += 0.5 * x[i - 1] * x[i + 1]
        x[0] = x[0] + x[i] ** 2
    return x[0] * x[3] + x[-2]


def swapped(x: Any) -> Any:
    u, v = x.copy(), np.zeros_like(x)
    for _ in range(len(x) - 5):
        u[1:-1] += 0.1 * (u[2:] - u[:-2])
        v[1:-1] += u[1:-1] ** 2
        u, v = v, u
    return (u * np.arange(9.0)).sum() + (v**2).sum()


def read_in_between(x: Any) -> Any:
    total = 0.0
    for k in range(len(x) - 6):
        x[1:-1] += 0.2 * x[2:]
        total += x[k : k + 3].sum() ** 2
    return total + (x**2).sum()


def branches(x: Any) -> Any:
    for k in range(len(x) - 5):
        if k % 2 == 0:
            x[1:] += 0.3 * x[:-1] ** 2
        else:
            x[:-1] += 0.3 * x[1:]
    return (x**2).sum()


@pytest.mark.parametrize(
    "function",
    [heat, squared_neighbours, two_fields, over_a_part, replaced_by_others, through_two_names, elements, swapped,
     read_in_between, branches],
)  # fmt: skip
def test_gradients(function: Callable[[Any], Any]) -> None:
    expected = numerical(function, X)
    np.testing.assert_allclose(jitflow.grad(function)(X), expected, rtol=2e-6, atol=1e-8)
    moved, direction = jitflow.grad(function), np.linspace(-1.0, 1.0, 9)
    (found,) = jitflow.hvp(function, (X,), (direction,))
    step = 1e-5 * direction
    np.testing.assert_allclose(found, (moved(X + step) - moved(X - step)) / 2e-5, rtol=1e-5, atol=1e-5)


def reverse_loop(function: Callable[[Any], Any]) -> str:
    text = jitflow.grad(function).ir(X, stage="gradient")
    return text[text.rindex("  for ") :] if "  for " in text else text[text.rindex(" = for ") :]


def test_nothing_is_filled_with_zeros() -> None:
    assert reverse_loop(heat).count("store ") == 3
    assert reverse_loop(two_fields).count("store ") == 4  # where a place gets back what it had, nothing is stored
    assert reverse_loop(replaced_by_others).count("store ") == 3
