"""Elements added, dropped and packed, and index arithmetic, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.numpy.both import check_both, check_compiled
from tests.frontend.numpy.oracle import check, check_function, check_sizes, sample

LINE, MATRIX = sample("f8", 6), sample("i4", 3, 4)
BITS = sample("?", 3, 11)
BYTES = sample("u1", 3, 2)


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda x: np.append(x, 3), LINE),
        f(lambda x, y: np.append(x, y), MATRIX, LINE),
        f(lambda x: np.append(x, x, axis=1), MATRIX),
        f(lambda x: np.append(x, x[0], axis=0), MATRIX),
        f(lambda x: np.delete(x, 1), LINE),
        f(lambda x: np.delete(x, -1, axis=1), MATRIX),
        f(lambda x, i: np.delete(x, i), LINE, 2),
        f(lambda x: np.delete(x, 9), LINE),
        f(lambda x: np.delete(x, [0, 2, 2]), LINE),
        f(lambda x, i: np.delete(x, i, axis=0), MATRIX, np.array([0, 2])),
        f(lambda x: np.delete(x, slice(1, None, 2)), LINE),
        f(lambda x: np.delete(x, slice(None, None, -2), axis=1), MATRIX),
        f(lambda x: np.delete(x, x > 0), LINE),
        f(lambda x, m: np.delete(x, m, axis=0), MATRIX, np.array([True])),
        f(lambda x: np.delete(x, [False, True]), LINE),
        f(lambda x: np.delete(x, []), LINE),
        f(lambda x: np.delete(x, [7]), LINE),
        f(lambda x: np.insert(x, 1, 5), LINE),
        f(lambda x: np.insert(x, 1, [5, 6]), LINE),
        f(lambda x: np.insert(x, [0, 2], [5, 6.5]), MATRIX),
        f(lambda x: np.insert(x, 1, 7, axis=1), MATRIX),
        f(lambda x: np.insert(x, 1, x[0], axis=0), MATRIX),
        f(lambda x: np.insert(x, slice(0, 2), 7), LINE),
        f(lambda x: np.insert(x, 9, 7), LINE),
        f(lambda x, i: np.insert(x, i, 7), LINE, 3),
        f(lambda x: np.trim_zeros(x), np.array([0, 0, 3, 0, 1, 0])),
        f(lambda x: np.trim_zeros(x, "f"), np.array([0, 0, 3, 0, 1, 0])),
        f(lambda x: np.trim_zeros(x), np.zeros(3)),
        f(lambda x: np.packbits(x), BITS),
        f(lambda x: np.packbits(x, axis=1, bitorder="little"), BITS),
        f(lambda x: np.packbits(x, axis=-2), BITS[:, ::-1]),
        f(lambda x: np.packbits(x), MATRIX),
        f(lambda x: np.packbits(x), LINE),
        f(lambda x: np.unpackbits(x), BYTES),
        f(lambda x: np.unpackbits(x, axis=1), BYTES),
        f(lambda x: np.unpackbits(x, axis=0, count=5), BYTES),
        f(lambda x: np.unpackbits(x, count=-3, bitorder="little"), BYTES),
        f(lambda x: np.unpackbits(x), BITS),
    ],
)
def test_editing(program: Any, arguments: tuple[Any, ...]):
    check_both(program, *arguments)


@pytest.mark.parametrize("trim", ["fb", "F", "b", "x"])
@pytest.mark.parametrize("axis", [None, 0, (1, 0), ()])
def test_trimmed_arrays_are_views(trim: str, axis: Any):
    def written(x: Any) -> Any:
        part = np.trim_zeros(x, trim, axis)
        part += 1
        return part, x

    table = np.zeros((4, 5))
    check_both(written, table)
    table[1:3, 2] = 3, np.nan
    check_both(written, table)
    check_both(written, table[:, 2])


def test_trimmed_lists_are_lists():
    check_compiled(lambda x: np.trim_zeros(x), [0, 0, 1, 0, 3, 0])
    check_compiled(lambda x: np.trim_zeros(x, "b"), [0.0, 0.0])


def test_functions_of_functions():
    check(lambda x: np.apply_over_axes(np.sum, x, [0, 1]), MATRIX)


def test_positions():
    def crossed(x: Any) -> Any:
        return x[np.ix_([0, 2], [3, 1])], x[np.ix_(x[:, 0] > 0, [1, 2])]

    check_function(crossed, MATRIX)
    check(lambda i: np.unravel_index(i, (3, 4)), np.array([0, 5, 11]))
    check(lambda i: np.unravel_index(i, (3, 4), order="F"), np.array([[0, 5, 11]]))
    check(lambda i: np.unravel_index(i, (3, 4)), np.array([0, 12]))
    check_both(lambda i: np.unravel_index(i, (3, 4)), 5)
    check_both(lambda i: np.unravel_index(i, (3, 4)), 12)
    check(lambda x: np.unravel_index(np.argmax(x), x.shape), MATRIX)
    check_both(lambda x: x[np.unravel_index(np.argmax(x), x.shape)], MATRIX)
    for mode in ("raise", "clip", "wrap", ("wrap", "clip"), "odd"):
        check(lambda i, j: np.ravel_multi_index((i, j), (3, 4), mode), np.array([0, 2, 3]), np.array([[1], [5], [-2]]))
    check(lambda i, j: np.ravel_multi_index((i, j), (3, 4), order="F"), np.array([0, 2]), np.array([1, 3]))
    check(lambda i: np.ravel_multi_index((i, 1), (3, 4)), 2)
    for dims in ((2, 0), (2**62, 2), (2**62, 1)):
        for index in (np.array([0]), np.array([], int)):
            check(lambda i: np.ravel_multi_index((i, i), dims, "wrap"), index)
            check(lambda i: np.unravel_index(i, dims), index)
    check_sizes(lambda x: np.delete(x, 0), lambda n: (sample("f8", n),), (4, 2, 7))
