"""Histograms against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.numpy.both import check_both, check_compiled
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
        f(lambda x, n: (np.histogram(x, n), np.histogram_bin_edges(x, n)), LINE, np.array(3)),
        f(lambda x, n: np.histogram(x, n), LINE, np.array(0)),
        f(lambda x, y, n: np.histogram2d(x, y, (n, 4)), LINE, WEIGHTS, np.array(3)),
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


GRID = np.linspace(-1.0, 1.0, 41)
MANY = sample("f8", 140_001, seed=4)
OUTSIDE = np.array([np.nan, -np.inf, -1.0, -1e-9, 0.0, 0.5, 1.0 + 1e-9, 1.0, 7.0, np.inf])


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.histogram(x, 10), GRID),
        f(lambda x: np.histogram(x, 40), GRID.astype("f4")),
        f(lambda x: np.histogram(x, 3), GRID[::-2]),
        f(lambda x: np.histogram(x, 1), GRID),
        f(lambda x: np.histogram(x, 3), np.full(5, 2.5)),
        f(lambda x: np.histogram(x, 3), np.full(5, -0.0)),
        f(lambda x: np.histogram(x, 3), np.array([1.0, np.inf])),
        f(lambda x: np.histogram(x, 3), np.array([1.0, np.nextafter(1.0, 2)])),
        f(lambda x: np.histogram(x, 8, range=(0, 1)), OUTSIDE),
        f(lambda x: np.histogram(x, 8, (0.0, 1.0), weights=x), np.nan_to_num(OUTSIDE)),
        f(lambda x: np.histogram(x, 8, range=(1, 1)), GRID),
        f(lambda x: np.histogram(x, 8, range=(0, np.inf)), GRID),
        f(lambda x, w: np.histogram(x, 9, weights=w), GRID, GRID * 1j),
        f(lambda x, w: np.histogram(x, 9, weights=w), GRID, GRID > 0),
        f(lambda x, w: np.histogram(x, 9, weights=w), GRID.reshape(1, 41), GRID.reshape(1, 41)[:, ::-1]),
        f(lambda x, w: np.histogram(x, 9, weights=w), GRID, GRID[1:]),
        f(lambda x, w: np.histogram(x, 9, weights=w), GRID, GRID.reshape(1, 41)),
        f(lambda x, n: np.histogram(x, n), GRID, 6),
        f(lambda x, n: np.histogram(x, n), GRID, 0),
        f(lambda x: np.histogram(x, 4)[0] + np.histogram(x * 2, 4)[0], GRID),
    ],
)
def test_bins_of_one_width(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


@pytest.mark.parametrize("kind", ["", "f8", "f4", "i4"])
def test_weights_are_added_in_blocks(kind: str):
    weights = sample(kind, len(MANY), seed=5) if kind else None
    check_compiled(lambda x, w: np.histogram(x, 9, weights=w), MANY, weights)


@pytest.mark.parametrize("bins", [1, 3])
def test_ranges_whose_width_overflows(bins: int):
    """NumPy finds too many bins as well, or positions out of range where there is one bin."""
    with pytest.raises(ValueError, match="Too many bins for data range"):
        jitflow.function(lambda x: np.histogram(x, bins))(np.array([-1.7e308, 0.0, 1.7e308]))


def test_use_of_results():
    check_both(lambda x: np.histogram(x, 6)[0] / x.size, LINE)
    check_both(lambda x: np.diff(np.histogram(x, 6)[1]), LINE)
    check_both(lambda x: np.histogram(x, bins="sturges")[0].sum(), LINE)
    check(lambda x, n: np.histogram(x, n.shape[0])[0].shape[0], LINE, EDGES)
    check_sizes(lambda x: np.histogram(x, 4), lambda n: (sample("f8", n),), (5, 2, 9))


def test_edges_that_are_given_are_the_array_itself():
    def edges(x, bins):
        of_counts, of_pairs = np.histogram(x, bins, density=True)[1], np.histogram2d(x, x, [bins, 3])[1]
        return np.histogram(x, bins)[1], of_counts, np.histogram_bin_edges(x, bins), of_pairs

    bins = np.array([-1.0, 0.0, 1.0])
    for program in (edges, jitflow.function(edges)):
        assert all(found is bins for found in program(LINE, bins))
    with pytest.raises(jitflow.UserError, match="numbers of bins in an array"):
        jitflow.function(lambda x, bins: np.histogram2d(x, x, bins))(LINE, np.array([3, 4]))
