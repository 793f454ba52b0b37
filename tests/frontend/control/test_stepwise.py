"""Iterators of the program's own classes, of which the running program decides when they end."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserNotImplementedError
from tests.truth.whole.same import assert_does_what_python_does


class Counting:
    def __init__(self, n):
        self.turn, self.n = 0, n

    def __iter__(self):
        return self

    def __next__(self):
        if self.turn >= self.n:
            raise StopIteration
        self.turn += 1
        return self.turn


class Until:
    """The items of an array, until their sum is large."""

    def __init__(self, x):
        self.x, self.place, self.total = x, 0, 0.0

    def __iter__(self):
        return self

    def __next__(self):
        if self.place == len(self.x) or self.total > 6:
            raise StopIteration
        item = self.x[self.place]
        self.place += 1
        self.total += item
        return item


class Halving:
    """Changes before it ends."""

    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return self

    def __next__(self):
        self.value = self.value / 2
        if self.value < 0.25:
            raise StopIteration
        return self.value


class Batches:
    def __init__(self, x):
        self.x, self.at = x, 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= len(self.x):
            raise StopIteration
        self.at += 2
        return self.x[self.at - 2 : self.at]


class Items:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return Until(self.x)


class Letters:
    def __init__(self):
        self.turn = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.turn += 1
        if self.turn > 3:
            raise StopIteration
        return "abc"[self.turn - 1]


def sums(held, x, n):
    total = 0.0
    for turn in Counting(n):
        total += turn
    for item in Until(x):
        total += item * item
    return total, held


def left_early(held, x, n):
    items, total, more = Until(x), 0.0, 0
    for item in items:
        if item < 0:
            continue
        if total > n:
            break
        total += item
    for _ in items:
        more += 1
    return total, more, items.place, items.total


def in_loops(held, x, n):
    total = 0.0
    for item in x:
        for part in Halving(item + n):
            total += part
    both = Items(x)
    for one in both:
        for other in both:
            total += one * other
    return total


def returns_from_it(held, x, n):
    for number, item in enumerate(Until(x)):
        if item > n:
            return number, item
    return None


def with_else(held, x, n):
    turns = 0
    for _ in Halving(x[0]):
        turns += 1
        if turns > n:
            break
    else:
        turns = -turns
    return turns


def batches(held, x, n):
    data, total = Batches(x), 0.0
    for epoch in range(2):
        for batch in data:
            total += batch.sum() * (epoch + 1)
    return total, data.at


def taken_one_by_one(held, x, n):
    steps, found = Counting(n), []
    for first in steps:
        found.append((first, next(steps, 0)))
    last = Halving(x[0])
    while True:
        try:
            found.append((next(last), n))
        except StopIteration:
            break
    item = next(steps, None)
    return found, item, last.value, steps.turn


def beside_others(held, x, n):
    total = 0.0
    for turn, item in zip(Counting(n), x, strict=False):
        total += turn * item
    steps = Counting(9)
    pairs = list(zip(x, steps, strict=False))
    return total, pairs, steps.turn, [*map(operator.neg, Counting(3))]


def made_into_others(held, x, n):
    found = list(Counting(n)), sum(Counting(n)), sorted(Until(x)), set(Counting(n))
    pairs = dict(zip(Counting(n), Counting(3), strict=False))
    return *found, pairs, [turn * 2 for turn in Counting(n) if turn % 2], max(Until(x)), sum(item for item in Until(x))


def known_at_once(held, x, n):
    a, b, c = Counting(3)
    text = ""
    for letter in Letters():
        text += letter
    if x[0] > 0:
        a += tuple(Counting(2))[1]
    return a, b, c, text, np.fromiter(Counting(4), float), dict(zip(Letters(), x, strict=False))


def the_callers(held, x, n):
    total = 0.0
    for item in held:
        total += item * n
    return total


def fails_inside(held, x, n):
    class Places:
        def __init__(self):
            self.place = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.place += 1
            held.total = self.place
            return x[self.place]

    total = 0.0
    for item in Places():
        total += item
    return total


@pytest.mark.parametrize(
    "program",
    [sums, left_early, in_loops, returns_from_it, with_else, batches, taken_one_by_one, beside_others, made_into_others,
     known_at_once, the_callers, fails_inside],
)  # fmt: skip
def test_they_end_where_they_end_in_python(program):
    arrays = [[3.0, -1.0, 2.0, 5.0, 0.5], [1.0, 2.0], [-4.0, 2.0, 7.0, 7.0]]
    calls = [(Until(np.array([2.0, 1.0, 4.0, 9.0])), np.array(items), n) for items in arrays for n in (4, 0)]
    assert_does_what_python_does(program, calls)


def test_python_cannot_go_through_one_that_the_run_ends():
    def program(n):
        return max(0, *Counting(n))

    with pytest.raises(UserNotImplementedError, match="an iterator of class Counting whose end only the running"):
        jitflow.function(program)(3)


class Failing:
    """Raises in front of its end where it comes to ``k``."""

    def __init__(self, n, k):
        self.turn, self.n, self.k = 0, n, k

    def __iter__(self):
        return self

    def __next__(self):
        if self.turn == self.k:
            raise ValueError(f"step {self.turn}")
        if self.turn >= self.n:
            raise StopIteration
        self.turn += 1
        return self.turn


def catches_what_steps_raise(n, k):
    total, given, failed, ends = 0, 2, 3, 4  # names that the compiler has for its own
    steps = Failing(n, k)
    try:
        for given in steps:
            total += given * failed
    except ValueError as error:
        return -total, str(error), steps.turn
    else:
        total += 1000
    finally:
        ends = total
    return total, given, ends


def catches_in_turns_around(n, k):
    total = 0
    for first in range(3):
        try:
            for place, item in enumerate(Failing(n, k - first)):
                if item == 4:
                    break
                total += place * item
        except ValueError:
            total += 100
            continue
        total += 10
    return total


def finishes_behind_a_step(x, n, k):
    try:
        for item in Failing(n, k):
            x[item] += 1
    finally:
        x[0] = 7


def catches_what_is_mapped(x, k):
    seen = []

    def divided(item):
        seen.append(1)
        if item == k:
            raise ValueError("no")
        return 10.0 / item

    total = 0.0
    try:
        for item in map(divided, x):
            total += item
    except ValueError:
        total = -total
    return total, len(seen)


@pytest.mark.parametrize("program", [catches_what_steps_raise, catches_in_turns_around])
def test_what_steps_raise_is_caught_around_the_loop(program):
    """It left the try: the step of a loop was no part of what was attempted."""
    compiled = jitflow.function(program)
    for numbers in ((4, 9), (4, 2), (0, 3), (3, 0)):
        assert compiled(*numbers) == program(*numbers)


def test_what_a_step_raises_is_raised_behind_a_finally():
    compiled = jitflow.function(finishes_behind_a_step)
    found, expected = np.zeros(6), np.zeros(6)
    for k in (2, 9):
        for function, x in ((compiled, found), (finishes_behind_a_step, expected)):
            if k == 2:
                with pytest.raises(ValueError, match="step 2"):
                    function(x, 4, k)
            else:
                function(x, 4, k)
        assert found.tolist() == expected.tolist()


def test_what_a_mapped_function_raises_is_caught_around_the_loop():
    compiled = jitflow.function(catches_what_is_mapped)
    for k in (3.0, 30.0):
        x = np.array([1.0, 2.0, 3.0, 4.0])
        assert compiled(x, k) == catches_what_is_mapped(x, k)


def changes_what_it_goes_through(x, k):
    seen, total = {}, 0
    for item in x:
        seen[item] = 1
    try:
        for item in seen:
            total += item
            if item == k:
                seen[100] = 1
    except RuntimeError:
        total = -total
    return total


def test_what_a_loop_raises_beside_its_steps_is_not_lost():
    with pytest.raises(UserNotImplementedError, match="may raise RuntimeError"):
        jitflow.function(changes_what_it_goes_through)(np.array([1, 2, 3]), 2)


def names_as_ours(n, k):
    names, state, body, item, turn = 1, 0, 2, 0, 3
    for number in filter(lambda number: number > k, range(n)):
        state += number
        names, body = names * 2, body + 1
        item += names
        turn = item
    return names, state, body, item, turn


def test_locals_may_have_any_name():
    assert jitflow.function(names_as_ours)(4, 1) == names_as_ours(4, 1)
