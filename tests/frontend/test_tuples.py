"""Tuples of which only the running program knows the length, and what may be no key."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.whole.same import assert_does_what_python_does

X = np.array([3, 1, 4, 1, 5, 9, 2, 6])


def above(x, limit):
    return tuple(int(v) for v in x if v > limit)


def made_of_everything(x):
    kept, counts = [], {}
    for v in x:
        if v > 2:
            kept.append((int(v), v / 2))
            counts[int(v)] = 1
    pairs, numbers = tuple(kept), above(x, 2)
    rows = []
    for i in range(len(x)):
        rows.append(above(x[i:], 3))
    return pairs, numbers, tuple(rows), rows[0], tuple(counts), tuple(sorted(numbers)), tuple(x), tuple(x.tolist())


def asked(x):
    one, items = above(x, 2), [int(v) for v in x if v > 2]
    found = [len(one), one[:2], one[::-1], one + (1,), (0,) + one, one * 2, sum(one), list(one), max(one, default=0)]  # noqa: RUF005
    same = [one == tuple(items), one == items, items == one, one != items, one < (3, 5), one > (1,), 4 in one]
    kinds = isinstance(one, tuple), isinstance(one, list), type(one) is tuple, hasattr(one, "append"), one.count(4)
    more = one
    more += (7,)
    return found, same, kinds, more, one, [*one, 3], np.array((1,) + one)  # noqa: RUF005


def refused_as_in_python(x):
    one, items, said = above(x, 2), [int(v) for v in x if v > 2], []
    try:
        one[0] = 1
    except TypeError as error:
        said.append(str(error))
    try:
        one.append(1)
    except AttributeError as error:
        said.append(str(error))
    try:
        one + items
    except TypeError as error:
        said.append(str(error))
    try:
        items + one
    except TypeError as error:
        said.append(str(error))
    first, *rest = one
    return said, first, rest, one[20 if x[0] > 3 else 0]


def longest(x):
    best = ()
    for i in range(len(x)):
        found = above(x[i:], 3)
        if len(found) > len(best):
            best = found
    return best


@pytest.mark.parametrize("program", [made_of_everything, asked, refused_as_in_python, longest])
def test_tuples_of_any_length(program):
    assert_does_what_python_does(program, [(X,), (X[:0],), (X + 1,)])


def test_a_tuple_of_any_length_is_no_key_yet():
    with pytest.raises(UserError, match="as a key of a dict or an item of a set"):
        jitflow.function(lambda x: {above(x, 2): 1})(X)


def as_key(items, x):
    return {items: 1}


def as_item(items, x):
    items.append(1)
    return items in {1, 2}


def of_the_run(items, x):
    return {tuple(items): 1}, {(1, items): 2}


@pytest.mark.parametrize("program", [as_key, as_item, of_the_run])
def test_lists_are_no_keys(program):
    assert_does_what_python_does(program, [([1, 2, 3], X)])
