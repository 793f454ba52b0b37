"""What predictions depend on: properties of the model, on a machine that is described, not times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.machines.machine import KINDS, Machine
from jitflow.passes.place.recency import Recency, Touch, Used, footprint

MACHINE = Machine((("cpu:0", KINDS["cpu"]),))
CALL = KINDS["cpu"].call
X, LARGE = np.ones(10_000), np.ones(4_000_000)


def seconds(function: Callable[..., Any], *args: Any, **told: Any) -> float:
    """What is predicted, without the call."""
    return jitflow.simulate(jitflow.function(function), args, devices=MACHINE, **told).seconds - CALL


def doubled(x: Any, turns: int) -> Any:
    for _ in range(turns):
        x[:] = x * 2.0
    return x


def halved(x: float) -> int:
    turns = 0
    while x > 1.0:
        x *= 0.5
        turns += 1
    return turns


def test_whole_numbers_of_the_call_are_known() -> None:
    assert seconds(doubled, X, 1000) == pytest.approx(10 * seconds(doubled, X, 100), rel=0.05)
    assert seconds(doubled, X, np.int32(1000)) == pytest.approx(seconds(doubled, X, 1000))


def test_loops_that_nobody_can_count_are_told_and_can_be_told() -> None:
    compiled = jitflow.function(halved)
    guess = jitflow.simulate(compiled, (1e300,), devices=MACHINE)
    (line,) = guess.guessed
    assert line == f"test_predictions.py:{halved.__code__.co_firstlineno + 2}"
    assert line in str(guess)
    assert "is a guess" in str(guess)
    assert "is a guess" not in str(jitflow.simulate(compiled, (1e300,), devices=MACHINE, turns={line: 997}))
    told = seconds(halved, 1e300, turns={line: 1000})
    assert told == pytest.approx(10 * seconds(halved, 1e300, turns={line: 100}), rel=0.1)
    assert told == seconds(halved, 1e300, turns={halved.__code__.co_firstlineno + 2: 1000})


def test_what_is_fused_moves_no_memory() -> None:
    once = seconds(lambda x, y: x + y, LARGE, LARGE)
    assert seconds(lambda x, y: (x + y) * 0.5 - x, LARGE, LARGE) < 1.5 * once

    def neighbours(x: Any, y: Any) -> Any:
        both = x + y
        return both[1:] - both[:-1]

    assert seconds(neighbours, LARGE, LARGE) > 1.5 * once


def test_results_are_computed_where_they_are_stored() -> None:
    def stored(x: Any, y: Any) -> None:
        y[:] = np.sqrt(x) + y

    assert seconds(stored, LARGE, LARGE) == pytest.approx(seconds(lambda x, y: np.sqrt(x) + y, LARGE, LARGE), rel=0.4)


def test_memory_is_nearer_if_less_is_used() -> None:
    near, far = seconds(doubled, X, 400), seconds(doubled, LARGE, 1)
    assert far > 2 * near  # as many bytes


def test_columns_are_dearer_than_rows() -> None:
    x = np.ones((1000, 1000))

    def rows(x: Any) -> Any:
        total = np.zeros(1000)
        for i in range(1000):
            total += x[i]
        return total

    def columns(x: Any) -> Any:
        total = np.zeros(1000)
        for i in range(1000):
            total += x[:, i]
        return total

    assert seconds(columns, x) > 2 * seconds(rows, x)


def test_turns_that_wait_for_each_other_take_longer() -> None:
    def waiting(x: Any, n: int) -> float:
        total = 0.0
        for i in range(n):
            total = (total * 0.5 + x[i]) / 3.0
        return total

    def apart(x: Any, y: Any, n: int) -> None:
        for i in range(n):
            if x[i] > 0.0:
                y[i] = (x[i] * 0.5 + x[i]) / 3.0

    assert seconds(waiting, X, 10_000) > 2 * seconds(apart, X, X.copy(), 10_000)


def test_a_condition_that_numbers_are_equal_is_rare() -> None:
    def often(x: Any, n: int) -> Any:
        for i in range(100):
            if i != n:
                x *= np.sin(x)
        return x

    def rarely(x: Any, n: int) -> Any:
        for i in range(100):
            if i == n:
                x *= np.sin(x)
        return x

    args = LARGE, 50  # in the middle, so that this turn tells nothing
    assert seconds(often, *args) > 4 * seconds(rarely, *args)


def test_bandwidth_falls_with_distance() -> None:
    cpu = KINDS["cpu"]
    found = [cpu.bandwidth_at(distance) for distance in (0, cpu.cache, 2 * cpu.cache, 2 * cpu.shared_cache)]
    assert found == [cpu.cache_bandwidth, cpu.cache_bandwidth, cpu.shared_cache_bandwidth, cpu.bandwidth]


def test_memory_was_used_as_long_ago_as_the_turn_is_large() -> None:
    whole, row = Touch("a", 100.0, 100.0), Touch("b", 1.0, 1000.0)
    used = footprint([whole, row, whole])
    assert used == {"a": 100.0, "b": 1.0}
    assert footprint([row], turns=30) == {"b": 30.0}
    recency = Recency(used, turns=2000)
    assert recency.reach([whole]) == 100.0 * 101
    assert recency.reach([whole]) == 100.0 * 100  # since then nothing else was moved
    assert recency.reach([row]) == 101.0 + 1000.0  # another row in each turn: the array was gone through since


def test_a_cache_reads_what_it_writes() -> None:
    used = Used()
    used.read["both"] = used.written["both"] = (8.0, 8.0)
    used.read["in"], used.written["out"] = (8.0, 8.0), (8.0, 8.0)
    assert {touch.key: touch.bytes for touch in used.touches()} == {"both": 16.0, "in": 8.0, "out": 16.0}
