"""Expansions that are not elementary functions, against NumPy, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitflow.ir.dtypes import DTYPES
from jitflow.ir.ops import OPS
from tests.expand.kernels import FLOATS, HALVES, INTEGERS, assert_same, pairs, run, samples

INTEGER_BINARY = (
    "add subtract multiply floor_divide remainder fmod maximum minimum fmax fmin left_shift right_shift gcd lcm "
    "bitwise_and bitwise_or bitwise_xor less less_equal greater greater_equal equal not_equal"
).split()
FLOAT_BINARY = (
    "add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin nextafter copysign "
    "less less_equal greater greater_equal equal not_equal"
).split()
FLOAT_UNARY = "negative absolute sign floor ceil trunc rint sqrt isnan isinf isfinite signbit spacing flush".split()


def reference(name: str, *operands: Any) -> Any:
    evaluate = OPS[name].evaluate
    assert evaluate is not None
    return evaluate(list(operands), {}, ())


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER_BINARY)
def test_integers_in_pairs(name: str, dtype: str) -> None:
    a, b = pairs(dtype)
    assert_same(run(name, a, b), reference(name, a, b), a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["negative", "absolute", "sign", "bitwise_not", "bitwise_count"])
def test_integers(name: str, dtype: str) -> None:
    a = samples(dtype)
    assert_same(run(name, a), reference(name, a), a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_power(dtype: str) -> None:
    a, b = pairs(dtype)
    a, b = a[b >= 0], b[b >= 0]
    assert_same(run("power", a, b), np.power(a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS + HALVES)
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_floats_in_pairs(name: str, dtype: str) -> None:
    a, b = pairs(dtype)
    if name in ("maximum", "minimum", "fmax", "fmin"):  # NumPy itself gives either zero
        a, b = a[(a != 0) | (b != 0)], b[(a != 0) | (b != 0)]
    assert_same(run(name, a, b), reference(name, a, b), a, b)


@pytest.mark.parametrize("dtype", FLOATS + HALVES)
@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_floats(name: str, dtype: str) -> None:
    a = samples(dtype)
    assert_same(run(name, a), reference(name, a), a)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hypot(dtype: str) -> None:
    """glibc's own algorithm gives glibc's bits for f32; for f64 within 1 ulp of NumPy."""
    a, b = pairs(dtype)
    got, expected = run("hypot", a, b), reference("hypot", a, b)
    if dtype == "f32":
        assert_same(got, expected, a, b)
    finite = np.isfinite(expected)
    assert_same(got[~finite], expected[~finite], a[~finite], b[~finite])
    with np.errstate(all="ignore"):
        assert (abs(got - expected)[finite] <= np.spacing(expected[finite])).all()


@pytest.mark.parametrize("name", [
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "maximum", "minimum", "fmax", "fmin",
    "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
])  # fmt: skip
def test_bools(name: str) -> None:
    a, b = pairs("bool")
    assert_same(run(name, a, b), reference(name, a, b), a, b)
    assert_same(run("bitwise_not", a), ~a, a)


def test_fmod_of_large_quotients() -> None:
    generator = np.random.default_rng(3)
    for dtype in FLOATS:
        kind = DTYPES[dtype].numpy
        a = (generator.standard_normal(4000) * 10.0 ** generator.integers(-30, 30, 4000)).astype(kind)
        b = (generator.standard_normal(4000) * 10.0 ** generator.integers(-30, 30, 4000)).astype(kind)
        b[:1000] = (a[:1000] / generator.integers(1, 4000, 1000)).astype(kind)
        for name in ("fmod", "remainder", "floor_divide"):
            assert_same(run(name, a, b), reference(name, a, b), a, b)
