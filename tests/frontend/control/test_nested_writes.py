"""Loops in loops that write to storage: what is first written in an inner one, in a branch or behind a read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def reads_again_what_it_wrote(x: Any, y: Any, count: int) -> None:
    """The element is the same in all turns, and the last that a turn does with it is to read it."""
    for _ in range(count):
        x[0] += y[count % 3]
        y[3] = x[0]


def writes_where_another_name_shows(x: Any, y: Any, count: int) -> None:
    for i in range(count):
        row = x[1:]
        row[0] = row[0] + i
        y[2] += x[1]
        y[0] = x[1]


def puts(x: Any, i: int, value: Any) -> None:
    x[i] = value


def writes_first_in_a_helper(x: Any, y: Any, count: int) -> None:
    for i in range(count):
        before = x[0] + y[0]
        for j in range(i):
            if before > 1:
                puts(x, 0, before * 0.5 + j)
        y[0] = x[0] - before


def swaps_in_a_branch(x: Any, y: Any, count: int) -> None:
    for i in range(count):
        for j in range(count):
            if j % 2:
                x, y = y, x
            x[i % 4] += y[j % 4]
            if x[0] > 100:
                break


@pytest.mark.parametrize(
    "program",
    [reads_again_what_it_wrote, writes_where_another_name_shows, writes_first_in_a_helper, swaps_in_a_branch],
)
@pytest.mark.parametrize("first", [0, 1, 3])
def test_as_python_does(program: Any, first: int) -> None:
    compiled = jitflow.function(program)
    for count in (first, 0, 1, 2, 5):
        ours, plain = ([np.arange(4.0), np.arange(1.0, 5.0) / 2] for _ in range(2))
        compiled(*ours, count)
        program(*plain, count)
        assert_same(tuple(ours), tuple(plain))
