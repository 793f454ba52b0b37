"""power: x**y = 2**(y log2|x|), and C99's rules for signs and special values.

An error in the logarithm enters the result multiplied by up to the largest
exponent, and so it must be smaller than a format's last place by a factor of
that exponent. For f32 the way there is f64, in which polynomials of moderate
degree give what is needed, and in which nothing overflows or gets denormal.
For f64 the logarithm is computed in pairs of floats (Dekker 1971): with
s = f / (2 + f),

    log2(1 + f) = C s + C/3 s**3 + s**5 P(s**2),    C = 2 / ln 2

where the first two terms are pairs and P is plain: its error is below 2**-64
of the result. Here a division pays, since pairs make each term expensive.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.exponential import EXPONENTIALS, round_octaves, scale
from jitflow.passes.expand.formats import FORMATS, INFINITY, NAN
from jitflow.passes.expand.logarithm import octave_as_float, split_any_octave, split_octave
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import (
    Term,
    add_exactly,
    fma,
    if_any,
    maximum,
    minimum,
    multiply_exactly,
    polynomial,
    select,
    settle,
)

LOG2_QUOTIENT = (
    1.4426950408687065,
    -0.7213475208691312,
    0.48089836139623554,
    -0.3606736747969209,
    0.2885372934686855,
    -0.24045316649442267,
    0.20617535813934051,
    -0.1803005868946721,
    0.1587698268068947,
    -0.14315659643649245,
    0.14474834579789442,
    -0.14283875676535526,
    0.07737007760626846,
)
"""log2(1 + f) / f, precise enough for f32"""

EXP2_SHORT = (
    1.0000000005550538,
    0.6931472057344197,
    0.24022646887437696,
    0.055503287776802024,
    0.009618489140876827,
    0.0013399930882484659,
    0.0001534578217691573,
)
"""2**r, precise enough for f32"""

LOG2_TAIL = (
    0.5770780163555851,
    0.4121985831113708,
    0.32059889790777857,
    0.2623081991787443,
    0.22195223949682913,
    0.19240237255276546,
    0.16843238101423882,
    0.17296197050054973,
)
"""P, in s**2"""

FIRST_HIGH, FIRST_LOW = float.fromhex("0x1.71547652b82fep+1"), float.fromhex("0x1.777d0ffda0d24p-55")
"""2 / ln 2"""
THIRD_HIGH, THIRD_LOW = float.fromhex("0x1.ec709dc3a03fdp-1"), float.fromhex("0x1.d27f05548af0cp-55")
"""2 / (3 ln 2)"""


def power_through_f64(x: Term[V], y: Term[V]) -> Term[V]:
    """x**y for finite positive f32, whose denormals are normal in f64."""
    octave, _, f = split_octave(x.cast("f64"))
    logarithm = fma(f, polynomial(f, LOG2_QUOTIENT), octave_as_float(octave, "f64"))
    exponent = maximum(minimum(logarithm * y.cast("f64"), 200.0), -200.0)
    k, bits = round_octaves(exponent, 1.0, offset=0)
    result = polynomial(exponent - k, EXP2_SHORT) * bits.bitcast("f64")
    return result.cast("f32")


def log2_as_pair(x: Term[V]) -> tuple[Term[V], Term[V]]:
    """log2(x) of a finite positive f64 to about 2**-64 of itself."""
    octave, _, f = split_octave(x)
    denormal = x < FORMATS["f64"].smallest_normal
    k, f = if_any(denormal, lambda: split_any_octave(x), (octave_as_float(octave, "f64"), f))
    # s = s_high + s_low, where the divisor is rounded and s_high almost is.
    divisor, lost = add_exactly(2.0, f)
    reciprocal = 1.0 / divisor
    s_high = f * reciprocal
    s_low = reciprocal * fma(-s_high, lost, fma(-s_high, divisor, f))

    square, square_low = multiply_exactly(s_high, s_high)
    square_low = fma(2.0 * s_high, s_low, square_low)
    cube, cube_low = multiply_exactly(square, s_high)
    cube_low = fma(square, s_low, fma(square_low, s_high, cube_low))

    factor, factor_low = add_exactly(THIRD_HIGH, square * polynomial(square, LOG2_TAIL))
    factor_low = factor_low + THIRD_LOW
    third, third_low = multiply_exactly(cube, factor)
    third_low = fma(cube, factor_low, fma(cube_low, factor, third_low))

    first, first_low = multiply_exactly(s_high, FIRST_HIGH)
    first_low = fma(s_high, FIRST_LOW, fma(s_low, FIRST_HIGH, first_low))

    high, low = add_exactly(k, first)
    high, low_too = add_exactly(high, third)
    return add_exactly(high, low_too + (low + (first_low + third_low)))


def power_in_pairs(x: Term[V], y: Term[V]) -> Term[V]:
    """x**y for finite positive f64."""
    constants = EXPONENTIALS["f64"]
    logarithm, logarithm_low = log2_as_pair(x)
    product = logarithm * y
    exponent = maximum(minimum(product, 1025.0), -1077.0)
    product_low = fma(logarithm_low, y, fma(logarithm, y, -product))
    correction = select(exponent.equals(product), product_low, 0.0)
    k, bits = round_octaves(exponent, 1.0, offset=-1)
    r = (exponent - k) + correction
    tail = polynomial(r, [2 * coefficient for coefficient in constants.exp2_tail])
    return scale(fma(r, tail, 2.0), bits, exponent < -1020.0)


def power(x: Term[V], y: Term[V]) -> Term[V]:
    """IEEE 754's pow, annex F of C99, as NumPy has it."""
    compute = power_through_f64 if x.dtype == "f32" else power_in_pairs
    result = compute(abs(x), y)
    usual = (x > 0.0) & (x < INFINITY) & (abs(y) < INFINITY)
    return settle(~usual, lambda: settle_power(x, y, result), result)


def settle_power(x: Term[V], y: Term[V], result: Term[V]) -> Term[V]:
    """Make of |x|**y, computed for positive finite x and finite y, what x**y is for any."""
    magnitude = abs(x)
    infinity, falls = x.constant(INFINITY), y < 0.0
    result = select(magnitude.equals(0.0), select(falls, infinity, 0.0), result)
    result = select(magnitude.equals(INFINITY), select(falls, x.constant(0.0), infinity), result)
    result = select(magnitude.equals(1.0), 1.0, result)

    half = 0.5 * y
    whole = y.equals(y.rint())
    odd = whole & half.differs(half.rint())
    result = select((x < 0.0) & ~whole & (x > -INFINITY), NAN, result)
    # The sign bit, because -0.0 counts as negative here.
    negative = x.bitcast(FORMATS[x.dtype].signed) < 0
    result = select(negative & odd, -result, result)

    unordered = x.differs(x) | y.differs(y)
    result = select(unordered, x + y, result)
    return select(x.equals(1.0) | y.equals(0.0), 1.0, result)
