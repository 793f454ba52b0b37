"""Strides, `as_strided`, views with another dtype, `np.ndarray(shape, dtype)`, and `operator`."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

X = np.arange(12.0).reshape(3, 4)


def strides(x):
    return (
        x.strides,
        x.T.strides,
        x[::2].strides,
        x[1:, ::-1].strides,
        x.ravel().strides,
        np.zeros((5, 2), "f4").strides,
    )


def strided(x, n):
    flat = x.ravel()
    windows = as_strided(flat, (n, 3), (flat.strides[0], 8))
    diagonal = np.lib.stride_tricks.as_strided(x, shape=(3,), strides=(x.strides[0] + x.itemsize,))
    repeated = as_strided(flat, (2, *flat.shape), (0, *flat.strides))
    return windows.sum(axis=1), diagonal + 0, repeated * 2, as_strided(x, (x.shape[0], 2), (x.strides[0], 16)) + 0


def backwards(x, n):
    line = np.concatenate([x[0], x[1]])
    step = line.strides[0]
    written = np.zeros(2 * x.shape[1])
    written[:] = line
    rows = as_strided(x[1:, 1:], (2, 2), (-x.strides[0], x.strides[1]))
    return (as_strided(line[n:], (n + 1, len(line) - n), (-step, step)) + 0, rows + 0,
            as_strided(written[2:], (3, 3), (-8, 8)).sum(0), as_strided(line[::-1], (3,), (-step,)) + 0)  # fmt: skip


def before(x):
    return as_strided(x, (2, 2), (-x.strides[0], 8)) + 0


def beyond(x):
    return as_strided(x, (x.shape[0], 2), x.strides * 2) + 0


def bytes_of(x, z, k, h):
    number = x[0, 1].view(np.int64)
    return (x.view(np.int64) + 0, x.view("u1").shape, x.view(np.int32)[:, 1::2], x.view(complex) * 1j,
            z.view(float) + 0, k.view("f4") + 0, h.view(np.uint64) + 0, k.view("i2") + 0, number,
            np.float32(1.5).view("i4"))  # fmt: skip


def of_one(a, b, c, d):
    """Of single elements: NumPy's numbers stay numbers, arrays without axes arrays."""
    return a.view("c8"), b.view("f8"), b.view("i8"), c.view("c8"), c.view("i8"), d.view("f8")


def uneven(h):
    return h.view(np.uint64) + 0


def made(n):
    pairs = np.ndarray((n, 2), dtype=np.float32)
    pairs[:] = 1
    row = np.ndarray(shape=n)
    row.fill(3)
    return pairs, row, isinstance(pairs, np.ndarray)


def operators(n, x, a):
    items = [1, 5, 7]
    return (
        operator.index(n), operator.truth(n), operator.not_(x), operator.is_(n, n), operator.is_not(n, x),
        operator.contains(items, n), operator.getitem(items, n % 3), operator.eq(n, x), operator.ne([n], [1]),
        a[operator.index(n) % 2], operator.matmul(a, a), functools.reduce(operator.add, [a, a, x]), operator.neg(x),
        operator.itemgetter(1)(a), operator.methodcaller("sum")(a), operator.iadd(a, 1),
    )  # fmt: skip


def index_of(x):
    return operator.index(x)


CALLS = {
    strides: [(X,)],
    strided: [(X, 10), (X, 4)],
    backwards: [(X, 3), (X, 1)],
    beyond: [(np.arange(5.0),)],
    bytes_of: [(X, X[:2] + 1j, np.arange(-3, 5, dtype="i4"), np.arange(8, dtype="u2"))],
    of_one: [(np.float64(1.5), np.complex64(1 + 2j), np.array(1.5), np.array(1 + 2j, "c8"))],
    uneven: [(np.arange(8, dtype="u2"),), (np.arange(7, dtype="u2"),)],
    made: [(3,), (0,)],
    operators: [(5, 2.5, np.array([1.0, 2.0])), (0, 0.0, np.array([1.0, 2.0]))],
    index_of: [(3,), (np.uint8(3),), (True,), (2.0,), (np.float64(2),), (np.bool_(1),)],
}
OUTSIDE = (beyond,)


@pytest.mark.parametrize("program", [one for one in CALLS if one not in OUTSIDE], ids=lambda program: program.__name__)
def test_programs(program):
    assert_does_what_python_does(program, CALLS[program])


def test_memory_of_others_is_not_read():
    with pytest.raises(IndexError):
        jitflow.function(beyond)(np.arange(5.0))
    with pytest.raises(IndexError):
        jitflow.function(before)(X)


def test_writes_that_a_view_would_show_are_refused():
    @jitflow.function
    def through(x):
        bits = x.view(np.int32)
        bits[0, 0] = 5
        return x

    @jitflow.function
    def beside(x):
        diagonal = as_strided(x, (3,), (40,))
        x[0, 0] = 7.0
        return diagonal + 0

    with pytest.raises(NotImplementedError, match="view is written to"):
        through(X.copy())
    with pytest.raises(NotImplementedError, match="read after a write"):
        beside(X.copy())
