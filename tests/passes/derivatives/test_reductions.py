"""The rules of reductions and running accumulations, first and second order, with zeros, ties and nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.passes.derivatives.numerical import check_rules, close, gradient, interpreted_gradient, weighted

RANDOM = np.random.default_rng(3)
PLAIN = RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(2, 3, 2))
ZEROS = np.array([[2.0, 0.0, 3.0, 1.5], [0.0, 0.0, 4.0, 1.2], [1.1, 0.7, -0.4, 2.0]])
COMPLEX = PLAIN + 1j * RANDOM.normal(size=(3, 4))

REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std", "ptp")
RUNNING = ("cumsum", "cumprod")
AXES = (None, 0, 1, -1, (0, 1))


def compare_twice(function: Any, x: Any, digits: int = 7) -> None:
    """The gradient of the weighted gradient, against differences of gradients."""
    loss = weighted(function, x)
    scale = np.random.default_rng(11).normal(size=x.shape)
    slope = jitflow.function(lambda x: np.sum(jitflow.grad(loss)(x) * scale))
    found = interpreted_gradient(lambda x: np.sum(jitflow.grad(loss)(x) * scale), x)
    expected = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        moved = np.array([x, x])
        moved[(0, *place)] += 1e-5
        moved[(1, *place)] -= 1e-5
        expected[place] = (slope(moved[0]) - slope(moved[1])) / 2e-5
    assert close(found, expected, digits), (found, expected)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, axis: Any) -> None:
    check_rules(lambda x: getattr(np, name)(x, axis=axis), PLAIN)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_over_some_of_three_axes(name: str) -> None:
    check_rules(lambda x: getattr(np, name)(x, axis=(0, 2)), CUBE)
    check_rules(lambda x: getattr(np, name)(x, axis=1, keepdims=True), CUBE.astype("f4"), digits=4)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", RUNNING)
def test_running_sums_and_products(name: str, axis: int) -> None:
    for x in (PLAIN, ZEROS, COMPLEX, CUBE):
        check_rules(lambda x: getattr(np, name)(x, axis=axis), x)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_running_extrema(ufunc: Any) -> None:
    for axis in (0, 1):
        check_rules(lambda x, axis=axis: ufunc.accumulate(x, axis=axis), PLAIN)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var"])
def test_complex_numbers(name: str) -> None:
    check_rules(lambda x: getattr(np, name)(x, axis=0), COMPLEX)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_products_of_zeros(axis: Any) -> None:
    check_rules(lambda x: np.prod(x, axis=axis), ZEROS)
    assert np.isfinite(jitflow.grad(lambda x: np.prod(np.array([0.0, 1e-300, 1e300]) * x))(2.0))


@pytest.mark.parametrize("name", ["prod", "cumprod", "var", "max", "sum", "cumsum"])
def test_second_order(name: str) -> None:
    for x in (PLAIN, ZEROS) if name != "max" else (PLAIN,):
        compare_twice(lambda x: getattr(np, name)(x**2 if name in ("max", "sum") else x, axis=1), x)
        compare_twice(lambda x: getattr(np, name)(x * x), x, digits=5)


def test_equal_elements_share() -> None:
    x = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    assert close(jitflow.grad(np.max)(x), [0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert close(jitflow.grad(np.min)(-x), [0, 1 / 3, 1 / 3, 0, 1 / 3])
    assert close(jitflow.grad(np.nanmax)(np.array([np.nan, 2.0, 1.0])), [0, 1, 0])


def test_of_equal_elements_the_last_counts_in_a_running_maximum() -> None:
    x = np.array([1.0, 3.0, 2.0, 3.0, 3.0, 1.0])
    assert close(jitflow.grad(lambda x: np.sum(np.maximum.accumulate(x)))(x), [1, 2, 0, 1, 2, 0])


def test_what_is_masked_stays_out() -> None:
    x = np.array([-1.0, 4.0, 0.0, 2.0])
    found = jitflow.grad(lambda x: np.sum(np.log(x), where=x > 0))(x)
    assert close(found, [0, 0.25, 0, 0.5])
    found = jitflow.grad(lambda x: np.where(x.sum() > 100, np.prod(x) / x[2], np.sum(x)))(x)
    assert close(found, [1, 1, 1, 1])


def test_of_nothing() -> None:
    nothing = np.zeros((0, 3))
    for function in (np.sum, np.prod, lambda x: np.sum(np.cumprod(x, axis=0)), lambda x: np.sum(np.cumsum(x, axis=0))):
        assert jitflow.grad(function)(nothing).shape == (0, 3)


def test_sizes_compile_once() -> None:
    slope = jitflow.grad(lambda x: np.sum(np.cumprod(x) * np.max(x)) + np.prod(x) + np.var(x))
    for size in (2, 5, 9):
        x = np.random.default_rng(size).uniform(0.5, 1.5, size)
        assert close(slope(x), gradient(lambda x: np.sum(np.cumprod(x) * np.max(x)) + np.prod(x) + np.var(x), (x,)))


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -np.log(softmax(logits)[np.arange(labels.shape[0]), labels]).mean()


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gain + bias


def log_sum_exp(x: Any) -> Any:
    largest = x.max(axis=1, keepdims=True)
    return np.log(np.sum(np.exp(x - largest), axis=1, keepdims=True)) + largest


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: np.sum(softmax(x) ** 2),
        lambda x: cross_entropy(x, np.array([1, 0, 3])),
        lambda x: np.sum(layer_norm(x, np.linspace(1, 2, 4), 0.5) ** 3),
        lambda x: np.sum(log_sum_exp(x)),
        lambda x: np.mean(np.maximum(x, 0) ** 2 + np.abs(x)),
        lambda x: np.sum(x / np.sqrt(np.sum(x * x))) ** 2,
        lambda x: np.mean((x - x.mean()) ** 3) / x.std() ** 3,
    ],
)
def test_what_networks_are_made_of(loss: Any) -> None:
    assert close(jitflow.grad(loss)(PLAIN), gradient(loss, (PLAIN,)))
