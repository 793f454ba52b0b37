"""Iterators that Python goes through up to an item that only the running program knows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jitflow
from jitflow.errors import UserError
from tests.truth.whole.same import assert_does_what_python_does

X = [3, 1, 4, 1, 5, 9]


def only_as_far_as_python(items):
    """What would raise or be noted behind the item that decides is not computed."""
    log = []

    def noted(v):
        log.append(v)
        return v

    found = any(noted(v) > 3 for v in items), all(noted(v) < 4 for v in items if v != 1)
    return found, any(10 / (v - 4) < 0 for v in items), all(1 / v < 2 for v in items), log


def of_iterators(items):
    rest, pairs = iter(items), zip(items, items[1:], strict=False)  # noqa: RUF007
    sums = itertools.accumulate(items)
    return all(v > 0 for v in rest), any(one > other for one, other in pairs), any(map(float, items)), all(sums)


def goes_on(items):
    rest = iter(items)
    return any(v > 3 for v in rest), list(rest)


def goes_on_with_pairs(items):
    pairs = zip(items, items[1:], strict=False)  # noqa: RUF007
    return any(one > other for one, other in pairs), sum(1 for _ in pairs)


def changes_something(items):
    log = []
    return all(map(lambda v: log.append(v) or v < 4, items)), log  # noqa: C417 - what is tested


def raises(items):
    return any(map(lambda v: 1 / (v - 9) > 0, items))  # noqa: C417


def leaves_a_generator(items):
    log = []

    def steps():
        for v in items:
            log.append(v)
            yield v

    for v in steps():
        if v > 3:
            break
    return v, log


@pytest.mark.parametrize("program", [only_as_far_as_python, of_iterators])
def test_what_follows_the_item_that_decides_is_not_computed(program):
    assert_does_what_python_does(program, [(X,), ([1, 2, 2, 0, 5, 1],), ([2, 2, 3, 3, 3, 2],)])


@pytest.mark.parametrize("program", [goes_on, goes_on_with_pairs, changes_something, raises, leaves_a_generator])
def test_what_somebody_would_notice_is_refused(program):
    with pytest.raises(UserError, match=r"that only the running program knows|only the running program knows for how"):
        jitflow.function(program)(X)


def test_a_program_that_knows_the_items_goes_on():
    def known(x):
        rest = iter([1, 5, 2])
        return any(v > 3 for v in rest), list(rest), x

    assert jitflow.function(known)(np.float64(1)) == known(1.0)
