"""Lists of numbers as arguments: indexed by what the run computes and written to, and visible to the caller."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitflow


def bubble_sort(items):
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items


def prefix_sums(items):
    for i in range(1, len(items)):
        items[i] += items[i - 1]


def doubles_up_to(items, k):
    for i in range(k):
        items[i] = items[i] * 2
    return sum(items), max(items), len(items), items[-1]


def sorts_and_copies(items):
    first = items[:]
    items.sort(reverse=True)
    second = items.copy()
    second.append(items[0])
    items.reverse()
    items[-1] = items[0]
    return first, second, items[1:], sorted(second)


def sorts_what_is_gone_through_once(items):
    found = sorted(itertools.pairwise(items)), sorted(enumerate(items), reverse=True)
    items.append(items[0])
    return found


@pytest.mark.parametrize("program", [bubble_sort, prefix_sums, sorts_and_copies])
def test_lists_are_changed_as_python_changes_them(program):
    compiled = jitflow.function(program)
    for items in ([3, 1, 2], [5, 4, 3, 2, 1] * 10, [2.5, -1.0, 2.5], [2.5, 0.5] * 20, [np.float32(2), np.float32(1)]):
        ours, theirs = [*items], [*items]
        assert repr(compiled(ours)) == repr(program(theirs))
        assert repr(ours) == repr(theirs)
    assert compiled.cache_info().misses == 3
    assert compiled(ours := [2.0, 1.0]) is ours or program is not bubble_sort


def test_what_is_gone_through_once_is_sorted():
    ours, theirs = [3, 1, 2], [3, 1, 2]
    assert jitflow.function(sorts_what_is_gone_through_once)(ours) == sorts_what_is_gone_through_once(theirs)
    assert ours == theirs


def test_a_call_that_fails_has_made_the_stores_before():
    compiled = jitflow.function(doubles_up_to)
    for k in (2, 3, 4):
        ours, theirs = [1.5, 2.5, 3.5], [1.5, 2.5, 3.5]
        found = expected = None
        try:
            expected = doubles_up_to(theirs, k)
        except IndexError as error:
            with pytest.raises(IndexError, match=str(error)):
                compiled(ours, k)
        else:
            found = compiled(ours, k)
        assert (found, ours) == (expected, theirs)


def test_a_list_is_one_by_all_its_paths_and_keeps_what_is_not_stored():
    @jitflow.function
    def store(one, other, i):
        one[i] = 9.0
        return other[i]

    a, b = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    kept = a[0]
    assert (store(a, b, 1), store(a, a, 2), store(b, a, 0)) == (5.0, 9.0, 1.0)
    assert (a, b) == ([1.0, 9.0, 9.0], [9.0, 5.0, 6.0])
    assert a[0] is kept


def test_lists_in_objects_and_long_ones():
    class Queue:
        def __init__(self, items):
            self.items, self.first = items, None

        def sift(self):
            for i in range(len(self.items) // 2):
                j = len(self.items) - 1 - i
                if self.items[j] < self.items[i]:
                    self.items[i], self.items[j] = self.items[j], self.items[i]
            self.first = self.items[0]

    items = np.random.default_rng(0).integers(0, 10**6, 10_000).tolist()
    compiled = jitflow.function(Queue.sift)
    for length in (5, 10_000, 9_000):
        ours, theirs = Queue(items[:length]), Queue(items[:length])
        compiled(ours), theirs.sift()
        assert vars(ours) == vars(theirs)
    assert compiled.cache_info().misses == 1


def test_lists_whose_numbers_are_sizes_stay_python_lists():
    @jitflow.function
    def total(sizes, x):
        found = 0.0
        for n in sizes:
            found += x[:n].sum()
        return np.zeros(sizes[:2]).size + found

    assert total([2, 3], np.ones(5)) == 11.0
    assert total([1] * 20, np.ones(5)) == 21.0


def test_other_changes_are_made():
    @jitflow.function
    def of_another_type(items):
        items[0] = 0
        items[-1] = "z"
        return items

    items = [1.0, 2.0]
    assert repr(of_another_type(items)) == "[0, 'z']"

    @jitflow.function
    def of_another_length(items):
        for i in range(100):
            if items[0] > i:
                items.pop()

    with pytest.raises(IndexError, match="list index out of range"):
        of_another_length(items := [2.0, 2.0])
    assert items == []
