"""Bools as axes, sizes and offsets: Python's are integers to some of NumPy's functions and not to others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow import function
from tests.compare import assert_same
from tests.frontend.numpy.oracle import outcome

X = np.array([[[3.0, 1.0], [0.0, 5.0]], [[1.0, 1.0], [2.0, 0.0]]])

PROGRAMS = [
    lambda x, k: np.argsort(x, axis=k),
    lambda x, k: x.argsort(k),
    lambda x, k: np.sort(x, axis=k),
    lambda x, k: np.argpartition(x, 1, axis=k),
    lambda x, k: np.partition(x, 1, axis=k),
    lambda x, k: x.transpose(k, 0, 2),
    lambda x, k: np.moveaxis(x, k, 0),
    lambda x, k: np.cumsum(x, axis=k),
    lambda x, k: np.add.accumulate(x, axis=k),
    lambda x, k: np.add.accumulate(x, axis=[k]),
    lambda x, k: np.add.reduceat(x, [0, 1], axis=k),
    lambda x, k: np.apply_over_axes(np.sum, x, k),
    lambda x, k: np.packbits(x > 1, axis=k),
    lambda x, k: np.vecdot(x, x, axis=k),
    lambda x, k: np.tensordot(x, x, axes=([k], [k])),
    lambda x, k: np.flip(x, k),
    lambda x, k: np.diff(x, axis=k),
    lambda x, k: np.average(x, axis=k),
    lambda x, k: np.concatenate((x, x), axis=k),
    lambda x, k: np.eye(3, 3, k),
    lambda x, k: np.tri(3, 3, k),
]
SIZES = [
    lambda x, k: np.zeros((k, 2)),
    lambda x, k: np.ones(k),
    lambda x, k: np.reshape(x, (k, 8)),
    lambda x, k: np.broadcast_to(x[0, 0], (k, 2)),
    lambda x, k: np.resize(x, k),
    lambda x, k: np.tile(x, k),
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("bool_", [True, np.True_])
def test_bools_as_axes_and_offsets(program: Any, bool_: Any) -> None:
    for compiled, arguments in ((function(program), (X, bool_)), (function(lambda x: program(x, bool_)), (X,))):
        expected, found = outcome(lambda: program(X, bool_)), outcome(lambda c=compiled, a=arguments: c(*a))
        if isinstance(expected, Exception):
            assert isinstance(found, TypeError)
        else:
            assert_same(found, expected)


@pytest.mark.parametrize("program", SIZES)
def test_bools_as_sizes(program: Any) -> None:
    expected, found = outcome(lambda: program(X, True)), outcome(lambda: function(lambda x: program(x, True))(X))
    assert isinstance(found, TypeError) if isinstance(expected, Exception) else not assert_same(found, expected)


def test_an_array_of_no_elements_that_is_spread() -> None:
    assert_same(function(lambda x: np.tile(x, 0))(X), np.tile(X, 0))
