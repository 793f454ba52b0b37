"""Elementary functions of complex numbers, with C99's special values for sqrt, exp, log and the hyperbolic ones.

All are computed in f64, those of c64 too: that costs half the lanes, leaves their errors below 0.51 ulp in most places,
and takes overflow out of the intermediate results. For c128 each part is within a few ulp of the *number's magnitude*;
a part that is much smaller than the other can lose relative accuracy where the formula cancels (``tests/expand/
test_complex.py`` bounds the errors). The formulas:

- square root, hyperbolic sine, cosine and tangent: W. Kahan's, as in FreeBSD's ``msun``;
- logarithm: near the unit circle from x*x + y*y - 1 in doubled precision;
- inverse sine, cosine and their hyperbolic relatives: W. Kahan, "Branch cuts for complex elementary functions", 1987;
- circular functions turn the hyperbolic ones by a right angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from jitflow.passes.expand.notation import Number, apply, convert
from jitflow.passes.expand.term import copysign, multiply_exactly, select

__all__ = ["FUNCTIONS", "Pair", "choose", "exp", "in_f64", "isnan", "log", "multiply", "multiply_with_infinities"]

Pair: TypeAlias = tuple[Number, Number]


def choose(mask: Number, a: Pair, b: Pair) -> Pair:
    """One of two numbers."""
    return select(mask, a[0], b[0]), select(mask, a[1], b[1])


def multiply(a: Pair, b: Pair) -> Pair:
    """The plain product."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def multiply_with_infinities(a: Pair, b: Pair) -> Pair:
    """The product as C99's Annex G has it: infinite where a factor or a partial product is, not nan."""
    plain = multiply(a, b)
    overflowed = _infinite(a[0] * b[0]) | _infinite(a[1] * b[1]) | _infinite(a[0] * b[1]) | _infinite(a[1] * b[0])
    infinite = [_infinite(factor[0]) | _infinite(factor[1]) for factor in (a, b)]

    def unit(part: Number, is_infinite: Number) -> Number:
        """The direction of an infinite factor; nan counts as 0 beside infinities."""
        size = select(is_infinite, select(_infinite(part), part.constant(1.0), 0.0), abs(part))
        return copysign(select(part.equals(part), size, 0.0), part)

    first, second = (
        (unit(factor[0], flag), unit(factor[1], flag)) for factor, flag in zip((a, b), infinite, strict=True)
    )
    real, imaginary = multiply(first, second)
    mended = (real * math.inf, imaginary * math.inf)
    lost = plain[0].differs(plain[0]) & plain[1].differs(plain[1])
    return choose(lost & (infinite[0] | infinite[1] | overflowed), mended, plain)


def isnan(a: Pair) -> Number:
    """Whether either part is nan."""
    return a[0].differs(a[0]) | a[1].differs(a[1])


def in_f64(function: Callable[..., Pair]) -> Callable[..., Pair]:
    """The function on pairs of any float, computed in f64."""

    def compute(*operands: Pair) -> Pair:
        dtype = operands[0][0].dtype
        if dtype == "f64":
            return function(*operands)
        wide = [(convert(real, "f64"), convert(imaginary, "f64")) for real, imaginary in operands]
        real, imaginary = function(*wide)
        return convert(real, dtype), convert(imaginary, dtype)

    return compute


def _finite(x: Number) -> Number:
    return abs(x) < math.inf


def _infinite(x: Number) -> Number:
    return abs(x).equals(math.inf)


def _turn(a: Pair) -> Pair:
    """The product by i."""
    return -a[1], a[0]


def _turn_back(a: Pair) -> Pair:
    """The product by -i."""
    return a[1], -a[0]


# -- roots, exponentials, logarithms ---------------------------------------------------------------


def sqrt(a: Pair) -> Pair:
    """The root with a real part that is not negative; scaled by powers of 4 where the magnitude needs it."""
    x, y = a
    large = (abs(x) > 2.0**1000) | (abs(y) > 2.0**1000)
    small = (abs(x) < 2.0**-900) & (abs(y) < 2.0**-900)
    scale = select(large, x.constant(2.0**-4), select(small, x.constant(2.0**200), 1.0))
    back = select(large, x.constant(4.0), select(small, x.constant(2.0**-100), 1.0))
    u, v = x * scale, y * scale
    main = ((abs(u) + apply("hypot", u, v)) * 0.5).sqrt()
    side = v / (main * 2.0)
    root = choose(x >= 0, (main * back, side * back), (abs(side) * back, copysign(main, y) * back))
    root = choose(x.equals(0) & y.equals(0), (x.constant(0.0), y), root)
    root = choose(x.differs(x) & _finite(y), (x, x), root)
    return choose(_infinite(y), (x.constant(math.inf), y), root)


def exp(a: Pair) -> Pair:
    """exp(x) * (cos(y) + i sin(y)), in two factors where exp(x) alone would overflow."""
    x, y = a
    large = abs(x) > 700.0
    factor = apply("exp", select(large, x * 0.5, x))
    again = select(large, factor, 1.0)
    real = factor * apply("cos", y) * again
    imaginary = select(y.equals(0), y, factor * apply("sin", y) * again)
    lost = ~_finite(y)
    real = select(lost & x.equals(math.inf), x, select(lost & x.equals(-math.inf), 0.0, real))
    return real, select(lost & x.equals(-math.inf), copysign(y.constant(0.0), y), imaginary)


def exp2(a: Pair) -> Pair:
    """exp(z * log(2)); the rounded product costs relative accuracy where z is large."""
    return exp((a[0] * math.log(2), a[1] * math.log(2)))


def expm1(a: Pair) -> Pair:
    """exp(x) cos(y) - 1 is expm1(x) cos(y) - 2 sin(y / 2) ** 2."""
    x, y = a
    half = apply("sin", y * 0.5)
    return apply("expm1", x) * apply("cos", y) - half * half * 2.0, apply("exp", x) * apply("sin", y)


def log(a: Pair) -> Pair:
    """The logarithm of the magnitude, and the angle."""
    return _log_magnitude(*a), apply("arctan2", a[1], a[0])


def _log_magnitude(x: Number, y: Number) -> Number:
    """log(hypot(x, y)): near the unit circle log1p(x*x + y*y - 1) / 2, elsewhere scaled into the range of hypot."""
    swapped = abs(x) < abs(y)
    large, small = select(swapped, abs(y), abs(x)), select(swapped, abs(x), abs(y))
    square, square_error = multiply_exactly(large, large)
    other, other_error = multiply_exactly(small, small)
    first = square - 1.0
    total = first + other
    shadow = total - first
    lost = (first - (total - shadow)) + (other - shadow)
    excess = total + (lost + square_error + other_error)
    near = (square + other > 0.5) & (square + other < 3.0)
    huge, tiny = large > 2.0**1000, large < 2.0**-900
    scale = select(huge, x.constant(2.0**-100), select(tiny, x.constant(2.0**200), 1.0))
    offset = select(huge, x.constant(100 * math.log(2)), select(tiny, x.constant(-200 * math.log(2)), 0.0))
    far = apply("log", apply("hypot", x * scale, y * scale)) + offset
    return select(near, apply("log1p", excess) * 0.5, far)


def log1p(a: Pair) -> Pair:
    """Near 0 from 2x + x*x + y*y, which NumPy's own formula rounds away."""
    x, y = a
    near = (abs(x) < 0.5) & (abs(y) < 0.5)
    close = apply("log1p", x * (2.0 + x) + y * y) * 0.5
    moved = x + 1.0
    return select(near, close, _log_magnitude(moved, y)), apply("arctan2", y, moved)


def log2(a: Pair) -> Pair:
    real, imaginary = log(a)
    return real * (1 / math.log(2)), imaginary * (1 / math.log(2))


def log10(a: Pair) -> Pair:
    real, imaginary = log(a)
    return real * (1 / math.log(10)), imaginary * (1 / math.log(10))


# -- hyperbolic and circular functions -------------------------------------------------------------


def sinh(a: Pair) -> Pair:
    """sinh(x) cos(y) + i cosh(x) sin(y)."""
    x, y = a
    cosine, sine = apply("cos", y), apply("sin", y)
    large, half = _half_exponential(x)
    real = select(large, copysign(half, x) * cosine * (half * 0.5), apply("sinh", x) * cosine)
    imaginary = select(large, half * sine * (half * 0.5), apply("cosh", x) * sine)
    real = select(_finite(y), real, select(x.equals(0), x, select(_infinite(x), abs(x), real)))
    return real, select(y.equals(0), y, imaginary)


def cosh(a: Pair) -> Pair:
    """cosh(x) cos(y) + i sinh(x) sin(y)."""
    x, y = a
    cosine, sine = apply("cos", y), apply("sin", y)
    large, half = _half_exponential(x)
    real = select(large, half * cosine * (half * 0.5), apply("cosh", x) * cosine)
    imaginary = select(large, copysign(half, x) * sine * (half * 0.5), apply("sinh", x) * sine)
    signed = copysign(x.constant(0.0), x) * copysign(x.constant(1.0), y)
    imaginary = select(y.equals(0), select(x.equals(x), signed, y), imaginary)
    imaginary = select(x.equals(0) & ~_finite(y), 0.0, imaginary)
    return select(~_finite(y) & _infinite(x), abs(x), real), imaginary


def _half_exponential(x: Number) -> tuple[Number, Number]:
    """Where exp(|x|) may overflow, and exp(|x| / 2) there."""
    large = abs(x) > 700.0
    return large, apply("exp", select(large, abs(x) * 0.5, 0.0))


def tanh(a: Pair) -> Pair:
    """Kahan's formula; far out, where the real part is 1 already, the imaginary one decays like exp(-2|x|)."""
    x, y = a
    tangent, hyperbolic = apply("tan", y), apply("sinh", x)
    beta = tangent * tangent + 1.0
    root = (hyperbolic * hyperbolic + 1.0).sqrt()
    divisor = beta * hyperbolic * hyperbolic + 1.0
    near = (beta * root * hyperbolic / divisor, tangent / divisor)
    decay = apply("exp", -abs(x))
    turns = select(_finite(y), apply("sin", y) * apply("cos", y), y.constant(0.0))
    one = select(_finite(y) | _infinite(x), copysign(x.constant(1.0), x), math.nan)
    tail = select(_infinite(x), copysign(x.constant(0.0), select(_finite(y), turns, y)), turns * 4.0 * decay * decay)
    far = (one, select(_finite(y) | _infinite(x), tail, math.nan))
    real, imaginary = choose(abs(x) > 22.0, far, near)
    real = select(x.equals(0) | (x.differs(x)), x, real)
    return real, select(y.equals(0) & ~_infinite(x), y, imaginary)


def sin(a: Pair) -> Pair:
    x, y = a
    real, imaginary = _turn_back(sinh(_turn(a)))
    return real, select(~_finite(x) & _infinite(y), abs(y), imaginary)


def cos(a: Pair) -> Pair:
    return cosh(_turn(a))


def tan(a: Pair) -> Pair:
    return _turn_back(tanh(_turn(a)))


# -- inverse functions -----------------------------------------------------------------------------


def arcsin(a: Pair) -> Pair:
    x, y = a
    below, above = sqrt((1.0 - x, -y)), sqrt((x + 1.0, y))
    real = apply("arctan2", x, below[0] * above[0] - below[1] * above[1])
    imaginary = apply("arcsinh", below[0] * above[1] - below[1] * above[0])
    far = (apply("arctan2", x, abs(y)), copysign(_log_of_double(a), y))
    real, imaginary = choose(_far(a), far, (real, imaginary))
    return select(x.equals(0), x, real), imaginary


def arccos(a: Pair) -> Pair:
    x, y = a
    below, above = sqrt((1.0 - x, -y)), sqrt((x + 1.0, y))
    real = apply("arctan2", below[0], above[0]) * 2.0
    imaginary = apply("arcsinh", above[0] * below[1] - above[1] * below[0])
    far = (apply("arctan2", abs(y), x), copysign(_log_of_double(a), -y))
    real, imaginary = choose(_far(a), far, (real, imaginary))
    return select(x.equals(0), math.pi / 2, real), imaginary


def arccosh(a: Pair) -> Pair:
    x, y = a
    below, above = sqrt((x - 1.0, y)), sqrt((x + 1.0, y))
    real = apply("arcsinh", below[0] * above[0] + below[1] * above[1])
    imaginary = apply("arctan2", below[1], above[0]) * 2.0
    far = (_log_of_double(a), apply("arctan2", y, x))
    real, imaginary = choose(_far(a), far, (real, imaginary))
    return real, select(x.equals(0), copysign(x.constant(math.pi / 2), y), imaginary)


def arcsinh(a: Pair) -> Pair:
    return _turn_back(arcsin(_turn(a)))


def _far(a: Pair) -> Number:
    return (abs(a[0]) > 2.0**500) | (abs(a[1]) > 2.0**500)


def _log_of_double(a: Pair) -> Number:
    return apply("log", apply("hypot", a[0] * 0.25, a[1] * 0.25)) + math.log(8)


def arctanh(a: Pair) -> Pair:
    """Half the logarithm of (1 + z) / (1 - z), part by part."""
    x, y = a
    size = abs(x)
    beside = 1.0 - size
    gap = beside * beside + y * y
    near = apply("log1p", size * 4.0 / gap) * 0.25
    at_pole = (apply("log", apply("hypot", size + 1.0, y)) - apply("log", apply("hypot", beside, y))) * 0.5
    real = copysign(select(gap < 2.0**-300, at_pole, near), x)
    imaginary = apply("arctan2", y * 2.0, beside * (size + 1.0) - y * y) * 0.5
    magnitude = apply("hypot", x, y)
    outside = select(magnitude.equals(math.inf), copysign(x.constant(0.0), x), x / magnitude / magnitude)
    angle = select(x.equals(x) | _infinite(y), copysign(y.constant(math.pi / 2), y), math.nan)
    real, imaginary = choose(_far(a), (outside, angle), (real, imaginary))
    return select(x.equals(0), x, real), select(y.equals(y), imaginary, y)


def arctan(a: Pair) -> Pair:
    return _turn_back(arctanh(_turn(a)))


FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(sqrt, exp, exp2, expm1, log, log1p, log2, log10, sin, cos, tan, sinh, cosh, tanh),
    *(arcsin, arccos, arctan, arcsinh, arccosh, arctanh),
)
"""Those that are ops, to be wrapped by `in_f64`."""
