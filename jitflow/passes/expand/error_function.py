"""erf and erfc.

For |x| < 9/8, erf is x times a polynomial in x**2. Beyond, it is 1 - erfc, and
what has to be fitted is a function that falls steeply to nothing; its fourth
root is nearly straight and needs half the degree, and a fourth power is two
multiplications. No exponential is needed.

erfc has to be precise in its tail, where it is exp(-x**2) times a factor which falls slowly. Of the factor, what
varies least is fitted as a polynomial in t = (x - c) / (x + c), which takes the whole tail to an interval of length 2.
For f32 that is computed in f64, and holds for all x. For f64, x**2, the exponential and the factor are pairs of a
float and its rounding error, and up to 3/4 erfc is 1 - erf.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.exponential import EXPONENTIALS, LOG2_E, round_octaves, scale
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.power import EXP2_SHORT
from jitflow.passes.expand.term import Term, add_exactly, copysign, fma, minimum, multiply_exactly, polynomial, select
from jitflow.records import dataclass


@dataclass(frozen=True)
class ErrorFunction:
    """The constants of one format."""

    small: tuple[float, ...]
    """erf(x) / x - 1 in x**2, for x up to 9/8"""
    root: tuple[float, ...]
    """erfc(x)**(1/4) for x from 9/8 to `one`"""
    one: float
    """Above this, erf is 1."""


ERROR_FUNCTIONS = {
    "f32": ErrorFunction(
        small=(0.12837917, -0.3761259, 0.11283177, -0.026837105, 0.0051575024, -0.00077485485, 7.021957e-05),
        root=(
            1.0039349,
            -0.30152175,
            -0.07793705,
            -0.03420907,
            0.0549302,
            -0.017380167,
            0.0019551248,
            1.0066356e-05,
            -1.20411705e-05,
        ),
        one=4.0,
    ),
    "f64": ErrorFunction(
        small=(
            0.12837916709551256,
            -0.37612638903183676,
            0.11283791670951868,
            -0.02686617064457266,
            0.005223977620449613,
            -0.0008548326757058585,
            0.00012055323828870749,
            -1.4925438861330521e-05,
            1.645875372890647e-06,
            -1.6328933405248586e-07,
            1.4530362829202693e-08,
            -1.0921371519854269e-09,
            5.2657412656471144e-11,
        ),
        root=(
            0.9999996593547336,
            -0.28209136730626144,
            -0.11938238744386538,
            0.01550998754125713,
            0.018527746645326297,
            -0.0010702857006053,
            -0.002126075803477201,
            0.0003848261470048889,
            -3.89134285376629e-06,
            4.6186501115941014e-05,
            -3.6335533416744996e-05,
            1.571617438222891e-05,
            -5.6394167077839505e-06,
            1.7193779833564356e-06,
            -4.088707721688979e-07,
            7.194700612413767e-08,
            -9.135998857401287e-09,
            8.15555205215479e-10,
            -4.8741241162167315e-11,
            1.757468469795355e-12,
            -2.899861887986276e-14,
        ),
        one=6.0,
    ),
}


def erf(x: Term[V]) -> Term[V]:
    """The error function."""
    constants = ERROR_FUNCTIONS[x.dtype]
    magnitude = abs(x)
    z = x * x
    small = fma(magnitude, polynomial(z, constants.small), magnitude)
    root = polynomial(minimum(magnitude, constants.one), constants.root)
    square = root * root
    large = fma(-square, square, 1.0)
    return copysign(select(magnitude < 1.125, small, large), x)


ERFC_FACTOR_SHORT = (
    1.0740069078336238,
    -0.8833944877826568,
    0.5902282922847127,
    -0.3104659706038409,
    0.11952917181621556,
    -0.026840061394795847,
    -0.0012270427722506092,
    0.0030805785582553725,
    -0.00048199945077090323,
    -0.0003247224339974301,
)
"""(x + 3) exp(x**2) erfc(x) in t with c = 3, for x up to 10.3 and precise enough for f32"""

ERFC_FACTOR = (
    1.2329951186255526,
    -0.13962111684056236,
    0.015379652102621882,
    0.06809705425466797,
    -0.10103906603645492,
    0.09373283499942667,
    -0.0663303658081362,
    0.037167515515834096,
    -0.016197734113564063,
    0.005031970218690727,
    -0.0007577728549549109,
    -0.00019925831478235807,
    0.00015061965054617943,
    -2.439232179418145e-05,
    -1.1216308752495842e-05,
    5.691017702889099e-06,
    2.844980529808532e-07,
    -7.937831195821591e-07,
    8.192232793695294e-08,
    7.92280826227333e-08,
    -1.848558252283092e-08,
)
"""(1 + 2 x) exp(x**2) erfc(x) in t with c = 4, for x from 3/4 to 27.3"""


def erfc(x: Term[V]) -> Term[V]:
    """The complement of the error function, 1 - erf(x)."""
    return erfc_through_f64(x) if x.dtype == "f32" else erfc_in_pairs(x)


def erfc_through_f64(x: Term[V]) -> Term[V]:
    """The complement for f32, whose tail is normal in f64; beyond 10.3 it is 0."""
    magnitude = minimum(abs(x), 10.3).cast("f64")
    reciprocal = 1.0 / (magnitude + 3.0)
    factor = polynomial(fma(reciprocal, -6.0, 1.0), ERFC_FACTOR_SHORT) * reciprocal
    exponent = magnitude * magnitude * -LOG2_E
    k, bits = round_octaves(exponent, 1.0, offset=0)
    result = polynomial(exponent - k, EXP2_SHORT) * bits.bitcast("f64") * factor
    return select(x < 0.0, 2.0 - result, result).cast("f32")


def erfc_in_pairs(x: Term[V]) -> Term[V]:
    """The same for f64; beyond 27.3 it is 0."""
    magnitude = minimum(abs(x), 27.3)
    small_tail = x * polynomial(x * x, ERROR_FUNCTIONS[x.dtype].small)
    total, lost = add_exactly(1.0, -x)
    small = total + (lost - small_tail)

    exponential, exponential_low, bits, near_denormals = exp_of_square(magnitude)
    t = (magnitude - 4.0) / (magnitude + 4.0)
    factor, factor_low = add_exactly(ERFC_FACTOR[0], t * polynomial(t, ERFC_FACTOR[1:]))
    product, product_low = multiply_exactly(exponential, factor)
    product_low = product_low + fma(exponential, factor_low, exponential_low * factor)

    divisor = fma(magnitude, 2.0, 1.0)
    divisor_low = fma(magnitude, 2.0, 1.0 - divisor)
    reciprocal = 1.0 / divisor
    quotient = product * reciprocal
    residual = fma(-quotient, divisor, product) + fma(-quotient, divisor_low, product_low)
    large = scale(2.0 * fma(residual, reciprocal, quotient), bits, near_denormals)
    return select(abs(x) < 0.75, small, select(x < 0.0, 2.0 - large, large))


def exp_of_square(x: Term[V]) -> tuple[Term[V], Term[V], Term[V], Term[V]]:
    """exp(-x**2) as a pair of a float and its rounding error, times the half of a power of two, given by its bits.

    Returned last is whether the power lies near the denormals.
    """
    constants = EXPONENTIALS[x.dtype]
    square, square_low = multiply_exactly(x, x)
    octave, bits = round_octaves(square, -LOG2_E, offset=-1)
    remainder = fma(octave, -constants.ln2_high, -square)
    # Not fused: where it cancels, `remainder - r` has to be the rounded product.
    r = remainder - octave * constants.ln2_low
    error = fma(octave, -constants.ln2_low, remainder - r) - square_low
    total, lost = add_exactly(1.0, r)
    tail = r * r * polynomial(r, constants.exp_tail)
    return total, lost + fma(error, total + tail, tail), bits, square > -constants.denormal
