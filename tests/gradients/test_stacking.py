"""Products that a reverse loop sums up become one product behind it, where rows are fewer numbers than the sum."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jitflow

RANDOM = np.random.default_rng(5)
X = RANDOM.standard_normal((6, 3, 8)) * 0.5
W = RANDOM.standard_normal((8, 16)) * 0.3
U = RANDOM.standard_normal((16, 16)) * 0.3


def recurrent(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros((x.shape[1], u.shape[0]))
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ w + h @ u)
    return (h * h).sum()


def vectors(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros(u.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(x[t, 0] @ w + h @ u)
    return (h * h).sum()


def twice(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros((x.shape[1], u.shape[0]))
    for t in range(x.shape[0]):
        h = np.tanh((x[t] @ w + h @ u) @ u.T)
    return (h * h).sum()


def nested(x: Any, w: Any, u: Any) -> Any:
    total = 0.0
    for t in range(x.shape[0]):
        h = x[t] @ w
        for _ in range(t):
            h = np.tanh(h @ u)
        total = total + (h * h).sum()
    return total


def until(x: Any, w: Any, u: Any) -> Any:
    h, t = np.zeros((x.shape[1], u.shape[0])), 0
    while t < x.shape[0] - 1:
        h = np.tanh(x[t] @ w + h @ u)
        t += 1
    return (h * h).sum()


def also_touched(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros((x.shape[1], u.shape[0]))
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ w + h @ u + u[t])
    return (h * h).sum()


def in_branches(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros((x.shape[1], u.shape[0]))
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ w + h @ u) if t > 2 else x[t] @ w
    return (h * h).sum()


def of_parts(x: Any, w: Any, u: Any) -> Any:
    h = np.zeros((x.shape[1], 8))
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ w[:, :8] + h @ u[:8, 8:])
    return (h * h).sum()


def numerical(function: Callable[..., Any], arguments: tuple[Any, ...], number: int) -> np.ndarray:
    """The gradient by complex steps, whose error is that of rounding."""
    found = np.zeros(arguments[number].shape)
    for position in np.ndindex(found.shape):
        moved = [array.astype(complex) for array in arguments]
        moved[number][position] += 1e-20j
        found[position] = _complex(function)(*moved).imag / 1e-20
    return found


def _complex(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with zeros that may become complex."""
    numpy = SimpleNamespace(zeros=lambda shape: np.zeros(shape, complex), tanh=np.tanh)
    return FunctionType(function.__code__, {**function.__globals__, "np": numpy})


PROGRAMS = (recurrent, vectors, twice, nested, until, also_touched, in_branches, of_parts)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_gradients_are_right(function: Callable[..., Any]) -> None:
    found = jitflow.grad(function, argnums=(0, 1, 2))(X, W, U)
    for number, gradient in enumerate(found):
        np.testing.assert_allclose(gradient, numerical(function, (X, W, U), number), 1e-9, 1e-11)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_any_number_of_turns(turns: int) -> None:
    gradient = jitflow.grad(recurrent, argnums=(1, 2))
    gradient(X, W, U)
    for number, found in zip((1, 2), gradient(X[:turns], W, U), strict=True):
        np.testing.assert_allclose(found, numerical(recurrent, (X[:turns], W, U), number), 1e-9, 1e-11)


def products(function: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
    """How many products of the gradient stand behind the loops, and how many in them."""
    text = jitflow.grad(function, argnums=(1, 2)).ir(*arguments, stage="optimized")
    lines = [line for line in text.splitlines() if "= matmul" in line]
    outside = sum(line.startswith("  %") for line in lines)
    return outside, len(lines) - outside


def test_products_stand_behind_the_loop() -> None:
    assert products(recurrent, X, W, U) == (2, 3)  # in the loops: two of the forward sweep, and the way back to h
    assert products(also_touched, X, W, U) == (1, 4)


def test_many_rows_are_multiplied_at_once_anyway() -> None:
    many = np.zeros((6, 300, 8))
    assert products(recurrent, many, W, U) == (0, 5)
