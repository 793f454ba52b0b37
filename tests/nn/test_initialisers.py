"""First values: their shapes, dtypes and moments, plain and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow import nn
from jitflow.errors import UserTypeError, UserValueError
from jitflow.random import Generator
from tests.compare import REDUCTION, assert_same

DEVIATIONS = {
    "uniform": 0.05 / math.sqrt(3),
    "normal": 0.05,
    "glorot_uniform": math.sqrt(2 / (3 * 400)),
    "glorot_normal": math.sqrt(2 / (3 * 400)),
    "he_uniform": math.sqrt(2 / (3 * 300)),
    "he_normal": math.sqrt(2 / (3 * 300)),
}
SHAPE = (3, 300, 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", DEVIATIONS)
def test_moments(name: str, dtype: Any) -> None:
    drawn = getattr(nn, name)(SHAPE, Generator(3), dtype=dtype)
    assert drawn.shape == SHAPE
    assert drawn.dtype == dtype
    wanted = DEVIATIONS[name]
    assert abs(drawn.mean()) < 0.02 * wanted
    assert abs(drawn.std() / wanted - 1) < 0.02
    if "uniform" in name:
        assert np.abs(drawn).max() <= wanted * math.sqrt(3) * (1 + 1e-6)


@pytest.mark.parametrize("name", [*DEVIATIONS, "orthogonal"])
def test_compiled_is_as_plain(name: str) -> None:
    initialise = getattr(nn, name)
    compiled = jitflow.function(lambda generator: initialise((5, 7), generator))
    assert_same(compiled(Generator(6)), initialise((5, 7), Generator(6)), REDUCTION)


@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (2, 3, 4)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    drawn = nn.orthogonal(shape, Generator(2), gain=2.0, dtype=np.float64)
    assert drawn.shape == shape
    matrix = drawn.reshape(-1, shape[-1])
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 4 * np.eye(min(matrix.shape)), atol=1e-12)


def test_every_orthogonal_matrix_is_as_likely() -> None:
    """The diagonal's mean is 0, which it is not without taking the signs out."""
    diagonals = [np.diagonal(nn.orthogonal((2, 2), generator)).mean() for generator in Generator(9).spawn(600)]
    assert abs(np.mean(diagonals)) < 0.1


def test_constants() -> None:
    assert_same(nn.zeros((2, 3)), np.zeros((2, 3), np.float32))
    assert_same(nn.ones(3, np.float64), np.ones(3))
    assert_same(jitflow.function(lambda: nn.zeros((2, 3)))(), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("name", ["glorot_uniform", "he_normal", "orthogonal"])
def test_weights_have_inputs_and_outputs(name: str) -> None:
    with pytest.raises(UserValueError, match="expected the shape of weights"):
        getattr(nn, name)((4,), Generator(1))
    with pytest.raises(UserTypeError, match="expected a dtype of floats, got int64"):
        getattr(nn, name)((4, 4), Generator(1), dtype=np.int64)
