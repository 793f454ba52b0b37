"""Numbers that take the place of arrays where the running program decides: what Python gives, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError, UserTypeError


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
def test_where_nobody_knows_before_no_turn_is_an_error(program: Any):
    compiled, x = jitflow.function(program), np.arange(5.0)
    np.testing.assert_array_equal(compiled(x, 4), program(x, 4))
    with pytest.raises(UserNotImplementedError, match="total stays a number") as caught:
        compiled(x, 0)
    assert "make total an array before" in caught.value.mend


def test_an_array_does_not_become_a_number():
    @jitflow.function
    def collapses(x, n):
        for _ in range(n):
            x = x.sum() + 1
        return x

    with pytest.raises(UserTypeError, match="x is a number on one path and an array on another"):
        collapses(np.ones(3), 6)


def test_branches_have_one_rank():
    @jitflow.function
    def chooses(x):
        found = x[0] if x.sum() > 0 else x * 2
        return found + 1

    with pytest.raises(UserTypeError, match="the value is a number on one path"):
        chooses(np.ones(3))
