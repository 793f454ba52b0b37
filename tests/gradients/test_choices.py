"""The arm that a choice does not take leaks nothing, wherever its derivative went: through arrays, loops, branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

Program = Callable[[Any], Any]


def written(x: Any) -> Any:
    y = np.zeros(3)
    y[:] = np.log(x)
    return np.where(x > 0, y, 0).sum()


def elements_written_in_a_loop(x: Any) -> Any:
    y = np.zeros(3)
    for i in range(len(x)):
        y[i] = np.log(x[i])
    return np.where(x > 0, y, 0).sum()


def updated_in_a_loop(x: Any) -> Any:
    y = np.ones(3)
    for _ in range(3):
        y[:] = y * np.log(x)
    return np.where(x > 0, y, 0).sum()


def carried_through_branches(x: Any) -> Any:
    y, total = np.ones(3), np.zeros(3)
    for i in range(3):
        if i % 2 == 0:
            y = y * np.log(x)
        total += y
    return np.where(x > 0, total, 0).sum()


def swapped(x: Any) -> Any:
    u, v = np.ones(3), np.zeros(3)
    for _ in range(3):
        v[:] = u * np.log(x)
        u, v = v, u
    return np.where(x > 0, u, 0).sum()


def read_from_a_loop(x: Any) -> Any:
    y, total, i = np.log(x), 0.0, 0
    while i < len(x):
        total = total + np.where(x[i] > 0, y[i], 0.0)
        i += 1
    return total


def made_in_every_turn(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        total = total + np.where(x > 0, np.log(x), 0)[i]
    return total


def joined(x: Any) -> Any:
    return np.where(np.concatenate([x > 0, x > 0]), np.concatenate([np.log(x), np.log(x) ** 2]), 0).sum()


PROGRAMS = (
    written,
    elements_written_in_a_loop,
    updated_in_a_loop,
    carried_through_branches,
    swapped,
    read_from_a_loop,
    made_in_every_turn,
    joined,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_not_chosen_has_no_gradient(program: Program) -> None:
    x, chosen = np.array([-1.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0])
    expected = jitflow.grad(program)(chosen)[2]
    gradient = jitflow.grad(program)(x)
    np.testing.assert_array_equal(gradient, [0, 0, expected])
    _, change = jitflow.jvp(program, (x,), (np.ones(3),))
    assert np.isclose(change, expected)
