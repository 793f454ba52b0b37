"""Gradients of gathers in loops and branches, from arrays that the program writes to before, behind and in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_programs import central_differences

START = np.random.default_rng(10).random((40, 2))
IDS = np.array([[3, 7, 3], [0, -1, 12], [7, 7, 39], [1, 2, 3]])


def written_by_the_outer_loop(table: Any) -> Any:
    total = 0.0
    for row in range(IDS.shape[0]):
        for _ in range(3):
            total = total + np.sin(table[IDS[row]]).sum() * (table[IDS[row]] ** 2).sum()
        table[row] = table[row] * 0.5 + table[IDS[row, 0]]
    return total


def written_in_the_turn(table: Any) -> Any:
    total = 0.0
    for row in range(IDS.shape[0]):
        found = table[IDS[row]]
        table[IDS[row]] = found * 0.9
        total = total + (table[IDS[row]] * found).sum()
    return total + (table**2).sum()


def in_a_branch(table: Any) -> Any:
    total = 0.0
    for row in range(IDS.shape[0]):
        if table[row, 0] > 0.4:
            total = total + (table[IDS[row]] ** 3).sum()
        else:
            table[5] = table[IDS[row]].sum(axis=0)
    return total + table[5].sum()


def before_and_behind(table: Any) -> Any:
    first = table[IDS[0]]
    table[3] = 2.0
    return (first * table[IDS[0]]).sum() + (table[IDS[2], 1] ** 2).sum()


def of_a_view(table: Any) -> Any:
    part, total = table[10:, 1], 0.0
    for row in range(3):
        total = total + (part[np.abs(IDS[row]) % 20] ** 2).sum()
        part[row] = total * 0.1
    return total + part.sum()


def until(table: Any) -> Any:
    total, row = 0.0, 0
    while total < 5.0 and row < 4:
        total = total + (table[IDS[row]] ** 2).sum()
        row = row + 1
    return total


PROGRAMS: list[Callable[[Any], Any]] = [
    written_by_the_outer_loop, written_in_the_turn, in_a_branch, before_and_behind, of_a_view, until,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_an_argument(program: Callable[[Any], Any]) -> None:
    expected = central_differences(lambda table: program(table.copy()), START)
    np.testing.assert_allclose(jitflow.grad(program)(START.copy()), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_a_variable(program: Callable[[Any], Any]) -> None:
    table = jitflow.Variable(START)
    (found,) = jitflow.grad(lambda: program(table), variables=[table])()
    expected = central_differences(lambda table: program(table.copy()), START)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_of_a_copy(program: Callable[[Any], Any]) -> None:
    """Storage that the program makes itself."""
    expected = central_differences(lambda table: program(table * 1.5), START)
    np.testing.assert_allclose(jitflow.grad(lambda x: program(x * 1.5))(START), expected, rtol=1e-6, atol=1e-7)
