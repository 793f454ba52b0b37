"""``==`` and ``in`` of things that Python compares item by item, where only the running program knows the items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tests.truth.whole.same import assert_does_what_python_does

X = np.arange(12.0).reshape(3, 4)


class Pair(NamedTuple):
    one: float
    other: int


def dicts(x, n):
    first = {k: x[k, 0] for k in range(2)}
    answers = first == {0: x[0, 0], 1: x[n, 0]}, first != {0: x[0, 0], 1: x[n, 0]}, first == {0: x[0, 0]}, first != {}
    return answers, (0, x[n, 0]) in first.items(), x[n, 0] in first.values(), (7, x[0, 0]) in first.items()


def named_tuples(x, n):
    pair, other = Pair(x[0, 0], n), Pair(x[n, 0], n)
    return pair == other, pair != other, pair == (x[0, 0], n), pair in [(x[n, 0], n)], pair < (x[0, 1], n), pair < other


def elements(x, n):
    flat = x.flat
    return flat == x.ravel(), (flat > n).sum(), np.array(flat), flat.copy() != n, bool(x[:0].flat), np.sort(x.flat)


@pytest.mark.parametrize("program", [dicts, named_tuples, elements])
def test_they_are_python_s(program):
    assert_does_what_python_does(program, [(X, 1), (X, 0), (X.T.copy(), 2)])
