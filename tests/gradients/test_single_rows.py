"""Single rows of large tables, which data chooses: their gradients, and updates that touch these rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_programs import central_differences

TABLE = np.random.default_rng(4).standard_normal((260, 2)) * 0.5
LARGE = np.tile(TABLE, (8, 1))
IDS = np.array([3, 7, 3, 255, -1, 0])


def one(table: Any) -> Any:
    return np.sum(table[IDS[3]] ** 2) * table[IDS[0], 1]


def in_a_loop(table: Any) -> Any:
    h = np.zeros(2)
    for i in IDS:
        h = np.tanh(h + table[i] * table[7])
    return h.sum()


def in_a_while(table: Any) -> Any:
    h, k = np.zeros(2), 0
    while k < len(IDS) and h.sum() < 5.0:
        h = h * 0.5 + table[IDS[k]] ** 2
        k += 1
    return (h**2).sum()


def several_in_a_while(table: Any) -> Any:
    total, k = 0.0, 0
    while total < 4.0 and k < 4:
        total = total + (table[IDS[k : k + 2]] ** 2).sum() + 0.5
        k += 1
    return total


def written_in_between(table: Any) -> Any:
    total = 0.0
    for k in range(len(IDS)):
        row = table[IDS[k]]
        total = total + (row**2).sum()
        table[IDS[k]] = row * 0.5
        table[k] += row
    return total + (table[:9] ** 3).sum()


def a_view_that_is_written_to(table: Any) -> Any:
    row = table[IDS[0]]
    row *= 2.0
    other = table[IDS[2]]
    return (row * other).sum() + table[3].sum()


def in_branches(table: Any) -> Any:
    total = 0.0
    for k in IDS:
        if table[k, 0] > 0.0:
            total = total + (table[k] ** 2).sum()
        else:
            part = table[k].sum()
            total = total - part * total
    return total


def of_a_computed_table(table: Any) -> Any:
    doubled = np.sin(table) * 2
    return sum(doubled[k].sum() ** 2 for k in IDS[:3]) + doubled[IDS[4]].sum()


def two_rows(table: Any) -> Any:
    return table[IDS[0]] @ table[IDS[3]] * table[IDS[2]].sum()


def turn_by_turn(table: Any) -> Any:
    h = np.zeros(2)
    for i in IDS:
        h = np.tanh(h + table[i])
    return h.sum()


def windows_in_a_while(table: Any) -> Any:
    total, k = 0.0, 0
    while total < 4.0 and k < 2:
        total = total + (table[IDS.reshape(2, 3)[k]] ** 2).sum() + 0.5
        k += 1
    return total


PROGRAMS: list[Callable[[Any], Any]] = [
    one, in_a_loop, in_a_while, several_in_a_while, written_in_between, a_view_that_is_written_to, in_branches,
    of_a_computed_table, two_rows, turn_by_turn, windows_in_a_while,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients(program: Callable[[Any], Any]) -> None:
    expected = central_differences(lambda table: program(table.copy()), TABLE)
    np.testing.assert_allclose(jitflow.grad(program)(TABLE), expected, rtol=1e-6, atol=1e-7)
    table = jitflow.Variable(TABLE)
    (found,) = jitflow.grad(lambda: program(table), variables=[table])()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("program", [two_rows, turn_by_turn, in_a_while, windows_in_a_while])
def test_steps_touch_these_rows_alone(program: Callable[[Any], Any]) -> None:
    table = jitflow.Variable(LARGE)
    rate = jitflow.Variable(np.inf)  # no row but those that are read is multiplied with it

    @jitflow.function
    def step(rate: Any) -> Any:
        value, (gradient,) = jitflow.value_and_grad(lambda: program(table), variables=[table])()
        table[...] -= rate * gradient
        return value

    expected = LARGE - 0.1 * jitflow.grad(program)(LARGE)
    assert step(0.1) == pytest.approx(float(program(LARGE.copy())))
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-12)
    before = table.numpy()
    step(float(rate.numpy()))
    others = np.delete(np.arange(len(LARGE)), [*IDS, len(LARGE) - 1])
    np.testing.assert_array_equal(table.numpy()[others], before[others])


def test_factors_of_a_matrix_entry_by_entry() -> None:
    random = np.random.default_rng(5)
    users, items = random.standard_normal((300, 3)), random.standard_normal((400, 3))
    entries = [(int(i), int(j), float(r)) for i, j, r in zip(
        random.integers(0, 300, 20), random.integers(0, 400, 20), random.standard_normal(20), strict=True)]  # fmt: skip

    def loss(users: Any, items: Any, i: int, j: int, rating: float) -> Any:
        return (users[i] @ items[j] - rating) ** 2

    @jitflow.function
    def step(users: Any, items: Any, i: int, j: int, rating: float) -> None:
        of_users, of_items = jitflow.grad(loss, argnums=(0, 1))(users, items, i, j, rating)
        users -= 0.1 * of_users
        items -= 0.1 * of_items

    expected_users, expected_items = users.copy(), items.copy()
    for i, j, rating in entries:
        step(users, items, i, j, rating)
        error = 2 * (expected_users[i] @ expected_items[j] - rating)
        moved = expected_users[i] - 0.1 * error * expected_items[j]
        expected_items[j] -= 0.1 * error * expected_users[i]
        expected_users[i] = moved
    np.testing.assert_allclose(users, expected_users, rtol=1e-12)
    np.testing.assert_allclose(items, expected_items, rtol=1e-12)
    assert "f64[n, k] = subtract" not in step.ir(users, items, 1, 2, 0.5, stage="optimized")
