"""`jitflow.cond`, `while_loop`, `fori_loop`, `scan` and `map`: compiled, they give what they give as plain Python."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.compare import assert_same

X = np.arange(6.0) - 2
ROWS = np.arange(12.0).reshape(4, 3)


@dataclasses.dataclass
class State:
    weight: Any
    step: Any


def same(program: Any, *args: Any) -> None:
    """Compiled and plain give the same structure of the same numbers."""
    found, expected = jitflow.function(program)(*args), program(*args)
    _compare(found, expected)


def _compare(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _compare(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        _compare(list(found.values()), list(expected.values()))
    elif dataclasses.is_dataclass(expected):
        _compare(vars(found), vars(expected))
    else:
        assert_same(found, expected)


def test_cond() -> None:
    def program(x, n):
        first = jitflow.cond(x.sum() > n, lambda a, b: (a + b, {"k": b}), lambda a, b: (a - b, {"k": b * 2}), x, 2.0)
        return first, jitflow.cond(n > 100, np.sqrt, np.negative, x + 2), jitflow.cond(True, abs, float, -2.0)

    for n in (0, 100, 200):
        same(program, X, n)


def test_while_loop() -> None:
    def program(a, b):
        def body(pair):
            return pair[1], pair[0] % pair[1]

        divisor, _ = jitflow.while_loop(lambda pair: pair[1] != 0, body, (a, b))
        state = jitflow.while_loop(
            lambda state: state.step < b, lambda state: State(state.weight * 0.5, state.step + 1), State(X, 0)
        )
        return divisor, state.weight, state.step

    same(program, 12, 18)
    same(program, 7, 1)


def test_fori_loop() -> None:
    def program(x, n):
        def power(i, carry):
            return {"x": carry["x"] * x, "last": i}

        found = jitflow.fori_loop(0, n, power, {"x": np.ones_like(x), "last": -1})
        return found["x"], found["last"], jitflow.fori_loop(3, n, lambda i, total: total + i, 0)

    for n in (0, 2, 9):
        same(program, X, n)


def test_scan() -> None:
    def program(x, rows):
        def step(carry, item):
            total, count = carry
            return (total + item, count + 1), {"sum": total + item, "row": rows[0] * item, "nothing": None}

        forward = jitflow.scan(step, (0.0, 0), x)
        backward = jitflow.scan(step, (0.0, 0), x, reverse=True)
        pairs = jitflow.scan(lambda carry, pair: (carry + pair[0].sum(), pair[1] * 2), 0.0, (rows, x[:4]))
        doubling = jitflow.scan(lambda carry, _: (carry * 2, carry), 1, length=5)
        return forward, backward, pairs, doubling

    same(program, X, ROWS)


def test_scan_promotes_the_carry() -> None:
    def program(x):
        return jitflow.scan(lambda carry, item: (carry + item, carry), 0.0, x)

    same(program, X.astype(np.float32))
    same(program, X)


def test_map() -> None:
    def program(x, rows):
        return jitflow.map(lambda pair: (pair[0] @ pair[0], pair[1] + 1), (rows, x[:4])), jitflow.map(np.cumsum, rows)

    same(program, X, ROWS)


def test_nothing_to_do() -> None:
    def program(x):
        total = np.float64(0)
        return jitflow.scan(lambda carry, item: (carry + item, item * 2), total, x), jitflow.map(lambda y: y + 1, x)

    same(program, X[:0])


def test_helpers_may_be_globals_and_compiled() -> None:
    def program(x, n):
        return jitflow.fori_loop(0, n, advance, x)

    same(program, X, 7)


@jitflow.function
def advance(i, x):
    return x * 0.5 + i


def test_a_size_and_a_trip_count_compile_nothing() -> None:
    @jitflow.function
    def program(x, n):
        return jitflow.fori_loop(0, n, lambda i, y: y + i, x), jitflow.scan(lambda c, a: (c + a, c), 0.0, x)

    program(X, 10)
    for size in (3, 40):
        total, (last, partial) = program(np.ones(size), size)
        assert_same(total, np.ones(size) + size * (size - 1) / 2)
        assert last == size
        assert_same(partial, np.arange(float(size)))
    assert program.cache_info().misses == 1


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("program", "message"), [
    (lambda x, n: jitflow.while_loop(lambda c: c[0] < n, lambda c: c[0] + 1, (0, x)), "body_fun returns another"),
    (lambda x, n: jitflow.fori_loop(0, n, lambda i, c: (c, c), x), "body_fun returns another structure than it gets"),
    (lambda x, n: jitflow.scan(lambda c, a: ({"a": c}, a), 0.0, x), "f returns another structure"),
    (lambda x, n: jitflow.scan(lambda c, a: c, 0.0, x), "f must return a pair"),
    (lambda x, n: jitflow.scan(lambda c, a: (c, a), 0.0, (x, x[:2])), "differ in length"),
    (lambda x, n: jitflow.scan(lambda c, a: (c, a), 0.0), "scan over nothing"),
    (lambda x, n: jitflow.map(lambda a: a, 3.0), "xs must hold arrays of one axis or more"),
])  # fmt: skip
def test_mistakes(program: Any, message: str, compiled: bool) -> None:
    with pytest.raises(UserError, match=message) as caught:
        (jitflow.function(program) if compiled else program)(X, 5)
    assert isinstance(caught.value, TypeError | ValueError)


def test_branches_that_differ() -> None:
    @jitflow.function
    def program(x, n):
        return jitflow.cond(n > 0, lambda: (x, 1), lambda: x)

    with pytest.raises(TypeError, match="false_fn returns another structure than true_fn") as caught:
        program(X, 5)
    assert "found: '*'" not in str(caught.value.__notes__)
    assert "expected: (*, *)" in caught.value.__notes__[0]


def test_results_of_turns_must_stack() -> None:
    @jitflow.function
    def program(x, n):
        return jitflow.map(lambda i: x[i:], np.arange(n))

    with pytest.raises(ValueError, match="the results of the turns differ in shape"):
        program(X, 3)


def test_carried_arrays_are_arrays_of_the_program() -> None:
    def program(x, y, n):
        def swap(carry):
            count, one, other = carry
            one[0] += 1
            return count + 1, other, one

        _, one, _ = jitflow.while_loop(lambda carry: carry[0] < n, swap, (0, x, y))
        one[1] = 7
        return one

    for n in (0, 1, 4):
        arguments, expected = (X.copy(), X * 2), (X.copy(), X * 2)
        assert_same(jitflow.function(program)(*arguments, n), program(*expected, n))
        assert_same(arguments[0], expected[0])
        assert_same(arguments[1], expected[1])


def test_structures_in_messages() -> None:
    rng = jitflow.random.Generator(0)

    def program(x, n):
        start = {"a": (x,), "b": [n, rng], "c": State(x, n)}
        return jitflow.fori_loop(0, n, lambda i, carry: (carry, carry["a"]), start)

    for run in (program, jitflow.function(program)):
        with pytest.raises(TypeError, match="body_fun returns another structure than it gets") as caught:
            run(X, 3)
        assert "expected: {'a': (*,), 'b': [*, Generator(*)], 'c': State(*, *)}" in caught.value.__notes__[0]
