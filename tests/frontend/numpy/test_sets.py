"""Arrays as sets against NumPy, and what can be done with sizes that data decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_both, check_compiled
from tests.frontend.numpy.oracle import KINDS, check, check_sizes, sample

NUMBERS = np.array([3, 1, 2, 3, 3, 1, 7])
FLOATS = np.array([np.nan, 1.0, -0.0, 0.0, np.nan, 1.0])


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes(kind: str):
    for shape in ((9,), (3, 4), (0,), (1,)):
        check(lambda x: np.unique(x), sample(kind, *shape))
        check(lambda x: np.unique(x, True, True, True), sample(kind, *shape))


def _inverse(axis: int | None) -> Any:
    return lambda x: np.unique(x, return_inverse=True, axis=axis)


def _of_two(function: Any) -> Any:
    return lambda x, y: function(x, y)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *[f(_inverse(axis), sample("i4", 4, 3) % 2)
          for axis in (None, 0, 1, -1, 2)],
        f(lambda x: np.unique(x, return_counts=True), NUMBERS),
        f(lambda x: np.unique(x, equal_nan=False), FLOATS),
        f(lambda x: np.unique(x), FLOATS),
        f(lambda x: np.unique(x), 3),
        f(lambda x: np.unique_all(x), NUMBERS.reshape(7, 1)),
        f(lambda x: np.unique_counts(x), NUMBERS),
        f(lambda x: np.unique_inverse(x), NUMBERS),
        f(lambda x: np.sort(np.unique_values(x)), NUMBERS),
        f(lambda x, y: np.isin(x, y), NUMBERS.reshape(7, 1), [1, 2]),
        f(lambda x, y: np.isin(x, [1.0, 2.0], invert=True), NUMBERS, FLOATS),
        f(lambda x, y: np.isin(x, y, kind="sort"), NUMBERS, NUMBERS[:2]),
        *[f(_of_two(g), NUMBERS, np.array([[7, 8], [1, 1]]))
          for g in (np.intersect1d, np.union1d, np.setdiff1d, np.setxor1d)],
        f(lambda x, y: np.intersect1d(x, y, return_indices=True), NUMBERS, np.array([7, 3])),
        f(lambda x, y: np.setdiff1d(x, y, assume_unique=True), NUMBERS, np.array([7, 3.5])),
    ],
)  # fmt: skip
def test_sets(program: Any, arguments: tuple[Any, ...]):
    arguments = tuple(np.asarray(item) if isinstance(item, list) else item for item in arguments)
    check_both(program, *arguments)


def test_use_of_results():
    check_both(lambda x: np.unique(x).shape[0], NUMBERS)
    check_both(lambda x: np.unique(x).size + 1, NUMBERS)
    check_both(lambda x: np.unique(x).sum(), NUMBERS)
    check_both(lambda x: np.unique(x) * 2 + 1, NUMBERS)
    check_both(lambda x: np.unique(x)[1:] - np.unique(x)[:-1], NUMBERS)
    check_both(lambda x: np.unique(x)[-1], NUMBERS)
    check_both(lambda x: np.unique(x)[::-1].astype(float), NUMBERS)
    check_compiled(lambda x: np.arange(np.unique(x).shape[0]), NUMBERS)
    check_both(lambda x: x[np.unique(x, return_index=True)[1]], NUMBERS)
    check_both(lambda x: np.concatenate([np.unique(x), x]), NUMBERS)
    check_both(lambda x: np.unique(x)[:, None] == x, NUMBERS)
    check_both(lambda x: np.max(np.unique(x)), NUMBERS[:0])
    check_both(lambda x: np.unique(x).mean(), NUMBERS)
    check_compiled(lambda x: np.zeros(np.unique(x).shape), NUMBERS)

    def weighted(x: Any) -> Any:
        values, counts = np.unique(x, return_counts=True)
        return (values * counts).sum() / counts.sum(), values[np.argmax(counts)]

    check_both(weighted, NUMBERS)


def test_many_sizes():
    check_sizes(lambda x: np.unique(x)[1:], lambda n: (np.arange(n) % 3,), (7, 0, 1, 2, 4))
