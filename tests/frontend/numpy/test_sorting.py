"""Sorting against NumPy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import KINDS, check, check_function, check_sizes, sample

CUBE = sample("f8", 3, 4, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes(kind: str):
    for shape in ((5,), (3, 4), (0,), (1,), (2, 0)):
        check(lambda x: np.sort(x), sample(kind, *shape))
        check(lambda x: np.argsort(x, kind="stable"), sample(kind, *shape))
    check_both(lambda x: (np.sort(x), np.argsort(x, axis=0, stable=True)), sample(kind, 4, 5)[::-1, ::2])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, None, 3, -4])
def test_axes(axis: Any):
    check(lambda x: np.sort(x, axis=axis), CUBE)
    check(lambda x: np.argsort(x, axis=axis), CUBE)
    check_both(lambda x: np.sort(x.T, axis=axis), CUBE)


def _sorted_list(x: float) -> Any:
    return np.sort([x, 1.0, 0.5])


def test_options():
    check(lambda x: np.sort(x, kind="stable"), CUBE)
    check(lambda x: np.sort(x, kind="bubble"), CUBE)
    check(lambda x: np.sort(x, order="a"), CUBE)
    check(lambda x: np.sort(x), np.asarray(3.0))
    check_function(_sorted_list, 0.75)
    check(lambda x: np.sort(x), np.array([np.nan, 1, -np.inf, np.nan, -0.0, 0.0]))


def test_many_sizes():
    check_sizes(lambda x: np.sort(x, axis=0)[0], lambda n: (sample("f4", n, 3),), (5, 2, 3, 8))


@pytest.mark.parametrize("function", [np.partition, np.argpartition], ids=lambda function: function.__name__)
def test_partition(function: Any):
    for kth in (0, 2, -1, [1, 3], 9):
        check(lambda x: np.sort(function(x, kth), axis=-1), sample("f8", 3, 5))
    check(lambda x: np.partition(x, 3)[3], sample("i4", 9))
    check(lambda x, k: np.partition(x, k)[k], sample("i4", 9), 4)
    check(lambda x: np.partition(x, x.shape[0] // 2)[x.shape[0] // 2], sample("i4", 9))
    check(lambda x: x[np.argpartition(x, 3)[:3]].sum(), sample("i4", 9))
    check(lambda x: np.sort(function(x, 3, axis=None)), sample("f8", 3, 5))
    check(lambda x: np.sort(function(x, 0, kind="odd")), sample("f8", 5))


def test_lexsort():
    first, second = np.array([1, 5, 1, 4, 3, 4, 4]), np.array([9, 4, 0, 4, 0, 2, 1])
    check_function(_by_keys, first, second)
    check(lambda x: np.lexsort(x, axis=0), CUBE[:, 0])
    check_both(lambda x, y: x[np.lexsort((y, x))], first, second)
    check(lambda x, y: np.lexsort((y, x)), first, second[:3])
    check(lambda x: np.lexsort((x, x[0])), CUBE[0])
    check_both(lambda x: np.lexsort((x, x)), np.array(2.5))


def _by_keys(x: Any, y: Any) -> Any:
    return np.lexsort((y, x)), np.lexsort([x + 0.5, y])


def test_sort_complex():
    for kind in ("i4", "f4", "f8", "c8", "c16"):
        check(lambda x: np.sort_complex(x), sample(kind, 6))


def test_threads():
    @jitflow.function
    def program(x):
        order = np.argsort(x)
        return np.sort(x)[::-1] - x[order][::-1], np.linalg.solve(np.eye(3) * x[0], x[:3]), np.unique(x).shape[0]

    wrong: list[Any] = []

    def work(size: int) -> None:
        random = np.random.default_rng(size)
        for turn in range(60):
            x = random.integers(1, 9, size).astype("f8")
            difference, solved, count = program(x)
            fine = not difference.any() and np.allclose(solved, x[:3] / x[0]) and count == np.unique(x).size
            if not fine or difference.shape != (size,):
                wrong.append((size, turn))

    work(5)
    threads = [threading.Thread(target=work, args=(size,)) for size in (5, 5, 7, 300, 20_000, 40_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_calls_that_repeat():
    """The second call of a routine takes another way than the first, and so does one after a failure."""

    @jitflow.function
    def program(x, y):
        return np.linalg.solve(x, y), np.sort(x, axis=None), np.linalg.qr(x), np.linalg.det(x), np.unique(y)

    random = np.random.default_rng(0)
    before = None
    for turn in range(8):
        x, y = random.normal(size=(3, 3)), random.integers(0, 3, 3).astype("f8")
        if turn % 3 == 2:
            with pytest.raises(np.linalg.LinAlgError, match="Singular"):
                program(x * 0, y)
        expected = np.linalg.solve(x, y), np.sort(x, axis=None), np.linalg.qr(x), np.linalg.det(x), np.unique(y)
        assert_same(program(x, y), expected)
        with pytest.raises(np.linalg.LinAlgError, match="square"):
            program(x[:2], y)
        in_use = jitflow.memory_stats()["bytes_in_use"]
        assert before in (None, in_use)
        before = in_use
