"""``while machine.step():``, whose test changes what the program goes on with, is one native loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.truth.whole.same import assert_does_what_python_does


class Countdown:
    def __init__(self, number):
        self.number, self.seen, self.best = number, [], 0

    def step(self):
        self.number -= 1
        return self.number > 0

    def note(self, item):
        self.seen.append(item)
        return len(self.seen) < 5

    def halve(self):
        self.number -= 1
        if self.number % 2:
            self.best = self.number * 0.5
        return self.number > 0

    def fail(self):
        self.number -= 1
        if self.number < 0:
            raise ValueError("below 0")
        return True


class Tokens:
    def __init__(self, digits):
        self.digits, self.place = digits, 0

    def peek(self):
        return self.digits[self.place] if self.place < len(self.digits) else -1

    def accept(self, digit):
        if self.peek() == digit:
            self.place += 1
            return True
        return False

    def number(self):
        found = 0
        while 0 <= self.peek() <= 9:
            found = found * 10 + self.peek()
            self.place += 1
        return found


def with_jumps(n):
    one, other, third, found = Countdown(n), Countdown(n), Countdown(n), 0
    while one.step():
        if one.number % 2:
            continue
        found += one.number
        if found > 20:
            break
    while other.step():
        found += 1
    else:
        found = -found
    while third.step():
        found += third.number
        if third.number < 3:
            return found, one.number, other.number, "early"
    return found, one.number, other.number, "late"


def nested(n):
    found = 0
    for number in range(n):
        outer = Countdown(number)
        while outer.step():
            inner = Countdown(outer.number)
            while inner.step():
                found += inner.number
    return found


def behind_other_tests(n):
    one, other, turns = Countdown(n), Countdown(n), 0
    while turns < 7 and one.step():
        turns += 1
    while not (turns > 9 or not other.step()):
        turns += 2
    return turns, one.number, other.number


def lists_and_kinds(n):
    one, other, turns = Countdown(n), Countdown(n), 0
    while one.note(turns * n):
        turns += 1
    while other.halve():
        pass
    return one.seen, turns, other.best, other.number


def raised(n):
    counts, found = Countdown(n), 0
    try:
        while counts.fail():
            found += counts.number
    except ValueError:
        found -= 100
    last = Countdown(n)
    while last.fail():
        found += counts.number
    return found


def enclosed(n):
    left = n

    def again():
        nonlocal left
        left = left - 1
        return left > 0

    found = 0
    while again():
        found += left
    return found, left


@pytest.mark.parametrize("program", [with_jumps, nested, behind_other_tests, lists_and_kinds, raised, enclosed])
def test_it_is_asked_as_often_as_in_python(program: Any) -> None:
    assert_does_what_python_does(program, [(3,), (0,), (10,), (1,)])


def parsed(digits):
    tokens = Tokens(digits)
    found = tokens.number()
    while tokens.accept(10):
        found += tokens.number()
    return found, tokens.place


def relaxed(x):
    def relax():
        x[:] = x * 0.5
        return x.sum() > 0.1

    turns = 0
    while relax():
        turns += 1
    return turns


def stepped(state):
    state["left"] -= 1
    return state["left"] > 0


def passed(state):
    found = 0
    while stepped(state):
        found += state["left"]
    return found


def test_arguments() -> None:
    assert_does_what_python_does(parsed, [(np.array([1, 2, 10, 3, 4, 10, 5]),), ([7],), ([1, 10, 2, 11, 3],)])
    assert_does_what_python_does(relaxed, [(np.arange(5.0),), (np.arange(1.0),)])
    assert_does_what_python_does(passed, [({"left": 4},), ({"left": 0},)])


def turns_of(n):
    counts, found = Countdown(n), 0
    while counts.step():
        found += counts.number & 3
    return found


def test_it_is_one_native_loop() -> None:
    compiled = jitflow.function(turns_of)
    assert compiled(1_000_000) == turns_of(1_000_000)
    assert compiled(5) == turns_of(5)
    assert compiled.cache_info().misses == 1
