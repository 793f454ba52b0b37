"""Python's conversions and folds of traced values, compared with Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same
from tests.frontend.interpreted import interpreted

X = np.array([3.75, -2.5, 0.0, 7.0])


@pytest.mark.parametrize(
    "program",
    [
        lambda x: int(x[0]),
        lambda x: int(x[1]) + 1,
        lambda x: float(x[2]),
        lambda x: float(x[0] > 1),
        lambda x: bool(x[2]),
        lambda x: complex(x[0], x[1]),
        lambda x: (complex(x[0], imag=x[1]), complex(real=x[0]), complex(imag=x[1])),
        lambda x: x[3].item() / 2,
        lambda x: x.item(1),
        lambda x: x[:1].item(),
        lambda x: (x.reshape(2, 2).item(2), x.reshape(2, 2).item(-1), x.reshape(2, 2).item(1, 0)),
        lambda x: sum(x),
        lambda x: sum([x[0], x[1]]),
        lambda x: sum(x, start=2.0) + sum([x[0], x[1]], start=x[2]) + sum((v for v in x), start=1),
        lambda x: math.prod(x[:2]) + math.prod(x[2:], start=2.0),
        lambda x: max(x),
        lambda x: min(x),
        lambda x: any(x > 5),
        lambda x: all([x[0] > 1, x[1] > 1]),
        lambda x: x.astype(int),
        lambda x: np.zeros(3, dtype=bool),
        lambda x: (isinstance(x[0].item(), float), type(int(x[0])) is int),
        lambda x: x[: int(x[0])],
        lambda x: np.arange(int(x[3])) * float(x[1]),
    ],
)
def test_conversions(program: Any):
    assert_same(interpreted(program)(X), program(X))


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_no_integer(number: float):
    with pytest.raises((ValueError, OverflowError), match="cannot convert float"):
        interpreted(lambda x: int(x[0]))(np.array([number]))


BEYOND = np.nextafter(2.0**63, np.inf)


@pytest.mark.parametrize(
    "number", [-(2.0**63), np.nextafter(2.0**63, 0), 2.0**53 + 2, -0.99, 1e-300, -4503599627370495.5]
)
def test_the_largest_integers(number: float):
    assert interpreted(lambda x: int(x[0]))(np.array([number])) == int(number)


@pytest.mark.parametrize("number", [2.0**63, -BEYOND, 1e300, -1e300])
def test_integers_beyond_64_bits(number: float):
    with pytest.raises(OverflowError, match="the result does not fit into a 64-bit int"):
        interpreted(lambda x: int(x[0]))(np.array([number]))


@pytest.mark.parametrize("number", [0, 1, -1, 255, -256, 2**62, 2**63 - 1, -(2**63)])
def test_bits_of_integers(number: int):
    def program(x):
        return x.bit_length(), x.bit_count(), int.bit_length(x), float.is_integer(x / 2)

    assert_same(interpreted(program)(number), program(number))


def test_round_gives_python_ints() -> None:
    x = np.array([2.5, -3.75])
    expected = [round(x[0]), round(x[0], 1), round(x.sum())]
    found = interpreted(lambda x: [round(x[0]), round(x[0], 1), round(x.sum())])(x)
    assert [(type(item), item) for item in found] == [(type(item), item) for item in expected]


@pytest.mark.parametrize("number", [np.float64(2.0), np.float32(2.5), np.float64(np.inf)])
def test_what_floating_scalars_have_of_numbers(number):
    assert_same(interpreted(lambda v: v.is_integer())(number), number.is_integer())
    with pytest.raises(AttributeError, match="'bit_count'"):
        interpreted(lambda v: v.bit_count())(number)


@pytest.mark.parametrize("number", [np.int64(-5), np.uint8(7)])
def test_what_integer_scalars_have_of_numbers(number):
    def program(v):
        return v.is_integer(), v.bit_count(), v.numerator, v.denominator

    assert_same(interpreted(program)(number), program(number))


def test_ints_beyond_64_bits_compare_as_pythons_do() -> None:
    """Bounds that nothing reaches, as 10**20, raised an OverflowError."""

    def compared(n):
        beyond = (10**20, 2**63, 2**64 + 1, -(2**63) - 1, -(2**70) + 1, 2**1100, -(2**1100))
        found = [(n < k, n <= k, n > k, n >= k, n == k, n != k, k < n, k >= n, k == n) for k in beyond]
        return found, n in (1, 2**64)

    for n in (5, True, 2.5, 2.0**63, 2.0**64, -(2.0**70), 1.7e308, float("inf"), float("-inf"), float("nan")):
        assert jitflow.function(compared)(n) == compared(n)
