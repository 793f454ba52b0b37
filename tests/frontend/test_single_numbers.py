"""Functions of single numbers have the bits of the C library: `math`, powers, and NumPy's functions of its scalars."""

from __future__ import annotations

import ctypes
import ctypes.util
import math

import numpy as np
import pytest

import jitflow

COUNTS = [10_000, pytest.param(1_000_000, marks=pytest.mark.stress)]
AGREEING = 0.999


@jitflow.function
def of_all_numbers(x, y, found):
    for i in range(x.shape[0]):
        a, b = float(x[i]), float(y[i])
        found[:, i] = (
            math.exp(a), math.exp2(a), math.expm1(a), math.sin(a), math.cos(a), math.tan(a), math.atan(a),
            math.sinh(a), math.cosh(a), math.tanh(a), math.asinh(a), math.cbrt(a), math.erf(a), math.erfc(a),
            math.atan2(a, b), math.hypot(a, b), math.fmod(a, b), abs(a) ** b, a ** 3, math.pow(a, 7.0), a ** 2,
        )  # fmt: skip


@jitflow.function
def of_large_numbers(x, y, found):
    for i in range(x.shape[0]):
        a, b = 1.0 + abs(float(x[i])), float(y[i])
        found[:, i] = (
            math.log(a), math.log2(a), math.log10(a), math.log1p(a), math.acosh(a), a**b, a**0.5, math.log(a, 3.0),
            math.log1p(b * 0.1), math.asin(b * 0.1), math.acos(b * 0.1), math.atanh(b * 0.1), a**-2.5,
        )  # fmt: skip


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("program", "functions"), [(of_all_numbers, 21), (of_large_numbers, 13)])
def test_numbers_of_python(program, functions, count):
    random = np.random.default_rng(5)
    x, y = random.normal(0, 4, count), random.uniform(-9.9, 9.9, count)
    found, expected = np.zeros((functions, count)), np.zeros((functions, count))
    program(x, y, found)
    program.__wrapped__(x, y, expected)
    agreeing = (found == expected).mean(axis=1)
    assert (agreeing >= AGREEING).all(), agreeing


NAMES = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos", "tan": "tan", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "arcsinh": "asinh", "cbrt": "cbrt",
}  # fmt: skip


@jitflow.function
def of_scalars(x, found):
    total = 0.0
    for i in range(x.shape[0]):
        a = x[i]
        values = (
            np.exp(a), np.exp2(a), np.expm1(a), np.log(a), np.log2(a), np.log10(a), np.log1p(a), np.sin(a), np.cos(a),
            np.tan(a), np.arctan(a), np.sinh(a), np.cosh(a), np.tanh(a), np.arcsinh(a), np.cbrt(a), a ** x[0],
        )  # fmt: skip
        found[:, i] = values
        total += values[0]
    return total


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalars_of_numpy(dtype, count):
    path = ctypes.util.find_library("m")
    if path is None:
        pytest.skip("there is no C library to ask")
    x = np.random.default_rng(6).uniform(0.01, 9, count).astype(dtype)
    found = np.zeros((len(NAMES) + 1, count), dtype)
    of_scalars(x, found)
    number, suffix = (ctypes.c_float, "f") if dtype == np.float32 else (ctypes.c_double, "")
    for row, name in enumerate([*NAMES.values(), "pow"]):
        function = getattr(ctypes.CDLL(path), name + suffix)
        function.restype, function.argtypes = number, [number] * (2 if name == "pow" else 1)
        operands = [x.tolist(), [float(x[0])] * count][: len(function.argtypes)]
        expected = np.array(list(map(function, *operands)), dtype)
        assert (found[row] == expected).mean() >= AGREEING, name


def test_elements_keep_the_bits_of_vectors():
    """A loop whose turns hand nothing on is a vector, as the whole array is."""

    @jitflow.function
    def by_turns(x):
        found = np.zeros_like(x)
        for i in range(x.shape[0]):
            found[i] = np.exp(x[i]) * np.tanh(x[i])
        return found

    @jitflow.function
    def at_once(x):
        return np.exp(x) * np.tanh(x)

    x = np.random.default_rng(7).normal(size=1000)
    assert np.array_equal(by_turns(x), at_once(x))


def test_a_number_has_the_same_bits_wherever_it_is_computed():
    """Alone, beside an array, of a sum in a kernel of its own."""

    @jitflow.function
    def everywhere(a, x):
        total = x.sum()
        return math.tanh(a), x * math.tanh(a), np.sinh(total), x + np.sinh(total), np.logaddexp(a, total)

    x = np.linspace(-1, 1.5, 12)
    for a in np.random.default_rng(8).normal(size=40).tolist():
        alone, beside, of_sum, with_sum, added = everywhere(a, x)
        assert alone == math.tanh(a)
        assert np.array_equal(beside, x * math.tanh(a))
        assert np.array_equal(with_sum, x + of_sum)
        assert added == np.logaddexp(a, x.sum()) or abs(added - np.logaddexp(a, x.sum())) <= np.spacing(abs(added))
