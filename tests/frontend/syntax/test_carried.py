"""What loops carry from turn to turn: arrays that shrink, selections, sizes that are equal by the arguments alone."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def shrinking(z, n):
    for _ in range(n):
        z = z[z < 0.5] + 0.2
    return z


def shrinking_to_nothing(z, n):
    turns = 0
    for _ in range(n):
        if z.size == 0:
            break
        turns += 1
        z = z[z > turns * 0.2]
    return z, turns


def several_shrink_together(z, n):
    left = np.zeros(z.size, np.int64)
    where = np.arange(z.size)
    c = np.linspace(-2, 2, z.size)
    for i in range(n):
        if not z.size:
            break
        z = z * z + c
        gone = np.abs(z) > 2
        left[where[gone]] = i + 1
        z, c, where = z[~gone], c[~gone], where[~gone]
    return left, z


def a_selection_is_found_in_a_branch(z, n):
    chosen = z[z > 0.3]
    total = 0.0
    if n > 2:
        total = chosen[0] + chosen.sum()
        chosen[0] = 9.0
    return chosen, total + chosen[0]


def a_branch_selects(z, n):
    for i in range(n):
        chosen = z[z > 0.3] if i % 2 == 0 else z[z <= 0.3]
        z[i] = chosen.size + z[i] * 0.5
    return z * 1


def the_last_selection(z, n):
    chosen = z
    for i in range(n):
        chosen = z[z > i * 0.1]
        z[i] += 1.0
    return chosen * 1


def rows_of_a_mask(z, n):
    a = np.outer(z, z)
    for i in range(n):
        a = a[a[:, 0] < 0.9 - 0.1 * i]
    return a


def parts_of_four(z, n):
    size = z.size // 4
    c = np.zeros(size)
    for _ in range(n):
        gates = z * 2 + 1
        c = c * gates[:size] + gates[size : 2 * size] * gates[3 * size :]
    return c


FUNCTIONS = [
    shrinking, shrinking_to_nothing, several_shrink_together, a_selection_is_found_in_a_branch, a_branch_selects,
    the_last_selection, rows_of_a_mask, parts_of_four,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_carried(function):
    compiled = jitflow.function(function)
    for size, turns in ((12, 5), (8, 3), (16, 6), (40, 1), (12, 6)):
        ours, theirs = (np.random.default_rng(size).random(size) for _ in range(2))
        ours[0] = theirs[0] = 0.95
        assert_same(compiled(ours, turns), function(theirs, turns))
        assert_same(ours, theirs)
    assert compiled.cache_info().misses <= 2


def test_sizes_that_are_equal_by_the_arguments_alone():
    def cell(x, w, u):
        size = u.shape[0]
        h = np.zeros(size)
        for t in range(len(x)):
            gates = x[t] * w + h @ u
            h = np.tanh(gates[:size]) * gates[size : 2 * size] + gates[2 * size :]
        return h

    random = np.random.default_rng(0)
    compiled = jitflow.function(cell)
    for size in (4, 3, 7, 2):
        arguments = random.random(5), random.random(3 * size), random.random((size, 3 * size))
        np.testing.assert_allclose(compiled(*arguments), cell(*arguments), rtol=1e-12)
    assert compiled.cache_info().misses == 1
