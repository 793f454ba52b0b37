"""Convolution, phases and polynomials against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY, assert_same
from tests.frontend.numpy.both import check_both, check_compiled
from tests.frontend.numpy.oracle import check, check_sizes, sample

LINE, SHORT, MATRIX = sample("f8", 9), sample("f8", 3, seed=2), sample("f8", 3, 5)
PERIOD = 7


@pytest.mark.parametrize("function", [np.convolve, np.correlate], ids=lambda function: function.__name__)
def test_convolution(function: Any):
    for mode in ("full", "same", "valid", "odd", 0, 1, 2):
        for one, other in ((LINE, SHORT), (SHORT, LINE), (SHORT[:1], LINE), (SHORT[:0], LINE), (LINE, SHORT[:0])):
            check(lambda x, y: function(x, y, mode), one, other, message=False)
    for kind in ("?", "i4", "u1", "f2", "f4", "c8", "c16"):
        check(lambda x, y: function(x, y), sample(kind, 6), sample(kind, 3, seed=1))
    check(lambda x, y: function(x, y), LINE, SHORT.astype("c8"))
    check(lambda x, y: function(x, y), MATRIX, SHORT)
    check(lambda x: function(x, 2.0), LINE)
    check(lambda x: function(x, [1, 2, 3]), LINE)
    check_both(lambda x, y: function(x, y) + 1, LINE, SHORT)
    check_sizes(lambda x, y: function(x, y, "same"), lambda n: (sample("f8", n), SHORT), (5, 2, 4, 9))


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_unwrap(axis: int):
    for array in (MATRIX * 3, sample("f4", 3, 4) * 3):
        check(lambda x: np.unwrap(x, axis=axis), array, tolerance=ELEMENTARY)
    check(lambda x: np.unwrap(x, discont=4, axis=axis), MATRIX * 3, tolerance=ELEMENTARY)


def test_unwrap_of_integers():
    check(lambda x: np.unwrap(x, period=10), np.array([1, 9, 2, 13, -4]))
    check(lambda x: np.unwrap(x, period=7), np.array([1, 9, 2, 13, -4]))
    check(lambda x: np.unwrap(x), LINE * 4, tolerance=ELEMENTARY)
    check(lambda x, p: np.unwrap(x, period=p), LINE * 4, 3.0, tolerance=ELEMENTARY)
    check_compiled(lambda x: np.unwrap(x, period=PERIOD), np.array([1, 9, 2, 13, -4]))


def test_unwrap_of_a_number():
    check(lambda x: np.unwrap(x), np.array(1.0))


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        f(lambda p: np.polyder(p), LINE),
        f(lambda p: np.polyder(p, 3), np.arange(5)),
        f(lambda p: np.polyder(p, 0), LINE),
        f(lambda p: np.polyder(p, -1), LINE),
        f(lambda p: np.polyint(p), LINE),
        f(lambda p: np.polyint(p, 2, [1.0, 2.0]), np.arange(5)),
        f(lambda p: np.polyint(p, 2, 3), LINE),
        f(lambda p, q: np.polyadd(p, q), LINE, SHORT),
        f(lambda p, q: np.polysub(p, q), SHORT, LINE),
        f(lambda p, q: np.polyadd(p, q), LINE, LINE),
        f(lambda p, q: np.polymul(p, q), LINE, SHORT),
        f(lambda p, q: np.polymul(p, q), LINE * 0, SHORT),
        f(lambda p, q: np.polydiv(p, q), LINE, SHORT),
        f(lambda p, q: np.polydiv(p, q), SHORT, LINE),
        f(lambda x, y: np.polyfit(x, y, 2), LINE, LINE**2),
        f(lambda x, y: np.polyfit(x, y, 2, w=y), LINE.astype("f4"), np.abs(LINE)),
        f(lambda x, y: np.polyfit(x, y, 1), LINE, np.stack([LINE, LINE + 1j], 1)),
        f(lambda x, y: np.polyfit(x, y, 1, cov=True), LINE, np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, y, 1, cov="unscaled"), LINE, np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, np.stack([y, x, y]).T, 1, cov="unscaled"), LINE, np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, np.stack([y, x, y]).T, 1, cov=True), LINE, np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, y, 2, full=True), LINE, np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, y, 2, rcond=1e-3, full=True), LINE.astype("f4"), np.exp(LINE)),
        f(lambda x, y: np.polyfit(x, y, 2), LINE, SHORT),
        f(lambda x, y: np.polyfit(x, y, -1), LINE, LINE),
        f(lambda x, y: np.polyfit(x, y, 1), MATRIX, LINE),
        f(lambda x, y: np.polyfit(x, y, 20), LINE, LINE),
    ],
)
def test_polynomials(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments)


def test_compiled():
    check_compiled(lambda x: np.unwrap(x), LINE * 4, tolerance=ELEMENTARY)
    check_both(lambda x, y: np.polyfit(x, y, 2)[0] * x, LINE, LINE**2)
    check_both(lambda p, q: np.polymul(p, q) * 2, LINE, SHORT)
    check_compiled(lambda p: np.polyint(p), LINE)
    for zeros in (SHORT, np.array([1, 2]), SHORT[:1], SHORT[:0]):
        check_compiled(lambda z: np.poly(z), zeros)
        check_compiled(lambda z: np.poly(z.astype("f2")), zeros)
    check_compiled(lambda p: np.polyder(p), LINE)


@pytest.mark.parametrize("program", [np.roots, np.poly, lambda p: (np.roots(p), np.polyval(p, np.roots(p)).real < 1)])
def test_zeros_and_coefficients_are_real_where_numpy_says_so(program: Any):
    conjugate, other = np.array([1 + 2j, 3, 1 - 2j]), np.array([1, 2j, 0], np.complex64)
    compiled = jitflow.function(lambda p: program(p))
    for given in (LINE, [0, 0, 1, -3, 2, 0], [1.0, 0, 1], [5], [0.0, 0], np.array([2, 1, 1], "f4"), conjugate, other):
        assert_same(compiled(given), program(given), tolerance=ELEMENTARY)
    for matrix in (np.diag([1.0, 2.0]), np.array([[0, 1], [-1, 0]])):
        assert_same(jitflow.function(lambda a: np.poly(a))(matrix), np.poly(matrix), tolerance=ELEMENTARY)
