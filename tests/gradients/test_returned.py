"""Arrays that a loop writes to and returns early; what is written to them afterwards shows in all of their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.gradients.test_parts import numerical

X = np.array([0.4, 1.3, -0.7, 0.9, -1.1])


def grown(c: Any, limit: float) -> Any:
    for turn in range(6):
        if np.sum(c**2) > limit:
            return c, turn
        c[0] += c[1] ** 2
        c *= 1.3
    return c, 6


def a_local(x: Any) -> Any:
    c, turns = grown(x.copy(), 8.0)
    return (c * np.arange(5.0)).sum() * turns


def to_the_end(x: Any) -> Any:
    c, turns = grown(x.copy(), 1e9)
    return (c * np.arange(5.0)).sum() * turns


def the_argument_is_written_to(x: Any) -> Any:
    c = x.copy()
    found, _ = grown(c, 8.0)
    c[1] = 2.0 * c[2] ** 2
    return (found**2).sum()


def the_result_is_written_to(x: Any) -> Any:
    c = x.copy()
    found, _ = grown(c, 8.0)
    found[1] *= c[2]
    return (c**2).sum()


def in_a_loop(x: Any) -> Any:
    c, before, total = x.copy(), np.zeros(5), 0.0
    for _ in range(3):
        c *= 0.5
        total += (before * c).sum()
        before, _ = grown(c, 3.0)
    return total + (before**2).sum()


def locals_in_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        found, turns = grown(x * (k + 1), 6.0)
        total += found[0] * found[2] + turns
    return total


def a_view(x: Any) -> Any:
    def part(c: Any) -> Any:
        for k in range(4):
            if c[k] > 1.0:
                return c[1:4]
            c[k + 1] += c[k] ** 2 + 0.3
        return c[:3]

    return (part(x.copy()) ** 3).sum()


def of_an_outer_function(x: Any) -> Any:
    c = x.copy()

    def go_on() -> Any:
        for _ in range(5):
            if c.sum() > 3.0:
                return c
            c[2] += 0.5 + c[0] ** 2
        return c * 2.0

    found = go_on()
    c[0] = 3.0 * c[1]
    return (found**2).sum()


def in_a_list(x: Any) -> Any:
    names = []

    def kept() -> Any:
        c = x.copy()
        names.append(c)
        for _ in range(5):
            if c.sum() > 3.0:
                return c
            c += 0.5
        return c

    found = kept()
    names[0][1] = found[2] ** 2
    return (found**2).sum()


@pytest.mark.parametrize("program", [a_local, to_the_end, locals_in_a_loop, a_view])
def test_gradients(program: Callable[[Any], Any]) -> None:
    value, found = jitflow.value_and_grad(program)(X)
    assert value == pytest.approx(program(X.copy()))
    np.testing.assert_allclose(found, numerical(program, X), rtol=2e-6, atol=1e-7)
    _, change = jitflow.jvp(program, (X,), (np.ones(5),))
    assert change == pytest.approx(found.sum())


@pytest.mark.parametrize(
    "program",
    [the_argument_is_written_to, the_result_is_written_to, in_a_loop, of_an_outer_function, in_a_list],
)
def test_other_names(program: Callable[[Any], Any]) -> None:
    """They are right, or refused."""
    assert jitflow.function(program)(X.copy()) == pytest.approx(program(X.copy()))
    try:
        value, found = jitflow.value_and_grad(program)(X)
    except NotImplementedError:
        return
    assert value == pytest.approx(program(X.copy()))
    np.testing.assert_allclose(found, numerical(program, X), rtol=2e-6, atol=1e-7)
