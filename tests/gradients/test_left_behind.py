"""What a differentiated function leaves in lists, dicts, objects and locals around it is there afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError

X = np.arange(3.0)


class Record:
    pass


def in_a_list(x):
    seen = []

    def loss(x):
        seen.append(x * 3)
        seen.append(len(seen))
        return (x * x).sum()

    return jitflow.grad(loss)(x), seen


def in_a_local(x):
    last = None

    def loss(x):
        nonlocal last
        last = (x.sum(), f"{x.sum()}") if x[0] > 1 else (x.max(), "max")
        return (x * x).sum()

    return jitflow.grad(loss)(x), last


def in_an_object(x):
    record = Record()

    def loss(x):
        record.hidden = {"x": x, "twice": [x * 2]}
        return (x * x).sum()

    return jitflow.grad(loss)(x), record.hidden


def in_each_turn(x):
    seen, total = [], 0.0

    def loss(x):
        nonlocal total
        total += x.sum()
        for i in range(len(x)):
            seen.append(x[i] * i)
        return (x * x).sum()

    for _ in range(len(x)):
        x = x - 0.25 * jitflow.grad(loss)(x)
    return x, (seen, total)


def of_a_derivative(x):
    seen = []

    def slope(x):
        seen.append(x + 1)
        return jitflow.grad(lambda x: seen.append(x * 2) or (x**3).sum())(x).sum()

    return jitflow.grad(slope)(x), seen


def forward(x):
    seen = []
    _, change = jitflow.jvp(lambda x: seen.append(x * 2) or x * x, (x,), (x,))
    return change, seen


def with_an_iterator(x):
    scales = iter([2.0, 3.0])
    gradient = jitflow.grad(lambda x: (x * next(scales)).sum())(x)
    return gradient, next(scales)


EXPECTED = {
    with_an_iterator: (np.full(3, 2.0), 3.0),
    in_a_list: (2 * X, [3 * X, 1]),
    in_a_local: (2 * X, (np.float64(2), "max")),
    in_an_object: (2 * X, {"x": X, "twice": [2 * X]}),
    in_each_turn: (X / 8, ([*(X * X), *(X * X / 2), *(X * X / 4)], np.float64(5.25))),
    of_a_derivative: (6 * X, [X + 1, 2 * X]),
    forward: (2 * X * X, [2 * X]),
}


@pytest.mark.parametrize("program", EXPECTED)
def test_it_is_there_afterwards(program) -> None:
    found = jitflow.function(program)(X)
    assert repr(found) == repr(EXPECTED[program])


def test_what_is_returned_and_left_is_one_array() -> None:
    @jitflow.function
    def program(x):
        seen = []

        def loss(x):
            twice = x * 2
            seen.append(twice)
            return (x * x).sum(), twice

        _, twice = jitflow.grad(loss, has_aux=True)(x)
        twice += 1
        return seen[0]

    np.testing.assert_array_equal(program(X), 2 * X + 1)


def test_views_of_one_another_are_refused() -> None:
    @jitflow.function
    def program(x):
        seen = []

        def loss(x):
            twice = x * 2
            seen.extend([twice, twice[1:]])
            return (x * x).sum()

        jitflow.grad(loss)(x)
        return seen

    with pytest.raises(UserNotImplementedError, match="of which another one is a view"):
        program(X)


def test_what_runs_more_than_once_may_leave_nothing() -> None:
    @jitflow.function
    def program(x):
        seen = []
        return jitflow.jacobian(lambda x: seen.append(x) or x * x)(x), seen

    with pytest.raises(UserNotImplementedError, match="the Jacobian of a function that changes an object"):
        program(X)
