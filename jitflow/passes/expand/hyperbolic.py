"""sinh, cosh and tanh.

With x = k ln 2 + r, as for exp, sinh and cosh are combined from those of r and
of k ln 2, the latter being sums of two powers of two:

    sinh(x) = sinh(r) cosh(k ln 2) + cosh(r) sinh(k ln 2)
    cosh(x) = cosh(r) cosh(k ln 2) + sinh(r) sinh(k ln 2)

Nothing cancels where x is small, and there is no division. tanh(x) is
1 - 2 / (exp(2 x) + 1) except for small x, where it is a polynomial.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.passes.expand.exponential import EXPONENTIALS, LOG2_E, reduce_exponent_exactly, round_octaves
from jitflow.passes.expand.formats import FORMATS
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import Term, add_exactly, copysign, fma, minimum, polynomial, select


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
        tanh_tail=(-0.3333328, 0.13331443, -0.053739727, 0.020639129, -0.0057050344),
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
            -0.33333333333333315,
            0.13333333333329744,
            -0.05396825396605912,
            0.021869488468720256,
            -0.008863234312649251,
            0.003592114000574105,
            -0.0014557259527688115,
            0.0005894518202971288,
            -0.00023701179400567666,
            9.155853186412481e-05,
            -3.018734899596995e-05,
            6.042527907796935e-06,
        ),
        overflow=710.5,
        one=19.1,
    ),
}

TANH_SMALL = 0.625


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
    """The hyperbolic tangent; one of the two formulas is exact enough on each side."""
    constants = HYPERBOLICS[x.dtype]
    magnitude = abs(x)
    bounded = minimum(magnitude, constants.one)
    # exp(2 x) by halves: x = k (ln 2) / 2 + r. Its error is damped by what
    # follows, and the second step of the reduction can be left out.
    octave, bits = round_octaves(bounded, 2.0 * LOG2_E, offset=0)
    r = fma(octave, -0.5 * EXPONENTIALS[x.dtype].ln2_high, bounded)
    tail = polynomial(r, [4.0 * c * 2.0**i for i, c in enumerate(EXPONENTIALS[x.dtype].exp_tail)])
    exponential = fma(r, fma(r, tail, 2.0), 1.0) * bits.bitcast(x.dtype)
    large = 1.0 - 2.0 / (exponential + 1.0)
    z = x * x
    small = fma(magnitude * z, polynomial(z, constants.tanh_tail), magnitude)
    return copysign(select(magnitude < TANH_SMALL, small, large), x)
