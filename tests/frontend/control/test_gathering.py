"""Comprehensions whose items become those of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import REDUCTION, assert_same


def distances(points: Any, others: Any, count: Any) -> Any:
    nearest = np.array([np.sqrt(((points - point) ** 2).sum(1)).min() for point in others])
    doubled = np.array([row * 2 for row in points])
    squares = np.array([number * number for number in range(count)])
    numbered = np.array([place + row[0] for place, row in enumerate(points)])
    products = np.array([np.dot(u, v) for u, v in zip(points, points[::-1], strict=True)], dtype=np.float32)
    pairs = np.asarray([(place, place % 3 == 0) for place in range(len(others))])
    return nearest, doubled, squares, numbered, products, pairs


def groups(points: Any, others: Any, count: Any) -> Any:
    keys, numbers = (points[:, 0] * count).astype(int), points[:, 1]
    found = np.unique(keys)
    means = np.array([numbers[keys == key].mean() for key in found])
    first = np.array([np.argmax(keys == key) for key in found])
    return means, first, np.array([[key, 2 * key] for key in found])


def with_a_list(points: Any, others: Any, count: Any) -> Any:
    seen: list[int] = []
    found = np.array([seen.append(1) or 2.0 for _ in range(3)])
    return found, len(seen)


@pytest.mark.parametrize("program", [distances, groups, with_a_list])
def test_it_gives_what_python_gives(program: Any) -> None:
    compiled, generator = jitflow.function(program), np.random.default_rng(0)
    for rows, others, count in ((40, 50, 60), (20, 3, 5), (2, 1, 1), (80, 20, 17)):
        arguments = generator.random((rows, 3)), generator.random((others, 3)), count
        assert_same(compiled(*arguments), program(*arguments), REDUCTION)


def test_many_turns_are_one_loop() -> None:
    @jitflow.function
    def squares(x):
        return np.array([number**2 for number in x])

    for count in (100, 5000, 20):
        x = np.arange(float(count))
        assert_same(squares(x), x**2)


def test_an_empty_list_of_unknown_kind_is_an_error() -> None:
    @jitflow.function
    def rows(x):
        return np.array([number * np.ones(3) for number in x[x > 0]])

    assert rows(np.arange(4.0)).shape == (3, 3)
    with pytest.raises(NotImplementedError, match="an array of an empty list"):
        rows(np.zeros(4))


def test_other_functions_get_lists() -> None:
    class Maker:
        @staticmethod
        def array(items):
            return len(items), type(items) is list

    @jitflow.function
    def program(x):
        return Maker.array([number * 2 for number in x])

    assert program(np.zeros(20)) == (20, True)
