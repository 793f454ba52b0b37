"""Where elements are, against NumPy; and what can be done with as many as there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.frontend.numpy.both import check_both, check_compiled
from tests.frontend.numpy.oracle import KINDS, check, check_function, check_sizes, sample

MATRIX, CUBE, LINE = sample("i4", 4, 5) % 3, sample("f8", 3, 4, 2), sample("f8", 7)
SORTED = np.sort(sample("f8", 6, seed=4))


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize("function", [np.nonzero, np.flatnonzero, np.argwhere, np.where],
                         ids=lambda function: function.__name__)  # fmt: skip
def test_positions(function: Any):
    for array in (MATRIX, CUBE > 0, LINE[:0], LINE, np.zeros((2, 0)), MATRIX[::2, ::-1], np.zeros(3), np.ones((1, 1))):
        check_both(lambda x: function(x), array)
    for kind in KINDS:
        check(lambda x: function(x), sample(kind, 9))
    check(lambda x: function(x), np.asarray(3.0))
    check_sizes(lambda x: function(x > 0), lambda n: (sample("f4", n, 2),))


PLACES = [
    f(lambda x, y: np.searchsorted(x, y), SORTED, LINE),
    f(lambda x, y: np.searchsorted(x, y, side="right"), SORTED, SORTED.reshape(2, 3)),
    f(lambda x, y: np.searchsorted(x, y, "middle"), SORTED, LINE),
    f(lambda x, y: np.searchsorted(x, y), SORTED, 0.5),
    f(lambda x, y: x.searchsorted(y), SORTED, np.float32(0.5)),
    f(lambda x, y: np.searchsorted(x, y, sorter=np.argsort(x)), LINE, SORTED),
    f(lambda x: np.searchsorted(x, [0, 1]), SORTED),
    f(lambda x: np.searchsorted(x, 1), MATRIX),
    f(lambda x, y: np.digitize(x, y), LINE, SORTED),
    f(lambda x, y: np.digitize(x, y, right=True), LINE, SORTED[::-1]),
    f(lambda x, y: np.digitize(x, y), 0.5, SORTED),
    f(lambda x, y: np.digitize(x, y), LINE, LINE),
    f(lambda x, y, z: np.interp(x, y, z), LINE, SORTED, SORTED * 2),
    f(lambda x, y, z: np.interp(x, y, z), 0.5, SORTED, SORTED + 1j),
    f(lambda x, y, z: np.interp(x, y, z, left=-1, right=9.5), MATRIX, SORTED, SORTED * 2),
    f(lambda x, y, z, w: np.interp(x, y, z, left=w), LINE, SORTED, SORTED * 2, 5.0),
    f(lambda x, y, z: np.interp(x, y, z, period=2), LINE, SORTED, SORTED * 2),
    f(lambda x, y, z: np.interp(x, y, z), LINE, SORTED, SORTED[:2]),
    f(lambda x: np.bincount(x), np.array([1, 3, 1, 0])),
    f(lambda x, w: np.bincount(x, w), np.array([1, 3, 1, 0]), sample("f4", 4)),
    f(lambda x, w: np.bincount(x, w), np.zeros(0, int), np.zeros(0)),
    f(lambda x, w: np.bincount(x[x > 0], w[x > 0], 3), np.array([1, 0, 2]), sample("f4", 3)),
    f(lambda x: np.bincount(x, minlength=7), np.array([1, 3, 1, 0], "u1")),
    f(lambda x, n: np.bincount(x, minlength=n), np.array([1, 3, 1, 0]), 9),
    f(lambda x: np.bincount(x), np.zeros(0, int)),
    f(lambda x: np.bincount(x), np.array([1, -3])),
    f(lambda x: np.bincount(x), LINE),
    f(lambda x: np.bincount(x), MATRIX),
]


@pytest.mark.parametrize(("program", "arguments"), PLACES)
def test_places(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


PICKS = [
    f(lambda c, x: np.compress(c, x), LINE > 0, LINE),
    f(lambda c, x: np.compress(c, x, axis=1), np.array([True, False, True]), MATRIX),
    f(lambda c, x: x.compress(c, 0), np.array([0, 3]), MATRIX),
    f(lambda c, x: np.compress(c, x), MATRIX[0], MATRIX),
    f(lambda c, x: np.compress(c, x, axis=0), np.ones(9, bool), MATRIX),
    f(lambda c, x: np.compress(c, x), MATRIX > 0, MATRIX),
    f(lambda x: np.extract(x > 0, x), MATRIX),
    f(lambda x: np.piecewise(x, [x < 0, x >= 1], [-1, 1]), LINE),
    f(lambda x: np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, lambda v: v * v, 7]), LINE),
    f(lambda x: np.piecewise(x, [x < 0], [1, 2, 3]), LINE),
    f(lambda x, c: np.piecewise(x, [c], [lambda v: v * 2, 1.5]), LINE, np.array(True)),
    f(lambda x, c: np.piecewise(x, [c], [lambda v: v * 2, 1.5]), np.array(2.5), np.array(False)),
    f(lambda c, x: np.compress(c, x), np.array([True, False]), LINE[:0]),
]


@pytest.mark.parametrize(("program", "arguments"), PICKS)
def test_picks(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


def test_piecewise_by_one_condition():
    check_compiled(lambda x: np.piecewise(x, x < 0, [lambda v, k: v - v.mean() * k, 0], 2), LINE)
    check_compiled(lambda x: np.piecewise(x, np.stack([x < 0, x > 1]), [1, 2]), LINE)


def test_piecewise_functions_are_not_called_for_nothing():
    program = jitflow.function(lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: v - v.min(), lambda v: v * v[0]]))
    for line in (LINE, np.abs(LINE), -np.abs(LINE) - 1, LINE[:0]):
        check_compiled(program, line)


USES = [
    f(lambda x: x[np.nonzero(x)], MATRIX),
    f(lambda x: x[np.where(x > 0)].sum(), LINE),
    f(lambda x: np.where(x > 0)[0][-1], LINE),
    f(lambda x: np.where(x > 100)[0].size, LINE),
    f(lambda x: np.flatnonzero(x > 0)[0], LINE),
    f(lambda x: np.flatnonzero(x > 100)[0], LINE),
    f(lambda x: np.argwhere(x > 0).mean(axis=0), MATRIX),
    f(lambda x: np.argwhere(x > 0)[:, 0] * 2, MATRIX),
    f(lambda x: np.bincount(x.ravel())[1:] / x.size, MATRIX),
    f(lambda x: np.nonzero(x)[0] + np.nonzero(x)[1], MATRIX),
    f(lambda x, y: x[x > 0] + y[x > 0], LINE, LINE[::-1]),
    f(lambda x: (x[x > 0] * 2)[::-1], LINE),
    f(lambda x: x[x > 0][:, None] - x[x > 0], LINE),
    f(lambda x: np.sort(x[x > 0]), LINE),
    f(lambda x: np.concatenate([x[x > 0], x[x <= 0]]), LINE),
    f(lambda x: x[np.argsort(x)][np.searchsorted(np.sort(x), 0.0) :], LINE),
]


@pytest.mark.parametrize(("program", "arguments"), USES)
def test_use_of_results(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


def _runs(x: Any) -> Any:
    """Where a sequence changes, and how long it stays."""
    changes = np.flatnonzero(x[1:] != x[:-1]) + 1
    starts = np.concatenate([np.zeros(1, changes.dtype), changes])
    lengths = np.diff(np.append(starts, x.shape[0]))
    return x[starts], lengths


def test_run_length_encoding():
    check_function(_runs, np.array([3, 3, 1, 1, 1, 2]))
    check_both(lambda x: np.diff(np.flatnonzero(x)), np.array([0, 1, 0, 0, 1, 1]))


MASKED = [
    f(lambda x: x[x[:, 0] > 0, 1], MATRIX),
    f(lambda x: x[:, x[0] > 0], MATRIX),
    f(lambda x: x[..., x[0, 0] > 0], CUBE),
    f(lambda x: x[x[:, 0, 0] > 0, 1:, x[0, 0] * 0 == 0], np.ones((2, 3, 2))),
    f(lambda x: x[[0, 1], x[0] > 100], MATRIX),
    f(lambda x: x[1, x[0] > 0], MATRIX),
    f(lambda x: x[x[:, :, 0] > 0, 0], CUBE),
    f(lambda x: x[0, x[0, :2] > 0], MATRIX),
    f(lambda x: x[None, x[:, 0] > 0], MATRIX),
]


@pytest.mark.parametrize(("program", "arguments"), MASKED)
def test_masks_among_other_indices(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


def _written(x: Any, y: Any) -> Any:
    z = x * 1
    z[z[:, 0] > 0, 1] = 7
    z[0, z[0] > 1] += 1
    z[:, y] = 0
    return z


def test_writing_by_masks_among_other_indices():
    check_function(_written, MATRIX, np.array([True, False, False, True, False]))


OF_TWO_SIZES = [
    jitflow.function(lambda x, y, a, b: np.sort(x[a]) + np.sort(y[b])),
    jitflow.function(lambda x, y, a, b: np.sort(x[a]) * 2 - y[b] + 1),
    jitflow.function(lambda x, y, a, b: np.sort(x[a])[:, None] + np.sort(y[b])),
]
OF_ONE_SIZE = [
    jitflow.function(lambda x, a: np.sort(x[a]) + x),
    jitflow.function(lambda x, a: np.sort(x[a]) + x[:3]),
    jitflow.function(lambda x, a: np.stack([np.sort(x[a]), np.sort(x[a]) * 2])),
]


@pytest.mark.parametrize("counts", [(3, 3), (3, 1), (1, 3), (0, 1), (1, 0), (0, 0), (1, 1), (2, 3), (0, 2)])
def test_sizes_that_data_decides_meet(counts: tuple[int, int]):
    one, other = (np.arange(1, 6) <= count for count in counts)
    x, y = LINE[:5], LINE[2:]
    for program in OF_TWO_SIZES:
        check_both(program, x, y, one, other)
    for program in OF_ONE_SIZE:
        check_both(program, x, one)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.maximum, np.hypot, np.logical_and],
                         ids=lambda ufunc: ufunc.__name__)  # fmt: skip
def test_methods_of_ufuncs(ufunc: Any):
    for array in (MATRIX, sample("f4", 4, 5), sample("?", 4, 5)):
        for axis in (0, 1, -1):
            check(lambda x: ufunc.reduceat(x, [0, 2, 1], axis=axis), array)
            check(lambda x: ufunc.accumulate(x, axis=axis), array, message=False)
        check(lambda x: ufunc.reduce(x, axis=0), array, message=False)
        check(lambda x: ufunc.reduce(x, axis=1, keepdims=True), array, message=False)
        check(lambda x: ufunc.reduce(x, axis=None), array, message=False)
        check(lambda x: ufunc.reduce(x[0, 0]), array, message=False)
    check(lambda x, i: ufunc.reduceat(x, i), LINE, np.array([0, 3, 3, 1]))
    check(lambda x, i: ufunc.reduceat(x, i), LINE, np.array([0, 9]))
    check(lambda x: ufunc.reduceat(x, []), LINE)
    check(lambda x: ufunc.reduceat(x, [0]), np.array(2.5))
    check(lambda x: ufunc.reduceat(x, [0, 1], dtype="f4"), LINE)
    check_both(lambda x, i: ufunc.reduceat(x, i) * 2, LINE, np.array([0, 3]))
