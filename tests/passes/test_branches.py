"""Branches that are computed both ways: the same numbers, and the same errors where Python takes that way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitflow
from jitflow.ir.python_numbers import INT_OVERFLOW

LARGEST = (1 << 63) - 1


def collatz(k: int) -> int:
    return k // 2 if k % 2 == 0 else 3 * k + 1


def mirrored(k: int) -> int:
    return 5 - (k + 1) * -2 if k > 3 else k - 10


def shifted(k: int) -> int:
    return (k + 7) - 7 if k < 100 else (k - 7) + 7


@pytest.mark.parametrize("function", [collatz, mirrored, shifted])
def test_arms_with_checked_sums(function: Callable[[int], int]) -> None:
    compiled = jitflow.function(function)
    assert "if " not in compiled.ir(7, stage="optimized")
    near = [limit // part + step for limit in (LARGEST, -LARGEST - 1) for part in (1, 2, 3) for step in range(-12, 13)]
    for number in [*range(-20, 20), *near]:
        if not -LARGEST - 1 <= number <= LARGEST:
            continue
        expected = function(number)
        if fits(function, number):
            assert compiled(number) == expected
        else:
            with pytest.raises(OverflowError, match=INT_OVERFLOW):
                compiled(number)


def fits(function: Callable[[int], int], number: int) -> bool:
    """Whether everything that Python computes on the way fits into 64 bits."""

    class Watched(int):
        def __add__(self, other: Any) -> Any:
            return watched(int(self) + other)

        def __sub__(self, other: Any) -> Any:
            return watched(int(self) - other)

        def __mul__(self, other: Any) -> Any:
            return watched(int(self) * other)

        def __rmul__(self, other: Any) -> Any:
            return watched(int(self) * other)

        def __rsub__(self, other: Any) -> Any:
            return watched(other - int(self))

    def watched(result: int) -> Watched:
        if not -LARGEST - 1 <= result <= LARGEST:
            raise OverflowError
        return Watched(result)

    try:
        function(Watched(number))
    except OverflowError:
        return False
    return True


def test_an_element_that_is_not_there_is_not_read() -> None:
    @jitflow.function
    def left(x: Any, i: int) -> Any:
        return x[i] if 0 <= i < len(x) else 0.0

    x = np.arange(4.0)
    assert [left(x, i) for i in (-1, 0, 3, 4, 1 << 40)] == [0.0, 0.0, 3.0, 0.0, 0.0]


@pytest.mark.parametrize("fails", [False, True])
def test_a_check_with_an_excuse(fails: bool) -> None:
    @jitflow.function
    def total(x: Any, limit: float) -> Any:
        s = 0.0
        for i in range(len(x)):
            if not (x[i] > 0.0 or s < limit):
                raise ValueError("too much")
            s += x[i]
        return s

    x = np.array([1.0, 2.0, -1.0, 3.0])
    if fails:
        with pytest.raises(ValueError, match="too much"):
            total(x, 2.0)
    else:
        assert total(x, 4.0) == 5.0


def smallest(x: Any) -> Any:
    at = largest = 0
    for i in range(len(x)):
        if x[i] < x[at]:
            at = i
        largest = largest if x[largest] >= x[i] else i
    return at, largest


def test_records() -> None:
    compiled = jitflow.function(smallest)
    for seed in range(5):
        x = np.random.default_rng(seed).integers(-9, 9, 40 * seed + 1) / 2.0
        assert compiled(x) == smallest(x)
    assert "rare=0" in compiled.ir(x, stage="kernels")
    assert "rare=1" in compiled.ir(x, stage="kernels")


@jitflow.function
def bests(x: Any, y: Any) -> Any:
    """The best of several kinds, each with what goes with it."""
    most, least, latest = x[0], y[0], 0
    at = below = 0
    for i in range(len(x)):
        if x[i] > most:
            most, at = x[i], i
        if not y[i] >= least:
            least, below = y[i], i
        if latest <= i % 3:
            latest, below = i % 3, below + 1
    return most, at, least, below, latest


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64, np.float32])
def test_the_best_with_what_goes_with_it(dtype: Any) -> None:
    for seed in range(8):
        random = np.random.default_rng(seed)
        x, y = (random.integers(0, 12, 30 * seed + 1).astype(dtype) for _ in range(2))
        if np.dtype(dtype).kind == "f" and seed % 2:
            x[random.integers(len(x))] = y[random.integers(len(y))] = np.nan
        assert np.array_equal(bests(x, y), bests.__wrapped__(x, y), equal_nan=seed % 2 == 1)
    assert bests.ir(x, y, stage="kernels").count("rare=") >= 1
