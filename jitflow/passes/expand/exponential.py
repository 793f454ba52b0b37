"""exp, exp2, expm1, and the reduction that the hyperbolic functions share.

An argument is written as x = k ln 2 + r with an integer k and |r| at most
(ln 2) / 2. Then exp(x) = 2**k exp(r), where exp(r) is a polynomial and 2**k is
put together from bits. k ln 2 is subtracted in two steps (Cody and Waite,
*Software Manual for the Elementary Functions*, 1980): ln 2 is split in two
floats, and with fused multiply-add the first step is exact.

Three things save operations:

- k is rounded by adding a large number (`Format.rounder`). The sum's lowest
  bits are k itself, so that one shift moves it into the exponent field.
- The polynomial yields 2 exp(r), so that the exponent is one less and stays in
  the format for the largest results; beyond, the product overflows by itself.
- Results that may be denormal are computed 2**64 times too large, and scaled
  down by the last multiplication, which is the only one that rounds there.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.formats import FORMATS, Format
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import Term, fma, maximum, minimum, polynomial, select
from jitflow.records import dataclass

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class Exponential:
    """The constants of one format."""

    format: Format
    ln2_high: float
    ln2_low: float
    exp_tail: tuple[float, ...]
    """(exp(r) - 1 - r) / r**2"""
    exp2_tail: tuple[float, ...]
    """(2**r - 1) / r"""
    expm1_tail: tuple[float, ...]
    """(exp(r) - 1 - r - r**2 / 2) / r**3"""
    underflow: float
    """Below this, exp is 0."""
    denormal: float
    """Below this, exp may be denormal; it is normal for some way further down."""
    overflow: float
    """Above this, exp is infinite."""
    one: float
    """Below this, expm1 is -1."""


EXPONENTIALS = {
    "f32": Exponential(
        format=FORMATS["f32"],
        ln2_high=float.fromhex("0x1.62e43p-1"),
        ln2_low=float.fromhex("-0x1.05c61p-29"),
        exp_tail=(0.49999994, 0.16666521, 0.04166839, 0.008368714, 0.0013814481),
        exp2_tail=(0.69314724, 0.24022652, 0.055503104, 0.009617693, 0.001340664, 0.0001559475),
        expm1_tail=(0.16666666, 0.04166648, 0.008333419, 0.0013933248, 0.0001982415),
        underflow=-104.0,
        denormal=-86.0,
        overflow=89.0,
        one=-18.0,
    ),
    "f64": Exponential(
        format=FORMATS["f64"],
        ln2_high=float.fromhex("0x1.62e42fefa39efp-1"),
        ln2_low=float.fromhex("0x1.abc9e3b39803fp-56"),
        exp_tail=(
            0.5000000000000011,
            0.16666666666666413,
            0.04166666666653022,
            0.008333333333494794,
            0.0013888888943615002,
            0.00019841269505785063,
            2.4801493113952942e-05,
            2.755758711908504e-06,
            2.7630243168120484e-07,
            2.4999819220118453e-08,
        ),
        exp2_tail=(
            0.6931471805599457,
            0.24022650695910097,
            0.05550410866479038,
            0.009618129107606998,
            0.001333355815344288,
            0.00015403530441577813,
            1.525272738315764e-05,
            1.3215442673296459e-06,
            1.0180648318788563e-07,
            7.072570632843619e-09,
            4.0779897043335247e-10,
        ),
        expm1_tail=(
            0.16666666666666677,
            0.04166666666666658,
            0.008333333333322163,
            0.0013888888888942581,
            0.00019841269884933961,
            2.4801587198488318e-05,
            2.7557245301987076e-06,
            2.755738675474153e-07,
            2.510868396355622e-08,
            2.087901524470801e-09,
        ),
        underflow=-746.0,
        denormal=-707.0,
        overflow=710.0,
        one=-38.0,
    ),
}

RAISE = 64
"""The power of two by which results near the denormals are raised."""


def round_octaves(x: Term[V], octaves_per_unit: float, offset: int) -> tuple[Term[V], Term[V]]:
    """Return k = rint(x * octaves_per_unit) as a float, and the bits of 2**(k + offset).

    The second is right only where 2**(k + offset) is a normal number.
    """
    form = FORMATS[x.dtype]
    rounder = form.rounder + form.bias + offset
    shifted = fma(x, octaves_per_unit, rounder)
    return shifted - rounder, shifted.bitcast(form.signed) << form.fraction_bits


def reduce_exponent(x: Term[V], offset: int) -> tuple[Term[V], Term[V]]:
    """Return r = x - k ln 2, and the bits of 2**(k + offset)."""
    constants = EXPONENTIALS[x.dtype]
    octave, bits = round_octaves(x, LOG2_E, offset)
    remainder = fma(octave, -constants.ln2_high, x)
    return fma(octave, -constants.ln2_low, remainder), bits


def reduce_exponent_exactly(x: Term[V], offset: int) -> tuple[Term[V], Term[V], Term[V]]:
    """Return r and its rounding error, and the bits of 2**(k + offset).

    Where something is subtracted from exp(r) the error would come to matter.
    """
    constants = EXPONENTIALS[x.dtype]
    octave, bits = round_octaves(x, LOG2_E, offset)
    remainder = fma(octave, -constants.ln2_high, x)
    # Not fused: where it cancels, `remainder - r` has to be the rounded product.
    r = remainder - octave * constants.ln2_low
    return r, fma(octave, -constants.ln2_low, remainder - r), bits


def scale(doubled: Term[V], bits: Term[V], near_denormals: Term[V]) -> Term[V]:
    """Multiply by the power of two with these bits, correctly into the denormals."""
    form = FORMATS[doubled.dtype]
    raised = select(near_denormals, bits + (RAISE << form.fraction_bits), bits)
    return doubled * raised.bitcast(form.dtype) * select(near_denormals, doubled.constant(2.0**-RAISE), 1.0)


def exp(x: Term[V]) -> Term[V]:
    """The exponential function."""
    constants = EXPONENTIALS[x.dtype]
    bounded = maximum(minimum(x, constants.overflow), constants.underflow)
    r, bits = reduce_exponent(bounded, offset=-1)
    tail = polynomial(r, [2 * coefficient for coefficient in constants.exp_tail])
    doubled = fma(r, fma(r, tail, 2.0), 2.0)
    return scale(doubled, bits, bounded < constants.denormal)


def exp2(x: Term[V]) -> Term[V]:
    """2 to the power of x, exact for whole x."""
    constants = EXPONENTIALS[x.dtype]
    bias, fraction_bits = constants.format.bias, constants.format.fraction_bits
    bounded = maximum(minimum(x, bias + 1.0), -bias - fraction_bits - 2.0)
    octave, bits = round_octaves(bounded, 1.0, offset=-1)
    r = bounded - octave
    tail = polynomial(r, [2 * coefficient for coefficient in constants.exp2_tail])
    return scale(fma(r, tail, 2.0), bits, bounded < 3.0 - bias)


def expm1(x: Term[V]) -> Term[V]:
    """2**k (exp(r) - 1) + (2**k - 1), where the last term is exact or large."""
    constants = EXPONENTIALS[x.dtype]
    bounded = maximum(minimum(x, constants.overflow), constants.one)
    r, error, bits = reduce_exponent_exactly(bounded, offset=-1)
    half_power = bits.bitcast(x.dtype)
    square = r * r
    tail = fma(square, fma(r, polynomial(r, constants.expm1_tail), 0.5), error)
    # The inner sum is exact where the outer one cancels.
    result = fma(half_power, tail, fma(half_power, r, half_power - 0.5)) * 2.0
    # Halving would round a denormal, and the sum would lose the sign of zero.
    return select(abs(x) < 2.0 * constants.format.smallest_normal, x, result)
