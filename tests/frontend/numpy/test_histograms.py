"""Histograms against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import check, check_sizes, sample

LINE, WEIGHTS = sample("f8", 20), np.abs(sample("f4", 20, seed=2))
EDGES = np.array([-4.0, -1.0, 0.0, 2.0, 6.0])


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.histogram(x), LINE),
        f(lambda x: np.histogram(x, 5), LINE.reshape(4, 5)[:, ::-1]),
        f(lambda x: np.histogram(x, bins=4, range=(-1, 2)), LINE),
        f(lambda x, a, b: np.histogram(x, bins=4, range=(a, b)), LINE, -1.0, 2.0),
        f(lambda x: np.histogram(x, bins=4, range=(x.min(), x.max())), LINE.astype("f4")),
        f(lambda x: np.histogram(x, 4, (3, 1)), LINE),
        f(lambda x, w: np.histogram(x, 4, weights=w), LINE, WEIGHTS),
        f(lambda x, w: np.histogram(x, 4, density=True, weights=w), LINE, WEIGHTS),
        f(lambda x, e: np.histogram(x, e), LINE, EDGES),
        f(lambda x, e: np.histogram(x, e), LINE, EDGES[::-1]),
        f(lambda x: np.histogram(x, [0, 1, 2]), LINE),
        f(lambda x: np.histogram(x, bins="auto"), LINE),
        f(lambda x: np.histogram(x, bins="odd"), LINE),
        f(lambda x: np.histogram(x, 0), LINE),
        f(lambda x: np.histogram(x, 3), LINE[:0]),
        f(lambda x: np.histogram(x, 3), np.array([1.0, np.nan])),
        f(lambda x: np.histogram(x, 3), sample("i4", 9)),
        f(lambda x: np.histogram_bin_edges(x, 3), LINE),
        f(lambda x, y: np.histogram2d(x, y), LINE, WEIGHTS),
        f(lambda x, y: np.histogram2d(x, y, 3, density=True), LINE, WEIGHTS),
        f(lambda x, y: np.histogram2d(x, y, (3, 4), range=((-1, 2), (0, 3))), LINE, WEIGHTS),
        f(lambda x, y, e: np.histogram2d(x, y, [e, 4], weights=y), LINE, WEIGHTS, EDGES),
    ],
)
def test_histograms(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


def test_use_of_results():
    check_both(lambda x: np.histogram(x, 6)[0] / x.size, LINE)
    check_both(lambda x: np.diff(np.histogram(x, 6)[1]), LINE)
    check_both(lambda x: np.histogram(x, bins="sturges")[0].sum(), LINE)
    check(lambda x, n: np.histogram(x, n.shape[0])[0].shape[0], LINE, EDGES)
    check_sizes(lambda x: np.histogram(x, 4), lambda n: (sample("f8", n),), (5, 2, 9))
