"""The sampled softmax: its formula, its samples, what it tends to, and that it touches the rows it needs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import nn
from jitflow.errors import UserTypeError, UserValueError
from jitflow.nn import sampling

CLASSES, FEATURES, SAMPLES = 60, 5, 17
RNG = np.random.default_rng(0)
X, LABELS = RNG.standard_normal((11, FEATURES)), RNG.integers(0, CLASSES, 11)
WEIGHTS, BIAS = RNG.standard_normal((CLASSES, FEATURES)), RNG.standard_normal(CLASSES)


def dense(inputs: Any, weights: Any, bias: Any, labels: Any, sampled: Any, tries: int, replace: bool) -> Any:
    """The formula with all logits: those of the label and of the samples, less the logarithms of expected counts."""
    classes = np.arange(len(bias))
    chance = (np.log(classes + 2) - np.log(classes + 1)) / np.log(len(bias) + 1)
    expected = chance * tries if replace else 1 - (1 - chance) ** tries
    logits = inputs @ weights.T + bias - np.log(expected)
    losses = []
    for row, label in zip(logits, labels, strict=True):
        chosen = np.concatenate(([label], sampled[sampled != label]))
        losses.append(np.log(np.exp(row[chosen]).sum()) - row[label])
    return np.mean(losses)


@pytest.mark.parametrize("replace", [False, True])
def test_values_and_gradients_are_those_of_the_dense_formula(replace: bool) -> None:
    sampled, tries = sampling._drawn(CLASSES, SAMPLES, jitflow.random.Generator(3), replace)
    expected = dense(X, WEIGHTS, BIAS, LABELS, sampled, tries, replace)

    def loss(x: Any, weights: Any, bias: Any) -> Any:
        return nn.sampled_softmax(x, weights, bias, LABELS, SAMPLES, jitflow.random.Generator(3), replace=replace)

    np.testing.assert_allclose(loss(X, WEIGHTS, BIAS), expected, rtol=1e-12)
    value, gradients = jitflow.value_and_grad(loss, argnums=(0, 1, 2))(X, WEIGHTS, BIAS)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    parts = [X, WEIGHTS, BIAS]
    for place, gradient in enumerate(gradients):
        for at in [(0,), (1,), (int(LABELS[0]) % len(parts[place]),), (int(sampled[0]) % len(parts[place]),)]:
            at = (*at, 1) if parts[place].ndim > 1 else at
            moved = []
            for change in (1e-6, -1e-6):
                given = [part.copy() for part in parts]
                given[place][at] += change
                moved.append(dense(*given, LABELS, sampled, tries, replace))
            np.testing.assert_allclose(gradient[at], (moved[0] - moved[1]) / 2e-6, rtol=1e-5, atol=1e-8)


def test_more_axes_and_hits_that_stay() -> None:
    def loss(x: Any, labels: Any) -> Any:
        return nn.sampled_softmax(x, WEIGHTS, BIAS, labels, SAMPLES, jitflow.random.Generator(3))

    several = loss(X[:10].reshape(2, 5, FEATURES), LABELS[:10].reshape(2, 5))
    assert several == loss(X[:10], LABELS[:10])
    kept = nn.sampled_softmax(X, WEIGHTS, BIAS, np.zeros(11, int), 60, jitflow.random.Generator(3), remove_hits=False)
    assert kept > nn.sampled_softmax(X, WEIGHTS, BIAS, np.zeros(11, int), 60, jitflow.random.Generator(3))


@pytest.mark.parametrize("replace", [False, True])
def test_samples_have_the_bits_of_plain_python_and_a_step_repeats(replace: bool) -> None:
    draw = jitflow.function(lambda generator: sampling._drawn(1000, 400, generator, replace))
    plain, compiled = jitflow.random.Generator(5), jitflow.random.Generator(5)
    for _ in range(3):
        expected, tries = sampling._drawn(1000, 400, plain, replace)
        found, counted = draw(compiled)
        np.testing.assert_array_equal(found, expected)
        assert counted == tries
        assert replace or len(set(expected)) == 400
    np.testing.assert_array_equal(plain.state, compiled.state)


def test_samples_are_log_uniform() -> None:
    draw = jitflow.function(lambda generator: sampling._drawn(CLASSES, SAMPLES, generator, False))
    drawn, _ = sampling._drawn(CLASSES, 200_000, jitflow.random.Generator(1), True)
    classes = np.arange(CLASSES)
    chance = np.log((classes + 2) / (classes + 1)) / np.log(CLASSES + 1)
    np.testing.assert_allclose(np.bincount(drawn, minlength=CLASSES) / 200_000, chance, atol=0.005)
    generator = jitflow.random.Generator(2)
    seen, expected = np.zeros(CLASSES), np.zeros(CLASSES)
    for _ in range(2000):
        drawn, tries = draw(generator)
        seen[drawn] += 1
        expected += np.exp(sampling._log_expected(classes, CLASSES, SAMPLES, tries, False))
    np.testing.assert_allclose(seen / 2000, expected / 2000, atol=0.03)


def test_all_classes_without_replacement_are_the_full_softmax() -> None:
    """Nearly: how many draws it takes to see all of them varies, and so do the expected counts, which are near 1."""
    generator, full = jitflow.random.Generator(4), nn.cross_entropy(X @ WEIGHTS.T + BIAS, LABELS)
    loss = jitflow.function(lambda: nn.sampled_softmax(X, WEIGHTS, BIAS, LABELS, CLASSES, generator))
    losses = [loss() for _ in range(200)]
    np.testing.assert_allclose(np.mean(losses), full, rtol=0.02)


@pytest.mark.parametrize("replace", [False, True])
def test_the_least_loss_is_where_the_full_softmax_has_it(replace: bool) -> None:
    """The mean of the gradients is nothing where logits are the logarithms of the labels' own frequencies."""
    generator, frequencies = jitflow.random.Generator(6), RNG.dirichlet(np.full(20, 3.0))
    inputs, weights = np.zeros((400, 1)), np.zeros((20, 1))

    @jitflow.function
    def gradient(bias: Any, labels: Any) -> Any:
        return jitflow.grad(lambda b: nn.sampled_softmax(inputs, weights, b, labels, 8, generator, replace))(bias)

    def mean(bias: Any) -> Any:
        labels = [generator.choice(20, 400, p=frequencies) for _ in range(500)]
        return np.mean([gradient(bias, each) for each in labels], axis=0)

    assert np.abs(mean(np.log(frequencies))).max() < 0.015
    assert np.abs(mean(np.zeros(20))).max() > 0.03


def test_a_step_touches_the_rows_of_labels_and_samples() -> None:
    weights, bias = jitflow.Variable(np.ones((5000, 3), np.float32)), jitflow.Variable(np.zeros(5000, np.float32))
    generator, optimiser = jitflow.random.Generator(7), jitflow.optim.Adagrad(0.1)
    x, labels = RNG.standard_normal((4, 3)).astype(np.float32), np.array([4999, 1, 4000, 1])

    @jitflow.function
    def step(x: Any, labels: Any) -> Any:
        loss = lambda: nn.sampled_softmax(x, weights, bias, labels, 10, generator)  # noqa: E731
        return optimiser.minimize(loss, [weights, bias])

    assert step(x, labels).dtype == np.float32
    sampled, _ = sampling._drawn(5000, 10, jitflow.random.Generator(7), False)
    assert {*np.flatnonzero(bias.numpy())} == {*sampled, *labels}
    text = step.ir(x, labels, stage="optimized")
    size = re.search(r"%weights: var f32\[(\w+), (\w+)\]", text)
    assert size is not None
    rows, columns = size.groups()
    assert not re.search(rf": f32\[{rows}(, {columns})?\] = (?!load)", text)  # nothing is computed for every class
    moved = np.flatnonzero((weights.numpy() != 1).any(1))
    assert {*moved} == {*sampled, *labels}


def test_what_does_not_fit_is_refused() -> None:
    generator = jitflow.random.Generator(1)
    with pytest.raises(UserValueError, match="a label is none of the classes"):
        nn.sampled_softmax(X, WEIGHTS, BIAS, LABELS + CLASSES, SAMPLES, generator)
    with pytest.raises(UserTypeError, match="labels that are integers"):
        nn.sampled_softmax(X, WEIGHTS, BIAS, LABELS.astype(float), SAMPLES, generator)
    with pytest.raises(UserValueError, match="no more samples than classes"):
        nn.sampled_softmax(X, WEIGHTS, BIAS, LABELS, CLASSES + 1, generator)
    with pytest.raises(UserValueError, match="do not fit"):
        nn.sampled_softmax(X, WEIGHTS, WEIGHTS, LABELS, SAMPLES, generator)
    with pytest.raises(UserValueError, match="one number for each class"):
        nn.sampled_softmax(X, WEIGHTS, BIAS[1:], LABELS, SAMPLES, generator)
    with pytest.raises(UserValueError, match="do not fit its inputs"):
        nn.sampled_softmax(X[1:], WEIGHTS, BIAS, LABELS, SAMPLES, generator)
