"""Integer arithmetic that no machine has as one instruction, with NumPy's results bit for bit.

What is undefined behaviour in LLVM or C (a divisor of 0, the smallest integer by -1, a shift by the width) never
reaches a primitive: operands are replaced first, in all lanes. Sizes divide as signed integers of 64 bits do.
"""

from __future__ import annotations

from jitflow.ir.types import Vector
from jitflow.passes.expand.notation import (
    Number,
    differ,
    primitive,
    repeat_while,
    signed,
    smallest_of,
    unsigned,
    width_of,
)
from jitflow.passes.expand.term import select

# -- division ----------------------------------------------------------------------------


def integer_floor_divide(a: Number, b: Number) -> Number:
    """The quotient rounded down; 0 for b == 0, and the smallest integer stays itself beside -1."""
    zero = b.equals(0)
    if not signed(a):
        return select(zero, 0, primitive("divide_truncated", a, select(zero, 1, b)))
    overflow = b.equals(-1) & a.equals(smallest_of(a))
    divisor = select(zero | overflow, 1, b)
    quotient = primitive("divide_truncated", a, divisor)
    remainder = a - quotient * divisor
    below = remainder.differs(0) & differ(remainder < 0, divisor < 0)
    return select(zero, 0, select(below, quotient - 1, quotient))


def integer_remainder(a: Number, b: Number) -> Number:
    """The remainder with the sign of b; 0 for b == 0."""
    remainder = integer_fmod(a, b)
    if not signed(a):
        return remainder
    below = remainder.differs(0) & differ(remainder < 0, b < 0)
    return select(below, remainder + b, remainder)


def integer_fmod(a: Number, b: Number) -> Number:
    """The remainder with the sign of a; 0 for b == 0. Beside -1, as beside 1, it is 0 without dividing."""
    trivial = b.equals(0)
    if signed(a):
        trivial = trivial | b.equals(-1)
    return primitive("remainder_truncated", a, select(trivial, 1, b))


# -- everything else ---------------------------------------------------------------------


def integer_absolute(x: Number) -> Number:
    """The magnitude; the smallest integer stays itself."""
    return select(x < 0, -x, x) if signed(x) else x


def integer_sign(x: Number) -> Number:
    """-1, 0 or 1."""
    positive = select(x > 0, x.constant(1), 0)
    return select(x < 0, -1, positive) if signed(x) else positive


def integer_maximum(a: Number, b: Number) -> Number:
    """The larger; backends know this pair of ops as one instruction."""
    return select(a > b, a, b)


def integer_minimum(a: Number, b: Number) -> Number:
    """The smaller, likewise."""
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
    inside = unsigned(amount) < width_of(x)
    return select(inside, x << select(inside, amount, 0), 0)


def right_shift(x: Number, amount: Number) -> Number:
    """Only the sign is left where the amount is negative, the width or more."""
    inside = unsigned(amount) < width_of(x)
    if signed(x):
        return x >> select(inside, amount, width_of(x) - 1)
    return select(inside, x >> select(inside, amount, 0), 0)


def greatest_common_divisor(a: Number, b: Number) -> Number:
    """Of the magnitudes, by Euclid's algorithm; lanes, which no processor divides at once, by Stein's."""
    return _common_divisor(_magnitude(a), _magnitude(b)).bitcast(a.dtype)


def least_common_multiple(a: Number, b: Number) -> Number:
    """|a| / gcd * |b|, wrapping around; 0 where both are 0."""
    first, second = _magnitude(a), _magnitude(b)
    divisor = _common_divisor(first, second)
    quotient = primitive("divide_truncated", first, select(divisor.equals(0), 1, divisor))
    return (quotient * second).bitcast(a.dtype)


def _magnitude(x: Number) -> Number:
    return unsigned(integer_absolute(x))


def _common_divisor(a: Number, b: Number) -> Number:
    return _stein(a, b) if isinstance(a.value.type, Vector) else _euclid(a, b)


def _stein(a: Number, b: Number) -> Number:
    """Stein's algorithm (1967): the difference of odd numbers is even, and twos that both have count for themselves."""
    bits = a | b
    none = bits.equals(0)
    twos = bits & (bits.constant(0) - bits)
    a = select(none, 1, select(a.equals(0), b, a))
    (odd,) = repeat_while(_is_even, lambda a: (select(_is_even(a), a >> 1, a),), a)

    def step(odd: Number, rest: Number) -> tuple[Number, ...]:
        even, less = _is_even(rest), rest < odd
        difference = select(less, odd - rest, rest - odd)
        smaller = select(less, rest, odd)
        return select(even, odd, smaller), select(even, rest, difference) >> 1

    odd, _ = repeat_while(lambda _, rest: rest.differs(0), step, odd, b)
    return select(none, 0, odd * twos)


def _is_even(x: Number) -> Number:
    return (x & 1).equals(0)


def _euclid(a: Number, b: Number) -> Number:
    def step(a: Number, b: Number) -> tuple[Number, ...]:
        done = b.equals(0)
        remainder = primitive("remainder_truncated", a, select(done, 1, b))
        return select(done, a, b), select(done, 0, remainder)

    return repeat_while(lambda _, b: b.differs(0), step, a, b)[0]


def bitwise_count(x: Number) -> Number:
    """How many bits of |x| are set: sums in fields of 2, 4 and 8 bits, then all bytes at once by a product."""
    width = width_of(x)

    def repeated(byte: int) -> int:
        return byte * ((1 << width) - 1) // 0xFF

    bits = _magnitude(x)
    bits = bits - ((bits >> 1) & repeated(0x55))
    bits = (bits & repeated(0x33)) + ((bits >> 2) & repeated(0x33))
    bits = (bits + (bits >> 4)) & repeated(0x0F)
    if width > 8:
        bits = (bits * repeated(0x01)) >> (width - 8)
    return bits.bitcast(x.dtype)
