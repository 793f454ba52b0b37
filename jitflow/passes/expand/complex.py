"""Complex arithmetic on pairs of reals: NumPy's formulas for what is not an elementary function.

A complex number is a `Pair` of terms. Products are the four plain ones (no recovery of infinities, as in NumPy),
quotients Smith's (1962), the order is lexicographic. Both parts have the dtype of the operands throughout, and the
results are those of NumPy's scalar loops; its vector loops contract products to FMA and take other roads to magnitudes.

`COMPLEX` says which op each function stands for: with pairs for complex operands, and a pair, or one term where the
op's result is real. The elementary functions are in `complex_functions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from jitflow.passes.expand.complex_functions import (
    FUNCTIONS,
    Pair,
    choose,
    exp,
    in_f64,
    isnan,
    log,
    multiply,
    multiply_with_infinities,
)
from jitflow.passes.expand.notation import Number, apply, repeat_while
from jitflow.passes.expand.term import if_any, select

__all__ = ["COMPLEX", "Pair"]

Result: TypeAlias = "Pair | Number"


def add(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def subtract(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def divide(a: Pair, b: Pair) -> Pair:
    """Smith's quotient: the larger part of the divisor is divided out. A zero divisor gives infinities or nan."""
    large = abs(b[0]) >= abs(b[1])
    main, other = select(large, b[0], b[1]), select(large, b[1], b[0])
    first, second = select(large, a[0], a[1]), select(large, a[1], a[0])
    ratio = other / main
    scale = 1.0 / (main + other * ratio)
    real = (first + second * ratio) * scale
    imaginary = select(large, second - first * ratio, first * ratio - second) * scale
    zero = b[0].equals(0) & b[1].equals(0)
    return choose(zero, (a[0] / abs(b[0]), a[1] / abs(b[0])), (real, imaginary))


def negative(a: Pair) -> Pair:
    return -a[0], -a[1]


def conjugate(a: Pair) -> Pair:
    return a[0], -a[1]


def absolute(a: Pair) -> Number:
    return apply("hypot", *a)


def sign(a: Pair) -> Pair:
    """The number over its magnitude.

    Where that is infinite, an infinite real part counts alone, else the imaginary part does, as in NumPy also where
    only the magnitude overflows; two infinite parts give nan.
    """
    real, imaginary = a
    size = absolute(a)
    first, second = abs(real).equals(math.inf), abs(imaginary).equals(math.inf)
    zero, nan = real.constant(0.0), real.constant(math.nan)
    axis = choose(first, (_unit(real), zero), (zero, _unit(imaginary)))
    outside = choose(first & second, (nan, nan), axis)
    inside = choose(size.equals(0), (zero, zero), (real / size, imaginary / size))
    return choose(size.equals(math.inf), outside, choose(size.equals(size), inside, (nan, nan)))


def _unit(part: Number) -> Number:
    return select(part > 0, part.constant(1.0), -1.0)


# -- order -----------------------------------------------------------------------------------------


def _ordered(
    strictly: Callable[[Number, Number], Number], loosely: Callable[[Number, Number], Number]
) -> Callable[..., Number]:
    """By the real parts, then by the imaginary ones; false where a nan decides."""

    def compare(a: Pair, b: Pair) -> Number:
        known = a[1].equals(a[1]) & b[1].equals(b[1])
        return (strictly(a[0], b[0]) & known) | (a[0].equals(b[0]) & loosely(a[1], b[1]))

    return compare


less = _ordered(lambda a, b: a < b, lambda a, b: a < b)
less_equal = _ordered(lambda a, b: a < b, lambda a, b: a <= b)
greater = _ordered(lambda a, b: a > b, lambda a, b: a > b)
greater_equal = _ordered(lambda a, b: a > b, lambda a, b: a >= b)


def equal(a: Pair, b: Pair) -> Number:
    return a[0].equals(b[0]) & a[1].equals(b[1])


def not_equal(a: Pair, b: Pair) -> Number:
    return a[0].differs(b[0]) | a[1].differs(b[1])


def maximum(a: Pair, b: Pair) -> Pair:
    """The first that has a nan, else the larger."""
    return choose(isnan(a) | greater_equal(a, b), a, b)


def minimum(a: Pair, b: Pair) -> Pair:
    return choose(isnan(a) | less_equal(a, b), a, b)


def fmax(a: Pair, b: Pair) -> Pair:
    """The larger, or the one without nan."""
    return choose(isnan(b) | greater_equal(a, b), a, b)


def fmin(a: Pair, b: Pair) -> Pair:
    return choose(isnan(b) | less_equal(a, b), a, b)


def isinf(a: Pair) -> Number:
    return abs(a[0]).equals(math.inf) | abs(a[1]).equals(math.inf)


def isfinite(a: Pair) -> Number:
    return (abs(a[0]) < math.inf) & (abs(a[1]) < math.inf)


# -- powers ----------------------------------------------------------------------------------------


def power(a: Pair, b: Pair) -> Pair:
    """``npy_cpow``: repeated squaring for whole exponents below 100, else exp(b * log(a))."""
    whole = b[1].equals(0) & (abs(b[0]) < 100) & _truncated(b[0]).equals(b[0])
    quick = _whole_power(a, b[0], whole)
    real, imaginary = if_any(~whole, lambda: choose(whole, quick, _general_power(a, b)), quick)
    one, zero, nan = ((part.constant(x), part.constant(y)) for part, x, y in (
        (real, 1.0, 0.0), (real, 0.0, 0.0), (real, math.nan, math.nan),
    ))  # fmt: skip
    result = choose(a[0].equals(0) & a[1].equals(0), choose(b[0] > 0, zero, nan), (real, imaginary))
    return choose(b[0].equals(0) & b[1].equals(0), one, result)


def _whole_power(a: Pair, exponent: Number, whole: Number) -> Pair:
    """By the bits of the exponent, lowest first; a negative one takes the reciprocal at the end."""
    count = select(whole, abs(exponent), 0.0).cast("i32")

    def step(real: Number, imaginary: Number, x: Number, y: Number, rest: Number) -> tuple[Number, ...]:
        result, square = (real, imaginary), (x, y)
        odd = (rest & 1).differs(0)
        product = choose(odd, multiply(result, square), result)
        following = choose(rest > 1, multiply(square, square), square)
        return (*product, *following, rest >> 1)

    one = (a[0].constant(1.0), a[0].constant(0.0))
    # NumPy takes a, a * a and a * (a * a) as such: without a product by 1, which makes nan of infinities.
    small = (count > 0) & (exponent > 0) & (exponent <= 3)
    start = choose(small, a, one)
    rest = select(small, count - 1, count)
    real, imaginary, *_ = repeat_while(lambda *values: values[-1].differs(0), step, *start, *a, rest)
    result = (real, imaginary)
    return choose(exponent < 0, divide(one, result), result)


def _general_power(a: Pair, b: Pair) -> Pair:
    return in_f64(lambda a, b: exp(multiply_with_infinities(b, log(a))))(a, b)


def _truncated(x: Number) -> Number:
    return apply("trunc", x)


COMPLEX: dict[str, Callable[..., Result]] = {
    **{function.__name__: in_f64(function) for function in FUNCTIONS},
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "negative": negative,
    "conjugate": conjugate,
    "absolute": absolute,
    "sign": sign,
    "power": power,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "equal": equal,
    "not_equal": not_equal,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": fmax,
    "fmin": fmin,
    "isnan": isnan,
    "isinf": isinf,
    "isfinite": isfinite,
    "real": lambda a: a[0],
    "imag": lambda a: a[1],
    "complex": lambda a, b: (a, b),
    "copy": lambda a: a,
}
"""Each op on complex numbers (and ``complex``, which makes one of two reals), by name."""
