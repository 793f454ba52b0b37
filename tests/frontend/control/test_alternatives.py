"""Functions that return things of several kinds: each path leaves what Python leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same, assert_same
from tests.truth.quiet import quiet


def finds_an_element_or_nothing(x, n):
    found = np.where(x > n)[0]
    if len(found) == 0:
        return None
    return x[found[0]]


def finds_a_position(x, n):
    for i, item in enumerate(x):
        if item > n:
            return i
    return None


def finds_a_pair(x, n):
    for i in range(len(x)):
        for j in range(i):
            if x[i] + x[j] == n:
                return i, j
    return None, None


def normalises(x, n):
    deviation = x.std()
    if deviation == 0:
        return "flat"
    if deviation > n:
        return (x - x.mean()) / deviation
    return deviation


def returns_python_numbers(x, n):
    if n > len(x):
        return 0
    if x[0] > n:
        return x[0] > n
    return x[:n].sum() if n else 0.5


def leaves_loops_with_several_kinds(x, n):
    for item in x:
        if item == n:
            return 0
        if item > n:
            return item
    for item in x:
        if item < n - 2:
            return None
    return False


def shrinks_until_it_fits(x, n):
    i = 0
    while True:
        if x[i] > n:
            return x[i:]
        i += 1
        if i >= len(x):
            return -1


def writes_and_returns_its_argument(x, n):
    if x[0] > n:
        x[0] = 9
        return x
    return x[1:] if x[1] > n else n


def returns_an_array_twice(x, n):
    y = x * 2
    if x[0] > n:
        return y, y[1:]
    return y, 0


def returns_a_row_or_an_element(x, n):
    y = x * 2
    if x[0] > n:
        return y[1:]
    return y[0]


def returns_what_decided(x, n):
    return n and x.any()


def raises_or_returns(x, n):
    if n > 5:
        raise ValueError("too large")
    if x[1] > n:
        return None
    return x.max()


def finds_an_element_and_its_position(x, n):
    for i in range(len(x)):
        if x[i] > n:
            return i, x[i]
    return None


def returns_tuples_of_several_lengths(x, n):
    if n > 3:
        return ()
    if n > 1:
        return [x[0], "more"]
    if n > 0:
        return x * 2, (n, x[1:])
    return (x.sum(),)


def leaves_a_loop_with_tuples(x, n):
    while n < 4:
        n += 1
        if x.sum() < n:
            return n, (x * n, n), "early"
        if x[1] == n:
            return "odd"
    return x[1:], None


def returns_its_argument_in_a_tuple(x, n):
    if x[0] > n:
        x[0] = 7
        return x, x[:2], n
    return x


def leaves_a_loop_with_more_kinds_than_before(x, n):
    if n > 2:
        return n
    for i in range(len(x)):
        if x[i] > n:
            return "large"
    while n < 3:
        n += 1
        if x.sum() > n:
            return x, n
    return None


PROGRAMS = [
    leaves_a_loop_with_more_kinds_than_before,
    finds_an_element_and_its_position,
    returns_tuples_of_several_lengths,
    leaves_a_loop_with_tuples,
    returns_its_argument_in_a_tuple,
    finds_an_element_or_nothing,
    finds_a_position,
    finds_a_pair,
    normalises,
    returns_python_numbers,
    leaves_loops_with_several_kinds,
    shrinks_until_it_fits,
    writes_and_returns_its_argument,
    returns_an_array_twice,
    returns_a_row_or_an_element,
    returns_what_decided,
    raises_or_returns,
]
ARRAYS = [np.zeros(4), np.arange(-2.0, 3), np.array([200.0, 1, 5]), np.array([3.0, 3, 3, 4]), -np.ones(3)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_each_path_returns_what_python_returns(program: Callable[..., Any]) -> None:
    compiled = jitflow.function(program)
    for n in (0, 1, 3, 6):
        for array in ARRAYS:
            ours, theirs = array.copy(), array.copy()
            with quiet():
                try:
                    expected = program(theirs, n)
                except ValueError as error:
                    with pytest.raises(ValueError, match=str(error)):
                        compiled(ours, n)
                    continue
                assert_same(compiled(ours, n), expected)
            assert_all_same([ours], [theirs])


def test_an_array_that_is_not_returned_is_not_kept() -> None:
    @jitflow.function
    def chooses(x, n):
        y = x * 2
        if n:
            return y
        return None

    for _ in range(3):
        assert chooses(np.ones(100_000), 0) is None
        found = chooses(np.ones(100_000), 1)
        assert found.flags.owndata
        assert found.flags.writeable
        assert_same(found, np.full(100_000, 2.0))


def test_a_helper_returns_several_types() -> None:
    def helper(x):
        if x.sum() > 0:
            return x.max()
        return None

    asked = jitflow.function(lambda x: helper(x) is None)
    assert asked(np.ones(3)) is False
    assert asked(-np.ones(3)) is True


def on_both_paths(a: Any, c: float) -> Any:
    if c > 5:
        raise ValueError
    if c > 1:
        return a
    return a


def found_in_a_loop(a: Any, c: float) -> Any:
    for i in range(len(a)):
        if a[i] > c:
            return a
    return a


def or_a_new_one(a: Any, c: float) -> Any:
    if c > 0:
        return a
    return a * 2


def or_nothing(a: Any, c: float) -> Any:
    if c > 0:
        return a
    if c > -5:
        return None
    return a, 1


def twice(a: Any, c: float) -> Any:
    return (a, a) if c > 0 else (a, a * 2)


def written_in_a_loop(a: Any, c: float) -> Any:
    while True:
        a[0] += 1
        if a[0] > c:
            return a


@pytest.mark.parametrize("c", [2.0, -1.0, -7.0])
@pytest.mark.parametrize(
    "program", [on_both_paths, found_in_a_loop, or_a_new_one, or_nothing, twice, written_in_a_loop]
)
def test_a_returned_argument_is_the_very_object(program: Any, c: float) -> None:
    ours, theirs = np.arange(3.0), np.arange(3.0)
    found, expected = jitflow.function(program)(ours, c), program(theirs, c)
    np.testing.assert_equal(found, expected)
    np.testing.assert_equal(ours, theirs)
    each = [[thing, *(thing if isinstance(thing, tuple) else ())] for thing in (found, expected)]
    assert [thing is ours for thing in each[0]] == [thing is theirs for thing in each[1]]


def of_two_dtypes(x, c):
    y = x * 2 if c > 0 else x.astype(int) if c < -1 else x + 1j
    first, second, third = y
    total = 0
    for item in y:
        total = total + item
    return (
        [first, second * third, total, len(y), y.shape, y.ndim, y.dtype, y.size],
        [np.zeros(y.shape, y.dtype), np.hstack((y, np.ones(2, y.dtype))), y.dtype == np.float64, y.dtype.kind],
        [[item * 2 for item in y], sum(item for item in y), max(abs(item) for item in y), [*y]],
    )


def of_two_ranks(x, c):
    y = x if c > 0 else x[None]
    return y.ndim, y.shape, len(y), y.shape[-1], y.sum(-1)


@pytest.mark.parametrize("program", [of_two_dtypes, of_two_ranks])
def test_arrays_of_several_types_have_sizes_and_items(program: Any) -> None:
    compiled = jitflow.function(program)
    for c in (1.0, -1.0, -7.0):
        assert_all_same(compiled(np.arange(3.0), c), program(np.arange(3.0), c))


@dataclass
class Point:
    x: Any


def test_what_one_of_several_objects_holds_may_be_of_several_kinds() -> None:
    def program(x, c):
        p = Point(0.0)
        q = Point(10) if c else p
        if c > 1:
            p.x = x[1]
        q.x += 1
        return p.x, q.x

    compiled = jitflow.function(program)
    for c in (0.0, 1.0, 2.0):
        assert_all_same(compiled(np.arange(3.0), c), program(np.arange(3.0), c))
