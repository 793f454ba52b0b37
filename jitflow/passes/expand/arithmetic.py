"""Arithmetic that no machine has as one instruction, with NumPy's results bit for bit.

Everything that is not an elementary function: division that rounds down, integer powers, shifts by any amount, Euclid's
algorithm, the neighbours of floats, comparisons of bools. Each function takes and gives terms of one dtype class;
`ARITHMETIC` says which op of which class it expands. What is undefined behaviour in LLVM or C (a divisor of 0, the
smallest integer by -1, a shift by the width) never reaches a primitive: operands are replaced first, in all lanes.

The algorithms for floats are those of NumPy's ``npy_math`` (``npy_divmod``, ``npy_spacing``), and that
of glibc for ``hypot``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from jitflow.ir.core import Value
from jitflow.ir.dtypes import DTYPES
from jitflow.passes.expand.builder_machine import BuilderMachine
from jitflow.passes.expand.formats import FORMATS
from jitflow.passes.expand.primitives import INDEX
from jitflow.passes.expand.term import Term, copysign, fma, if_any, select

__all__ = ["ARITHMETIC", "Number", "apply", "convert", "machine_of", "primitive", "repeat_while", "unsigned"]

Number: TypeAlias = Term[Value]


# -- notation beyond that of `Term` ----------------------------------------------------------------


def machine_of(x: Number) -> BuilderMachine:
    """The machine behind a term, which has more than the protocol asks for."""
    assert isinstance(x.machine, BuilderMachine)
    return x.machine


def apply(name: str, *operands: Number) -> Number:
    """Any elementwise op, expanded in its turn if it is no primitive."""
    machine = machine_of(operands[0])
    return Term(machine, machine.apply(name, *(operand.value for operand in operands)))


def primitive(name: str, *operands: Number) -> Number:
    """A primitive of the operands' dtype that the protocol does not name."""
    machine = machine_of(operands[0])
    return Term(machine, machine.primitive(name, *(operand.value for operand in operands)))


def convert(x: Number, dtype: str) -> Number:
    """What ``astype`` gives, for any value and any two dtypes."""
    machine = machine_of(x)
    return Term(machine, machine.convert(x.value, dtype))


def repeat_while(
    condition: Callable[..., Number], body: Callable[..., tuple[Number, ...]], *values: Number
) -> tuple[Number, ...]:
    """The loop of `BuilderMachine.repeat_while`, on terms."""
    machine = machine_of(values[0])

    def terms(carried: tuple[Value, ...]) -> tuple[Number, ...]:
        return tuple(Term(machine, value) for value in carried)

    results = machine.repeat_while(
        lambda *carried: condition(*terms(carried)).value,
        lambda *carried: tuple(term.value for term in body(*terms(carried))),
        tuple(value.value for value in values),
    )
    return terms(results)


def unsigned(x: Number) -> Number:
    """An integer's or a float's bits as an unsigned integer."""
    return x if x.dtype[0] == "u" else x.bitcast(f"u{_width(x)}")


def _signed(x: Number) -> bool:
    return x.dtype[0] == "i"


def _width(x: Number) -> int:
    return 64 if x.dtype == INDEX else DTYPES[x.dtype].bits


def _smallest(x: Number) -> int:
    return -1 << (_width(x) - 1)


# -- integers: division ----------------------------------------------------------------------------


def integer_floor_divide(a: Number, b: Number) -> Number:
    """The quotient rounded down; 0 for b == 0, and the smallest integer stays itself beside -1."""
    zero = b.equals(0)
    if not _signed(a) and a.dtype != INDEX:
        return select(zero, 0, primitive("divide_truncated", a, select(zero, 1, b)))
    overflow = b.equals(-1) & a.equals(_smallest(a))
    divisor = select(zero | overflow, 1, b)
    quotient = primitive("divide_truncated", a, divisor)
    remainder = a - quotient * divisor
    below = remainder.differs(0) & differ(remainder < 0, divisor < 0)
    return select(zero, 0, select(below, quotient - 1, quotient))


def integer_remainder(a: Number, b: Number) -> Number:
    """The remainder with the sign of b; 0 for b == 0."""
    remainder = integer_fmod(a, b)
    if not _signed(a) and a.dtype != INDEX:
        return remainder
    below = remainder.differs(0) & differ(remainder < 0, b < 0)
    return select(below, remainder + b, remainder)


def integer_fmod(a: Number, b: Number) -> Number:
    """The remainder with the sign of a; 0 for b == 0. Beside -1, as beside 1, it is 0 without dividing."""
    trivial = b.equals(0)
    if _signed(a) or a.dtype == INDEX:
        trivial = trivial | b.equals(-1)
    return primitive("remainder_truncated", a, select(trivial, 1, b))


def differ(a: Number, b: Number) -> Number:
    """Exclusive or of masks."""
    return primitive("logical_xor", a, b)


# -- integers: everything else ---------------------------------------------------------------------


def integer_absolute(x: Number) -> Number:
    return select(x < 0, -x, x) if _signed(x) else x


def integer_sign(x: Number) -> Number:
    positive = select(x > 0, x.constant(1), 0)
    return select(x < 0, -1, positive) if _signed(x) else positive


def integer_maximum(a: Number, b: Number) -> Number:
    return select(a > b, a, b)


def integer_minimum(a: Number, b: Number) -> Number:
    return select(a < b, a, b)


def integer_power(base: Number, exponent: Number) -> Number:
    """Repeated squaring, wrapping around. The exponent counts as unsigned, so that the loop ends whatever it is."""

    def step(result: Number, square: Number, rest: Number) -> tuple[Number, ...]:
        odd = (rest & 1).differs(0)
        return select(odd, result * square, result), square * square, rest >> 1

    one = base.constant(1)
    result, _, _ = repeat_while(lambda _, __, rest: rest.differs(0), step, one, base, unsigned(exponent))
    return result


def left_shift(x: Number, amount: Number) -> Number:
    """0 where the amount is negative, the width or more."""
    inside = unsigned(amount) < _width(x)
    return select(inside, x << select(inside, amount, 0), 0)


def right_shift(x: Number, amount: Number) -> Number:
    """Only the sign is left where the amount is negative, the width or more."""
    inside = unsigned(amount) < _width(x)
    if _signed(x):
        return x >> select(inside, amount, _width(x) - 1)
    return select(inside, x >> select(inside, amount, 0), 0)


def greatest_common_divisor(a: Number, b: Number) -> Number:
    """Euclid's algorithm on the magnitudes."""
    return _euclid(_magnitude(a), _magnitude(b)).bitcast(a.dtype)


def least_common_multiple(a: Number, b: Number) -> Number:
    """|a| / gcd * |b|, wrapping around; 0 where both are 0."""
    first, second = _magnitude(a), _magnitude(b)
    divisor = _euclid(first, second)
    quotient = primitive("divide_truncated", first, select(divisor.equals(0), 1, divisor))
    return (quotient * second).bitcast(a.dtype)


def _magnitude(x: Number) -> Number:
    return unsigned(integer_absolute(x))


def _euclid(a: Number, b: Number) -> Number:
    def step(a: Number, b: Number) -> tuple[Number, ...]:
        done = b.equals(0)
        remainder = primitive("remainder_truncated", a, select(done, 1, b))
        return select(done, a, b), select(done, 0, remainder)

    return repeat_while(lambda _, b: b.differs(0), step, a, b)[0]


def bitwise_count(x: Number) -> Number:
    """How many bits of |x| are set: sums in fields of 2, 4 and 8 bits, then all bytes at once by a product."""
    width = _width(x)

    def repeated(byte: int) -> int:
        return byte * ((1 << width) - 1) // 0xFF

    bits = _magnitude(x)
    bits = bits - ((bits >> 1) & repeated(0x55))
    bits = (bits & repeated(0x33)) + ((bits >> 2) & repeated(0x33))
    bits = (bits + (bits >> 4)) & repeated(0x0F)
    if width > 8:
        bits = (bits * repeated(0x01)) >> (width - 8)
    return bits.bitcast(x.dtype)


# -- floats: division ------------------------------------------------------------------------------


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
    (result,) = if_any(hard, lambda: (select(hard, primitive("fmod", a, b), quick),), (quick,))
    return result


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


# -- floats: everything else -----------------------------------------------------------------------


def float_sign(x: Number) -> Number:
    """-1, 1, nan, or +0.0 for both zeros."""
    return select(x > 0, 1.0, select(x < 0, -1.0, select(x.equals(0), 0.0, x)))


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x * x + y * y) as glibc computes it: through f64 for f32; for f64 with Borges' correction (2019)."""
    infinite = abs(x).equals(math.inf) | abs(y).equals(math.inf)
    if x.dtype == "f32":
        wide_x, wide_y = x.cast("f64"), y.cast("f64")
        root = (wide_x * wide_x + wide_y * wide_y).sqrt().cast("f32")
        return select(infinite, math.inf, root)
    swapped = abs(x) < abs(y)
    large, small = select(swapped, abs(y), abs(x)), select(swapped, abs(x), abs(y))
    down, up = large > 2.0**511, (small < 2.0**-459) & (large < 2.0**459)
    scale = select(down, x.constant(2.0**-600), select(up, x.constant(2.0**600), 1.0))
    back = select(down, x.constant(2.0**600), select(up, x.constant(2.0**-600), 1.0))
    root = _corrected_root(large * scale, small * scale) * back
    return select(infinite, math.inf, select(small <= large * 2.0**-54, large + small, root))


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
    smallest = _bits(b) & _smallest(bits) | 1
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
    return f16_spacing(x) if x.dtype == "f16" else spacing(x)


def _bits(x: Number) -> Number:
    return x.bitcast(f"i{_width(x)}")


def _wide(x: Number) -> Number:
    """A float that can be compared and subtracted: halves are converted to f32."""
    return convert(x, "f32") if _width(x) == 16 else x


# -- bools -----------------------------------------------------------------------------------------


def bool_less(a: Number, b: Number) -> Number:
    return ~a & b


def bool_less_equal(a: Number, b: Number) -> Number:
    return ~a | b


def bool_equal(a: Number, b: Number) -> Number:
    return ~differ(a, b)


# -- which op of which class ------------------------------------------------------------------------

_INTEGER: dict[str, Callable[..., Number]] = {
    "floor_divide": integer_floor_divide,
    "remainder": integer_remainder,
    "fmod": integer_fmod,
    "absolute": integer_absolute,
    "sign": integer_sign,
    "maximum": integer_maximum,
    "minimum": integer_minimum,
    "fmax": integer_maximum,
    "fmin": integer_minimum,
    "power": integer_power,
    "left_shift": left_shift,
    "right_shift": right_shift,
    "gcd": greatest_common_divisor,
    "lcm": least_common_multiple,
    "bitwise_count": bitwise_count,
}

ARITHMETIC: dict[str, dict[str, Callable[..., Number]]] = {
    "signed": _INTEGER,
    "unsigned": _INTEGER,
    "half": {"nextafter": nextafter, "spacing": half_spacing, "sign": half_sign},
    INDEX: {"floor_divide": integer_floor_divide, "remainder": integer_remainder},
    "float": {
        "floor_divide": float_floor_divide,
        "remainder": float_remainder,
        "fmod": float_fmod,
        "sign": float_sign,
        "hypot": hypot,
        "nextafter": nextafter,
        "spacing": spacing,
    },
    "bool": {
        "less": bool_less,
        "less_equal": bool_less_equal,
        "greater": lambda a, b: bool_less(b, a),
        "greater_equal": lambda a, b: bool_less_equal(b, a),
        "equal": bool_equal,
        "not_equal": differ,
        "maximum": lambda a, b: a | b,
        "minimum": lambda a, b: a & b,
        "fmax": lambda a, b: a | b,
        "fmin": lambda a, b: a & b,
        "bitwise_and": lambda a, b: a & b,
        "bitwise_or": lambda a, b: a | b,
        "bitwise_xor": differ,
        "bitwise_not": lambda a: ~a,
    },
}
"""By class of dtype, then by op."""
