"""Slices that nothing else reads: what arrives at them is stored; rows that lie in memory are not put away again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow

RANDOM = np.random.default_rng(8)
X = RANDOM.standard_normal((7, 6)) * 0.5


def gates(x: Any) -> Any:
    z = np.sin(x) * x
    return (z[:, :2] * np.tanh(z[:, 2:5]).sum()).sum() + z[:, 5:].max()


def gates_with_a_gap(x: Any) -> Any:
    z = np.sin(x) * x
    return (z[:, :2] * np.tanh(z[:, 3:5])).sum()


def parts_that_meet(x: Any) -> Any:
    z = np.sin(x) * x
    return (z[:, :4] * np.tanh(z[:, 2:])).sum()


def part_and_whole(x: Any) -> Any:
    z = np.sin(x) * x
    return z[:, :4].sum() * z.sum() + (z[:, 4:] ** 3).sum()


def rows_from_elsewhere_each_turn(x: Any) -> Any:
    z, total, k = np.sin(x) * x, 0.0, 0
    for i in range(len(x) - 1):
        total += (z[k:][i] ** 2).sum()
        k = 1 - k
    return total


def every_row(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x)):
        h = np.tanh(h + z[t])
    return (h * h).sum()


def rows_backwards(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x) - 1, -1, -1):
        h = np.tanh(h + z[t])
    return (h * h).sum()


def every_other_row(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(0, len(x), 2):
        h = np.tanh(h + z[t])
    return (h * h).sum()


def rows_of_a_part(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(1, len(x) - 1):
        h = np.tanh(h + z[t])
    return (h * h).sum()


def pairs_of_rows(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x) // 2):
        h = np.tanh(h + z[2 * t] * z[2 * t + 1])
    return (h * h).sum()


def neighbours(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x) - 1):
        h = np.tanh(h + z[t] * z[t + 1])
    return (h * h).sum()


def parts_of_rows(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(3)
    for t in range(len(x)):
        h = np.tanh(h * z[t, :3] + z[t, 3:])
    return (h * h).sum()


def rows_and_the_first(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x)):
        h = np.tanh(h + z[t] * z[0])
    return (h * h).sum()


def rows_in_a_branch(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for t in range(len(x)):
        if h.sum() < 0.4:
            h = np.tanh(h + z[t])
    return (h * h).sum()


def rows_twice(x: Any) -> Any:
    z, h = np.sin(x) * x, np.zeros(6)
    for k in range(3):
        for t in range(len(x)):
            h = np.tanh(h + z[t] * k)
    return (h * h).sum()


def elements(x: Any) -> Any:
    z, s = np.sin(x[:, 0]) * x[:, 1], 0.0
    for t in range(len(x)):
        s = np.tanh(s + z[t])
    return s


PROGRAMS = (
    gates, gates_with_a_gap, parts_that_meet, part_and_whole, every_row, rows_backwards, every_other_row,
    rows_from_elsewhere_each_turn,
    rows_of_a_part, pairs_of_rows, neighbours, parts_of_rows, rows_and_the_first, rows_in_a_branch, rows_twice,
    elements,
)  # fmt: skip


def numerical(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """The gradient by central differences."""
    found = np.zeros(x.shape)
    for position in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[position] = 1e-6
        found[position] = (function(x + step) - function(x - step)) / 2e-6
    return found


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("rows", [7, 1])
def test_gradients_are_right(function: Callable[[Any], Any], rows: int) -> None:
    gradient = jitflow.grad(function)
    np.testing.assert_allclose(gradient(X), numerical(function, X), 1e-6, 1e-8)
    if rows == 1 and function is not rows_of_a_part:
        np.testing.assert_allclose(gradient(X[:rows]), numerical(function, X[:rows]), 1e-6, 1e-8)


def zeros_and_sums(function: Callable[[Any], Any]) -> tuple[int, int]:
    """How often the gradient fills storage with zeros, and how often it adds to storage."""
    text = jitflow.grad(function).ir(X, stage="optimized")
    lines = [line.split(" = ") for line in text.splitlines() if " = " in line]
    makers = {line[0].split(":")[0].strip(): line[1].split()[0] for line in lines}
    variables = [line[1].split()[1] for line in lines if line[1].startswith("variable")]
    stored = [line.split(", ")[1].split()[0] for line in text.splitlines() if line.strip().startswith("store")]
    return sum(makers[name] != "empty" for name in variables), sum(makers.get(name) == "add" for name in stored)


@pytest.mark.parametrize("function", [gates, every_row, rows_backwards])
def test_what_nobody_else_reads_is_stored(function: Callable[[Any], Any]) -> None:
    assert zeros_and_sums(function) == (0, 0)


@pytest.mark.parametrize("function", [gates_with_a_gap, every_other_row, rows_of_a_part, parts_of_rows, elements])
def test_what_nobody_reads_has_zeros(function: Callable[[Any], Any]) -> None:
    assert zeros_and_sums(function) == (1, 0)


@pytest.mark.parametrize(
    "function", [parts_that_meet, neighbours, rows_in_a_branch, rows_twice, rows_from_elsewhere_each_turn]
)
def test_what_is_read_more_often_adds_up(function: Callable[[Any], Any]) -> None:
    assert zeros_and_sums(function)[1] > 0


def test_rows_that_lie_in_memory_are_not_put_away_again() -> None:
    def recurrent(x: Any, w: Any, u: Any) -> Any:
        h = np.zeros((x.shape[1], u.shape[0]))
        projected = x @ w
        for t in range(len(x)):
            h = np.tanh(projected[t] + h @ u)
        return (h * h).sum()

    arguments = np.ones((6, 3, 8)), np.ones((8, 16)), np.ones((16, 16))
    text = jitflow.grad(recurrent, argnums=(1, 2)).ir(*arguments, stage="optimized")
    assert text.count("store ") == 3  # h and tanh of the forward sweep, and the rows that both products are made of
