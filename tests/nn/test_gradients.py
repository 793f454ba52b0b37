"""Derivatives of `jitflow.nn`, beside what they are in closed form, and where a rule of thumb would give nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import nn
from jitflow.random import Generator

RANDOM = np.random.default_rng(6)
X = RANDOM.normal(size=(4, 3))
WEIGHTS = RANDOM.normal(size=(4, 3))
LABELS = np.array([2, 0, 1, 1])
ROWS = RANDOM.dirichlet(np.ones(3), size=4)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: (WEIGHTS * nn.relu(x)).sum(),
    "sigmoid": lambda x: (WEIGHTS * nn.sigmoid(x)).sum(),
    "silu": lambda x: (WEIGHTS * nn.silu(x)).sum(),
    "gelu": lambda x: (WEIGHTS * nn.gelu(x)).sum(),
    "gelu with tanh": lambda x: (WEIGHTS * nn.gelu(x, approximate=True)).sum(),
    "softmax": lambda x: (WEIGHTS * nn.softmax(x)).sum(),
    "log_softmax": lambda x: (WEIGHTS * nn.log_softmax(x, axis=0)).sum(),
    "layer_norm": lambda x: (WEIGHTS * nn.layer_norm(x)).sum(),
    "cross_entropy": lambda x: nn.cross_entropy(x, LABELS),
    "cross_entropy of rows": lambda x: nn.cross_entropy(x, ROWS),
    "embedding": lambda x: (WEIGHTS * nn.embedding(x, LABELS)).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_differences(name: str) -> None:
    function, step = FUNCTIONS[name], 1e-5
    expected = np.zeros_like(X)
    for index in np.ndindex(X.shape):
        ends = []
        for side in (step, -step):
            moved = X.copy()
            moved[index] += side
            ends.append(function(moved))
        expected[index] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(jitflow.grad(function)(X), expected, rtol=1e-7, atol=1e-9)


def test_cross_entropy() -> None:
    expected = (nn.softmax(X) - nn.one_hot(LABELS, 3, np.float64)) / 4
    np.testing.assert_allclose(jitflow.grad(lambda x: nn.cross_entropy(x, LABELS))(X), expected, rtol=1e-13)
    far = jitflow.grad(lambda x: nn.cross_entropy(x, LABELS))(X + 1e5)
    np.testing.assert_allclose(far, expected, rtol=1e-8)


def test_rows_with_equal_maxima() -> None:
    x = np.zeros((2, 3))
    gradient = jitflow.grad(lambda x: nn.cross_entropy(x, np.array([0, 1])))(x)
    np.testing.assert_allclose(gradient, (1 / 3 - np.eye(3)[:2]) / 2, rtol=1e-14)


def test_ends() -> None:
    x = np.array([-1000.0, -0.0, 0.0, 1000.0])
    np.testing.assert_array_equal(jitflow.grad(lambda x: nn.relu(x).sum())(x), [0, 0, 0, 1])
    np.testing.assert_allclose(jitflow.grad(lambda x: nn.sigmoid(x).sum())(x), [0, 0.25, 0.25, 0], atol=1e-300)
    np.testing.assert_allclose(jitflow.grad(lambda x: nn.silu(x).sum())(x), [0, 0.5, 0.5, 1], atol=1e-300)
    np.testing.assert_allclose(jitflow.grad(lambda x: nn.gelu(x).sum())(x), [0, 0.5, 0.5, 1], atol=1e-300)


def test_dropout_gives_gradients_to_what_was_kept() -> None:
    generator = Generator(1)
    value_and_grad = jitflow.value_and_grad(lambda x: nn.dropout(x, 0.5, generator).sum())
    value, gradient = value_and_grad(np.ones((8, 8)))
    assert set(gradient.ravel()) == {0.0, 2.0}
    assert value == gradient.sum()
