"""Integer arithmetic that no machine has as one instruction, with NumPy's results bit for bit.

What is undefined behaviour in LLVM or C (a divisor of 0, the smallest integer by -1, a shift by the width) never
reaches a primitive: operands are replaced first, in all lanes. Sizes divide as signed integers of 64 bits do.
"""

from __future__ import annotations

from collections.abc import Callable

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
from jitflow.passes.expand.term import multiply_high, select

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


def integer_power_modulo(base: Number, exponent: Number, modulus: Number) -> Number:
    """Repeated squaring of rests. Products of rests of half a word fit into one, others have two.

    Either loop has no turns where the other one is right, so that neither stands in a branch.
    """
    size = _magnitude(modulus)
    size = select(size.equals(0), 1, size)
    rest = primitive("remainder_truncated", _magnitude(base), size)
    if signed(base):
        rest = select((base < 0) & rest.differs(0), size - rest, rest)
    exponent, half = unsigned(exponent), width_of(base) // 2
    is_narrow = size <= 1 << half
    one = select(size.equals(1), 0, size.constant(1))

    def narrow(a: Number, b: Number) -> Number:
        return primitive("remainder_truncated", a * b, size)

    _, result = _power(narrow, rest, one, select(is_narrow, exponent, 0))
    _, result = _power(_product_of_rests(size), rest, result, select(is_narrow, 0, exponent))
    if signed(base):
        result = select((modulus < 0) & result.differs(0), result - size, result).bitcast(base.dtype)
    return select(modulus.equals(0), 0, result)


def _power(
    product: Callable[[Number, Number], Number], square: Number, result: Number, exponent: Number
) -> tuple[Number, Number]:
    def step(square: Number, result: Number, rest: Number) -> tuple[Number, ...]:
        odd = (rest & 1).differs(0)
        return product(square, square), select(odd, product(result, square), result), rest >> 1

    square, result, _ = repeat_while(lambda _, __, rest: rest.differs(0), step, square, result, exponent)
    return square, result


def _product_of_rests(modulus: Number) -> Callable[[Number, Number], Number]:
    """What divides the product of two rests, of two words, by the modulus.

    As Knuth does (The Art of Computer Programming, volume 2, 4.3.1, algorithm D) with two digits of half a word: one
    that is guessed from the first digit of the modulus, whose highest bit is set, is at most two too large.
    """
    width = width_of(modulus)
    half, limit = width // 2, 1 << (width // 2)
    scaled, shift = repeat_while(
        lambda scaled, _: scaled < 1 << (width - 1),
        lambda scaled, shift: (scaled << 1, shift + 1),
        modulus, modulus.constant(0),
    )  # fmt: skip
    first, second = scaled >> half, scaled & (limit - 1)

    def rest_of(high: Number, digit: Number) -> Number:
        guess = primitive("divide_truncated", high, first)
        left = high - guess * first
        for _ in range(2):
            beyond = (guess >= limit) | (guess * second > ((left << half) | digit))
            beyond = beyond & (left < limit)
            guess, left = select(beyond, guess - 1, guess), select(beyond, left + first, left)
        return ((high << half) | digit) - guess * scaled

    def product(a: Number, b: Number) -> Number:
        high, low = multiply_high(a, b), a * b
        high = (high << shift) | ((low >> 1) >> ((width - 1) - shift))
        low = low << shift
        return rest_of(rest_of(high, low >> half), low & (limit - 1)) >> shift

    return product


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
