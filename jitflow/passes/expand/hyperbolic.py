"""sinh, cosh and tanh.

With x = k ln 2 + r, as for exp, sinh and cosh are combined from those of r and
of k ln 2, the latter being sums of two powers of two:

    sinh(x) = sinh(r) cosh(k ln 2) + cosh(r) sinh(k ln 2)
    cosh(x) = cosh(r) cosh(k ln 2) + sinh(r) sinh(k ln 2)

Nothing cancels where x is small, and there is no division. For tanh, |x| = c + r, where c is k (ln 2) / 2 with an even
k, such that r is between -0.03 and 0.68, and t = tanh(r) is a polynomial:

    tanh(|x|) = 1 + (t - 1) / ((exp(2 c) - 1) / 2 t + (exp(2 c) + 1) / 2)

except where k is 0. There it is t, which is the same quotient without what stands before it, since its divisor is 1. So
all arguments take one way; a quotient that is added to 1 is at most 0.42, and what is rounded in it counts for as much.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.exponential import EXPONENTIALS, LOG2_E, reduce_exponent_exactly
from jitflow.passes.expand.formats import FORMATS
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import Term, add_exactly, copysign, fma, minimum, polynomial, select
from jitflow.records import dataclass


@dataclass(frozen=True)
class Hyperbolic:
    """The constants of one format."""

    sinh_tail: tuple[float, ...]
    """(sinh(r) / r - 1) / z, where z = r**2"""
    cosh_tail: tuple[float, ...]
    """(cosh(r) - 1 - z / 2) / z**2"""
    tanh_tail: tuple[float, ...]
    """(tanh(r) / r - 1) / z"""
    overflow: float
    """Above this, sinh and cosh are infinite."""
    one: float
    """Above this, tanh is 1."""


HYPERBOLICS = {
    "f32": Hyperbolic(
        sinh_tail=(0.16666667, 0.008333289, 0.00019904885),
        cosh_tail=(0.04166646, 0.0013935401),
        tanh_tail=(-0.33333236, 0.1333018, -0.05363681, 0.020312963, -0.0053522517),
        overflow=89.5,
        one=9.1,
    ),
    "f64": Hyperbolic(
        sinh_tail=(
            0.16666666666666666,
            0.008333333333333337,
            0.0001984126984125327,
            2.755731926508388e-06,
            2.5052056869986848e-08,
            1.6090797636447197e-10,
        ),
        cosh_tail=(
            0.041666666666666685,
            0.0013888888888873463,
            2.4801587348790354e-05,
            2.755725220921747e-07,
            2.0921639550948626e-09,
        ),
        tanh_tail=(
            -0.3333333333333323,
            0.13333333333318198,
            -0.05396825396023176,
            0.021869488322405668,
            -0.008863232182468745,
            0.0035920945302105,
            -0.0014556095091831118,
            0.0005889891252347974,
            -0.00023580079143495415,
            8.955241762760567e-05,
            -2.82808160065824e-05,
            5.250534203768839e-06,
        ),
        overflow=710.5,
        one=19.1,
    ),
}


def hyperbolic_parts(magnitude: Term[V]) -> tuple[Term[V], Term[V], Term[V], Term[V]]:
    """Return 2 sinh(r), 2 (cosh(r) - 1), 2**k / 4 and 2**-k / 4.

    The factors keep the largest results from overflowing on the way. What is 1
    in cosh(r) is left to the caller to add last, so that it adds no error.
    """
    form = FORMATS[magnitude.dtype]
    constants = HYPERBOLICS[magnitude.dtype]
    r, error, bits = reduce_exponent_exactly(minimum(magnitude, constants.overflow), offset=-2)
    up = bits.bitcast(magnitude.dtype)
    # The bits of 2**(-k - 2); where these are not those of a normal number the
    # power is too small to matter.
    down_bits = ((2 * form.bias - 4) << form.fraction_bits) - bits
    down = select(magnitude < 64.0, down_bits.bitcast(magnitude.dtype), 0.0)
    z = r * r
    double_r = r + r
    double_sinh = double_r + fma(double_r * z, polynomial(z, constants.sinh_tail), 2.0 * error)
    double_coshm1 = fma(z * z, polynomial(z, [2 * c for c in constants.cosh_tail]), z)
    return double_sinh, double_coshm1, up, down


def sinh(x: Term[V]) -> Term[V]:
    """The hyperbolic sine, which for k = 0 is just that of r."""
    double_sinh, double_coshm1, up, down = hyperbolic_parts(abs(x))
    octave_sinh, lost = add_exactly(up, -down)
    correction = fma(double_sinh, up + down, fma(double_coshm1, octave_sinh, 2.0 * lost))
    return copysign(fma(octave_sinh, 2.0, correction), x)


def cosh(x: Term[V]) -> Term[V]:
    """The hyperbolic cosine."""
    double_sinh, double_coshm1, up, down = hyperbolic_parts(abs(x))
    octave_cosh, lost = add_exactly(up, down)
    correction = fma(double_coshm1, octave_cosh, fma(double_sinh, up - down, 2.0 * lost))
    return fma(octave_cosh, 2.0, correction)


def tanh(x: Term[V]) -> Term[V]:
    """The hyperbolic tangent; `one` is 0 where k is, and 1 elsewhere."""
    form, constants = FORMATS[x.dtype], HYPERBOLICS[x.dtype]
    bounded = minimum(abs(x), constants.one)
    # The sum is rounded to eighths of an octave, and then down to an even number of octaves.
    rounder = form.rounder / 8.0 + form.bias - 1
    shifted = fma(bounded, 2.0 * LOG2_E, rounder).bitcast(form.signed) & ~15
    octave = shifted.bitcast(x.dtype) - rounder
    half_power = (shifted << (form.fraction_bits - 3)).bitcast(x.dtype)
    r = fma(octave, -0.5 * EXPONENTIALS[x.dtype].ln2_high, bounded)
    z = r * r
    tangent = fma(r * z, polynomial(z, constants.tanh_tail), r)
    one = minimum(octave, 1.0)
    quotient = (tangent - one) / fma(half_power - 0.5, tangent, half_power + 0.5)
    return copysign(one + quotient, x)
