"""Programs with several mistakes: the one that Python comes to first is raised, after the stores before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does


def takes_the_largest_of_nothing_first(u):
    return u.max() >= u[0]


def takes_the_first_of_nothing_first(u):
    return u[0] >= u.max()


def decides_by_the_smallest_of_a_column(a):
    return 1 if a[:, 0].min() <= a[-1, 0] else 2


def writes_and_takes_the_largest(u, v):
    v[0] = 5
    largest = u.max()
    v[1] = 3
    return largest + u[0]


def turns_while_the_largest_is_larger(u):
    count = 0
    while count < 3 and u.max() > u[-1]:
        count += 1
        u[0] -= 1
    return count


def looks_for_the_largest(u, v):
    v[0] = 7
    place = np.argmin(u) + u.argmax()
    v[1] = place
    return place


EMPTY = np.zeros(0)
SOME = np.array([3.0, 1.0, 2.0])
PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    *(
        (program, [(EMPTY,), (SOME,)])
        for program in (
            takes_the_largest_of_nothing_first,
            takes_the_first_of_nothing_first,
            turns_while_the_largest_is_larger,
        )
    ),
    (decides_by_the_smallest_of_a_column, [(np.zeros((0, 2)),), (np.ones((3, 2)),)]),
    (writes_and_takes_the_largest, [(EMPTY, SOME), (SOME, SOME)]),
    (looks_for_the_largest, [(EMPTY, SOME), (SOME, SOME)]),
]


@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_the_first_mistake_is_raised(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    assert_does_what_python_does(program, calls)
