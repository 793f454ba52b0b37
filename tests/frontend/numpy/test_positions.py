"""Arrays of positions and windows of run-time length, against NumPy, at several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY, ITERATED, assert_same
from tests.frontend.numpy.both import check_both, check_compiled
from tests.frontend.numpy.oracle import check_function, sample


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.diag_indices(len(x)),
        lambda x: np.diag_indices_from(x),
        lambda x: np.tril_indices(len(x)),
        lambda x: np.tril_indices(len(x), -1, len(x) + 2),
        lambda x: np.tril_indices_from(x, k=1),
        lambda x: np.triu_indices(len(x), 1),
        lambda x: np.triu_indices_from(x, -1),
        lambda x: np.mask_indices(len(x), np.triu, 1),
        lambda x: x[np.triu_indices_from(x)],
        lambda x: np.hanning(len(x)),
        lambda x: np.hamming(len(x)),
        lambda x: np.blackman(len(x)),
        lambda x: np.bartlett(len(x)),
        lambda x: np.kaiser(len(x), 8.5),
        lambda x: np.resize(x, (3, 4)),
        lambda x: np.resize(x, len(x) + 1),
        lambda x: np.block([[x, np.zeros((len(x), 2))], [np.ones((1, len(x))), np.full((1, 2), 7.0)]]),
        lambda x: np.block([x[0] if len(x) else 1.0, 2.0]),
        lambda x: np.block([[np.ones((1, 2)), np.zeros((1, len(x)))], [np.arange(2.0), x[:, 0]]]) if len(x) else x,
        lambda x: np.repeat(x, np.arange(len(x)), axis=0),
        lambda x: np.repeat(x[:, :1].sum(1), np.arange(len(x))[::-1]),
        lambda x: np.arange(0, len(x), 2),
    ],
)
def test_at_sizes(program: Any):
    compiled = jitflow.function(program)
    for size in (4, 5, 1, 0, 2):
        x = sample("f8", size, size)
        assert_same(compiled(x), program(x), ELEMENTARY)


def _stepped(x: Any, step: int) -> Any:
    return np.arange(0, x.shape[0], step), np.arange(len(x), 2 * len(x) + 1, step)


def test_a_range_with_a_step_that_is_an_argument():
    compiled = jitflow.function(_stepped)
    for size, step in ((10, 3), (9, 3), (0, 2), (1, 5)):
        assert_same(compiled(np.zeros(size), step), _stepped(np.zeros(size), step))
    assert compiled.cache_info().misses <= 2
    with pytest.raises(ZeroDivisionError):
        compiled(np.zeros(10), 0)


def _sorted_in_place(x: Any, y: Any) -> None:
    x.sort()
    y[1:].sort(axis=0)


def _put(x: Any, y: Any) -> None:
    np.put_along_axis(y, np.argmax(y, axis=1)[:, None], -9.0, axis=1)
    np.putmask(y, y > 1, np.array([1.5, 2.5]))
    np.putmask(x, x < 0, x * 2)
    x.put([0, 2], [5.0, 6.0])


def _partitioned(x: Any, y: Any) -> Any:
    x.partition(2)
    return x[2]


def _marked(x: Any, y: Any) -> Any:
    np.putmask(y, y.T > 0, 7.0)
    np.place(y, y.T < 0, x[0].copy())
    np.place(x, x > 0, [5.0, 6.0])


@pytest.mark.parametrize("program", [_sorted_in_place, _put, _partitioned, _marked])
def test_in_place(program: Any):
    compiled = jitflow.function(program)
    for size in (5, 7):
        ours, plain = ([sample("f8", size), sample("f8", size, 3)] for _ in range(2))
        assert_same(compiled(*ours), program(*plain))
        assert_same(tuple(ours), tuple(plain))


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.diag_indices_from(x), sample("f8", 3, 4)),
        f(lambda x: np.diag_indices_from(x), sample("f8", 3)),
        f(lambda x: np.block([[x], x]), sample("f8", 3)),
        f(lambda x: np.block([x, []]), sample("f8", 3)),
        f(lambda x: np.repeat(x, np.array([1, 2])), sample("f8", 3)),
        f(lambda x: np.repeat(x, np.array([1, -2, 1])), sample("f8", 3)),
        f(lambda x: np.resize(x, (-1, 2)), sample("f8", 3)),
        f(lambda x: np.resize(x, np.array(2)), sample("f8", 3)),
    ],
)
def test_errors(program: Any, arguments: Any):
    check_function(program, *arguments)


@pytest.mark.parametrize("function", [np.place, np.putmask])
def test_masks_of_another_size(function: Any):
    check_both(lambda x, m: function(x, m, 1.0), sample("f8", 3, 4), np.ones(4, bool))


def test_a_copied_number_is_looked_up():
    """It is in memory, not a number that the host program has."""
    check_both(lambda x, i: (np.ravel(x.copy())[i], np.take(x.copy().reshape(1), i)), np.array(3.0), np.zeros(4, int))
    check_compiled(lambda x, m, v: np.place(x, m, v), np.arange(4.0), np.arange(4) > 2, np.array(3.0))


def test_compiled():
    check_both(lambda x: np.block([[x, x], [x, x]]), sample("f4", 3, 2))


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "c8"])
def test_bessel_functions(kind: str):
    check_compiled(lambda x: np.i0(x), (sample("f8", 9) * 8).astype(kind), tolerance=ITERATED)
    check_compiled(lambda beta: np.kaiser(5, beta), 8.5, tolerance=ITERATED)


def test_passed_lists_where_numpy_makes_arrays():
    line = sample("f8", 3)
    check_compiled(lambda x, d: np.gradient(x, d), line, [1.0, 2.0, 4.0])
    check_compiled(lambda x, flags: np.piecewise(x, flags, [1]), line, [[True, False, True]])
    check_compiled(lambda places: np.unravel_index(places, (3, 4)), [1, 7])
    check_compiled(lambda: np.bincount([]))


@pytest.mark.parametrize(
    "program",
    [
        lambda x, k: np.ravel_multi_index((k, k), k + 2),
        lambda x, k: np.unravel_index(k, np.array(x.shape)),
        lambda x, k: np.broadcast(x, k[:1]).shape,
        lambda x, k: (np.broadcast(x[0], 3.0, x).size, np.broadcast(x, x).nd, np.broadcast(x).numiter),
        lambda x, k: x.flags.fortran,
    ],
)
def test_sizes_in_arrays_and_of_what_is_broadcast(program: Any):
    check_compiled(program, np.arange(6.0).reshape(2, 3), np.array([1, 2]))


def test_what_is_broadcast_does_not_fit():
    check_compiled(lambda x, y: np.broadcast(x, y).shape, np.arange(2.0), np.arange(3.0), message=False)


def _by_lists(x: Any, fixed: Any) -> Any:
    free = [place for place in range(len(x)) if place not in fixed]
    return x[np.ix_(free, free)], x[np.ix_([], free)], x[free], x[:, free]


def _by_masks(x: Any, fixed: Any) -> Any:
    known, made, y = [False] * len(x), [], x.copy()
    for place in range(len(x)):
        known[place] = place in fixed
        made.append(x[place, 0] < 1)
    y[known], y[:, made] = 7, 8
    return x[known], x[made], x[[value < 1 for value in x[:, 0]]], y


@pytest.mark.parametrize("program", [_by_lists, _by_masks])
def test_lists_of_the_run_are_positions_or_masks(program: Any) -> None:
    """An empty list failed as an index, and a list of bools was said to be none."""
    for fixed in ([0, 2], [3], [0, 1, 2, 3]):
        check_compiled(program, sample("f8", 4, 4), fixed)


def test_a_list_of_the_callers_is_an_index_while_it_grows() -> None:
    """It was said to be no index."""

    def generate(table: Any, tokens: Any, count: Any) -> Any:
        for _ in range(count):
            tokens.append(int(np.argmax(table[tokens][-1])))
        return table[tokens]

    table, ours, theirs = sample("f8", 4, 4), [1, 3], [1, 3]
    assert_same(jitflow.function(generate)(table, ours, 3), generate(table, theirs, 3))
    assert ours == theirs
