"""``x.tolist()`` of arrays of which only the running program knows the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.frontend.same_objects import check_objects
from tests.truth.whole.same import assert_does_what_python_does

U = np.array([3.0, 0.0, 4.0, 1.0, 5.0, 2.0])


def adds_items(u, k):
    total = 0
    for item in u.astype(np.int32).tolist():
        total += item * k
    return total


def returns_what_was_there(u, k):
    items = u.tolist()
    u[0] = k
    return items, len(items), isinstance(items, list), type(items) is list


def picks_one(u, k):
    items = u.tolist()
    return items[k], items[-1]


def folds(u, k):
    items = (u * k).tolist()
    return max(items), min(items), sum(items), sorted(items)


def goes_through_rows(u, k):
    total = 0.0
    for row in np.outer(u, u).tolist():
        for item in row:
            if item > k:
                total += item
    return total


def makes_arrays_of_lists(u, k):
    return np.array(u.astype(np.float32).tolist()) * k, np.asarray((u > k).tolist()), np.outer(u, u).tolist()[1]


def pairs_items(u, k):
    total = 0.0
    for place, (one, other) in enumerate(zip(u.tolist(), u[::-1].tolist(), strict=True)):
        if one > other:
            total += place * k
    return total, u[1:3].tolist()


def makes_lists_of_few(u, k):
    items = np.ones(3).tolist()
    items.append(u[1].tolist() + k)
    return items, u.sum().tolist(), np.array(2.5).tolist()


@pytest.mark.parametrize(
    "program",
    [
        adds_items,
        returns_what_was_there,
        picks_one,
        folds,
        goes_through_rows,
        makes_arrays_of_lists,
        pairs_items,
        makes_lists_of_few,
    ],
)
def test_it_does_what_python_does(program):
    assert_does_what_python_does(program, [(U, 2), (U, 0), (U[:5], 9), (np.arange(40.0), -3)])


def test_a_new_length_compiles_nothing():
    compiled = jitflow.function(folds)
    for length in (2, 3, 17):
        assert compiled(np.arange(float(length)), 1) == folds(np.arange(float(length)), 1)
    assert compiled.cache_info().currsize == 1


def appends(u):
    items = u.tolist()
    items.append(1.0)
    return items


def compares(u):
    return u.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("program", [appends, compares])
def test_what_tolist_gives_is_a_list_as_any_other(program):
    for u in (U, np.array([1.0, 2.0]), U[:0]):
        assert jitflow.function(program)(u) == program(u)


def repeats(n):
    text = ""
    for k in range(3):
        text += chr(97 + k)
    items = [1, 2]
    for k in range(2):
        if k:
            items *= n
    return len([0] * n), len(items), len(text * n)


def repeats_too_often(n):
    return [n] * (1 << 60)


def test_lists_and_texts_that_no_memory_holds():
    assert jitflow.function(repeats)(4) == repeats(4)
    programs = [repeats, repeats_too_often, lambda n: len([n, 1] * (n - 1)), lambda n: len("ab" * n)]
    programs += [lambda n: len(repr(n // 2) * n)]
    for program in programs:
        with pytest.raises(MemoryError):
            jitflow.function(program)(1 << 60)


def writes_to_a_row(x, place):
    rows = list(x)
    rows[place][0] = 5
    return rows[place], list(x)[-1], np.array(rows)


def changes_the_rows(x, place):
    rows = list(x)
    rows.append(x[place] * 2)
    return sum(row.sum() for row in rows), len(rows)


@pytest.mark.parametrize("program", [writes_to_a_row, changes_the_rows])
def test_the_list_of_an_array_has_views_of_its_rows(program):
    """They were copies, which could not be written to."""
    check_objects(jitflow.function(program), program, lambda: (np.arange(6.0).reshape(3, 2),), (1,))
