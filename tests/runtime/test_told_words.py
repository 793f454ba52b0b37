"""Containers of Python's are made of the words in which a compiled function tells them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import jitflow


def rows_of_kinds(numbers):
    """Items of which each kind is read by its own words: numbers that share one, tuples, containers, None."""
    rows = []
    for i, number in enumerate(numbers):
        row = []
        for j in range(len(numbers)):
            if i == j:
                row.append((number, 0.5))
            elif i < j:
                row.append(None)
            elif number > 1:
                row.append(np.float32(number + 0.5))
            else:
                row.append(number == 1)
        rows.append(row)
    return rows, rows[0]


def dicts_of_lists(numbers):
    found = {}
    for number in numbers:
        found[number, 0.5 * number] = [1j * number, 1j]
    return found, [*found.values()]


@pytest.mark.parametrize("program", [rows_of_kinds, dicts_of_lists])
def test_items_come_out_as_what_they_were(program):
    compiled = jitflow.function(program)
    for numbers in ([3, 0, 1, 5], [2]):
        found, expected = compiled(numbers), program(numbers)
        assert repr(found) == repr(expected)


def test_a_counter_that_grows_is_given_keys_and_not_counted_pairs():
    def count(counts, number):
        counts[number] += 1

    compiled = jitflow.function(count)
    for number in (1, 7):
        ours, theirs = Counter([1, 2, 2]), Counter([1, 2, 2])
        compiled(ours, number)
        count(theirs, number)
        assert ours == theirs
