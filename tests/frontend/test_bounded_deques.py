"""Deques that drop what is too much, in loops and on paths that the run decides."""

from __future__ import annotations

import copy
from collections import deque
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([1.0, -2.0, 3.0, 0.5, 4.0, 5.0, -1.0])
CALLS = [(x, n) for x in (X, -np.ones(40), np.tile([2.0, 0.5, -1.0], 12)) for n in (3, 1, 0, None, 50)]


def means_of_windows(x: Any, n: Any) -> Any:
    window, total, means = deque(maxlen=n), 0.0, np.zeros(len(x))
    for i, v in enumerate(x):
        if len(window) == n and n:
            total -= window[0]
        window.append(v)
        total += v
        means[i] = total
    return means


def both_ends(x: Any, n: Any) -> Any:
    q = deque([1.0, 2.0], maxlen=n)
    for v in x:
        if v > 0:
            q.appendleft(v)
        elif v < -1:
            q.extend([v, -v, v * 2])
        else:
            q.append(v)
    q.rotate(1)
    return q, q.maxlen, len(q), q.copy(), q == deque(q, n), q[-1] if q else None


def other_ways_to_add(x: Any, n: Any) -> Any:
    q, r = deque([1.0], n), deque((v for v in x if v > 0), maxlen=n)
    for v in x:
        if v > 1:
            q += [v, v]
        elif v > 0:
            q.extendleft([v, 3.0])
    both, another = q + q, copy.copy(q)
    another.append(9.0)
    return q, r, both, another, [one.maxlen for one in (q, r, both, another)]


def in_containers(x: Any, n: Any) -> Any:
    several, by_place = [deque(maxlen=n) for _ in range(2)], {}
    for i, v in enumerate(x):
        several[i % 2].append(v)
        by_place.setdefault(i % 3, deque(maxlen=n)).append(v)
    return several, by_place


def inserts(x: Any, n: Any) -> Any:
    q = deque([5.0], maxlen=n)
    for v in x:
        if v > 0:
            q.insert(0, v)
    return q


@pytest.mark.parametrize("program", [means_of_windows, both_ends, other_ways_to_add, in_containers, inserts])
def test_they_are_pythons(program: Any) -> None:
    assert_does_what_python_does(program, CALLS)


def test_new_sizes_compile_nothing() -> None:
    compiled = jitflow.function(means_of_windows)
    for size in (30, 40, 7):
        np.testing.assert_array_equal(compiled(np.ones(size), 3), means_of_windows(np.ones(size), 3))
    assert compiled.cache_info().misses == 1


def changes_the_callers(q: Any, others: Any, x: Any) -> Any:
    q.append(x)
    for one in others:
        one.extend([x, x + 1])
    q.rotate(1)
    if x > 4:
        raise ValueError("too large")
    return q, sum(q), q.maxlen, others[0].popleft(), [one.maxlen for one in others], q is others[0]


def test_those_of_the_caller_keep_their_largest_length() -> None:
    shared = deque([1.0, 2.0], maxlen=2)
    calls = [(deque([1.0, 2.0, 3.0], n), [deque(maxlen=m), deque([4.0], m)], 3.0) for n in (3, 2, None) for m in (2, 4)]
    calls += [(shared, [shared, deque([3.0], 2)], 5.0), (shared, [shared, deque([3.0], 3)], 3.0)]
    assert_does_what_python_does(changes_the_callers, calls)


class Monitor:
    def __init__(self) -> None:
        self.window: Any = deque(maxlen=3)

    def push(self, value: Any) -> Any:
        self.window.append(value)
        return sum(self.window) / len(self.window)


def test_an_object_has_a_window() -> None:
    ours, theirs, compiled = Monitor(), Monitor(), jitflow.function(lambda monitor, value: monitor.push(value))
    for value in (1.0, 2.0, 4.0, 8.0):
        assert compiled(ours, value) == theirs.push(value)
        assert ours.window == theirs.window
        assert ours.window.maxlen == 3
