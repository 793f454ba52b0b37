"""cbrt.

An argument is written as |x| = 8**q m with m between 1/2 and 4. A polynomial of m's significand, times one of three
constants, is close to y = m**(-1/3), which unlike the root itself has an iteration without divisions:

    y (1 + e / 3),  e = 1 - m y**3

One step makes half of the digits right. Then t = m y**2 is close to the cube root, and one step of Newton's, with
t**3 - m computed exactly enough and 1 / (3 t**2) taken from y, leaves little more than the last rounding.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from jitflow.passes.expand.formats import FORMATS, INFINITY
from jitflow.passes.expand.logarithm import octave_as_float
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import Term, copysign, fma, multiply_exactly, polynomial, select, settle

RECIPROCAL_ROOT = {
    "f32": (1.5418854, -0.80995876, 0.31775716, -0.049937133),
    "f64": (
        1.7810486184437357,
        -1.5659981726592582,
        1.2437451293586943,
        -0.597846486584046,
        0.1560631228263115,
        -0.017017965730680852,
    ),
}
"""m**(-1/3) for m from 1 to 2"""


def cbrt(x: Term[V]) -> Term[V]:
    """The real cube root, with the sign of x."""
    form = FORMATS[x.dtype]
    magnitude = abs(x)
    denormal = magnitude < form.smallest_normal
    lift = 3 * (form.fraction_bits // 3 + 1)
    rare = ~((magnitude >= form.smallest_normal) & (magnitude < INFINITY))
    normal = settle(rare, lambda: select(denormal, magnitude * 2.0**lift, magnitude), magnitude)
    bits = normal.bitcast(form.signed)
    octave = octave_as_float((bits >> form.fraction_bits) - form.bias, x.dtype)
    shifted = fma(octave, 1.0 / 3.0, form.rounder)
    rest = fma(shifted - form.rounder, -3.0, octave)
    q = shifted.bitcast(form.signed) << form.fraction_bits
    m = (bits - (q + q + q)).bitcast(x.dtype)

    significand = ((bits & ((1 << form.fraction_bits) - 1)) | form.bits(1.0)).bitcast(x.dtype)
    factor = select(rest > 0.0, x.constant(0.5 ** (1 / 3)), select(rest < 0.0, x.constant(2.0 ** (1 / 3)), 1.0))
    y = polynomial(significand, RECIPROCAL_ROOT[x.dtype]) * factor
    y = fma(y * (1.0 / 3.0), fma(-(m * y), y * y, 1.0), y)

    square = y * y
    t = m * square
    t_square, lost = multiply_exactly(t, t)
    excess = fma(t_square, t, -m) + lost * t
    root = fma(excess * square, -1.0 / 3.0, t)
    result = copysign((root.bitcast(form.signed) + q).bitcast(x.dtype), x)

    def settled() -> Term[V]:
        back = select(denormal, result * 2.0 ** -(lift // 3), result)
        return select((magnitude > 0.0) & (magnitude < INFINITY), back, x)

    return settle(rare, settled, result)
