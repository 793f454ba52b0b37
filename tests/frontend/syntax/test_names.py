"""Arrays that several names show, across branches and turns of loops: a write by one name shows in the others."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_all_same, assert_same

PROGRAMS: list[Callable[..., Any]] = []


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """A program of two arrays and a number of turns."""
    PROGRAMS.append(function)
    return function


@program
def an_array_made_in_a_turn_lives_on(x, y, n):
    u, v = x, y
    for i in range(n):
        w = u * 2.0 + i
        z = w[1:]
        z[0] = 7
        v[0] += 1
        u, v = v, w
    return u + 0, v + 0


@program
def a_view_is_written_after_its_array_is_handed_on(x, y, n):
    u = x
    for i in range(n):
        w = u * 2.0
        z = w[1:]
        u[0] = i
        u = w
        z[0] = 3
    return u + 0


@program
def an_array_made_on_one_path(x, y, n):
    u = x
    for i in range(n):
        if i % 2 == 0:
            w = np.zeros(x.shape)
            w[:] = u
            z = w[::-1]
        else:
            w = u
            z = u[::-1]
        z[i % 5] += 1
        w[0] += 1
        u = w
    return u + 0


@program
def an_array_made_in_an_inner_loop(x, y, n):
    u, total = x, x[0]
    for i in range(n):
        u[0] = i
        t = u * 2.0
        for j in range(5):
            t[j] += 1
            s = t + 1.0
            total += t[0]
            if j == 3:
                t = s
        u = t
    return u + 0, total


@program
def a_name_is_read_after_a_write_by_another(x, y, n):
    u, v, total = y, x, x[0]
    for _i in range(n):
        v[0] += 1
        total += u[0]
        u = v
    return total


@program
def a_name_that_is_only_read_is_carried_before_what_is_written(x, y, n):
    a, b, total = x, y, x[0]
    for _i in range(n):
        w = a + b
        a[0] += 1
        total += b[0]
        b, a = a, w
    return total, a + 0, b + 0


@program
def an_array_is_handed_from_name_to_name(x, y, n):
    a, b = x, x * 2
    for i in range(n):
        c = a + b
        a[0] = i
        b[1] = i + 1
        a = b
        b = c
    return a + 0, b + 0


@program
def one_turn_keeps_an_array_that_is_written_later(x, y, n):
    a, keep = x, x * 3
    for i in range(n):
        a[0] += 1
        keep[1] += 1
        c = a + 1
        if i == 1:
            keep = a
        a = c
    return a + 0, keep + 0


@program
def a_write_after_the_loop_shows_in_what_it_handed_on(x, y, n):
    u = x * 2
    for _i in range(n):
        u = y
    y[0] = 5
    return u[0]


@program
def a_write_after_a_branch_shows_in_what_it_chose(x, y, n):
    u = x if n > 2 else y
    x[0] = 5
    y[0] = 6
    v = x if n > 3 else y[1:]
    y[1] = 7
    return u[0], v[0]


@program
def two_names_of_one_new_array(x, y, n):
    u, v = x, x
    for _i in range(n):
        w = u + 1
        u = w
        v = w
    u[0] = 3
    if n > 1:
        a = b = x * 2
    else:
        a = b = x * 3
    a[0] = 1
    return v[0], b[0], a + 0


@program
def what_a_branch_chose_is_written_in_the_next_turn(x, y, n):
    a, last, total = x, y, x[0]
    for i in range(n):
        a[0] += 1
        total += last[0]
        if i % 3 == 0:
            last = a
        if i % 2 == 0:
            a = a * 0.5
    return total, last + 0


@program
def the_condition_writes(x, y, n):
    def step(u):
        u[0] += 1
        return u[0] < n

    u, v, total = x, y, x[0]
    while step(u):
        total += v[0]
        v = u
        if total < 3:
            u = x * 0.5 + total
    return total, u + 0, v + 0


@program
def what_a_branch_chose_is_updated_in_place(x, y, n):
    u = x[::-1] if n > 2 else y
    u *= 2.0
    return u + 0


@program
def what_a_loop_carries_is_updated_in_place(x, y, n):
    u, v = x, y * 2
    for _ in range(n):
        u += 1.0
        u, v = v, u
    return u + 0, v + 0


@program
def a_copy_of_what_a_branch_chose(x, y, n):
    u = x if n > 2 else y
    v = u.copy()
    u[0] = 5
    return v, u + 0


@program
def a_view_of_everything(x, y, n):
    u = x * 2
    v, w = u[:], u.ravel()
    u += 1.0
    return v + 0, w + 0


@program
def what_is_read_is_carried_by_another_name(x, y, n):
    u = y
    for _ in range(n):
        u += 1.0
        u[-1] = x[3] + 1
        u = x
    return u + 0


@program
def a_new_array_that_a_loop_may_have_handed_on(x, y, n):
    u, v = x, y
    if n < 4:
        u = np.zeros(x.shape)
        i = 0
        while i < n:
            v = u
            i += 1
    v[0] = v[0] + 3
    return u + 0, v + 0


@program
def a_loop_writes_to_what_a_branch_chose_by_another_name(x, y, n):
    u = x if n > 1 else x * 2
    v, w = x, y
    for _ in range(n):
        w[0] = u[1] + 1
        v, w = w, v
    return u + 0, v + 0, w + 0


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_names(function):
    compiled = jitflow.function(function)
    x, y = np.random.default_rng(0).random((2, 8))
    for turns in (5, 0, 1, 2, 3, 12):
        ours, theirs = copy.deepcopy((x, y, turns)), copy.deepcopy((x, y, turns))
        gc.collect()
        in_use = jitflow.memory_stats()["bytes_in_use"]
        expected, found = function(*theirs), compiled(*ours)
        assert_same(found, expected)
        assert_all_same(ours, theirs)
        del found
        gc.collect()
        assert jitflow.memory_stats()["bytes_in_use"] == in_use, "memory was left behind"


def test_a_result_that_the_caller_may_know_or_not():
    def one_of(x, n):
        u = v = x
        for i in range(n):
            w = np.zeros(x.shape) if x[i] > 0.3 else u
            w[1] += 1
            u, v = v, w
        return u, v

    with pytest.raises(NotImplementedError, match="a result that may be an array of its own"):
        jitflow.function(one_of)(np.arange(8.0), 3)


def test_arrays_of_other_dtypes_are_not_the_same_array():
    def promoted(x, n):
        u = x
        for i in range(n):
            u[0] = i
            u = u * 0.5
        return u

    for n in (0, 1, 3):
        ours, theirs = np.arange(8), np.arange(8)
        assert_same(jitflow.function(promoted)(ours, n), promoted(theirs, n))
        assert_same(ours, theirs)
