"""Float arithmetic that no machine has as one instruction, with NumPy's results bit for bit.

The algorithms are those of NumPy's ``npy_math`` (``npy_divmod``, ``npy_spacing``), and that of glibc for ``hypot``.
The half formats differ from f32 and f64 in what NumPy and ml_dtypes do with zeros and with the spacing of f16.
"""

from __future__ import annotations

import math

from jitflow.passes.expand.formats import FORMATS
from jitflow.passes.expand.notation import Number, convert, differ, primitive, smallest_of, width_of
from jitflow.passes.expand.term import Term, copysign, fma, select, settle

# -- division ------------------------------------------------------------------------------


def float_fmod(a: Number, b: Number) -> Number:
    """C's ``fmod``, exact. Where the quotient fits into the fraction, one division and one fma do.

    With q = trunc(a / b), the quotient rounded, q is right or one too large, and a - q * b is representable in both
    cases. Lanes with larger quotients, infinities, nan or a zero divisor make the vector call the C library.
    """
    quotient = a / b
    whole = Term(a.machine, a.machine.trunc(quotient.value))
    exact = fma(-whole, b, a)
    overshot = exact.differs(0) & differ(exact < 0, a < 0)
    exact = select(overshot, exact + copysign(abs(b), a), exact)
    quick = copysign(select(whole.equals(0), a, exact), a)
    hard = ~(abs(quotient) < 2.0 ** FORMATS[a.dtype].fraction_bits)
    return settle(hard, lambda: select(hard, primitive("fmod", a, b), quick), quick)


def float_floor_divide(a: Number, b: Number) -> Number:
    """``npy_floor_divide``: from the exact remainder, so that a == (a // b) * b + a % b as far as floats allow."""
    remainder = float_fmod(a, b)
    quotient = (a - remainder) / b
    opposite = remainder.differs(0) & differ(b < 0, remainder < 0)
    quotient = select(opposite, quotient - 1, quotient)
    whole = Term(a.machine, a.machine.floor(quotient.value))
    whole = select(quotient - whole > 0.5, whole + 1, whole)
    plain = a / b
    zero = copysign(a.constant(0.0), plain)
    return select(b.equals(0), plain, select(quotient.equals(0), zero, whole))


def float_remainder(a: Number, b: Number) -> Number:
    """``npy_remainder``: fmod moved to the sign of b; a zero gets that sign too."""
    remainder = float_fmod(a, b)
    opposite = differ(b < 0, remainder < 0)
    moved = select(opposite, remainder + b, remainder)
    signed = select(remainder.equals(0), copysign(a.constant(0.0), b), moved)
    return select(b.equals(0), remainder, signed)


# -- everything else -----------------------------------------------------------------------


def float_sign(x: Number) -> Number:
    """-1, 1, nan, or +0.0 for both zeros."""
    return select(x > 0, 1.0, select(x < 0, -1.0, select(x.equals(0), 0.0, x)))


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x * x + y * y) as glibc computes it: through f64 for f32; for f64 with Borges' correction (2019).

    Whose squares would be no normal numbers is rare, and scaled in a branch.
    """
    infinite = abs(x).equals(math.inf) | abs(y).equals(math.inf)
    if x.dtype == "f32":
        wide_x, wide_y = x.cast("f64"), y.cast("f64")
        root = (wide_x * wide_x + wide_y * wide_y).sqrt().cast("f32")
        return select(infinite, math.inf, root)
    swapped = abs(x) < abs(y)
    large, small = select(swapped, abs(y), abs(x)), select(swapped, abs(x), abs(y))
    tiny = small <= large * 2.0**-54
    usual = (large <= 2.0**511) & (tiny | (small >= 2.0**-459))
    root = settle(~usual, lambda: _scaled_root(large, small, infinite), _corrected_root(large, small))
    return select(tiny, large + small, root)


def _scaled_root(large: Number, small: Number, infinite: Number) -> Number:
    down, up = large > 2.0**511, (small < 2.0**-459) & (large < 2.0**459)
    scale = select(down, large.constant(2.0**-600), select(up, large.constant(2.0**600), 1.0))
    back = select(down, large.constant(2.0**600), select(up, large.constant(2.0**-600), 1.0))
    return select(infinite, math.inf, _corrected_root(large * scale, small * scale) * back)


def _corrected_root(large: Number, small: Number) -> Number:
    """The rounded root less what it is off by, which is found from the exact difference of the squares."""
    root = (large * large + small * small).sqrt()
    near = root <= small * 2.0
    over_small = root - small
    first = large * (over_small * 2.0 - large)
    second = (over_small - (large - small) * 2.0) * over_small
    over_large = root - large
    third = over_large * 2.0 * (large - small * 2.0)
    fourth = (over_large * 4.0 - small) * small + over_large * over_large
    excess = select(near, first, third) + select(near, second, fourth)
    return root - excess / (root * 2.0)


def nextafter(a: Number, b: Number) -> Number:
    """One step on the bits, which are ordered as the magnitudes are. Equal zeros give b, or a for f16, as in NumPy."""
    bits, start, target = _bits(a), _wide(a), _wide(b)
    outward = (start < target) & (start > 0) | (start > target) & (start < 0)
    stepped = select(outward, bits + 1, bits - 1)
    smallest = _bits(b) & smallest_of(bits) | 1
    moved = select(start.equals(0), smallest, stepped).bitcast(a.dtype)
    sum_with_nan = convert(start + target, a.dtype)
    known = start.equals(start) & target.equals(target)
    there = a if a.dtype == "f16" else b
    return select(known, select(start.equals(target), there, moved), sum_with_nan)


def spacing(x: Number) -> Number:
    """The distance to the neighbour away from zero, with the sign of x; nan for infinities.

    -0.0 has the smallest positive number as its spacing, and for bf16 the negative one.
    """
    bits, start = _bits(x), _wide(x)
    beyond = bits + 1
    if x.dtype != "bf16":
        beyond = select(start.equals(0), 1, beyond)
    return _distance(x, beyond)


def f16_spacing(x: Number) -> Number:
    """The distance to the neighbour above: NumPy's spacing of f16 is positive, and halved at -1.0, -2.0..."""
    bits, start = _bits(x), _wide(x)
    return _distance(x, select(start.equals(0), 1, select(start < 0, bits - 1, bits + 1)))


def _distance(x: Number, neighbour: Number) -> Number:
    start, end = _wide(x), _wide(neighbour.bitcast(x.dtype))
    return convert(select(abs(start) < math.inf, end - start, math.nan), x.dtype)


def half_sign(x: Number) -> Number:
    """The sign; for bf16 a zero keeps its own."""
    sign = convert(float_sign(convert(x, "f32")), x.dtype)
    return sign if x.dtype == "f16" else select(convert(x, "f32").equals(0), x, sign)


def half_spacing(x: Number) -> Number:
    """The spacing of f16 as NumPy has it, of bf16 as ml_dtypes has it."""
    return f16_spacing(x) if x.dtype == "f16" else spacing(x)


def flush(x: Number) -> Number:
    """Zero for numbers below the smallest normal one, with which processors calculate a hundred times as slowly."""
    wide = _wide(x)
    smallest = 2.0**-14 if x.dtype == "f16" else FORMATS[wide.dtype].smallest_normal
    return select(abs(wide) < smallest, x.constant(0.0), x)


def _bits(x: Number) -> Number:
    return x.bitcast(f"i{width_of(x)}")


def _wide(x: Number) -> Number:
    """A float that can be compared and subtracted: halves are converted to f32."""
    return convert(x, "f32") if width_of(x) == 16 else x
