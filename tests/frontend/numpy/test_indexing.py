"""Reading by index against NumPy: slices, numbers, integer arrays, and where their axes go."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.oracle import check, check_sizes, sample, trace_program

CUBE = sample("f4", 4, 3, 5)
LINE = sample("f8", 6)
BOUNDS = [None, 0, 1, 3, 4, 9, -1, -3, -9]


@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2, 7, -7])
def test_slices(step: Any):
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        check(lambda x: x[start:stop:step], sample("i4", 4))


@pytest.mark.parametrize("step", [None, 2, -1, -3])
def test_slices_of_any_size(step: Any):
    for start, stop in itertools.product([None, 1, -2], [None, 3, -1, 0]):
        check_sizes(lambda x: x[start:stop:step], lambda n: (sample("i4", n),), (4, 0, 2, 3, 9))


def test_sizes_of_slices_read_plainly():
    def size(program: Any) -> str:
        function, _ = trace_program(program, (LINE,))
        return str(function.results[0].type)

    assert size(lambda x: x[1:]) == "f64[max(0, x0_0 - 1)]" or size(lambda x: x[1:]) == "f64[max(x0_0 - 1, 0)]"
    assert size(lambda x: x[1:-1]) == size(lambda x: x[2:])
    assert size(lambda x: x[:-1]) == size(lambda x: x[1:])
    assert size(lambda x: x[::-1]) == "f64[x0_0]"
    assert size(lambda x: x[:]) == "f64[x0_0]"


INDICES: list[Any] = [
    0, -1, 3, (1, 2), (1, 2, 3), (-1, -1, -1), ..., (..., 0), (0, ...), (1, ..., 2), (..., 1, slice(1, None)), None,
    (None, 0), (0, None, 1), (slice(None), None, ..., None), (slice(1, 3), 0), (slice(None, None, -1), slice(0, 2)),
    (0, 1, 2, ...), (), np.int64(2), (np.int8(1), slice(None)),
    [0, 2], [[0, 1], [2, 3]], ([0, 2], [1, 1]), ([0, 2], slice(None), [1, 4]), (slice(None), [0, 2], [1, 4]),
    (0, [0, 2]), (0, slice(None), [0, 2]), ([0, 2], 0), ([0, 2], slice(None), 0), (slice(None), [0, 2], 0),
    ([0, 2], None, [0, 1]), (None, [0, 2], [0, 1]), (..., [0, 1]), ([0, 1], ...), ([0, 1], ..., [0, 1]),
    (0, ..., [0, 1]), ([[0], [3]], [[0, 2, 1]]), ([[0], [3]], [0, 2], slice(1, 3)), (slice(1, None), [0, -1, -3]),
    (slice(1, None, 2), 0, [0, -1]), (np.array(1), slice(None)), (np.array([], int),), ([-1, -4], [2, -3]),
    (np.array([1, 2], np.uint8),), (slice(0, 0), [0, 1]), (0, 0, [1, 2]), ([0, 1], [0, 1], [0, 1]),
    ([0, 1], 0, None, [0, 1]), ([0], None, 0, [1, 2], ...),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_mixed(index: Any):
    check(lambda x: x[index], CUBE)


WRONG: list[Any] = [
    4, -5, (0, 3), (0, 0, 0, 0), (..., ...), "a", 1.5, (1.5, 0), ([0, 9],), ([0, 1], [0, 1, 2]), ([0, -5],),
    (slice(None), 3), (slice(None), [3]), (slice(None), slice(None), 5), slice(None, None, 0), np.array([0.5]),
    ([0, 1], [0, 1], [0, 1], [0, 1]),
]  # fmt: skip


@pytest.mark.parametrize("index", WRONG, ids=str)
def test_wrong(index: Any):
    check(lambda x: x[index], CUBE, message=not isinstance(index, np.ndarray))


def test_traced_numbers():
    for position in (0, 2, -1, 3, -4):
        check(lambda x, i: x[i], CUBE, position)
        check(lambda x, i: x[:, 1:, i], CUBE, position)
        check(lambda x, i: x[i, ..., i], CUBE, position)
        check(lambda x, i: x[..., i, None, 0], CUBE, np.int32(position) if position < 3 else 0)
        check(lambda x, i: x[[0, 1], :, i], CUBE, position)
    check(lambda x, i: x[i], LINE, 3)
    check(lambda x, i: x[i], LINE, 6)
    check(lambda x, i: x[i, ...], LINE, 3)
    check(lambda x, i: x[i], LINE, 1.5)


def test_traced_arrays():
    rows, columns = np.array([0, 3, 1]), np.array([[0, 2, 1], [1, 1, 1]])
    check(lambda x, i: x[i], CUBE, rows)
    check(lambda x, i, j: x[i, j], CUBE, rows, columns)
    check(lambda x, i, j: x[i, j], CUBE, rows, columns[:, :2])
    check(lambda x, i: x[:, 0, i], CUBE, rows)
    check(lambda x, i: x[i][i], CUBE, rows.astype("u1"))
    check(lambda x, i: x[i], CUBE, rows * 2)
    check(lambda x, i: x[i], CUBE, rows * 1.0)
    check(lambda x, i: x[i - 4], CUBE, rows)
    check(lambda x, i: x[i], LINE, np.asarray(2))


def test_sizes_as_indices():
    check_sizes(lambda x: x[x.shape[0] // 2], lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: x[: x.shape[0] // 2], lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: x[x.shape[0] // 2 :], lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: x[x.shape[0] - 2 :], lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: x[-1], lambda n: (sample("f4", n, 2),))
    check_sizes(lambda x: x[2], lambda n: (sample("f4", n),))
    check_sizes(lambda x, y: x[: y.shape[0]], lambda n: (sample("f4", n), sample("f4", 3)))
    check_sizes(lambda x, y: x[y.shape[0] : -1], lambda n: (sample("f4", n), sample("f4", 3)))


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


POSITIONS = np.array([[0, 2], [1, 1]])


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x, i: np.take(x, i), CUBE, POSITIONS),
        f(lambda x, i: np.take(x, i, axis=1), CUBE, POSITIONS),
        f(lambda x, i: np.take(x, i, axis=-1), CUBE, POSITIONS.astype("u1")),
        f(lambda x, i: x.take(i, 0), CUBE, POSITIONS - 2),
        f(lambda x, i: np.take(x, i, axis=1, mode="clip"), CUBE, POSITIONS * 5 - 3),
        f(lambda x, i: np.take(x, i, axis=1, mode="wrap"), CUBE, POSITIONS * 5 - 3),
        f(lambda x, i: np.take(x, i, axis=1), CUBE, POSITIONS * 5),
        f(lambda x: np.take(x, 1), LINE),
        f(lambda x: np.take(x, 9), LINE),
        f(lambda x, i: np.take(x, i), LINE, 2),
        f(lambda x, i: np.take(x, i), LINE, np.asarray(2)),
        f(lambda x: np.take(x, [0, 1]), LINE),
        f(lambda x: np.take(x, []), LINE),
        f(lambda x, i: np.take(x, i), LINE, POSITIONS * 1.0),
        f(lambda x: np.take(x, 0, axis=3), CUBE),
        f(lambda x: np.take(x, 0), np.asarray(3.0)),
        f(lambda x, i: np.take(x, i, axis=0, out=np.zeros_like(x[:2])), CUBE[0], np.array([0, 1])),
        f(lambda x, i: np.take_along_axis(x, i, axis=1), CUBE, np.argsort(CUBE, axis=1)),
        f(lambda x, i: np.take_along_axis(x, i, 0), CUBE[:, 0], np.array([[0, 1, 2, 3, 0]])),
        f(lambda x, i: np.take_along_axis(x, i, None), CUBE, np.array([7, 8])),
        f(lambda x, i: np.take_along_axis(x, i, 0), CUBE, np.array([7, 8])),
        f(lambda x, i: np.take_along_axis(x, i, 0), LINE, np.array([7.0])),
        f(lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1), CUBE),
        f(lambda i: np.choose(i, [1, 2, 3]), np.array([0, 2, 1])),
        f(lambda i, x: (np.choose(i, [x, -x]), np.choose(i, [1, 2])), np.array(1), np.array(0.5)),
        f(lambda i, x: np.choose(i, [x, -x, 1.5]), np.array([[0], [2]]), LINE),
        f(lambda i, x: i.choose(x), np.array([0, 3, 1]), CUBE[:, 0, :3]),
        f(lambda i: np.choose(i, [1, 2]), np.array([0, 2, 1])),
        f(lambda i: np.choose(i, [1, 2], mode="wrap"), np.array([0, 2, -1])),
        f(lambda i: i.choose([1, 2], mode="clip"), np.array([0, 2, -1])),
    ],
)
def test_taking(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


def test_taking_many_sizes():
    check_sizes(lambda x: np.take(x, [0, -1]), lambda n: (sample("f4", n),))
    check_sizes(lambda x: np.take(x, [0, -1], axis=0, mode="wrap"), lambda n: (sample("f4", n + 1, 2),))
    check_sizes(lambda x, i: x[i], lambda n: (sample("f4", n), np.arange(n)[::-1].copy()))
