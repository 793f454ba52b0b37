"""sin, cos and tan.

An argument is written as x = n pi/2 + r with |r| at most a little over pi/4.
n mod 4 selects and signs the polynomial. r is kept as a float and its rounding
error, since r may be far smaller than x: where x lies close to a multiple of
pi/2, all bits of r come from far down in the expansion of pi.

Up to a limit, n pi/2 is subtracted in three steps (Cody and Waite) with fused
multiply-add, of which the first is exact. Beyond, x is multiplied by that
window of the bits of 2/pi which decides the quotient modulo 4 (Payne and
Hanek, "Radian reduction for trigonometric functions", 1983), in integers. That
is a hundred operations, which take long to compile and hardly ever run, and so
they are written for one lane and repeated for each that needs them. The C
library is no way out: next to a multiple of pi/2, glibc's cos was found to be
off by 8 ulp.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.passes.expand.formats import FORMATS
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import (
    Term,
    add_exactly,
    fma,
    in_rare_lanes,
    multiply_exactly,
    multiply_high,
    polynomial,
    select,
)
from jitflow.records import dataclass

TWO_OVER_PI = 0.6366197723675814

TWO_OVER_PI_BITS = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a"
    "424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e41"
    "3991d639835339f49c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf"
    "27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08"
    "56033046fc7b6bab",
    16,
)
"""2/pi, cut off after this many bits:"""
TWO_OVER_PI_LENGTH = 1216


@dataclass(frozen=True)
class Trigonometry:
    """The constants of one format."""

    half_pi: tuple[float, float, float]
    limit: float
    """Up to this, three parts of pi/2 are enough."""
    sin_tail: tuple[float, ...]
    """(sin(r) / r - 1) / z, where z = r**2"""
    cos_tail: tuple[float, ...]
    """(cos(r) - 1 + z / 2) / z**2"""
    tan_tail: tuple[float, ...]
    """(tan(r) / r - 1) / z"""


TRIGONOMETRY = {
    "f32": Trigonometry(
        half_pi=(
            float.fromhex("0x1.921fb6p+0"),
            float.fromhex("-0x1.777a5cp-25"),
            float.fromhex("-0x1.ee59dap-50"),
        ),
        limit=2.0**17,
        sin_tail=(-0.16666667, 0.008333329, -0.00019839233, 2.7173674e-06),
        cos_tail=(0.041666646, -0.0013887306, 2.4431232e-05),
        tan_tail=(0.33333352, 0.13332559, 0.054071993, 0.02121836, 0.011004793, -0.00012885078, 0.0044859173),
    ),
    "f64": Trigonometry(
        half_pi=(
            float.fromhex("0x1.921fb54442d18p+0"),
            float.fromhex("0x1.1a62633145c07p-54"),
            float.fromhex("-0x1.f1976b7ed8fbcp-110"),
        ),
        limit=2.0**40,
        sin_tail=(
            -0.16666666666666666,
            0.008333333333333321,
            -0.00019841269841253223,
            2.75573192132424e-06,
            -2.5052104666388313e-08,
            1.6058335565285458e-10,
            -7.577165158897211e-13,
        ),
        cos_tail=(
            0.04166666666666659,
            -0.00138888888888726,
            2.4801587288492755e-05,
            -2.7557314056704613e-07,
            2.0875681889548524e-09,
            -1.1357448872300375e-11,
        ),
        tan_tail=(
            0.333333333333334,
            0.13333333333322897,
            0.053968253974227096,
            0.021869488363199543,
            0.008863238504707341,
            0.0035920948215454785,
            0.0014560884544727686,
            0.0005886511107591971,
            0.00024451021114453326,
            8.162075178917067e-05,
            7.074520942778818e-05,
            -3.0083033010153873e-05,
            5.234426262945196e-05,
            -2.6107704425856638e-05,
            1.0206418076633392e-05,
        ),
    ),
}


def reduce_quadrant(x: Term[V]) -> tuple[Term[V], Term[V], Term[V]]:
    """Return n modulo 4 in the low bits of an integer, r, and r's rounding error, for |x| up to the limit."""
    form = FORMATS[x.dtype]
    constants = TRIGONOMETRY[x.dtype]
    first, second, third = constants.half_pi
    shifted = fma(x, TWO_OVER_PI, form.rounder)
    quadrant = shifted.bitcast(form.signed)
    n = shifted - form.rounder
    exact = fma(n, -first, x)
    # Not fused: where it cancels, `exact - high` has to be the rounded product.
    high = exact - n * second
    low = fma(n, -third, fma(n, -second, exact - high))
    return quadrant, high, low


def reduce_huge_quadrant(x: Term[V]) -> tuple[Term[V], Term[V], Term[V]]:
    """The same for normal |x| of at least 1, by Payne and Hanek's method.

    With W the width of a word, x = m 2**(e - W + 1) with a W-bit m. Bits of
    2/pi so high that m times them is a multiple of 4 do not matter, and three
    words after them are enough: they give the quotient modulo 4 as two words
    of which the first two bits are the quadrant, and the rest is precise even
    for the argument that is closest to a multiple of pi/2. A word of zeros in
    front of 2/pi keeps the position of the window positive for small e.
    """
    form = FORMATS[x.dtype]
    width = form.width
    bits = abs(x).bitcast(form.unsigned)
    significand = (bits << (width - 1 - form.fraction_bits)) | (1 << (width - 1))
    position = (bits >> form.fraction_bits) - (form.bias + 1)
    top, middle = multiply_window(significand, select_window(position, width))

    quadrant = (top + (1 << (width - 3))) >> (width - 2)
    high_word = ((top << 2) | (middle >> (width - 2))).bitcast(form.signed)
    low_word = middle << 2

    # The fraction of the quadrant in two floats: as many bits of the high word
    # as convert exactly, and then what is left of it and of the low word.
    spare = width - form.fraction_bits - 1
    rest = ((high_word & ((1 << spare) - 1)).bitcast(form.unsigned) << (width - spare)) | (low_word >> spare)
    head = (high_word & -(1 << spare)).cast(x.dtype) * 2.0**-width
    fraction, error = add_exactly(head, rest.cast(x.dtype) * 2.0 ** (spare - 2 * width))

    first, second, _ = TRIGONOMETRY[x.dtype].half_pi
    product, lost = multiply_exactly(fraction, first)
    high, low = add_exactly(product, fma(fraction, second, fma(error, first, lost)))
    negative = x < 0.0
    signed_quadrant = quadrant.bitcast(form.signed)
    # Infinities have no remainder: inf - inf is NaN.
    return (
        select(negative, -signed_quadrant, signed_quadrant),
        select(negative, -high, high) + (x - x),
        select(negative, -low, low),
    )


def select_window(position: Term[V], width: int) -> list[Term[V]]:
    """Three words of 0.000...(2/pi) from this bit position on.

    The words to take are selected by shifting the whole table, by 8, 4, 2 and 1
    words, as the bits of the position say.
    """
    indices = {32: 4, 64: 16}[width]
    length = (indices + 3) * width
    table = TWO_OVER_PI_BITS >> (TWO_OVER_PI_LENGTH + width - length)
    words: list[Term[V]] = [
        position.constant((table >> (length - width * (i + 1))) & ((1 << width) - 1)) for i in range(indices + 3)
    ]
    step = indices // 2
    while step:
        shifted = (position & (step * width)).differs(0)
        words = [select(shifted, words[i + step], words[i]) for i in range(3 + step)]
        step //= 2
    amount = position & (width - 1)
    # The complementary shift is in two steps, since neither may reach the width.
    complement = amount ^ (width - 1)
    return [(words[i] << amount) | (words[i + 1] >> 1 >> complement) for i in range(3)]


def multiply_window(significand: Term[V], window: list[Term[V]]) -> tuple[Term[V], Term[V]]:
    """The second and third lowest word but one of significand * window."""
    first, second, third = window
    middle = significand * second
    middle_sum = middle + multiply_high(significand, third)
    carry = select(middle_sum < middle, middle.constant(1), 0)
    top = significand * first + multiply_high(significand, second) + carry
    return top, middle_sum


def sin_of_remainder(r: Term[V], error: Term[V], z: Term[V]) -> Term[V]:
    """The sine of r + error, where z = r**2."""
    return r + fma(r * z, polynomial(z, TRIGONOMETRY[r.dtype].sin_tail), error)


def cos_of_remainder(r: Term[V], error: Term[V], z: Term[V]) -> Term[V]:
    """The cosine of r + error, where z = r**2."""
    tail = fma(z * z, polynomial(z, TRIGONOMETRY[r.dtype].cos_tail), -(r * error))
    return fma(z, -0.5, 1.0) + tail


def flip_sign(x: Term[V], quadrant: Term[V]) -> Term[V]:
    """Negate x where bit 1 of the quadrant is set."""
    form = FORMATS[x.dtype]
    sign = (quadrant & 2) << (form.width - 2)
    return (x.bitcast(form.signed) ^ sign).bitcast(x.dtype)


def apply_to_remainder(x: Term[V], finish: Callable[[Term[V], Term[V], Term[V]], Term[V]]) -> Term[V]:
    """What `finish` makes of the quadrant, r and r's rounding error, by the reduction that suits each lane."""
    huge = abs(x) > TRIGONOMETRY[x.dtype].limit
    return in_rare_lanes(huge, lambda lane: finish(*reduce_huge_quadrant(lane)), x, finish(*reduce_quadrant(x)))


def is_odd(quadrant: Term[V]) -> Term[V]:
    """Whether sine and cosine change places."""
    return (quadrant & 1).differs(0)


def sin(x: Term[V]) -> Term[V]:
    """The sine."""

    def finish(quadrant: Term[V], r: Term[V], error: Term[V]) -> Term[V]:
        z = r * r
        result = select(is_odd(quadrant), cos_of_remainder(r, error, z), sin_of_remainder(r, error, z))
        return flip_sign(result, quadrant)

    return select(x.equals(0.0), x, apply_to_remainder(x, finish))


def cos(x: Term[V]) -> Term[V]:
    """The cosine."""

    def finish(quadrant: Term[V], r: Term[V], error: Term[V]) -> Term[V]:
        z = r * r
        result = select(is_odd(quadrant), sin_of_remainder(r, error, z), cos_of_remainder(r, error, z))
        return flip_sign(result, quadrant + 1)

    return apply_to_remainder(x, finish)


def tan(x: Term[V]) -> Term[V]:
    """tan(r), or -1 / tan(r) with the rounding errors of tan(r) and of the quotient."""

    def finish(quadrant: Term[V], r: Term[V], error: Term[V]) -> Term[V]:
        z = r * r
        tail = fma(r * z, polynomial(z, TRIGONOMETRY[x.dtype].tan_tail), fma(z, error, error))
        tangent, lost = add_exactly(r, tail)
        quotient = -1.0 / tangent
        residual = fma(quotient, lost, fma(quotient, tangent, 1.0))
        return select(is_odd(quadrant), fma(quotient, residual, quotient), tangent)

    return select(x.equals(0.0), x, apply_to_remainder(x, finish))
