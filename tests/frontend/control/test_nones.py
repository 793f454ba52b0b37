"""Locals that are None until they are something else, where only the running program knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same


def largest(x: Any, limit: Any) -> Any:
    best = None
    for number in x:
        if best is None or number > best:
            best = number
    return best


def first_above(x: Any, limit: Any) -> Any:
    found = None
    for place in range(len(x)):
        if x[place] > limit:
            found = place
            break
    if found is None:
        return -1
    return found


def steps_between(x: Any, limit: Any) -> Any:
    before, total = None, np.float64(0.0)
    for number in x:
        if before is not None:
            total += abs(number - before)
        before = None if number < limit else number
    return total, before is None


def gaps(x: Any, limit: Any) -> Any:
    place, last, count = 0, None, 0
    while place < len(x):
        if x[place] > limit:
            if last is not None and place - last > 1:
                count += 1
            last = place
        place += 1
    return count, -1 if last is None else last


def closest(x: Any, limit: Any) -> Any:
    best = pair = None
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            distance = abs(x[i] - x[j])
            if best is None or distance < best:
                best, pair = distance, (i, j)
    if pair is None:
        return np.float64(0.0), 0, 0
    one, other = pair
    return best, one, other


def made_if_needed(x: Any, limit: Any) -> Any:
    row = None
    if x.sum() > limit:
        row = x * 2
    if row is None:
        row = np.zeros(len(x))
    row += 1
    return row


def made_in_a_turn(x: Any, limit: Any) -> Any:
    sums = None
    for number in x:
        if sums is None:
            sums = np.zeros(3)
        sums[0] += number
        sums[1] = number
    return sums


def a_state(x: Any, limit: Any) -> Any:
    state, found = None, np.zeros(len(x))
    for place, number in enumerate(x):
        if state is None:
            state = (number, 0)
        else:
            high, count = state
            state = (max(high, number), count + 1)
        found[place] = state[0] + state[1]
    return found


def saved(x: Any, limit: Any) -> Any:
    kept = None
    for turn in range(5):
        x = x * 0.5
        if x.sum() < limit:
            kept = x.copy()
            kept[:1] = turn
    if kept is not None:
        kept += 100
    return (0, x) if kept is None else (1, kept)


def smallest_of_each(x: Any, limit: Any) -> Any:
    best = None
    for i in range(len(x)):
        own = None
        for j in range(i, len(x)):
            if x[j] > limit:
                if own is None:
                    own = j
                    continue
                if x[j] < x[own]:
                    own = j
        if own is not None and (best is None or x[own] < x[best]):
            best = own
    return -1 if best is None else best


def while_something_is_kept(x: Any, limit: Any) -> Any:
    kept, total, place = None, 0, 0
    while True:
        if place >= len(x):
            break
        if x[place] > limit:
            kept = place
        elif kept is not None:
            total += kept
            kept = None
        place += 1
    return total, kept is None, -1 if kept is None else kept


def pairs_that_end(x: Any, limit: Any) -> Any:
    current, total = None, 0
    for place, number in enumerate(x):
        if current is None:
            if number > limit:
                current = (place, number)
            else:
                continue
        since, _ = current
        total += since
        if place - since > 2:
            current = None
    else:
        if current is not None:
            total += 1000
    return total


def another_name(x: Any, limit: Any) -> Any:
    y, shown = x * 2, None
    for place in range(len(x)):
        if x[place] > limit:
            shown = y
        if shown is not None:
            shown[place] = -1
    return y, shown is None


def sum_since(x: Any, limit: Any) -> Any:
    total = None
    for number in x:
        total = None if number > limit else number if total is None else total + number
        if number > 0.95:
            return np.float64(-2.0)
    return total


PROGRAMS = [
    largest,
    first_above,
    steps_between,
    gaps,
    closest,
    made_if_needed,
    made_in_a_turn,
    a_state,
    saved,
    smallest_of_each,
    while_something_is_kept,
    pairs_that_end,
    another_name,
    sum_since,
]
SAMPLES = [np.random.default_rng(0).random(20), np.array([0.1, 0.9, 0.2]), np.zeros(0), np.ones(1)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_gives_what_python_gives(program: Any) -> None:
    compiled = jitflow.function(program)
    for x in SAMPLES:
        for limit in (0.5, 2.0):
            assert_same(compiled(x, limit), program(x, limit))


def test_none_in_the_place_of_a_number_raises_what_python_raises() -> None:
    @jitflow.function
    def sum_of_large(x, limit):
        total = None
        for number in x:
            if number > limit:
                total = number if total is None else total + number
        return total + 1.0

    assert sum_of_large(np.array([1.0, 2.0, 3.0]), 1.5) == 6.0
    with pytest.raises(TypeError, match="'NoneType' and 'float'"):
        sum_of_large(np.ones(3), 1.5)


def test_functions_inside_see_none() -> None:
    @jitflow.function
    def program(x):
        kept = None

        def ask():
            return kept is None

        if x.sum() > 0:
            kept = 1.0
        return ask()

    assert program(np.ones(2)) is False
    assert program(-np.ones(2)) is True


def next_divisor(n: int, d: int) -> int:
    if d < 2:
        d = 2
    while True:
        if n % d == 0:
            return d
        d += 1


def divisors_in_order(n: int) -> Any:
    found: dict[int, int] = {}
    waiting = [n]
    while waiting:
        rest = waiting.pop()
        if rest > 1:
            d = next_divisor(rest, 0)
            found[d] = found.get(d, 0) + 1
            waiting.append(rest // d)
    return found


def test_what_returns_from_an_endless_loop_gives_no_none() -> None:
    for n in (360, 17, 2048):
        assert_same(jitflow.function(divisors_in_order)(n), divisors_in_order(n))
