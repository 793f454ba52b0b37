"""`math` entire: values, types and exceptions are Python's."""

from __future__ import annotations

import cmath
import itertools
import math
import random

import numpy as np
import pytest

import jitflow
from jitflow.frontend.python import written_math
from tests.compare import ELEMENTARY
from tests.truth.whole.same import assert_does_what_python_does

FLOATS = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 22.0, 23.0, 24.0, 171.0, 171.7, 172.0, -0.5, -1.5, -171.5, -200.5, -201.5,
          -1e-310, 1e-310, 1e-21, -1e-21, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324, 0.5, 2.25]  # fmt: skip
LARGEST = 2**63 - 1


def outcome(function, *operands):
    try:
        found = function(*operands)
        return type(found), repr(found)
    except Exception as error:
        return type(error), str(error)


def some_floats(draw, count):
    return [draw.choice(FLOATS) if draw.random() < 0.3 else draw.uniform(-20, 20) for _ in range(count)]


def operands_of(name, draw):
    match name:
        case "isqrt":
            return (
                draw.choice([draw.randint(-2, 99), draw.randint(0, 3037000499) ** 2 - draw.randint(0, 1), LARGEST]),
            )
        case "comb":
            return draw.randint(-1, 60), draw.randint(-1, 60)
        case "perm":
            return draw.randint(-1, 20), draw.randint(-1, 20)
        case "ldexp":
            return *some_floats(draw, 1), draw.choice([0, 1000, -1000, 10**6, -(10**6), draw.randint(-1080, 1080)])
        case "fsum":
            return ([x * draw.choice([1.0, 1e16, 1e-16]) for x in some_floats(draw, draw.randint(0, 7))],)
        case "dist":
            return [draw.random() for _ in range(3)], [draw.random() for _ in range(3)]
        case "prod":
            return (some_floats(draw, 4),)
        case _:
            return tuple(some_floats(draw, 1))


@pytest.mark.parametrize("name", written_math.__all__)
def test_the_texts_do_what_math_does(name):
    draw = random.Random(name)
    with np.errstate(all="ignore"):
        for _ in range(300):
            operands = operands_of(name, draw)
            expected, found = (outcome(getattr(module, name), *operands) for module in (math, written_math))
            assert found == expected, operands


def floats(x, y):
    return (math.frexp(x), math.modf(x), math.ulp(x), math.nextafter(x, y), math.hypot(x, y, 2.0), math.hypot(x),
            math.dist((x, 1.0), [y, 2]), math.ldexp(y, 3), math.copysign(x, y))  # fmt: skip


def ints(n, k):
    return math.isqrt(n), math.comb(n, k), math.perm(n, k), math.perm(k), math.factorial(k), math.prod([n, k, 2])


def sums(x):
    total = 0.0
    for v in x:
        total += math.lgamma(v)
    return total, math.fsum(x), math.prod(x, start=2), math.dist(x, x * 2)


def gammas(x):
    return math.gamma(x)


CALLS = {
    floats: [(3.75, 2.0), (-0.0, -1.0), (5e-324, 1.0), (math.inf, 0.5), (math.nan, 0.0), (1e300, -1e300), (2, 3)],
    ints: [(10, 3), (0, 0), (3, 9), (LARGEST, 1), (-1, 2), (5, -1)],
    sums: [(np.array([0.5, 2.5, 1e16, 1.0, -1e16, 7.25, 3.5, 0.1, 0.2]),), (np.linspace(0.1, 3, 40),), (np.zeros(1),)],
    gammas: [(4.0,), (0.3,), (-2.5,), (171.5,), (172.0,), (-3.0,), (0.0,), (math.inf,), (-math.inf,), (-300.5,)],
}


@pytest.mark.parametrize("program", CALLS, ids=lambda program: program.__name__)
def test_compiled(program):
    assert_does_what_python_does(jitflow.function(program), CALLS[program])


def test_a_float_is_no_int():
    @jitflow.function
    def choices(n):
        return math.comb(n, 2)

    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        choices(2.0)


def test_gradients_go_through_the_texts():
    special = pytest.importorskip("scipy.special")
    slope = jitflow.grad(lambda x: math.lgamma(x) + math.hypot(x, 2.0, 3.0))
    assert slope(1.5) == pytest.approx(special.digamma(1.5) + 1.5 / math.hypot(1.5, 2, 3), rel=1e-12)


@pytest.mark.parametrize("x", [1.0, 2.0, 3.0, 10.0, 23.0, 2.5, -0.5])
def test_gradients_where_the_texts_take_exact_values(x):
    """Factorials and the zeros of lgamma are exact numbers, and have the derivatives of what they are instead of."""
    special = pytest.importorskip("scipy.special")
    gamma, slope = jitflow.grad(lambda x: math.gamma(x)), special.digamma(x)
    assert gamma(x) == pytest.approx(math.gamma(x) * slope, rel=1e-12)
    assert jitflow.grad(gamma)(x) == pytest.approx(math.gamma(x) * (slope**2 + special.polygamma(1, x)), rel=1e-10)
    assert jitflow.jvp(lambda x: math.lgamma(x), (x,), (1.0,))[1] == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("x", [np.zeros(3), np.array([1.0, -1.0, 0.0]), np.array([0.5, 1e100, 1.0, -1e100])])
def test_gradients_of_sums_in_which_something_cancels(x):
    assert jitflow.grad(lambda x: math.fsum(x * 2))(x).tolist() == [2.0] * len(x)


def of_complex(z, base):
    return (
        [cmath.sqrt(z), cmath.asinh(z), cmath.acosh(z), cmath.asin(z), cmath.acos(z)],
        [cmath.isnan(z), cmath.isinf(z), cmath.isfinite(z), cmath.phase(z), cmath.polar(z)],
        cmath.log(z, base),
    )


def raising(which, z):
    if which < 3:
        return cmath.exp(z) if which == 0 else cmath.sinh(z) if which == 1 else cmath.cosh(z)
    if which < 6:
        return cmath.sin(z) if which == 3 else cmath.cos(z) if which == 4 else cmath.tanh(z)
    if which < 9:
        return cmath.tan(z) if which == 6 else cmath.atan(z) if which == 7 else cmath.atanh(z)
    return cmath.log10(z)


def test_complex_numbers():
    z = [complex(*parts) for parts in itertools.product((0.0, -0.5, 2.5), repeat=2)]
    assert_does_what_python_does(of_complex, [(one, other) for one in z for other in (2.5, 1j, 1.0)], ELEMENTARY)


def test_where_complex_numbers_have_no_answer():
    compiled = jitflow.function(raising)
    edges = (0.0, 1.0, -1.0, 800.0, math.inf, -math.inf, math.nan)
    for which, real, imag in itertools.product(range(10), edges, edges):
        z = complex(real, imag)
        found, expected = outcome(compiled, which, z), outcome(raising, which, z)
        assert found == expected or (found[0] is expected[0] is complex), (which, z)
