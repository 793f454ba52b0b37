"""Axes of a size that only the running program finds, and axes in lists that it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow import function
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_same

LINE = np.arange(5.0)


def last_along(x: Any, axis: Any) -> Any:
    index = [slice(None)] * x.ndim
    index[axis] = slice(-1, None, 1)
    return np.squeeze(x[tuple(index)], axis=axis)


def test_an_axis_of_a_size_that_is_found_is_dropped() -> None:
    assert_same(function(last_along)(LINE, -1), last_along(LINE, -1))

    @function
    def chosen(x: Any, limit: Any) -> Any:
        return np.squeeze(x[x > limit], axis=0), x[x > limit][None].squeeze(0)

    assert_same(chosen(LINE, 3), (np.array(4.0), np.array([4.0])))
    with pytest.raises(ValueError, match="cannot select an axis to squeeze out"):
        chosen(LINE, 2)


def test_an_axis_of_a_size_that_is_found_is_dropped_of_what_is_written() -> None:
    def program(x: Any, start: int, end: int) -> Any:
        x = x * 2
        x[0] = 7
        column = x[:, start:end].squeeze(1)
        column += 1
        return x, column, np.squeeze(x[start:end, start:end], axis=(0, 1))

    compiled, x = function(program), np.arange(12.0).reshape(3, 4)
    assert_same(compiled(x, 1, 2), program(x, 1, 2))
    assert_same(compiled(x, 2, 3), program(x, 2, 3))
    with pytest.raises(ValueError, match="cannot select an axis to squeeze out"):
        compiled(x, 1, 3)


@pytest.mark.parametrize(
    "program", [lambda x, limit: np.squeeze(x[x > limit]), lambda x, limit: x[x > limit].squeeze()]
)
def test_without_an_axis_the_rank_is_not_left_to_the_run(program: Any) -> None:
    compiled = function(program)
    assert_same(compiled(LINE, 1), program(LINE, 1))
    with pytest.raises(NotImplementedError, match="without an axis"):
        compiled(LINE, 3)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.transpose(x, range(3)[::-1]),
        lambda x: x.transpose(range(x.ndim)),
        lambda x: np.moveaxis(x, range(2), range(1, 3)),
        lambda x: np.roll(x, range(2), range(2)),
        lambda x: np.zeros(range(2, 4)) + np.tile(x[0, 0], range(2, 3)).sum(),
        lambda x: np.indices(size for size in x.shape[:2]),
    ],
)
def test_ranges_are_sequences(program: Any) -> None:
    assert_same(function(program)(np.arange(12.0).reshape(2, 2, 3)), program(np.arange(12.0).reshape(2, 2, 3)))


@pytest.mark.parametrize(
    "program",
    [
        lambda x, axes: np.transpose(x, axes),
        lambda x, axes: x.transpose(axes),
        lambda x, axes: np.zeros(axes),
        lambda x, axes: np.moveaxis(x, axes, axes),
        lambda x, axes: np.tile(x, axes),
    ],
)
def test_axes_in_a_list_that_the_program_changes(program: Any) -> None:
    @function
    def changed(x: Any, axis: Any) -> Any:
        axes = [0, 1, 2]
        axes.pop(axis)
        return program(x, axes)

    with pytest.raises(
        UserNotImplementedError, match="sizes, axes or counts in a list that the running program changes"
    ):
        changed(LINE, 1)
