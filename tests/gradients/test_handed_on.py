"""Gradients of loops and branches that hand on arrays: swapped in inner loops, made anew, chosen by branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_programs import central_differences

START = np.random.default_rng(9).random(7)
Program = Callable[[Any, int, int], Any]


def smooth(u: Any) -> Any:
    return 0.5 * u[1:-1] ** 2 + 0.25 * (u[2:] + u[:-2])


def swapped_in_an_inner_loop(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    for _ in range(turns):
        for _ in range(inner):
            v[1:-1] = smooth(u)
            u, v = v, u
        u[0] = u[0] * 0.9
    return (u * u).sum() + v[2]


def three_in_an_inner_loop(start: Any, turns: int, inner: int) -> Any:
    a, b, c = start.copy(), start * 0.5, np.zeros_like(start)
    for _ in range(turns):
        for _ in range(inner):
            c[1:-1] = 2 * b[1:-1] - a[1:-1] + 0.1 * (b[2:] - 2 * b[1:-1] + b[:-2])
            a, b, c = b, c, a
    return (b * b).sum()


def swapped_by_a_branch(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    for turn in range(turns):
        v[1:-1] = smooth(u)
        if turn % 2 == 0 or u[3] > 0.1:
            u, v = v, u
    return (u * u).sum() + (v**3).sum()


def made_anew_in_an_inner_loop(start: Any, turns: int, inner: int) -> Any:
    u = start
    for _ in range(turns):
        for _ in range(inner):
            new = np.empty_like(u)
            new[:] = u
            new[1:-1] = smooth(u)
            u = new
        u[0] = 0.9 * u[0]
    return (u * u).sum()


def made_anew_and_the_last_one(start: Any, turns: int, inner: int) -> Any:
    """Two arrays that turns make are alive at once, and both are written to."""
    u, before = start * 1.0, start * 2.0
    for _ in range(turns):
        new = u + 0.1 * before
        new[1:-1] += smooth(u)
        before, u = u, new
        before[0] *= 0.5
        u[-1] = 0.0
    return (u * before).sum()


def made_by_a_branch(start: Any, turns: int, inner: int) -> Any:
    u = start
    for _ in range(turns):
        if u[3] > 0.3:
            new = u * 0.5
            new[1] = u[0] ** 2
        else:
            new = u + 0.1
            new[2] = u[0] * u[1]
        new[0] = 0.0
        u = new
    return (u * u).sum()


def until_it_rests(start: Any, turns: int, inner: int) -> Any:
    u, v, change = start.copy(), start.copy(), 1.0
    while change > 1e-2:
        for _ in range(inner):
            v[1:-1] = 0.5 * (u[2:] + u[:-2])
            u, v = v, u
        change = np.abs(u - v).max()
    return (u**3).sum()


def chosen_before_a_loop(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start * 2
    if start[0] > 0.1:
        u, v = v, u
    for _ in range(turns):
        for _ in range(inner):
            u[1:-1] = smooth(v)
            u, v = v, u
    return u.sum() + (v * v).sum()


def a_checkpointed_step(start: Any, turns: int, inner: int) -> Any:
    @jitflow.checkpoint
    def step(u: Any) -> Any:
        u, v = u.copy(), u.copy()
        for _ in range(inner):
            v[1:-1] = smooth(u)
            u, v = v, u
        return u

    u = start
    for _ in range(turns):
        u = step(u)
    return (u * u).sum()


def chosen_to_be_read(start: Any, turns: int, inner: int) -> Any:
    rows = np.zeros((turns + 1, start.size))
    for turn in range(turns + 1):
        previous = rows[turn - 1] if turn > inner else start
        if previous[3] > 0.2:
            rows[turn] = np.sin(previous) + previous[::-1] * rows[0]
        else:
            rows[turn] += np.tanh(previous)
    return (rows**2).sum()


PROGRAMS: list[Program] = [
    swapped_in_an_inner_loop, three_in_an_inner_loop, swapped_by_a_branch, made_anew_in_an_inner_loop,
    made_anew_and_the_last_one, made_by_a_branch, until_it_rests, chosen_before_a_loop, a_checkpointed_step,
    chosen_to_be_read,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("turns", "inner"), [(3, 2), (2, 3), (0, 1), (5, 1)])
def test_the_gradient(program: Program, turns: int, inner: int) -> None:
    value, gradient = jitflow.value_and_grad(program)(START, turns, inner)
    np.testing.assert_allclose(value, program(START, turns, inner), rtol=1e-12)
    expected = central_differences(lambda x: program(x, turns, inner), START)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_second_derivatives() -> None:
    def total(x: Any) -> Any:
        return jitflow.grad(swapped_in_an_inner_loop)(x, 2, 2).sum()

    expected = central_differences(lambda x: jitflow.grad(swapped_in_an_inner_loop)(x, 2, 2).sum(), START)
    np.testing.assert_allclose(jitflow.grad(total)(START), expected, rtol=1e-5, atol=1e-7)


def another_name(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    first = u
    for _ in range(turns):
        for _ in range(inner):
            v[1:-1] = smooth(u)
            u, v = v, u
    first[0] = 2.0 * start[1]
    return (u * u).sum() + (v * v * v).sum()


def one_array_twice(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    for turn in range(turns):
        if u[2] > 0.5:
            v = u
        v[1:-1] = smooth(u)
        u[0] = v[1] * turn
    return (u * v).sum()


def seen_inside(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    first = u
    for _ in range(turns):
        for _ in range(inner):
            v[1:-1] = smooth(u) * first[0]
            u, v = v, u
    return (u * u).sum()


def a_part_of_it(start: Any, turns: int, inner: int) -> Any:
    u, v = start.copy(), start.copy()
    edge = u[:2]
    for _ in range(turns):
        for _ in range(inner):
            v[1:-1] = smooth(u)
            u, v = v, u
        edge[0] = u[3]
    return (u * u).sum() + edge.sum()


def chosen_and_read_late(start: Any, turns: int, inner: int) -> Any:
    """What a branch has chosen shows what is written to it afterwards, by itself or in the turns of a loop."""
    rows, total = np.zeros((turns + 2, start.size)), 0.0
    for turn in range(turns + 1):
        chosen = rows[turn] if turn > inner else rows[turn + 1]
        for i in range(inner):
            total = total + chosen[i]
            rows[turn, i + 1] += start[i] * (total + 1)
        if start[0] > 0:
            rows[turn] = np.sin(start) * (turn + 1)
            total = total + (chosen**2).sum()
    return total + (rows**3).sum()


WRITTEN_BY_ANOTHER_NAME = [another_name, one_array_twice, seen_inside, a_part_of_it, chosen_and_read_late]


@pytest.mark.parametrize("program", WRITTEN_BY_ANOTHER_NAME)
@pytest.mark.parametrize(("turns", "inner"), [(3, 2), (2, 3), (1, 1)])
def test_arrays_with_another_name_are_right_or_refused(program: Program, turns: int, inner: int) -> None:
    try:
        gradient = jitflow.grad(program)(START, turns, inner)
    except NotImplementedError as error:
        assert "hands on an array" in str(error)
    else:
        expected = central_differences(lambda x: program(x, turns, inner), START)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
