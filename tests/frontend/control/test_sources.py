"""What loops run over: indices of shapes and arrays, and iterators that make arrays, at several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.frontend.numpy.oracle import sample


def over_indices(x: Any) -> Any:
    total = 0
    for i, j in np.ndindex(x.shape):
        total += i * 10 + j
        x[i, j] = total
    for (i,) in np.ndindex(x.shape[0]):
        x[i] += 1
    return total


def over_elements(x: Any) -> Any:
    best, where = np.float64(-1), (-1, -1)
    for place, item in np.ndenumerate(x):
        if item > best:
            best, where = item, place
    return best, where


def known_shape(x: Any) -> Any:
    return [x[0] * (i - j) for i, j in np.ndindex(2, 3)]


@pytest.mark.parametrize("program", [over_indices, over_elements, known_shape])
def test_indices(program: Any):
    compiled = jitflow.function(program)
    for shape in ((3, 4), (5, 2), (2, 5), (1, 1)) + (((0, 3), (3, 0)) if program is not known_shape else ()):
        ours, plain = np.abs(sample("f8", *shape)), np.abs(sample("f8", *shape))
        assert_same(compiled(ours), program(plain))
        assert_same(ours, plain)
    assert compiled.cache_info().misses <= 2


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.fromiter((item * 2 for item in x), float),
        lambda x: np.fromiter((len(x) + place for place in range(3)), "f4", count=2),
        lambda x: np.fromiter((item for item in []), np.int32),
        lambda x: np.vander(x, len(x) - 1) + 0,
    ],
)
def test_iterators(program: Any):
    compiled = jitflow.function(program)
    for size in (3, 4):
        assert_same(compiled(np.arange(float(size))), program(np.arange(float(size))))


def test_an_iterator_that_is_too_short():
    with pytest.raises(ValueError, match="iterator too short"):
        jitflow.function(lambda x: np.fromiter(iter([x[0]]), float, count=3))(np.ones(2))
