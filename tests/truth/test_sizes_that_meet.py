"""Arrays meet whose sizes only the running program finds: one of them repeats its only element, or NumPy's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does


def adds_a_column_to_those_from_it_on(v, turns):
    sums = np.zeros(v.shape[0])
    for t in range(turns):
        sums += (v[:, t : t + 3] + v[:, t : t + 1]).sum(axis=1)
    return sums


def does_so_while_it_counts(v, turns):
    sums, t = np.zeros(v.shape[0]), 0
    while t < turns:
        sums += (v[:, t : t + 3] - v[:, t : t + 1]).sum(axis=1)
        t += 1
    return sums


def does_so_in_two_loops(v):
    m = v.shape[1]
    sums = np.zeros(v.shape[0])
    for t in range(m - 3):
        sums += (v[:, t : t + 3] + v[:, t : t + 1]).sum(axis=1)
    for t in range(m - 3):
        for _ in range(2):
            sums -= (v[:, t : t + 3] * v[:, t : t + 1]).sum(axis=1)
    return sums


def stores_what_is_left(v, k):
    v[k : k + 2 : 2] = v[k + 1 :]
    return v


def stores_between(v, k, turns):
    for i in range(turns):
        low = int(v[i])
        v[k:low] = v[low:]
    return v


def adds_in_place(v, u, k, turns):
    for i in range(turns):
        low = int(u[i])
        v[k : low + 1] += v[low : low + 1]
    return v


def writes_the_sum_elsewhere(v, k, turns):
    out = np.zeros(len(v))
    for i in range(turns):
        np.add(v[k : k + 3], v[i : i + 1], out=out[k : k + 3])
    return out


def adds_to_what_may_be_too_short(v, k, turns):
    for i in range(turns):
        low = int(v[i])
        v[low : low + k] += v[2:4]
    return v


def writes_where_too_little_fits(v, k, turns):
    for i in range(turns):
        low = int(v[i])
        np.multiply(v[k:5], v[:3], out=v[low:])
    return v


MATRIX = np.arange(40.0).reshape(5, 8)
VECTOR = np.array([2.0, 5.0, 4.0, 6.0, 1.0, 0.0, 3.0])
PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (adds_a_column_to_those_from_it_on, [(MATRIX, turns) for turns in (5, 6, 7, 8, 9, 0)]),
    (does_so_while_it_counts, [(MATRIX, turns) for turns in (5, 6, 7, 8, 9, 0)]),
    (does_so_in_two_loops, [(MATRIX,), (MATRIX[:, :4],), (MATRIX[:, :2],)]),
    (stores_what_is_left, [(VECTOR, k) for k in (3, 5, 6, 7, 0, -2)]),
    (stores_between, [(VECTOR, k, turns) for k in (2, 4, 5) for turns in (1, 2, 4)]),
    (adds_in_place, [(VECTOR, VECTOR.copy(), k, turns) for k in (2, 4) for turns in (1, 2, 7)]),
    (adds_to_what_may_be_too_short, [(VECTOR, k, turns) for k in (2, 1, 0, 3, -2) for turns in (1, 4)]),
    (writes_where_too_little_fits, [(VECTOR, k, turns) for k in (2, 1, 4) for turns in (1, 2, 4)]),
    (writes_the_sum_elsewhere, [(VECTOR, k, turns) for k in (1, 3) for turns in (0, 2, 7)]),
]


@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_it_does_what_python_does(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    assert_does_what_python_does(program, calls)


@pytest.mark.parametrize(
    "shapes",
    [((3,), (2,), (3,)), ((1,), (2,), (1,)), ((1, 3), (2, 3), (1, 3)), ((2,), (2,), (3,)), ((1, 3), (2, 4), (1, 3)),
     ((3,), (2, 3), (3,)), ((2,), (), (3, 2)), ((1,), (1,), (3,))],
)  # fmt: skip
def test_outputs_of_other_shapes(shapes: tuple[tuple[int, ...], ...]) -> None:
    def program(a, b, out):
        np.add(a, b, out=out)
        return out

    assert_does_what_python_does(program, [tuple(np.ones(shape) for shape in shapes)])


def adds_parts(u, turns):
    total = 0.0
    for i in range(turns):
        first, second = int(u[i]), int(u[i + 1])
        total += (u[first:] + u[second:]).sum()
    return total


def test_sizes_that_are_taken_to_be_equal_are_so_or_refused() -> None:
    compiled = jitflow.function(adds_parts)
    same, different, one = (np.array([2.0, bound, 1.0, 4.0, 3.0]) for bound in (2.0, 3.0, 4.0))
    assert compiled(same, 1) == adds_parts(same, 1)
    with pytest.raises(ValueError, match="could not be broadcast together"):
        compiled(different, 1)
    with pytest.raises(UserNotImplementedError, match="of which one has to repeat"):
        compiled(one, 1)
