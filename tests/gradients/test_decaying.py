"""Cotangents that decay in a loop: zeros for denormal numbers, and nothing else changes."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

import jitflow


def contracting(x: Any, turns: int) -> Any:
    state = x
    for _ in range(turns):
        state = 0.9 * state + 0.1 * np.sin(x)
    return state


def contracting_array(x: Any, turns: Any) -> Any:
    state = x * 1.0
    for _ in range(turns + 0):
        state = 0.9 * state + 0.1 * x
    return state.sum()


def long_enough(x: Any, turns: Any) -> Any:
    state, left = x, turns * 1.0
    while left > 0:
        state, left = 0.9 * state + 0.1 * np.sin(x), left - 1
    return state


@pytest.mark.parametrize("program", [contracting, long_enough])
@pytest.mark.parametrize("dtype", [float, np.float64, np.float32])
def test_the_gradient_is_that_of_the_fixed_point(program: Any, dtype: Any) -> None:
    found = jitflow.grad(program)(dtype(0.7), 20_000)
    assert type(found) is dtype
    np.testing.assert_allclose(found, np.cos(0.7), rtol=1e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_normal_stays_as_it_is(dtype: Any) -> None:
    """The derivative by the first state is 0.9 ** turns, down to the smallest normal number, and 0 below."""

    def last(start: Any, turns: int) -> Any:
        state = start
        for _ in range(turns):
            state = state * np.float32(0.5)
        return state

    smallest = np.finfo(dtype).smallest_normal
    turns = round(-np.log2(float(smallest)))
    gradient = jitflow.grad(last)
    assert gradient(dtype(1), turns) == smallest
    assert gradient(dtype(1), turns + 1) == 0
    assert gradient(dtype(1), 10) == 2.0**-10


def test_nan_and_infinities_arrive() -> None:
    def scaled(x: Any, factor: Any) -> Any:
        state = x
        for _ in range(5):
            state = state * factor
        return state

    gradient = jitflow.grad(scaled)
    assert gradient(1.0, np.inf) == np.inf
    assert np.isnan(gradient(1.0, np.nan))


def test_arrays_that_a_loop_carries() -> None:
    x = np.random.default_rng(3).random(20)
    np.testing.assert_allclose(jitflow.grad(contracting_array)(x, 20_000), np.ones(20), rtol=1e-12)


def test_one_op_says_so() -> None:
    text = jitflow.grad(contracting).ir(0.7, 100, stage="optimized")
    assert len(re.findall(r"= flush ", text)) == 1


def test_second_derivatives() -> None:
    def squared(x: Any, turns: int) -> Any:
        state = x
        for _ in range(turns):
            state = 0.5 * state + 0.1 * x * x
        return state

    assert np.isclose(jitflow.grad(jitflow.grad(squared))(0.3, 3000), 0.4)


@pytest.mark.parametrize("program", [contracting, long_enough])
def test_it_takes_no_longer_than_other_loops(program: Any) -> None:
    """It took 50 times as long as the forward pass; the bound is wide, since other tests run beside."""
    forward, backward = jitflow.function(program), jitflow.value_and_grad(program)

    def shortest(function: Any) -> float:
        function(0.7, 50_000)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            function(0.7, 50_000)
            times.append(time.perf_counter() - start)
        return min(times)

    assert shortest(backward) < 12 * shortest(forward)
