"""NumPy's functions that call a function of the user's for every line or element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import ELEMENTARY, EXACT, assert_same
from tests.frontend.numpy.both import check_compiled
from tests.frontend.numpy.oracle import sample

MATRIX, CUBE = sample("f8", 3, 5), sample("f4", 2, 3, 4)


def scaled(row: Any) -> Any:
    return (row - row.min()) / (row.max() - row.min())


@pytest.mark.parametrize(
    "function",
    [scaled, np.sum, np.sort, lambda row: row[:2], lambda row: np.outer(row, row), lambda row: row.max() > 0],
)
def test_along_an_axis(function: Any) -> None:
    for array in (MATRIX, CUBE, MATRIX.T, MATRIX[0]):
        check_compiled(
            lambda x: [np.apply_along_axis(function, axis, x) for axis in range(-1, x.ndim)],
            array,
            tolerance=ELEMENTARY,
        )


def test_along_an_axis_with_arguments() -> None:
    check_compiled(lambda x: np.apply_along_axis(np.convolve, 1, x, [1.0, 2.0, 1.0], mode="same"), MATRIX)
    check_compiled(lambda x: np.apply_along_axis(np.sum, 0, x[:, :0]), MATRIX)
    check_compiled(lambda x: np.apply_along_axis(np.sum, 3, x), MATRIX)


@np.vectorize
def distance(x: Any, y: Any) -> Any:
    if x > y:
        return x - y
    return y - x


def both_parts(x: Any) -> Any:
    return x // 1, x > 0


def test_vectorized_functions() -> None:
    whole = (MATRIX * 10).astype(np.int64)
    for program in (
        lambda x: distance(x, 0.5),
        lambda x: distance(x[0], x),
        lambda x: distance(x[0, 0], 2.0),
        lambda x: np.vectorize(both_parts)(x),
        lambda x: np.vectorize(lambda value: value * 2 + 1)(x),
        lambda x: np.vectorize(lambda value: 1 if value > 0 else 2.5, otypes=[np.float32])(x),
        lambda x: np.vectorize(int)(x * 3),
        lambda x: distance(x[:0], 1.0),
        lambda x: np.vectorize(abs, otypes="d")(x[:0]),
    ):
        for array in (MATRIX, CUBE[0], whole):
            check_compiled(program, array)


def test_elements_are_python_numbers() -> None:
    check_compiled(lambda x: np.vectorize(lambda value: 1 / value)(x), np.array([2.0, 0.0]))
    check_compiled(lambda x: np.vectorize(lambda value: value * 100 // 7)(x), np.array([100, 2], np.int8))


def test_one_compilation_for_all_sizes() -> None:
    compiled = jitflow.function(lambda x: np.apply_along_axis(scaled, 1, distance(x, 0.25)))
    for shape in ((3, 4), (5, 2), (7, 9)):
        array = sample("f8", *shape)
        assert_same(compiled(array), np.apply_along_axis(scaled, 1, distance(array, 0.25)), EXACT)
    assert compiled.cache_info().misses == 1


def test_what_is_refused() -> None:
    for program in (
        lambda x: np.vectorize(np.sum, signature="(n)->()")(x),
        lambda x: np.vectorize(distance.pyfunc, excluded=[1])(x, 2.0),
        lambda x: np.vectorize(lambda value: 1 if value > 0 else 2.5)(x),
    ):
        with pytest.raises(UserNotImplementedError, match=r"np\.vectorize"):
            jitflow.function(program)(MATRIX)
