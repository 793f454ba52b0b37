"""`jitflow.nn.mixed`: products of halves, everything else in float32, and a scale of losses that adapts itself."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import jitflow
from jitflow import nn
from jitflow.errors import UserValueError

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}
RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(6, 5)).astype(np.float32)
LABELS = np.array([4, 0, 2, 2, 1, 3])


def weights() -> list[jitflow.Variable]:
    random = np.random.default_rng(1)
    return [jitflow.Variable(random.normal(size=shape).astype(np.float32) / 2) for shape in ((5, 8), (8, 5))]


def training(optimiser: Any, parameters: list[jitflow.Variable]) -> Any:
    first, second = parameters

    def step(x: Any, labels: Any) -> Any:
        return optimiser.minimize(lambda: nn.cross_entropy(nn.relu(x @ first) @ second, labels), [first, second])

    return step


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_and_those_of_their_derivatives_are_of_halves(dtype: str) -> None:
    def rounded(values: Any) -> Any:
        return values.astype(DTYPES[dtype]).astype(np.float32)

    def loss(w: Any, x: Any) -> Any:
        return (np.tanh(x @ w) / 3).sum()

    w = weights()[0][...]
    product = rounded(rounded(X) @ rounded(w))
    value, gradient = nn.mixed(lambda w, x: jitflow.value_and_grad(loss)(w, x), dtype=dtype, scale=1.0)(w, X)
    np.testing.assert_allclose(value, (np.tanh(product) / 3).sum(), rtol=1e-6)
    expected = rounded(rounded(X).T @ rounded((1 - np.tanh(product) ** 2) / 3))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, expected, rtol=2 * float(ml_dtypes.finfo(DTYPES[dtype]).eps))
    assert np.array_equal(gradient, rounded(gradient))


def test_other_dtypes_and_what_is_no_product_stay_as_they_are() -> None:
    step = nn.mixed(lambda x, y: (x @ x.T, y * y, y.sum()))
    wide = X.astype(np.float64)
    product, square, total = step(wide, X)
    np.testing.assert_allclose(product, wide @ wide.T, rtol=1e-13)
    assert np.array_equal(square, X * X)
    np.testing.assert_allclose(total, X.sum(), rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_training_is_as_in_float32(dtype: str) -> None:
    found = []
    for mixing in (jitflow.function, lambda step: nn.mixed(step, dtype=dtype)):
        parameters = weights()
        step = mixing(training(jitflow.optim.Adam(0.01), parameters))
        found.append(([float(step(X, LABELS)) for _ in range(40)], parameters))
    (plain, first), (mixed, second) = found
    np.testing.assert_allclose(mixed, plain, rtol=0.03)
    assert mixed[-1] < 0.6 * mixed[0]
    for one, other in zip(first, second, strict=True):
        assert other.dtype == np.float32
        np.testing.assert_allclose(other[...], one[...], atol=0.05)
        assert not np.array_equal(other[...], other[...].astype(DTYPES[dtype]).astype(np.float32))


def test_small_gradients_vanish_without_a_scale() -> None:
    w, x = weights()[0][...], X

    def gradient(w: Any) -> Any:
        return jitflow.grad(lambda w: ((x @ w) * np.float32(1e-8)).sum())(w)

    exact = gradient(w)
    assert not nn.mixed(gradient, dtype="f16", scale=1.0)(w).any()
    np.testing.assert_allclose(nn.mixed(gradient, dtype="f16")(w), exact, rtol=0.01, atol=1e-9)
    assert nn.mixed(gradient)(w).any(), "bf16 has the range of float32"


def test_the_scale_halves_at_infinite_gradients_and_doubles_after_good_steps() -> None:
    parameters, optimiser = weights(), jitflow.optim.Adam(0.01)
    step = nn.mixed(training(optimiser, parameters), dtype="f16", scale=1024.0, growth_interval=3)
    seen = []
    for turn in range(8):
        before = [variable[...].copy() for variable in parameters], float(optimiser.steps[()])
        step(np.full_like(X, np.inf) if turn == 4 else X, LABELS)
        skipped = turn == 4
        assert float(optimiser.steps[()]) == before[1] + (not skipped)
        for variable, old in zip(parameters, before[0], strict=True):
            assert np.isfinite(variable[...]).all()
            assert np.array_equal(variable[...], old) == skipped
        seen.append((float(step.scale.value[()]), int(step.scale.good_steps[()])))
    assert seen == [(1024, 1), (1024, 2), (2048, 0), (2048, 1), (1024, 0), (1024, 1), (1024, 2), (2048, 0)]
    assert step.function.cache_info().misses == 1


def test_a_scale_that_is_too_large_finds_its_way_down() -> None:
    step = nn.mixed(training(jitflow.optim.SGD(0.1), weights()), dtype="f16", scale=2.0**40)
    losses = [float(step(X, LABELS)) for _ in range(60)]
    assert step.scale.value[()] < 2.0**20
    assert losses[-1] < losses[0]


def test_checkpoints_and_copies_carry_the_scale(tmp_path: Path) -> None:
    step = nn.mixed(training(jitflow.optim.SGD(0.1), weights()), dtype="f16", scale=4.0, growth_interval=1)
    step(X, LABELS)
    jitflow.save(tmp_path / "step.safetensors", {"step": step})
    other = nn.mixed(training(jitflow.optim.SGD(0.1), weights()), dtype="f16", growth_interval=1)
    jitflow.restore(tmp_path / "step.safetensors", {"step": other})
    twin = copy.deepcopy(step)
    twin(X, LABELS)
    assert [float(one.scale.value[()]) for one in (step, other, twin)] == [8.0, 8.0, 16.0]


def test_in_a_compiled_function_and_of_one() -> None:
    step = nn.mixed(jitflow.function(lambda x: x @ x.T, fastmath=True))

    @jitflow.function
    def both(x: Any) -> Any:
        return step(x), x @ x.T

    half, full = both(X)
    assert np.array_equal(half, step(X))
    np.testing.assert_allclose(full, X @ X.T, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(half, full)


def test_what_is_refused() -> None:
    with pytest.raises(UserValueError, match="expected products in 'bf16' or 'f16'"):
        nn.mixed(lambda x: x, dtype="f8")
    with pytest.raises(UserValueError, match="power of two"):
        nn.mixed(lambda x: x, dtype="f16", scale=1000.0)
    with pytest.raises(UserValueError, match="growth_interval=0"):
        nn.mixed(lambda x: x, growth_interval=0)
