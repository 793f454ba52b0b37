"""`jitflow.nn`: plain and compiled are one, values are those of the definition in higher precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import jitflow
from jitflow import nn
from jitflow.errors import UserTypeError, UserValueError
from jitflow.random import Generator
from tests.compare import REDUCTION, assert_same

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(6, 5)) * 4
ROWS = RANDOM.dirichlet(np.ones(5), size=6)
LABELS = np.array([4, 0, 2, 2, 1, 3])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: nn.relu(x),
    "sigmoid": lambda x: nn.sigmoid(x),
    "silu": lambda x: nn.silu(x),
    "gelu": lambda x: nn.gelu(x),
    "gelu with tanh": lambda x: nn.gelu(x, approximate=True),
    "softmax": lambda x: nn.softmax(x),
    "softmax of columns": lambda x: nn.softmax(x, axis=0),
    "softmax of all": lambda x: nn.softmax(x, axis=None),
    "log_softmax": lambda x: nn.log_softmax(x),
    "layer_norm": lambda x: nn.layer_norm(x),
    "layer_norm with parameters": lambda x: nn.layer_norm(x, x[0], x[1], epsilon=1e-3),
    "layer_norm of two axes": lambda x: nn.layer_norm(x, axis=(0, 1)),
    "cross_entropy": lambda x: nn.cross_entropy(x, LABELS),
    "cross_entropy of rows": lambda x: nn.cross_entropy(x, ROWS.astype(x.dtype)),
    "cross_entropy of three axes": lambda x: nn.cross_entropy(x.reshape(2, 3, 5), LABELS.reshape(2, 3)),
    "embedding": lambda x: nn.embedding(x, np.array([[0, 5], [3, -1]])),
    "one_hot": lambda x: nn.one_hot(LABELS, x.shape[1] + 1, x.dtype),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_is_as_plain(name: str, dtype: Any) -> None:
    function, x = FUNCTIONS[name], X.astype(dtype)
    expected = function(x)
    assert expected.dtype == dtype
    assert_same(jitflow.function(function)(x), expected, REDUCTION)


def truth(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    with mpmath.workdps(60):
        return np.array([float(function(mpmath.mpf(float(value)))) for value in x])


@pytest.mark.parametrize(
    ("function", "definition", "tolerance"),
    [
        (nn.relu, lambda x: max(x, 0), 0),
        (nn.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), 2e-15),
        (nn.silu, lambda x: x / (1 + mpmath.exp(-x)), 2e-15),
        (nn.gelu, lambda x: x * mpmath.ncdf(x), 2e-13),  # as far as an exponent of x * x is known
    ],
)
def test_activations_are_accurate_in_both_tails(function: Any, definition: Any, tolerance: float) -> None:
    x = np.concatenate([np.linspace(-30, 30, 301), [-700.0, 700.0, 1e300, 0.0]])
    np.testing.assert_allclose(function(x), truth(definition, x), rtol=tolerance, atol=0)


def test_relu_keeps_nan_and_numbers() -> None:
    np.testing.assert_array_equal(nn.relu(np.array([np.nan, -np.inf, np.inf])), [np.nan, 0, np.inf])
    assert nn.relu(-2.0) == 0
    assert nn.relu(np.float32(3)).dtype == np.float32


@pytest.mark.parametrize("function", [nn.softmax, nn.log_softmax])
def test_rows_far_from_zero_are_as_near_ones(function: Any) -> None:
    for shift in (1e4, -1e4):
        np.testing.assert_allclose(function(np.round(X, 3) + shift), function(np.round(X, 3)), rtol=1e-9)


def test_log_softmax_where_softmax_is_zero() -> None:
    np.testing.assert_array_equal(nn.log_softmax(np.array([0.0, -2000.0])), [0.0, -2000.0])


def test_cross_entropy_of_labels_is_that_of_their_rows() -> None:
    rows = nn.one_hot(LABELS, 5, np.float64)
    np.testing.assert_allclose(nn.cross_entropy(X, LABELS), nn.cross_entropy(X, rows), rtol=1e-15)
    powers = np.exp(X)
    expected = -np.log((powers / powers.sum(1, keepdims=True))[np.arange(6), LABELS]).mean()
    np.testing.assert_allclose(nn.cross_entropy(X, LABELS), expected, rtol=1e-14)


def test_a_class_without_probability_adds_nothing() -> None:
    logits, rows = np.array([[0.0, -np.inf]]), np.array([[1.0, 0.0]])
    for function in (nn.cross_entropy, jitflow.function(lambda x, y: nn.cross_entropy(x, y))):
        assert function(logits, rows) == 0
        assert function(logits, np.array([0])) == 0
        assert function(logits, np.array([1])) == np.inf


@pytest.mark.parametrize("labels", [LABELS - 1, LABELS + 1, LABELS.astype(np.uint8) + 200])
def test_a_label_that_is_no_class_is_an_error(labels: Any) -> None:
    for function in (nn.cross_entropy, jitflow.function(lambda x, y: nn.cross_entropy(x, y))):
        with pytest.raises(UserValueError, match="a label is none of the classes"):
            function(X, labels)


@pytest.mark.parametrize("labels", [LABELS[:1], LABELS[:4], LABELS[:, None], ROWS[0], ROWS[:, :1]])
def test_labels_of_another_shape_are_an_error(labels: Any) -> None:
    for function in (nn.cross_entropy, jitflow.function(lambda x, y: nn.cross_entropy(x, y))):
        with pytest.raises(UserValueError, match="the labels of a cross entropy do not fit"):
            function(X, labels)


def test_labels_of_another_kind_are_an_error() -> None:
    with pytest.raises(UserTypeError, match="expected labels that are integers or floats, got bool"):
        nn.cross_entropy(X, LABELS > 2)


def test_cross_entropy_is_three_kernels() -> None:
    program = jitflow.function(lambda x, y: nn.cross_entropy(x, y))
    assert program.ir(X, LABELS, stage="fused").count(" = fusion ") == 3  # the labels' check, rows, their mean


def test_layer_norm_is_one_kernel() -> None:
    program = jitflow.function(lambda x, w, b: nn.layer_norm(x, w, b))
    assert program.ir(X, X[0], X[1], stage="fused").count(" = fusion ") == 1


def test_one_hot_of_no_class_is_zeros() -> None:
    np.testing.assert_array_equal(nn.one_hot(np.array([-1, 1, 2]), 2), [[0, 0], [0, 1], [0, 0]])


def test_embedding_refuses_what_is_out_of_bounds() -> None:
    with pytest.raises(IndexError):
        jitflow.function(lambda table, rows: nn.embedding(table, rows))(X, np.array([6]))
    with pytest.raises(UserValueError, match="expected a table of two axes"):
        nn.embedding(X[0], LABELS)


# -- dropout ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dropout_drops_a_share_and_keeps_the_mean(dtype: Any) -> None:
    x = np.ones((200, 500), dtype)
    dropped = nn.dropout(x, 0.3, Generator(4))
    assert dropped.dtype == dtype
    np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.7], rtol=1e-6)
    assert abs((dropped == 0).mean() - 0.3) < 0.005


def test_compiled_dropout_draws_what_plain_dropout_draws() -> None:
    plain, compiled = Generator(8), Generator(8)
    program = jitflow.function(lambda x: nn.dropout(x, 0.4, compiled))
    x = X.astype(np.float32)
    for _ in range(3):
        assert_same(program(x), nn.dropout(x, 0.4, plain))


def test_dropout_outside_of_training() -> None:
    generator = Generator(1)
    assert nn.dropout(X, 0.5, generator, training=False) is X
    program = jitflow.function(lambda x, training: nn.dropout(x, 0.5, generator, training))
    np.testing.assert_array_equal(program(X, False), X)
    assert (program(X, True) == 0).any()
    assert program.cache_info().misses == 1


@pytest.mark.parametrize("rate", [-0.1, 1.0, math.nan])
def test_rates_of_dropout_out_of_range(rate: float) -> None:
    for function in (nn.dropout, jitflow.function(lambda x, rate, rng: nn.dropout(x, rate, rng))):
        with pytest.raises(UserValueError, match="expected a rate of dropout"):
            function(X, rate, Generator(1))
