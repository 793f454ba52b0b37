"""arcsin, arccos, arctan and arctan2.

Each is an odd polynomial on a short interval, t + t z P(z) with z = t**2, and the rest of the range is reflected into
it:

    arcsin(x) = pi/2 - 2 arcsin(s),  s = sqrt((1 - |x|) / 2)    for |x| above 1/2
    arctan(x) = pi/2 - arctan(1/x)                              for x above 1

pi is kept as a float and what that leaves of it, so that the reflections add no error. arctan has one division and a
long polynomial: halving its interval would cost selections and a sum whose rounding error the quotient inherits, to
save ten multiplications. arctan2 divides the smaller operand by the larger one, and corrects the quotient by its
remainder.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.formats import FORMATS, INFINITY
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import (
    Operand,
    Term,
    add_exactly,
    copysign,
    evaluate_chain,
    fma,
    maximum,
    minimum,
    polynomial,
    select,
)
from jitflow.passes.expand.trigonometric import TRIGONOMETRY
from jitflow.records import dataclass


@dataclass(frozen=True)
class InverseTrigonometry:
    """The constants of one format."""

    arcsin_tail: tuple[float, ...]
    """(arcsin(t) / t - 1) / z for z = t**2 up to 1/4"""
    arctan_tail: tuple[float, ...]
    """(arctan(t) / t - 1) / z for z = t**2 up to 1"""


INVERSE_TRIGONOMETRY = {
    "f32": InverseTrigonometry(
        arcsin_tail=(
            0.16666752,
            0.0749531,
            0.045469064,
            0.024185238,
            0.042157482,
        ),
        arctan_tail=(
            -0.333333,
            0.1999853,
            -0.14264008,
            0.10950826,
            -0.083991006,
            0.05787699,
            -0.031091643,
            0.010865255,
            -0.0017819176,
        ),
    ),
    "f64": InverseTrigonometry(
        arcsin_tail=(
            0.16666666666665408,
            0.07500000000337191,
            0.04464285682814806,
            0.03038195914535843,
            0.022371757832479175,
            0.01735970824522306,
            0.01388519951354322,
            0.012169456387814645,
            0.006526883389542824,
            0.019531337455183807,
            -0.016229198703963818,
            0.03191574242499275,
        ),
        arctan_tail=(
            -0.3333333333333307,
            0.1999999999995175,
            -0.1428571428258816,
            0.11111111007344544,
            -0.09090907007849112,
            0.07692279889542389,
            -0.06666404428649994,
            0.058805298404162196,
            -0.052535269291932606,
            0.04722348885179602,
            -0.04219245023030189,
            0.0366431912942078,
            -0.029905800355328856,
            0.02198714678495977,
            -0.013902645554007189,
            0.00719793404022332,
            -0.002885634514237785,
            0.0008315683829521182,
            -0.00015221305365081426,
            1.323019442275892e-05,
        ),
    ),
}


def arcsin_of_half(x: Term[V]) -> tuple[Term[V], Term[V], Term[V]]:
    """Return whether |x| is above 1/2, and the arcsine of |x|, or of the root that takes its place, as t + tail."""
    magnitude = abs(x)
    large = magnitude > 0.5
    # Exact: above 1/2, 1 and |x| are within a factor of two.
    half = fma(magnitude, -0.5, 0.5)
    z = select(large, half, x * x)
    t = select(large, half.sqrt(), magnitude)
    return large, t, t * z * polynomial(z, INVERSE_TRIGONOMETRY[x.dtype].arcsin_tail)


def arcsin(x: Term[V]) -> Term[V]:
    """The inverse of sin, in [-pi/2, pi/2]; beyond 1 the root is NaN."""
    high, low, _ = TRIGONOMETRY[x.dtype].half_pi
    large, t, tail = arcsin_of_half(x)
    total, lost = add_exactly(high, t * -2.0)
    reflected = total + (lost + fma(tail, -2.0, low))
    return copysign(select(large, reflected, t + tail), x)


def arccos(x: Term[V]) -> Term[V]:
    """The inverse of cos, in [0, pi]: 2 arcsin(s), pi - 2 arcsin(s), or pi/2 - arcsin(x)."""
    high, low, _ = TRIGONOMETRY[x.dtype].half_pi
    large, t, tail = arcsin_of_half(x)
    negative = x < 0.0
    # What is added to: nothing, pi/2 or pi.
    base = select(large, select(negative, t.constant(2.0 * high), 0.0), high)
    base_low = select(large, select(negative, t.constant(2.0 * low), 0.0), low)
    factor = select(large, copysign(t.constant(2.0), x), copysign(t.constant(1.0), -x))
    return add_to_base(base, base_low, t * factor, tail * factor)


def add_to_base(base: Term[V], base_low: Operand[V], t: Term[V], tail: Term[V]) -> Term[V]:
    """The sum of two pairs, of which the first is 0 or the larger one."""
    total, lost = add_exactly(base, t)
    return total + (lost + (tail + base_low))


def arctan(x: Term[V]) -> Term[V]:
    """The inverse of tan, in [-pi/2, pi/2]."""
    high, low, _ = TRIGONOMETRY[x.dtype].half_pi
    magnitude = abs(x)
    large = magnitude > 1.0
    t = select(large, 1.0 / magnitude, magnitude)
    tail = arctan_tail(t)
    total, lost = add_exactly(high, -t)
    reflected = total + (lost + (low - tail))
    return copysign(select(large, reflected, t + tail), x)


def arctan_tail(t: Term[V]) -> Term[V]:
    """What the arctangent of |t| <= 1 is beyond t."""
    z = t * t
    # One chain: two, of even and odd powers, would be sums of large terms that cancel.
    return t * z * evaluate_chain(z, INVERSE_TRIGONOMETRY[t.dtype].arctan_tail)


def arctan2(y: Term[V], x: Term[V]) -> Term[V]:
    """The angle of the point (x, y), in [-pi, pi], by the octant in which it lies; zeros have their sides."""
    high, low, _ = TRIGONOMETRY[x.dtype].half_pi
    a, b = abs(y), abs(x)
    steep = a > b
    ratio, ratio_low = divide_magnitudes(select(steep, b, a), select(steep, a, b))
    # The derivative of the arctangent, 1 / (1 + z), need not be exact.
    tail = fma(ratio_low, fma(ratio * ratio, -0.5, 1.0), arctan_tail(ratio))
    behind = copysign(ratio.constant(1.0), x) < 0.0
    # What is added to: 0, pi/2 or pi.
    base = select(steep, ratio.constant(high), select(behind, ratio.constant(2.0 * high), 0.0))
    base_low = select(steep, ratio.constant(low), select(behind, ratio.constant(2.0 * low), 0.0))
    sign = copysign(ratio.constant(1.0), select(steep, -x, x))
    return copysign(add_to_base(base, base_low, ratio * sign, tail * sign), y)


def divide_magnitudes(small: Term[V], large: Term[V]) -> tuple[Term[V], Term[V]]:
    """Return small / large and its rounding error; 0 / 0 is 0 here, and equal infinities have the quotient 1.

    One reciprocal serves for both. It is a normal number once the operands are scaled; an operand that this makes 0
    belongs to a quotient which is 0 anyway.
    """
    form = FORMATS[small.dtype]
    top = 2.0 ** (form.bias - 3)
    below_infinity = large.equals(INFINITY) & (small < INFINITY)
    numerator = select(below_infinity, 0.0, minimum(small, form.largest))
    divisor = maximum(minimum(large, form.largest), form.smallest)
    scale = select(large > top, large.constant(0.125), select(large < 1.0, large.constant(top), 1.0))
    numerator, divisor = numerator * scale, divisor * scale
    reciprocal = 1.0 / divisor
    quotient = numerator * reciprocal
    return quotient, fma(-quotient, divisor, numerator) * reciprocal
