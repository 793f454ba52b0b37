"""The rules of views, of reading and writing at computed positions, and of products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.passes.derivatives.numerical import check_rules, close

RANDOM = np.random.default_rng(4)
VECTOR = RANDOM.normal(size=6)
MATRIX = RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(2, 3, 4))
POSITIONS = np.array([0, 2, 2, 5, -1])
ROWS, COLUMNS = np.array([[0, 1], [2, 0]]), np.array([[1, 1], [3, 1]])


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: x[::-1] * x[POSITIONS[0] :], VECTOR),
        (lambda x: x[1:5:2] ** 2, VECTOR),
        (lambda x: x[POSITIONS] ** 2, VECTOR),
        (lambda x: x[ROWS, COLUMNS] ** 2, MATRIX),
        (lambda x: x[:, ROWS] ** 2, MATRIX),
        (lambda x: x[1, :, ROWS] * 2, CUBE),
        (lambda x: np.take(x, [-9, 2, 2, 99], mode="clip") ** 2, VECTOR),
        (lambda x: np.take(x, [-9, 2, 2, 99], axis=1, mode="wrap") ** 2, MATRIX),
        (lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) ** 2, MATRIX),
        (lambda x: x[x > 0] ** 2, MATRIX),
        (lambda x: x.T @ x, MATRIX),
        (lambda x: x @ np.swapaxes(x, 1, 2), CUBE),
        (lambda x: CUBE @ x.T, MATRIX),
        (lambda x: np.einsum("ijk,jl->kl", CUBE, x), MATRIX),
        (lambda x: np.tensordot(CUBE, x, 2), MATRIX),
        (lambda x: np.outer(x, x**2), VECTOR),
        (lambda x: np.dot(x, x) * x, VECTOR),
        (lambda x: np.diagonal(x[:, :3]) ** 2, MATRIX),
        (lambda x: np.trace(x @ x.T), MATRIX),
        (lambda x: np.diag(x) @ x, VECTOR),
        (lambda x: np.tril(x[:, :3]) ** 2, MATRIX),
        (lambda x: np.concatenate([x, x[:1] * 2, x**2]), MATRIX),
        (lambda x: np.stack([x, x * x], axis=1), MATRIX),
        (lambda x: np.repeat(x, 3, axis=0) * 2, MATRIX),
        (lambda x: np.tile(x, (2, 2)) ** 2, MATRIX),
        (lambda x: np.roll(x, 2, axis=1) * x, MATRIX),
        (lambda x: np.pad(x, 1, mode="edge") ** 2, MATRIX),
        (lambda x: np.diff(x, axis=1) ** 2, MATRIX),
        (lambda x: np.broadcast_to(x[:, None], (3, 2, 4)) ** 2, MATRIX),
        (lambda x: x.reshape(4, 3).T * x, MATRIX),
        (lambda x: np.kron(x, x), MATRIX[:2, :2]),
        (lambda x: np.cross(x[:3], x[3:]), VECTOR),
        (lambda x: np.where(x > 0, x, x * 2) + np.clip(x, -0.5, 0.5), VECTOR),
        (lambda x: np.trapezoid(x) * x, VECTOR),
    ],
)
def test_reading(function: Any, x: Any) -> None:
    check_rules(function, x)


def writes(x: Any, how: Any) -> Any:
    y = np.zeros((5, 4))
    how(y, x)
    return y * y


def equal_rows(y: Any, x: Any) -> None:
    y[[0, 2, 2]] = x
    y[[4, 0]] = x[1:] * 2


def equal_elements(y: Any, x: Any) -> None:
    y[[0, 1, 0, 4], [3, 1, 3, 0]] = x[0] ** 2


def equal_columns(y: Any, x: Any) -> None:
    y[1:4, [0, 3, 0, 0]] = x


def one_value(y: Any, x: Any) -> None:
    y[[0, 1, 0]] = x[1, 2]
    y[3] = x[0, 0]


def added(y: Any, x: Any) -> None:
    np.add.at(y, [0, 2, 2], x)
    np.add.at(y, ([0, 0, 1, 0],), x[0])
    y[[1, 1]] += x[:2]


@pytest.mark.parametrize("how", [equal_rows, equal_elements, equal_columns, one_value, added])
def test_writing(how: Any) -> None:
    check_rules(lambda x: writes(x, how), MATRIX)


def test_positions_that_run_time_decides() -> None:
    def f(x: Any, positions: Any) -> Any:
        y = np.zeros(4)
        y[positions] = x
        return np.sum(y * np.arange(1.0, 5.0))

    assert jitflow.grad(f)(np.ones(3), np.array([0, 3, 0])).tolist() == [0, 4, 1]
    assert jitflow.grad(f)(np.ones(2), np.array([-1, 3])).tolist() == [0, 4]
    assert jitflow.grad(f)(np.ones(0), np.zeros(0, int)).tolist() == []


def test_sizes_that_meet_at_run_time() -> None:
    """What the data decides may be of size 1, and then it is repeated."""

    def f(x: Any, y: Any) -> Any:
        return np.sum(x[x > 0] * y[y > 0])

    x, y = np.array([1.0, -1.0, 2.0, 3.0]), np.array([-1.0, 5.0, -2.0])
    first, second = jitflow.grad(f, argnums=(0, 1))(x, y)
    assert close(first, [5, 0, 5, 5])
    assert close(second, [0, 6, 0])
    _, change = jitflow.jvp(f, (x, y), (np.ones(4), np.ones(3)))
    assert change == 21


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16"])
def test_products_of_other_numbers(dtype: str) -> None:
    left, right = MATRIX.astype(dtype), (MATRIX.T * 2).astype(dtype)
    if dtype[0] == "c":
        left = left + 1j * np.roll(left, 1)
    check_rules(lambda a, b: a @ b, left.astype(dtype), right, digits=8 if dtype == "c16" else 4)
