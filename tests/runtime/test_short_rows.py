"""Few numbers are sorted without NumPy around it, in loops, and as NumPy sorts them."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from jitflow.runtime.calls import host_calls
from tests.compare import EXACT, assert_same


def order(x, window, found, places, stable, middle):
    for i in range(x.shape[0]):
        found[i] = np.sort(x[i])
        places[i] = np.argsort(x[i])
        stable[i] = x[i].argsort(kind="stable")
        middle[i] = np.median(x[i])
        middle[i] += np.median(window[i : i + 2, ::2])


compiled = jitflow.function(order)


def assert_ordered(x):
    window = np.resize(x, (x.shape[0] + 1, 7))
    results = [np.zeros_like(x), *(np.zeros(x.shape, np.int64) for _ in range(2)), np.zeros(x.shape[0])]
    expected = [result.copy() for result in results]
    with np.errstate(all="ignore"):
        compiled(x, window, *results)
        order(x, window, *expected)
    assert_same(results, expected, EXACT)


RANDOM = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_numbers_of_all_kinds(dtype):
    for size in (1, 2, 9, 16, 17, 32, 33):
        assert_ordered((RANDOM.normal(size=(20, size)) * 100).astype("i8" if dtype == "u1" else dtype).astype(dtype))
        assert_ordered(RANDOM.integers(0, 3, (20, size)).astype(dtype))


def test_nan_infinities_and_zeros_of_two_signs():
    x = RANDOM.choice(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], (400, 9), p=[0.2, 0.2, 0.2, 0.2, 0.08, 0.08, 0.04]
    )
    assert_ordered(x)
    assert_ordered(x[:, ::-2])


def test_few_different_numbers_do_without_python(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the routine was called through Python")

    x = RANDOM.normal(size=(30, 25))
    assert_ordered(x)
    monkeypatch.setattr(host_calls.CallSite, "run", refuse)
    assert_ordered(x)
