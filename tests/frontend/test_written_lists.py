"""Lists that are written inside of sums and of conditional expressions, which were Python's for good."""

from __future__ import annotations

import pytest

from tests.truth.whole.same import assert_does_what_python_does

CALLS = [([3, 0, 1, 5, 5],), ([1],), ([],)]


def inserts_between_slices(numbers):
    """Put behind each other from three parts, of which none alone is the sum."""
    found = [[]]
    for number in numbers:
        longer = []
        for known in found[:4]:
            for i in range(len(known) + 1):
                longer.append(known[:i] + [number] + known[i:])  # noqa: RUF005 - the sum is the subject
                if i < len(known) and known[i] == number:
                    break
        found = longer
    return found


def begins_with_one_of_two(numbers):
    found = []
    for number in numbers:
        row = [number] if number > 1 else [0, number]
        row.append(2)
        if number > 2:
            row.append(7)
        found.append(row)
    return found


def begins_with_what_is_not_empty(numbers):
    seen = numbers[9:] or [5]
    for number in numbers:
        if number > 2:
            seen.append(number)
    return seen


def puts_one_of_two_under_a_key(numbers):
    groups = {}
    for number in numbers:
        groups[number % 3] = groups[number % 3] + [number] if number % 3 in groups else [number]
    return groups


def has_one_of_two_by_or(numbers):
    """The value of ``or`` with a list of the running program was refused, even where it is one of two lists."""
    large, small = [], []
    for number in numbers:
        (large if number > 2 else small).append(number)
    chosen = large or small
    chosen.append(100)
    first = large and large[0]
    return large, small, first, sum(large or [7]), not (large and small)


@pytest.mark.parametrize(
    "program",
    [
        inserts_between_slices,
        begins_with_one_of_two,
        begins_with_what_is_not_empty,
        puts_one_of_two_under_a_key,
        has_one_of_two_by_or,
    ],
)
def test_they_may_become_lists_of_the_running_program(program):
    assert_does_what_python_does(program, CALLS)
