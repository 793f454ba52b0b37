"""What was wrong without a word: complex numbers with nan, memory that an array shows twice, strides of nothing."""

from itertools import combinations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.compare import assert_all_same, assert_same

NAN = float("nan")
COMPLEX = np.array(
    [1 + 2j, complex(NAN, 1), complex(1, NAN), complex(NAN, NAN), 1 + 1j, 9j, complex(np.inf, NAN), -0.0j]
)


@pytest.mark.parametrize("bound", [1 + 1.5j, complex(1, NAN), complex(NAN, 0)])
def test_complex_numbers_are_clipped_as_numpy_compares_them(bound):
    """A nan in the imaginary part of a bound made it lose."""

    def program(x, low, high):
        return np.clip(x, low, high), x.clip(high, x[::-1])

    for low, high in ((bound, 2 + 1j), (0j, bound)):
        got = jitflow.function(program)(COMPLEX, np.complex128(low), np.complex128(high))
        assert_all_same(got, program(COMPLEX, np.complex128(low), np.complex128(high)))


def test_the_first_complex_number_with_a_nan_is_the_largest_and_the_smallest():
    """It was the one that a lane met first."""

    def program(x):
        return x.max(), x.min(), np.maximum.reduce(x.reshape(2, -1), axis=1), np.amin(x[4:]), x[:1].max()

    with np.errstate(all="ignore"):
        assert_all_same(jitflow.function(program)(COMPLEX), program(COMPLEX))


def lost_in_place(x):
    window = np.lib.stride_tricks.as_strided(x, (4, 3), (8, 8))
    window += 1
    return x


def written_itself(x):
    x *= 2
    return x


def strides_of_nothing(x):
    return x.strides, x[:, 1:].strides


def test_what_would_write_to_memory_twice_is_refused():
    """Both were wrong without a word."""
    with pytest.raises(UserNotImplementedError, match="as_strided is written to"):
        jitflow.function(lost_in_place)(np.arange(6.0))
    compiled = jitflow.function(written_itself)
    base = np.arange(40.0).reshape(5, 8)
    for apart in (
        base[:, 1:4],
        base[::2, ::-2],
        base.T[1:3],
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)[:, ::-1],
    ):
        wanted = written_itself(apart.copy())
        assert_same(compiled(apart), wanted)
    for shape, steps in (((4, 3), (8, 8)), ((4, 3), (0, 8)), ((3,), (0,)), ((2, 2, 2), (8, 64, 8))):
        meeting = np.lib.stride_tricks.as_strided(base, shape, steps)
        with pytest.raises(UserNotImplementedError, match="whose elements share memory with each other"):
            compiled(meeting)


def test_strides_of_what_has_elements_are_known():
    """NumPy's empty arrays have strides of zeros, or those of what they are a slice of."""
    compiled = jitflow.function(strides_of_nothing)
    assert compiled(np.ones((3, 4))) == ((32, 8), (32, 8))
    with pytest.raises(UserNotImplementedError, match="strides of an empty array"):
        compiled(np.ones((0, 4)))


def chosen_then_changed(x, n):
    a, b = x + 1, x * 0
    if n > 2:
        a = b
    b += 0.5
    return a


def bound_in_a_loop_then_changed(x, n):
    a, b = x + 1, x * 0
    for _ in range(n):
        a = b
    np.add(b, x, out=b)
    return a, b


@pytest.mark.parametrize("program", [chosen_then_changed, bound_in_a_loop_then_changed])
@pytest.mark.parametrize("n", [0, 4])
def test_an_array_that_a_path_gave_another_name_is_changed_by_both(program, n):
    """The other name showed the array as it was before."""
    assert_all_same(
        np.atleast_2d(jitflow.function(program)(np.arange(3.0), n)), np.atleast_2d(program(np.arange(3.0), n))
    )


def shown_backwards(n, m):
    first = np.zeros(m)
    last = first
    for _ in range(n):
        last = np.ones(m)
    return first[::-1], last


def parts_of_both(n, m):
    first = np.zeros(m)
    last = first
    for _ in range(n):
        last = last + 1
    return first[1:], last[1:], last


def joined_in_turns(n, m):
    first = np.zeros(m)
    last = first
    for k in range(n):
        last = np.concatenate([np.full(m, k * 0.5), last])[:m]
    return first[::-1], last


@pytest.mark.parametrize("program", [shown_backwards, parts_of_both])
@pytest.mark.parametrize("n", [0, 2])
def test_views_show_the_array_that_no_turn_has_replaced(program, n):
    """They were views of a copy."""
    got, wanted = jitflow.function(program)(n, 4), program(n, 4)
    assert_all_same(got, wanted)
    for (one, other), (first, second) in zip(combinations(got, 2), combinations(wanted, 2), strict=True):
        assert np.shares_memory(one, other) == np.shares_memory(first, second)


def test_a_view_of_what_turns_may_have_replaced_by_an_array_of_another_size_is_refused():
    with pytest.raises(UserNotImplementedError, match="last shows another array on one path or turn"):
        jitflow.function(joined_in_turns)(2, 4)
