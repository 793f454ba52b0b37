"""Arrays of lists of lists, whose lengths the running program finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([1.0, -1.0, 2.0, 3.0])


def table(n: Any) -> Any:
    items = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            items[i][j] = i + j / 2
    return np.array(items), np.array(items, dtype=np.float32), np.sum(items), np.mean(items, axis=1)


def chosen_rows(x: Any) -> Any:
    rows = []
    for item in x:
        if item > 0:
            rows.append([item, item * 2, 1.0])
    return np.array(rows)


def whole_beside_floats(x: Any) -> Any:
    rows = []
    for item in x:
        if item != 2:
            rows.append([item, 1, len(rows)])
    return np.asarray(rows)


def deeper(n: Any) -> Any:
    blocks = []
    for i in range(n):
        blocks.append([[i + j, i * j] for j in range(n)])
        if i == 7:
            break
    return np.array(blocks)


def of_several_lengths(n: Any) -> Any:
    rows = []
    for i in range(n):
        rows.append([i] * (1 + i % 2))
    return np.array(rows)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        (table, [(5,), (1,), (40,)]),
        (chosen_rows, [(X,), (X[:1],)]),
        (whole_beside_floats, [(X,), (X[:2],)]),
        (deeper, [(3,), (1,), (12,)]),
        (of_several_lengths, [(1,), (4,)]),
    ],
)
def test_lists_that_the_program_fills(program: Any, arguments: Any) -> None:
    assert_does_what_python_does(program, arguments)


def test_an_empty_list_is_told() -> None:
    """NumPy's array of it would be one of floats with one axis."""
    with pytest.raises(NotImplementedError, match="an array of a list which is empty"):
        jitflow.function(chosen_rows)(-abs(X))


def powers(n: Any) -> Any:
    size = 1 << n
    root = np.exp(2j * np.pi / size)
    return np.array([[root ** (i * j) for j in range(size)] for i in range(size)])


def products(n: Any) -> Any:
    return np.array([[i * j for j in range(n)] for i in range(n)], dtype=np.float32)


class Total:
    """What has a method of the name of NumPy's function."""

    def array(self, rows: Any) -> Any:
        return sum(sum(row) if type(row) is list else -1 for row in rows)


def not_numpys(n: Any) -> Any:
    return Total().array([[i * j for j in range(n)] for i in range(n)])


@pytest.mark.parametrize(("program", "sizes"), [(powers, (2, 0, 5)), (products, (20, 30, 50)), (not_numpys, (3, 4))])
def test_comprehensions_in_each_other(program: Any, sizes: Any) -> None:
    assert_does_what_python_does(program, [(size,) for size in sizes], ELEMENTARY)


def test_rows_are_a_loop() -> None:
    compiled = jitflow.function(products)
    for size in (20, 30, 50):
        compiled(size)
    assert compiled.cache_info().misses == 1
