"""What random programs with statements have found: the smallest program of each mistake that is mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.truth.whole.same import assert_does_what_python_does


class OwnError(Exception):
    """An exception that jitflow knows nothing of."""


def swaps_and_adds(u, v, n):
    for _ in range(1, n):
        u, v = v, u
        u += np.arange(len(v), dtype=np.float64)
    return n


def swaps_with_a_reversed_view(u, v, n):
    u, v = v, v[::-1]
    for _ in range(n):
        u, v = v, u
        u[2] -= 2
    return n


def hands_on_what_was_new(u, v, w, n):
    for i in range(n):
        w, v = v, np.floor(u) + i
        w[0] = 5.0
    return w.sum(), v.sum()


def rotates(w, n):
    for _ in range(n):
        w = np.concatenate((w[1:], w[:1]))
    return w


def writes_where_another_array_holds(u, v):
    mask = u == u
    v[mask] = u[mask]


def writes_rows_under_a_mask(a, v):
    mask = v > 1
    a[mask] = v[mask][0]


def selects_before_a_branch(u, v, k):
    e = u[v <= 2]
    if k % 2:
        u[0] = e[0] + 1
    e[1] = e.sum()
    return e.sum()


def steps_back_to_a_bound(u, k):
    u[4 : k - 6 : -1] -= 1
    u[k::-1] *= 2


def reads_what_a_path_left_unbound(u, k):
    if k > 3:
        if k > 5:
            p = u
        u = p + 1
    return u


def asks_before_some_turn_binds(u, n):
    for i in range(n):
        if u[i] > 2:
            e = u[i]
        t = e
    return t


def writes_to_what_the_last_turn_bound(u, n):
    for i in range(n):
        if i > 1:
            p[0] += 1  # noqa: F821
        p = u
    return p.sum()


def binds_in_a_while(u, n):
    i = 0
    while i < n:
        q = u[i]
        i += 1
    return q


def binds_in_an_inner_branch(u, n):
    if n > 2:
        n = n - 1
        if n > 3:
            q = u[0]
    return q


def binds_in_an_inner_loop(u, n):
    for i in range(n):
        for j in range(i):
            q = j
    return q


def returns_what_one_path_leaves(u, k):
    for i in range(2, k):
        if i > i:
            return k, u[i], k
    return k, u[0], k


def swaps_views_of_what_it_scales(u, v, a, k):
    for _ in range(k):
        u, v = v, u
        a *= u
    return k


def returns_one_of_two_arguments(u, v, s):
    e = v | u
    if s:
        v = u
    u[2] = e[2]
    return v


def turns_its_view_round(u, n):
    for _ in range(n):
        u = u[::-1]
        u[0] = n
    return u


def raises_its_own(u):
    raise OwnError("at once")


def counts_before_it_binds(u):
    count += 1  # noqa: F821, F841
    return u


def compares_rows_of_a_matrix_that_may_not_fit(u, a, k):
    for _ in u:
        u[...] = a[1] >= k


def scales_what_is_small_in_each_turn(u, a):
    for i in range(0, len(u), 2):
        a[a[::-1] <= i] -= i


def fills_a_view_that_another_path_leaves_unbound(u, k):
    turns = 0
    while turns < 3:
        turns += 1
        if k < turns:
            u[0] = k
        else:
            p = u[turns : k + 3]
            p[np.array([0, -1])] = turns
        for _ in u:
            t = p  # noqa: F841
    return u.sum()


def asks_whether_it_is_true(u, flag):
    mean = flag is not True
    if flag is True:
        return u.sum(), mean, flag is False
    return u.max(), mean, flag is not False


def chooses_by_value(u, k):
    match k % 5:
        case 0 | 1:
            u[0] = 7
        case rest if rest > 3:
            u[1] = rest
        case _:
            u[2] = k
    return u.sum()


def walks_by_pairs(u, n):
    i, j, total = 0, 0, u[0]
    for _ in range(n):
        i, j = (j + 1) % 3, (i + 2) % 4
        match i, j:
            case 0, 0:
                continue
            case 0, _:
                total += u[1]
            case a, 1:
                total -= a
        if (i, j) != (2, 3) and (i, j) not in [(1, 2), (0, 3)]:
            total += u[i] * j
    return total


def hashes_with_large_constants(u):
    found = np.uint64(14695981039346656037)
    for byte in u.astype(np.uint8):
        found = (found ^ byte) * np.uint64(1099511628211)
    return found


def shifts_for_each_element(u):
    for _ in u:
        u[1:] = u[:-1]
    return u


def adds_numbers_that_do_not_fit(u, k):
    small = u.astype(np.uint8)
    np.add.at(small, 0, k)
    np.add.at(small, np.array([0, 1, 0]), k)
    np.add.at(small, np.array([2, 1]), 300)
    return small


def writes_to_what_it_selected_from(u, k):
    small = u[u >= 0]
    mask = u < 4
    few = u[mask]
    u[::2] = 2
    mask[1] = False
    small[small <= k] = small[small <= k]
    return small, small.sum(), few * 2, few.mean(), u[mask]


def counts_changes_of_sign(u, x, y):
    changes = 0
    for i in range(1, len(u)):
        before, here = 1 if u[i - 1] > 2 else 0, 1 if u[i] > 2 else 0
        if before != here:
            changes += 1
    first, second = 3 if x > y else 5, 3 if x > 2 * y else 5
    return changes, first < second, max(first, second) - min(first, second), np.arange(9)[first:second]


def _array(start: int = 0) -> Any:
    return np.arange(start, start + 6, dtype=np.float64)


PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (counts_changes_of_sign, [(np.array([1.0, 3.0, 1.0, 5.0]), x, 2.0) for x in (3.0, 1.0, 9.0)]),
    (swaps_and_adds, [(_array(), _array(10), n) for n in (6, 1, 0)]),
    (swaps_with_a_reversed_view, [(_array(), _array(), n) for n in (7, 2, 0)]),
    (hands_on_what_was_new, [(_array(), _array(10), _array(20), n) for n in (0, 1, 2, 5)]),
    (rotates, [(_array(), n) for n in (7, 0)]),
    (writes_where_another_array_holds, [(_array(), _array(1))]),
    (writes_rows_under_a_mask, [(np.ones((6, 2)), _array())]),
    (selects_before_a_branch, [(_array(), _array(), k) for k in (2, 3)]),
    (steps_back_to_a_bound, [(_array(), k) for k in (3, -3, 9, 0)]),
    (reads_what_a_path_left_unbound, [(_array(), k) for k in (1, 6, 4)]),
    (returns_what_one_path_leaves, [(_array(), k) for k in (4, 1)]),
    (
        compares_rows_of_a_matrix_that_may_not_fit,
        [(_array(), np.arange(2 * m, dtype=np.int32).reshape(2, m), 3) for m in (6, 5)],
    ),
    (scales_what_is_small_in_each_turn, [(_array(), np.arange(8, dtype=np.int32).reshape(4, 2))]),
    (fills_a_view_that_another_path_leaves_unbound, [(_array(), k) for k in (3, 1, 0)]),
    (shifts_for_each_element, [(_array()[:n],) for n in (3, 0, 1)]),
    (asks_whether_it_is_true, [(_array(), flag) for flag in (True, False)]),
    (chooses_by_value, [(_array(), k) for k in (0, 6, 4, 3)]),
    (walks_by_pairs, [(_array(1), n) for n in (0, 1, 40)]),
    (hashes_with_large_constants, [(_array(),)]),
    *(
        (program, [(_array(start), n) for n in (0, 1, 2, 3, 5) for start in (0, 3)])
        for program in (
            asks_before_some_turn_binds,
            writes_to_what_the_last_turn_bound,
            binds_in_a_while,
            binds_in_an_inner_branch,
            binds_in_an_inner_loop,
        )
    ),
    (writes_to_what_it_selected_from, [(_array(), k) for k in (3, 0)]),
    (adds_numbers_that_do_not_fit, [(_array(), k) for k in (-1, 3, 700)]),
    (raises_its_own, [(_array(),)]),
    (counts_before_it_binds, [(_array(),)]),
]


def test_arguments_that_overlap_are_one_memory() -> None:
    compiled = jitflow.function(swaps_views_of_what_it_scales)
    ours, theirs = np.arange(1.0, 17.0).reshape(4, 4), np.arange(1.0, 17.0).reshape(4, 4)
    for program, a in ((compiled, ours), (swaps_views_of_what_it_scales, theirs)):
        program(a[0], a[:, 1], a, 3)
    assert_same(ours, theirs)


def test_one_of_two_arguments_is_a_view_of_it() -> None:
    compiled = jitflow.function(returns_one_of_two_arguments)
    for size in (7, 7, 17, 17):
        u, v = np.arange(size), np.arange(size)
        for other, choice in ((u, 1.0), (v, 1.0), (v, 0.0)):
            found = compiled(u, other, choice)
            assert np.shares_memory(found, u if choice else other)
            assert not found.flags.owndata or found is u or found is other


def test_a_view_that_a_loop_turns_round_is_one_of_the_argument() -> None:
    compiled = jitflow.function(turns_its_view_round)
    for turns in (5, 5, 6, 0):
        u = _array()
        found = compiled(u, turns)
        assert found.base is u or found is u
        assert_same(found, turns_its_view_round(_array(), turns))


@pytest.mark.parametrize(("program", "calls"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_it_does_what_python_does(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    assert_does_what_python_does(program, calls)
