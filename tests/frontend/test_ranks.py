"""Numbers that take the place of arrays where the running program decides: what Python gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def adds_up(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        total = total + x * i
    return total


def adds_rows(x: Any, n: Any) -> Any:
    total = 0
    for row in x[:n]:
        total = total + row
    return total


def adds_as_often_as_data_says(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range((x < n).sum()):
        total = total + x * i
    return total


def adds_while(x: Any, n: Any) -> Any:
    total = 0.0
    while n > 0:
        total = total + x
        n -= 1
    return total


@pytest.mark.parametrize("program", [adds_up, adds_rows])
def test_a_number_becomes_an_array_if_there_is_a_turn(program: Any):
    compiled, x = jitflow.function(program), np.arange(12.0).reshape(6, 2)
    for n in (5, 0, 6, 0, 1):
        found, expected = compiled(x, n), program(x, n)
        np.testing.assert_array_equal(found, expected)
        assert type(found) is type(expected)
    assert compiled.cache_info().misses <= 3


@pytest.mark.parametrize("program", [adds_as_often_as_data_says, adds_while])
def test_it_stays_a_number_if_the_data_says_that_there_is_none(program: Any):
    compiled, x = jitflow.function(program), np.arange(5.0)
    for n in (4, 0, 1):
        assert_same(compiled(x, n), program(x, n))


def collapses(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = x.sum() + 1
    return x


def chooses(x: Any, n: Any) -> Any:
    found = x[0] if x.sum() > n else x * 2
    return found + 1


@pytest.mark.parametrize("program", [collapses, chooses])
def test_an_array_becomes_a_number(program: Any):
    compiled, x = jitflow.function(program), np.arange(5.0)
    for n in (6, 0, 1, 20):
        assert_same(compiled(x.copy(), n), program(x.copy(), n))
