"""Gradients through lists that grow where the running program decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitflow

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


def makes_lists_in_a_loop(x):
    total = 0.0
    for i in range(x.size):
        kept, rows = [], []
        for j, item in enumerate(x):
            if item > x[i]:
                kept.append((item * item, j))
                rows.append(x[:3] * item)
        kept.reverse()
        rows.reverse()
        for position, (square, j) in enumerate(kept):
            total += square * j * position
        if rows:
            total += (np.array(rows) ** 2).sum() / len(rows) + rows[0][0]
    return total


def chooses_among_what_there_is(x):
    costs = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            before = []
            if i > 0:
                before.append(costs[i - 1, j])
            if j > 0:
                before.append(costs[i, j - 1] * 1.1)
            if i > 0 and j > 0:
                before.append(costs[i - 1, j - 1])
            costs[i, j] = x[3 * i + j] ** 2 + (min(before) if before else 0.0)
    return costs[-1, -1]


def makes_lists_in_branches_and_helpers(x):
    def above(limit):
        return [item * limit for item in x if item > limit]

    if x[0] > 0:
        found, turns = [x[0] * x[1]], 0
        while found and turns < 9:
            item, turns = found.pop() * 0.5, turns + 1
            if item > 0.13:
                found.append(item - 0.21)
                found.append(item * x[turns % x.size])
        total = sum(found) + turns * item
    else:
        total = x[1]
    for k in range(3):
        total += sum(above(x[k])) * k
    return total


def pairs_up(x):
    found = sum(a * b * b for a, b in itertools.combinations(x, 2))
    found += sum(a * a for a in itertools.accumulate(x[:4], lambda a, b: a * 0.5 + b))
    return found + sum(itertools.takewhile(lambda a: a > -4, x)) ** 2


PROGRAMS = [
    makes_lists_in_a_loop,
    chooses_among_what_there_is,
    makes_lists_in_branches_and_helpers,
    pairs_up,
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


def test_through_lists_in_loops_to_any_order():
    second = jitflow.hessian(makes_lists_in_a_loop)(X)
    slope = jitflow.grad(makes_lists_in_a_loop)
    expected = [(slope(X + step) - slope(X - step)) / 2e-6 for step in np.eye(X.size) * 1e-6]
    np.testing.assert_allclose(second, expected, rtol=1e-5, atol=1e-4)
    both = np.stack([X, X[::-1]])
    of_each = jitflow.grad(lambda xs: jitflow.vmap(makes_lists_in_a_loop)(xs).sum())(both)
    np.testing.assert_allclose(of_each, [slope(x) for x in both])


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
