"""Functions of a test module, the assertions of which pytest has rewritten, are compiled as they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.frontend.syntax import why_not

X = np.array([1.0, 2.0, 3.0])


def halved(x: Any) -> Any:
    assert x.ndim == 1, f"expected a line, got {x.ndim} axes"
    return x / 2


@jitflow.function
def total(x: Any, most: Any) -> Any:
    assert most > 0
    found = 0.0
    for number in x:
        assert number >= 0, "a negative number"
        if number < most:
            found += number
    assert all(number == number for number in x) and len(x) > 0
    return found + halved(x).sum() + (lambda number: number + 1)(most)


class Scale:
    def __init__(self, by: float) -> None:
        self.by = by

    @jitflow.function
    def __call__(self, x: Any) -> Any:
        assert not np.isnan(x).any() and (x.max() > self.by or self.by in (0.5, 1.0))
        return x * self.by


def test_assertions_mean_what_they_say() -> None:
    assert "@pytest_ar" in total.__wrapped__.__code__.co_names
    assert total(X, 2.5) == total.__wrapped__(X, 2.5)
    for arguments in ((X, 0.0), (-X, 1.0), (X[:0], 1.0), (X * np.nan, 1.0)):
        with pytest.raises(AssertionError):
            total(*arguments)
    with pytest.raises(AssertionError, match="a negative number"):
        total(-X, 1.0)
    with pytest.raises(AssertionError, match="expected a line, got 2 axes"):
        jitflow.function(halved)(X[None])
    np.testing.assert_array_equal(Scale(2.0)(X), X * 2)
    with pytest.raises(AssertionError):
        Scale(3.0)(X)


def test_in_a_function() -> None:
    bound = 2.0

    @jitflow.function
    def bounded(x: Any) -> Any:
        assert (x <= bound).all()
        return x

    bounded(X[:2])
    with pytest.raises(AssertionError):
        bounded(X)
    bound = 5.0
    np.testing.assert_array_equal(bounded(X), X)


def test_what_looks_at_names_is_not_rewritten() -> None:
    def looks(x: Any) -> Any:
        assert x.ndim
        return len(locals()) if x.sum() > 0 else 0

    assert why_not(looks) == "it calls locals()"
