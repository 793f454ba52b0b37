"""``==`` and ``in`` of things that Python compares item by item, where only the running program knows the items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import jitflow
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


def test_bools_are_two_objects() -> None:
    def program(x: Any, n: Any, c: Any) -> Any:
        a, t = True, n > 1
        b = 3 if a is c else 4
        return a is c, c is True, (n > 1) is c, t is not a, (x[0] > 1) is (n > 1), np.bool_(c) is (x[0] > 1), b, a is n

    compiled = jitflow.function(program)
    for x, n, c in ((2.0, 2, True), (0.0, 0, False), (2.0, 0, True), (0.0, 2, True)):
        assert compiled(np.array([x]), n, c) == program(np.array([x]), n, c)
