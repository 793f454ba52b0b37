"""Random programs that index lists and arrays do what Python does: values, stores, and the exceptions in their turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError

from .random_indices import make_program

FEW = (2, 5, 38, 76)


def outcome(function: Callable[..., Any], n: int, x: np.ndarray) -> str:
    """What a call gives or raises, and what it leaves in its argument."""
    try:
        given = repr(function(n, x))
    except UserError:
        raise
    except Exception as error:
        given = repr(error)
    return f"{given} {x}"


@pytest.mark.parametrize(
    "seed", [seed if seed in FEW else pytest.param(seed, marks=pytest.mark.stress) for seed in range(400)]
)
def test_indices_of_random_programs(seed: int) -> None:
    program, source = make_program(seed)
    compiled = jitflow.function(program)
    for n in (0, 1, 3, 5):
        x = np.random.default_rng(seed + n).integers(-2, 6, 4)
        expected = outcome(program, n, x.copy())
        try:
            assert outcome(compiled, n, x.copy()) == expected, source
        except UserError:
            assert seed not in FEW
            return


def test_sums_that_wrap_around_behind_a_branch() -> None:
    @jitflow.function
    def after(x):
        y = x + np.int64(1)
        found = 0
        if x < 10:  # noqa: SIM102 - one in the other
            if y < 100:
                found = 1
        return found + 2 * (y > x)

    largest = np.iinfo(np.int64).max
    assert [after(np.int64(x)) for x in (3, 1_000, largest)] == [3, 2, 0]


def test_a_condition_that_raises_although_it_is_false() -> None:
    @jitflow.function
    def first(n):
        squares = [k * k for k in range(n)]
        i = 0
        while squares[0] > 0 and i < 0:
            i += 1
        return len(squares)

    assert first(2) == 2
    with pytest.raises(IndexError, match="list index out of range"):
        first(0)


def test_positions_of_a_range_of_numpy_integers() -> None:
    @jitflow.function
    def positions(x, n):
        k = -1
        for k in range(x[0], n):
            x[1] = k
        return k, [2 * j for j in range(x[0], n, 2)]

    given = positions(np.array([3, 0], np.int16), 6)
    assert given == (5, [6, 10])
    assert {type(number) for number in (given[0], *given[1])} == {int}
