"""Programs of lists, dicts, recursion and chance, as plain Python: other libraries, brute force, known numbers."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.sparse
import scipy.sparse.csgraph
import scipy.spatial

from tests.gallery import example, plain


def test_sorting() -> None:
    (x,) = example("quicksort")
    expected = np.sort(x)
    plain("quicksort")(x)
    np.testing.assert_array_equal(x, expected)
    (x,) = example("merge_sort")
    np.testing.assert_array_equal(plain("merge_sort")(x), np.sort(x))


@pytest.mark.parametrize(("n", "ways"), [(4, 2), (5, 10), (6, 4), (8, 92)])
def test_queens(n: int, ways: int) -> None:
    assert plain("queens")(n) == ways
    board, _ = plain("queens_by_rows")(n)
    assert (
        len(set(board)) == len({i + j for i, j in enumerate(board)}) == len({i - j for i, j in enumerate(board)}) == n
    )


def test_flood_fill() -> None:
    (picture,) = example("flood_fill")
    labels, sizes = plain("flood_fill")(picture)
    expected, count = scipy.ndimage.label(picture)
    np.testing.assert_array_equal(labels, expected)
    assert sizes == [int((expected == k).sum()) for k in range(1, count + 1)]


def test_recursive_numbers() -> None:
    assert [plain("ackermann")(m, 3) for m in range(4)] == [4, 5, 9, 61]
    assert [tuple(move) for move in plain("hanoi")(2)] == [(0, 1), (0, 2), (1, 2)]
    assert len(plain("hanoi")(7)) == 127
    assert plain("fibonacci_memo")(5)[0] == 1 + 3 + 34 + 987  # the numbers at 1, 4, 9 and 16
    assert plain("collatz_memo")(50) == (27, 112)


def test_adaptive_simpson() -> None:
    found = plain("adaptive_simpson")(0.1, 1.0, 1e-10)
    expected, _ = scipy.integrate.quad(lambda x: np.sin(1.0 / x) * np.sqrt(x), 0.1, 1.0, epsabs=1e-12)
    assert found == pytest.approx(expected, abs=1e-9)


def test_recursive_fft() -> None:
    (x,) = example("recursive_fft")
    np.testing.assert_allclose(plain("recursive_fft")(x), np.fft.fft(x), atol=1e-12)


def test_sudoku() -> None:
    (board,) = example("sudoku")
    assert plain("sudoku")(board)
    digits = np.arange(1, 10)
    blocks = board.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
    for lines in (board, board.T, blocks):
        np.testing.assert_array_equal(np.sort(lines, axis=1), np.tile(digits, (9, 1)))


def test_counts_and_pairs() -> None:
    (words,) = example("histogram_of_words")
    best, most, kinds = plain("histogram_of_words")(words)
    assert (best, most) == Counter(words.tolist()).most_common(1)[0]
    assert kinds == len(np.unique(words))
    x = np.array([1, 5, 9, 3, 7, 5])
    assert plain("pair_with_sum")(x, 10) == [(0, 2), (3, 4), (1, 5)]


def test_huffman() -> None:
    np.testing.assert_array_equal(plain("huffman")(np.array([45, 13, 12, 16, 9, 5])), [1, 3, 3, 3, 4, 4])
    (frequencies,) = example("huffman")
    assert sum(0.5 ** plain("huffman")(frequencies)) == 1.0


def test_tables() -> None:
    assert plain("coin_change")([1, 2, 5], 5) == [1, 1, 2, 2, 3, 4]
    a, b = example("common_subsequence")
    best = plain("common_subsequence")(a, b)
    longest = max(len(part) for k in range(len(a) + 1) for part in itertools.combinations(a, k) if is_part(part, b))
    assert len(best) == longest
    assert is_part(best, a)
    assert is_part(best, b)
    (x,) = example("rising_subsequence")
    lengths = np.ones(len(x), int)
    for k in range(len(x)):
        lengths[k] += max((lengths[j] for j in range(k) if x[j] < x[k]), default=0)
    assert plain("rising_subsequence")(x) == lengths.max()


def is_part(part: object, whole: object) -> bool:
    """Whether ``whole`` has the items of ``part`` in that order."""
    rest = iter(whole)
    return all(any(item == other for other in rest) for item in part)


def test_sliding_maximum() -> None:
    x, width = example("sliding_maximum")
    expected = np.lib.stride_tricks.sliding_window_view(x, width).max(axis=1)
    np.testing.assert_array_equal(plain("sliding_maximum")(x, width), expected)


def test_convex_hull() -> None:
    (points,) = example("convex_hull")
    assert set(plain("convex_hull")(points)) == set(scipy.spatial.ConvexHull(points).vertices)


def test_chance() -> None:
    assert plain("pi_by_chance")(20_000, 1) == pytest.approx(np.pi, abs=0.05)
    rng = np.random.default_rng(3)
    assert plain("brownian_bridge")(rng, 2_000, 200) == pytest.approx(np.sqrt(np.pi / 2) * np.log(2), rel=0.1)
    history = plain("gillespie")(np.random.default_rng(1), 1_000, 1_000, 200)
    assert np.all(np.diff(history[:, 0]) > 0)
    assert set(np.abs(np.diff(history[:, 1])).tolist()) <= {0.0, 1.0}
    sample = plain("gibbs_sampler")(np.random.default_rng(2), 0.8, 5_000)
    assert np.corrcoef(sample.T)[0, 1] == pytest.approx(0.8, abs=0.05)
    rng, x, rounds = example("bootstrap")
    low, high = plain("bootstrap")(rng, x, rounds)
    assert low < x.mean() < high
    course = plain("epidemic")(np.random.default_rng(0), 10_000, 0.4, 0.1, 100)
    assert np.all(np.diff(course[:, 0]) <= 0)
    assert np.all(course >= 0)
    waited = plain("waiting_line")(np.random.default_rng(0), 20_000, 1, 2.0)
    assert waited == pytest.approx(0.5, abs=0.1)  # rho / (mu - lambda), of one counter
    _, lowest = plain("particle_swarm")(np.random.default_rng(0), 40, 2, 100)
    assert lowest == pytest.approx(0.0, abs=1e-3)


def test_median_filter() -> None:
    (picture,) = example("median_filter")
    expected = scipy.ndimage.median_filter(picture, size=3)
    np.testing.assert_array_equal(plain("median_filter")(picture)[1:-1, 1:-1], expected[1:-1, 1:-1])


def test_fits() -> None:
    point, low, _ = plain("nelder_mead")(np.array([-1.0, 2.0]), 1e-12)
    np.testing.assert_allclose(point, 1.0, atol=1e-4)
    assert low < 1e-8
    x, means, _ = example("gaussian_mixture")
    likelihoods = [plain("gaussian_mixture")(x, means, rounds)[3] for rounds in range(1, 8)]
    assert np.all(np.diff(likelihoods) > 0)
    X, y, tolerance = example("logistic_regression")
    w, _ = plain("logistic_regression")(X, y, tolerance)
    np.testing.assert_allclose(X.T @ (1 / (1 + np.exp(-X @ w)) - y), 0.0, atol=1e-6)


def test_cubic_spline() -> None:
    x, y, at = example("cubic_spline")
    expected = scipy.interpolate.CubicSpline(x, y, bc_type="natural")(at)
    np.testing.assert_allclose(plain("cubic_spline")(x, y, at), expected, atol=1e-10)


def test_qr_algorithm() -> None:
    A, tolerance = example("qr_algorithm")
    np.testing.assert_allclose(plain("qr_algorithm")(A, tolerance)[0], np.linalg.eigvalsh(A), atol=1e-7)


def test_rule_30() -> None:
    rows = plain("rule_30")(9, 4)
    assert ["".join(".#"[cell] for cell in row) for row in rows] == [
        "....#....", "...###...", "..##..#..", ".##.####.",
    ]  # fmt: skip


def test_percolation() -> None:
    order = np.array([0, 2, 1, 3])  # of a grid of two by two: the two of the left column come first
    assert plain("percolation")(order, 2) == 0.5


def test_hidden_markov() -> None:
    start, change, emission, seen = example("hidden_markov")
    total, states = 0.0, np.zeros((len(seen), len(start)))
    for path in itertools.product(range(len(start)), repeat=len(seen)):
        chance = start[path[0]] * emission[path[0], seen[0]]
        for t in range(1, len(seen)):
            chance *= change[path[t - 1], path[t]] * emission[path[t], seen[t]]
        total += chance
        states[np.arange(len(seen)), path] += chance
    likelihood, found = plain("hidden_markov")(start, change, emission, seen)
    assert likelihood == pytest.approx(np.log(total))
    np.testing.assert_allclose(found, states / total, atol=1e-12)


def test_graphs() -> None:
    starts, targets, weights, source = example("dijkstra")
    edges = np.full((len(starts) - 1,) * 2, np.inf)
    np.minimum.at(edges, (np.repeat(np.arange(len(starts) - 1), np.diff(starts)), targets), weights)
    expected = scipy.sparse.csgraph.dijkstra(scipy.sparse.csgraph.csgraph_from_dense(edges, np.inf), indices=source)
    np.testing.assert_allclose(plain("dijkstra")(starts, targets, weights, source), expected)
    (lengths,) = example("spanning_tree")
    tree = scipy.sparse.csgraph.minimum_spanning_tree(lengths)
    assert plain("spanning_tree")(lengths) == pytest.approx(tree.sum())
    n, edges = example("union_find")
    graph = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(n, n))
    parts, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    assert plain("union_find")(n, edges) == (parts, np.bincount(labels).max())
    order = plain("topological_order")(*example("topological_order"))
    place = {task: number for number, task in enumerate(order)}
    assert sorted(order) == list(range(example("topological_order")[0]))
    assert all(place[before] < place[behind] for before, behind in example("topological_order")[1].tolist())
    (walls,) = example("maze")
    distances = _steps_to_all(walls)
    assert plain("maze")(walls) == (distances[-1, -1], np.isfinite(distances).sum()) or distances[-1, -1] == np.inf


def _steps_to_all(walls):
    """The steps from the first place to all others, by the matrix of a graph."""
    numbers = np.arange(walls.size).reshape(walls.shape)
    pairs = np.concatenate([
        np.stack([one.ravel(), other.ravel()], axis=1)[~(shut | barred).ravel()]
        for one, other, shut, barred in (
            (numbers[1:], numbers[:-1], walls[1:], walls[:-1]),
            (numbers[:, 1:], numbers[:, :-1], walls[:, 1:], walls[:, :-1]),
        )
    ])  # fmt: skip
    graph = scipy.sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(walls.size, walls.size))
    return scipy.sparse.csgraph.shortest_path(graph, directed=False, indices=0).reshape(walls.shape)


def test_life_without_bounds() -> None:
    cells, generations = example("sparse_life")
    board = np.zeros((40, 40), int)
    board[tuple(cells.T + 18)] = 1
    for _ in range(generations):
        around = scipy.ndimage.convolve(board, np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]]), mode="constant")
        board = ((around == 3) | ((around == 2) & (board == 1))).astype(int)
    alive = [(int(i), int(j)) for i, j in np.argwhere(board) - 18]
    assert plain("sparse_life")(cells, generations) == (len(alive), alive)
