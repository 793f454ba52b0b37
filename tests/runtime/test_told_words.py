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


def rows_that_are_one(numbers):
    row, rows = [numbers[0]], []
    for number in numbers:
        if number > 2:
            row.append(number)
        rows.append(row)
        if number % 2 == 0:
            row = []
    return rows, row


def tuples_in_dicts(numbers):
    found = {}
    for number in numbers:
        found[number % 3] = [(number, 0.5 * number), (number + 1, 1.5)]
        found[number] = []
    return found


def truths(numbers):
    found = []
    for number in numbers:
        found.append([number > 2, number % 2 == 0])
    return found


@pytest.mark.parametrize("program", [rows_that_are_one, tuples_in_dicts, truths])
def test_lists_tuples_and_dicts_of_numbers_are_made_with_what_is_one_in_them(program):
    compiled = jitflow.function(program)
    for numbers in ([3, 0, 1, 5, 4], [2], [7, 7]):
        found, expected = compiled(numbers), program(numbers)
        assert repr(found) == repr(expected)
        if program is rows_that_are_one:
            same = [[one is other for other in (*found[0], found[1])] for one in found[0]]
            assert same == [[one is other for other in (*expected[0], expected[1])] for one in expected[0]]
