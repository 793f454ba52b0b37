"""Arrays in lists whose length the running program finds, joined as NumPy joins those of any list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([[1.0, 2.0], [-1.0, 3.0], [4.0, 5.0]])


def rows(x: Any) -> Any:
    return [row * 2 for row in x if row[0] > 0]


def squares(x: Any) -> Any:
    return [np.outer(row, row) for row in x if row[0] > 0]


def numbers(x: Any) -> Any:
    return [row.sum() for row in x if row[0] > 0]


def concatenated(x: Any) -> Any:
    return (
        np.concatenate(rows(x)), np.concatenate(rows(x), dtype=np.float32), np.concatenate(rows(x), None),
        np.concatenate(squares(x)), np.concatenate(squares(x), 1), np.concatenate(numbers(x), None),
    )  # fmt: skip


def stacked(x: Any) -> Any:
    return np.stack(rows(x)), np.stack(rows(x), -1), np.stack(squares(x), axis=1), np.stack(numbers(x))


def side_by_side(x: Any) -> Any:
    lists = rows(x), squares(x), numbers(x)
    return [(np.vstack(each), np.hstack(each), np.dstack(each), np.column_stack(each)) for each in lists]


def in_blocks(x: Any) -> Any:
    return np.block(rows(x)), np.block([numbers(x)]), np.block([rows(x), [np.zeros(2 * len(rows(x)))]])


def of_the_rows_of_an_argument(x: Any) -> Any:
    items = list(x)
    return np.vstack(items), np.concatenate([row for row in x if row[0] < 9]), items[0] + items[-1], len(items)


def of_another_rank(x: Any) -> Any:
    return np.concatenate(numbers(x))


def along_no_axis_of_theirs(x: Any) -> Any:
    return np.stack(rows(x), 3)


@pytest.mark.parametrize("program", [concatenated, stacked, side_by_side, in_blocks, of_the_rows_of_an_argument])
def test_lists_of_arrays_are_joined(program: Any) -> None:
    compiled = jitflow.function(program)
    for x in (X, -X, np.arange(1.0, 9.0).reshape(4, 2)):
        assert_all_same(compiled(x), program(x))


@pytest.mark.parametrize("program", [concatenated, stacked, of_another_rank, along_no_axis_of_theirs])
def test_what_cannot_be_joined_raises_what_numpy_raises(program: Any) -> None:
    assert_does_what_python_does(program, [(-np.abs(X),), (X,)])


def test_gradients_of_rows_that_are_joined() -> None:
    found = jitflow.grad(lambda x: (np.vstack(rows(x)) ** 2).sum())(X)
    np.testing.assert_array_equal(found, 8 * X * (X[:, :1] > 0))
