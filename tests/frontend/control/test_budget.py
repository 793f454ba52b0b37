"""Compiling comes to an end: small loops in loops, loops that count without end, and what is refused as too large."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import jitflow
from benchmarks.compile_time import load
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.recording import regions

X = np.array([1.0, 2.0, 3.0, 4.0])


def small_loops(x):
    total = 0.0
    for i in range(2):
        for j in range(3):
            total += x[i] * j
    return total


def deep_small_loops(x):
    total = x * 0
    for _ in range(3):
        for _ in range(3):
            for _ in range(3):
                for i in range(3):
                    total = total + x * i
    return total


def arrays_in_deep_loops(x, n):
    total = 0.0
    for _ in range(n):
        for _ in range(n):
            for _ in range(n):
                for _ in range(n):
                    for _ in range(n):
                        for _ in range(n):
                            for _ in range(n):
                                for i in range(n):
                                    total = total + x * i
    return total


def test_small_loops_are_written_out_unless_the_nest_is_large() -> None:
    function, deep = jitflow.function(small_loops), jitflow.function(deep_small_loops)
    assert function(X) == small_loops(X)
    assert "native loop" not in str(function.explain(X))
    np.testing.assert_array_equal(deep(X), deep_small_loops(X))
    text = str(deep.explain(X))
    assert text.count("native loop of 3 turns") == 2
    assert text.count("unrolled into 3 turns") == 2


def test_what_inner_loops_carry_is_found_out_once() -> None:
    function = jitflow.function(arrays_in_deep_loops)
    traced = function.ir(X, 2)
    assert len(traced.splitlines()) < 200
    np.testing.assert_array_equal(function(X, 2), arrays_in_deep_loops(X, 2))


def counts(x, n):
    total = 0.0
    for i in itertools.count(1, 2):
        total += x[i % 4]
        if total > n:
            break
    return total, i


def counts_in_counts(x, n):
    for i in itertools.count():
        for j in itertools.count(i):
            if j * x[1] > n:
                break
        if i * j > n:
            return i, j
    return None


def multiplies(x, n):
    total = 0.0
    for i, j, k in itertools.product(range(3), range(9, 0, -2), range(n)):
        total += x[i] * j - k
    return total, i, j


def multiplies_until(x, n):
    for i, j in itertools.product(range(50), repeat=2):
        if x[i % 4] * j > n:
            break
    return i, j


def goes_on_with_a_product(x, n):
    pairs = itertools.product(range(10), (0.5, 2.0))
    total = sum(x[i % 4] * factor for i, factor in pairs)
    return total, next(pairs, n)


@pytest.mark.parametrize("program", [counts, counts_in_counts, multiplies, multiplies_until, goes_on_with_a_product])
def test_iterators_of_many_turns(program) -> None:
    function = jitflow.function(program)
    for n in (10, 30):
        assert function(X, n) == program(X, n)


@pytest.mark.parametrize("program", [counts, counts_in_counts, multiplies, multiplies_until])
def test_iterators_of_many_turns_are_native_loops(program) -> None:
    assert "one native loop" in str(jitflow.function(program).explain(X, 30))


@pytest.mark.parametrize(
    "use",
    [
        lambda: len(list(itertools.permutations(range(12)))), lambda: max(itertools.combinations(range(40), 20))[0],
        lambda: len([*itertools.product(itertools.permutations(range(11)))]),
        lambda: sum(first for first, *_ in itertools.combinations_with_replacement(range(40), 20)),
    ],
)  # fmt: skip
def test_a_path_that_is_never_taken_may_not_go_on_for_long(use: Any) -> None:
    with pytest.raises(UserNotImplementedError, match="more than 1000000 items"):
        jitflow.function(lambda x: use() if x > 5 else 1)(3)


def test_a_product_that_is_never_gone_through_takes_no_time() -> None:
    def program(x):
        total = 0
        if x > 5:
            for places in itertools.product(range(10), repeat=12):
                total += places[0]
        return total

    assert jitflow.function(program)(3) == 0


@dataclass(frozen=True)
class State:
    count: int
    array: np.ndarray


def rebuilds_a_dict(state, n):
    for _ in range(n):
        state = {"count": state["count"] + 1, "pair": (state["pair"][1], state["pair"][0] * 0.5)}
    return state


def rebuilds_a_list(state, n):
    for _ in range(n):
        state = [state[0] + 1, {"array": state[1]["array"] * 0.5}]
    return state


def rebuilds_a_dataclass(state, n):
    for _ in range(n):
        state = State(state.count + 1, state.array * 0.5)
    return state


def replaces_in_a_dataclass(state, n):
    while state.count < n:
        state = replace(state, count=state.count + 1)
    return state


@pytest.mark.parametrize(
    ("program", "make"),
    [
        (rebuilds_a_dict, lambda: {"count": 0, "pair": (X + 1, X)}),
        (rebuilds_a_list, lambda: [0, {"array": X}]),
        (rebuilds_a_dataclass, lambda: State(0, X)),
        (replaces_in_a_dataclass, lambda: State(0, X)),
    ],
)
def test_states_from_outside_are_carried(program, make) -> None:
    function = jitflow.function(program)
    assert "one native loop" in str(function.explain(make(), 30))
    for n in (1, 7):
        assert str(function(make(), n)) == str(program(make(), n))
    if program is not replaces_in_a_dataclass:
        state = make()
        assert function(state, 0) is state


def doubles(x, n):
    return x + 1 if n == 0 else doubles(x, n - 1) + doubles(x * 2, n - 1)


def recursive(x):
    return doubles(x, 12)


def helper(x):
    return x * 2 + 1


def helped(x):
    total = x
    for name in itertools.product("ab", repeat=8):
        total = helper(total) + len(name)
    return total


def endless(x):
    total = 0.0
    for number in itertools.count():
        total = total + x[0] * number
    return total


@pytest.mark.parametrize(
    ("program", "message"),
    [(recursive, "the recursion of doubles"), (helped, "helper, which is called on many"), (endless, "turn by turn")],
)
def test_what_is_too_large_is_refused_where_it_stands(program, message, monkeypatch) -> None:
    monkeypatch.setattr(regions, "MOST_WORK", 200)
    with pytest.raises(UserNotImplementedError, match=f"{message}.* makes a program too large to compile") as caught:
        jitflow.function(program)(X)
    assert "test_budget.py" in str(caught.value.location)
    assert caught.value.mend


@pytest.mark.parametrize("form", ["elif", "return", "match"])
def test_chains_may_have_any_length(form: str, tmp_path) -> None:
    lines = ["def program(x, n):", "    y = x", *(["    match n:"] if form == "match" else [])]
    for k in range(150):
        start = {"elif": f"    {'elif' if k else 'if'} n == {k}:", "return": f"    if n == {k}:"}
        act = f"return x * {k}" if form == "return" or k == 140 else f"y = x + {k}"
        lines.append(f"{start.get(form, f'        case {k}:')} {act}")
    program = load("\n".join([*lines, "    return y"]), tmp_path / form)
    compiled = jitflow.function(program)
    for n in (0, 31, 32, 140, 149, 150):
        assert compiled(2.5, n) == program(2.5, n)
