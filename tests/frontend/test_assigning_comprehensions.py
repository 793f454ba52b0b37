"""Comprehensions and generator expressions that assign names of the function around them (``:=``)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does

CALLS = [(np.array([3, 1, 2, 5]),), (np.array([1, 1]),), (np.array([], dtype=np.int64),)]


def finds_the_first(numbers):
    """Silently the last one: what followed the item that decides was computed as well."""
    if any((found := number) > 2 for number in numbers.tolist()):
        return found
    return found


def finds_no_counterexample(numbers):
    return all((last := number) < 4 for number in numbers), last


def sums_up(numbers):
    total = 0
    return [total := total + number for number in numbers.tolist()], total


def keeps_what_it_tests(numbers):
    return [twice for number in numbers.tolist() if (twice := number * 2) > 3]


def counts_while_it_sums(numbers):
    count = 0
    return sum((count := count + 1) * number for number in numbers), count


def assigns_in_rows(numbers):
    total = 0
    rows = [[total := total + number for number in numbers.tolist()] for _ in range(3)]
    return rows, total, {number: (seen := number) for number in numbers.tolist()}, seen


def assigns_in_a_lambda(numbers):
    doubled = lambda items: ([twice := item * 2 for item in items], twice)  # noqa: E731 - a lambda is the subject
    return doubled(numbers.tolist())


def assigns_to_the_function_around(numbers):
    found = -1

    def find():
        nonlocal found
        return any((found := number) > 2 for number in numbers)

    return find(), found


def decides_a_loop(numbers):
    while any((large := number) > 2 for number in numbers.tolist()):
        numbers = numbers - 1
    return numbers, large


@pytest.mark.parametrize("program", [
    finds_the_first, finds_no_counterexample, sums_up, keeps_what_it_tests, counts_while_it_sums, assigns_in_rows,
    assigns_in_a_lambda, assigns_to_the_function_around, decides_a_loop,
])  # fmt: skip
def test_they_do_what_python_does(program):
    assert_does_what_python_does(program, CALLS)
