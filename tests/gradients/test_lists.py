"""Gradients through lists that grow where the running program decides."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

X = np.array([1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0, -8.0, -9.0])


def sums_what_it_kept(x):
    kept = []
    for item in x:
        if item > 0:
            kept.append(item * item)
    return sum(kept)


def folds_an_array(x):
    kept = []
    for item in x:
        if item > 0:
            kept.append(item * item)
    return (np.array(kept) ** 3).sum()


def works_with_a_stack(x):
    stack, total = [x[0]], 0.0
    for item in x:
        if item > 0:
            stack.append(item * item)
        elif stack:
            total += stack.pop() * item
    return total


def changes_items_where_they_lie(x):
    kept, total = [x[0]], 0.0
    for item in x:
        if item > 0:
            kept.append(item)
        else:
            kept[-1] = kept[0] * kept[-1] + item
            kept[len(kept) // 2] *= 0.5
    for item in kept:
        total += item * item
    kept.reverse()
    return total + kept[0]


def keeps_states_and_pairs(x):
    states, pairs, state = [x], [(0, x[0])], x
    for i in range(x.size):
        if x[i] > 0:
            state = state * 0.5 + x[i]
            states.append(state)
            pairs.append((i, x[i] * x[0]))
    total = (np.array(states) ** 2).sum() + (states[-1] * states[0]).sum()
    for i, item in pairs:
        total += i * item
    return total


PROGRAMS = [
    sums_what_it_kept,
    folds_an_array,
    works_with_a_stack,
    changes_items_where_they_lie,
    keeps_states_and_pairs,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_the_slope(program):
    steps = np.eye(X.size) * 1e-6
    expected = [(program(X + step) - program(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(jitflow.grad(program)(X), expected, rtol=1e-6, atol=1e-4)
    tangent = jitflow.jvp(program, (X,), (np.ones_like(X),))[1]
    np.testing.assert_allclose(tangent, np.sum(expected), rtol=1e-6)


def makes_lists_in_a_loop(x):
    total = 0.0
    for i in range(x.size):
        kept = []
        for item in x:
            if item > x[i]:
                kept.append(item)
        total += sum(kept)
    return total


def test_a_list_in_a_loop_is_refused():
    with pytest.raises(UserNotImplementedError, match="made in a loop or branch of what is differentiated"):
        jitflow.grad(makes_lists_in_a_loop)(X)


def test_what_was_in_a_dict_is_no_constant():
    def sums(x):
        found = {}
        for i in range(len(x)):
            found[i % 2] = found.get(i % 2, np.float64(0)) + x[i] * x[i]
        return found[0]

    def counts(x):
        found = {}
        for i in range(len(x)):
            found[i % 2] = found.get(i % 2, 0) + 1
        return (x * found[0]).sum()

    x = np.array([1.0, -2.0, 3.0])
    with pytest.raises(NotImplementedError, match="the gradient of a number that was in a dict"):
        jitflow.grad(sums)(x)
    assert jitflow.grad(counts)(x).tolist() == [2.0, 2.0, 2.0]
