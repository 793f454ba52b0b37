"""Integers, sizes, bools and bits.

Arithmetic wraps around, as NumPy's does: nothing here says `nsw`. Where LLVM's instruction is undefined for some
operands, the operand or the result is selected away in every lane, also in those that a mask will drop; see
`undefined.py` for the list. A divisor or an amount that is a literal folds these selections away.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter, intrinsic_suffix
from jitflow.backends.llvm.emission.rows import Arithmetic, Row, instruction
from jitflow.backends.llvm.emission.types import Number, lanes_of, register_type, splat_literal, vector_of

__all__ = ["INTEGER_PREDICATES", "INTEGER_ROWS"]


def _constant(type: Number, number: int) -> str:
    return splat_literal(type, str(number))


def _mask_type(type: Number) -> str:
    return vector_of("i1", lanes_of(type))


def select(out: Emitter, type: Number, condition: str, yes: str, no: str) -> str:
    """One operand or the other, lane by lane."""
    text = register_type(type)
    return out.let(f"select {_mask_type(type)} {condition}, {text} {yes}, {text} {no}")


def compare(out: Emitter, type: Number, predicate: str, a: str, b: str) -> str:
    """A comparison of integers, by LLVM's name for it."""
    return out.let(f"icmp {predicate} {register_type(type)} {a}, {b}")


def _intrinsic(out: Emitter, name: str, type: Number, *arguments: str) -> str:
    return out.call(register_type(type), f"llvm.{name}.{intrinsic_suffix(type)}", *arguments)


def _wrapping(operation: str) -> Arithmetic:
    """A sum, difference or product; that of the instruction which has just said whether it overflows, if one has."""

    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        return out.exact.get((out.block, operation, a, b)) or out.let(f"{operation} {register_type(type)} {a}, {b}")

    return emit


def _overflows(operation: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        text, intrinsic = register_type(type), f"s{operation}.with.overflow"
        pair = f"{{ {text}, {_mask_type(type)} }}"
        both = out.call(pair, f"llvm.{intrinsic}.{intrinsic_suffix(type)}", f"{text} {a}", f"{text} {b}")
        out.exact[out.block, operation, a, b] = out.let(f"extractvalue {pair} {both}, 0")
        return out.let(f"extractvalue {pair} {both}, 1")

    return emit


def _negative(out: Emitter, type: Number, a: str) -> str:
    return out.let(f"sub {register_type(type)} {_constant(type, 0)}, {a}")


def _absolute(out: Emitter, type: Number, a: str) -> str:
    """The most negative integer stays what it is: ``i1 false`` says that this is no poison."""
    return _intrinsic(out, "abs", type, f"{register_type(type)} {a}", "i1 false")


def _same(out: Emitter, type: Number, a: str) -> str:
    return a


def _not(out: Emitter, type: Number, a: str) -> str:
    ones = splat_literal(type, "true" if type.dtype.kind == "b" else "-1")
    return out.let(f"xor {register_type(type)} {a}, {ones}")


def _shift(operation: str) -> Arithmetic:
    """Shifts by the width or more, or by a negative amount, give 0 or the sign; LLVM leaves them undefined."""

    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        text, width = register_type(type), type.dtype.bits
        if operation == "ashr":
            most = _constant(type, width - 1)
            within = _intrinsic(out, "umin", type, f"{text} {b}", f"{text} {most}")
            return out.let(f"ashr {text} {a}, {within}")
        within = compare(out, type, "ult", b, _constant(type, width))
        shifted = out.let(f"{operation} {text} {a}, {b}")
        return select(out, type, within, shifted, _constant(type, 0))

    return emit


def _divided(out: Emitter, type: Number, operation: str, a: str, b: str) -> tuple[str, str]:
    """What ``operation`` gives with a divisor that is defined in every lane, and where the true one is 0.

    A divisor of 0 becomes 1. So does -1 for signed numbers, after the dividend has been negated where a quotient is
    asked for: the most negative integer by -1 wraps around, and every remainder by -1 is 0, as it is by 1.
    """
    text, one = register_type(type), _constant(type, 1)
    zero = compare(out, type, "eq", b, _constant(type, 0))
    replaced = zero
    if type.dtype.kind == "i":
        minus = compare(out, type, "eq", b, _constant(type, -1))
        if operation == "sdiv":
            a = select(out, type, minus, _negative(out, type, a), a)
        replaced = out.let(f"or {_mask_type(type)} {zero}, {minus}")
    divisor = select(out, type, replaced, one, b)
    return out.let(f"{operation} {text} {a}, {divisor}"), zero


def _truncated(operation: str) -> Arithmetic:
    """The bare instruction: the expansion that made this op has put guards before it."""

    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        sign = "s" if type.dtype.kind == "i" else "u"
        power = int(b).bit_length() - 1 if b.isdigit() and int(b).bit_count() == 1 else 0
        if operation == "div" and sign == "s" and power and not lanes_of(type):
            return _shifted(out, type, a, power)
        return out.let(f"{sign}{operation} {register_type(type)} {a}, {b}")

    return emit


def _shifted(out: Emitter, type: Number, a: str, power: int) -> str:
    """``a / 2**power``, rounded towards zero: sizes are divided in code that is generated without looking for this."""
    text, bits = register_type(type), type.dtype.bits
    negative = out.let(f"ashr {text} {a}, {bits - 1}")
    rounded = out.let(f"lshr {text} {negative}, {bits - power}")
    return out.let(f"ashr {text} {out.let(f'add {text} {a}, {rounded}')}, {power}")


def _fmod(out: Emitter, type: Number, a: str, b: str) -> str:
    """C's remainder; by 0 it is 0, which is also what a remainder by 1 is."""
    return _divided(out, type, "srem" if type.dtype.kind == "i" else "urem", a, b)[0]


def _floor_divide(out: Emitter, type: Number, a: str, b: str) -> str:
    """The quotient rounded down, 0 where the divisor is 0."""
    nothing = _constant(type, 0)
    if type.dtype.kind == "u":
        quotient, zero = _divided(out, type, "udiv", a, b)
        return select(out, type, zero, nothing, quotient)
    quotient, zero = _divided(out, type, "sdiv", a, b)
    inexact = _rounded_up(out, type, _remainder_left(out, type, a, b, quotient), b)
    step = out.let(f"sext {_mask_type(type)} {inexact} to {register_type(type)}")
    down = out.let(f"add {register_type(type)} {quotient}, {step}")
    return select(out, type, zero, nothing, down)


def _remainder_left(out: Emitter, type: Number, a: str, b: str, quotient: str) -> str:
    text = register_type(type)
    product = out.let(f"mul {text} {quotient}, {b}")
    return out.let(f"sub {text} {a}, {product}")


def _rounded_up(out: Emitter, type: Number, rest: str, b: str) -> str:
    """Where truncation rounded up: something is left, and its sign is not the divisor's."""
    text, mask = register_type(type), _mask_type(type)
    some = compare(out, type, "ne", rest, _constant(type, 0))
    signs = out.let(f"xor {text} {rest}, {b}")
    differ = compare(out, type, "slt", signs, _constant(type, 0))
    return out.let(f"and {mask} {some}, {differ}")


def _remainder(out: Emitter, type: Number, a: str, b: str) -> str:
    """The remainder with the divisor's sign, 0 where the divisor is 0."""
    rest = _fmod(out, type, a, b)
    if type.dtype.kind == "u":
        return rest
    up = _rounded_up(out, type, rest, b)
    more = select(out, type, up, b, _constant(type, 0))
    return out.let(f"add {register_type(type)} {rest}, {more}")


def _extremum(direction: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        text = register_type(type)
        name = ("s" if type.dtype.kind == "i" else "u") + direction
        return _intrinsic(out, name, type, f"{text} {a}", f"{text} {b}")

    return emit


def _count(out: Emitter, type: Number, a: str) -> str:
    magnitude = _absolute(out, type, a) if type.dtype.kind == "i" else a
    return _intrinsic(out, "ctpop", type, f"{register_type(type)} {magnitude}")


def _multiply_high(out: Emitter, type: Number, a: str, b: str) -> str:
    """Through twice the width; 64-bit lanes through products of halves, since no vector unit has 128-bit lanes."""
    text, bits, lanes = register_type(type), type.dtype.bits, lanes_of(type)
    if bits == 64 and lanes:
        return _multiply_high_by_halves(out, type, a, b)
    wide = vector_of(f"i{2 * bits}", lanes)
    extend = "sext" if type.dtype.kind == "i" else "zext"
    left, right = (out.let(f"{extend} {text} {operand} to {wide}") for operand in (a, b))
    product = out.let(f"mul {wide} {left}, {right}")
    amount = f"splat (i{2 * bits} {bits})" if lanes else str(bits)
    return out.let(f"trunc {wide} {out.let(f'lshr {wide} {product}, {amount}')} to {text}")


def _multiply_high_by_halves(out: Emitter, type: Number, a: str, b: str) -> str:
    text, low_bits, half = register_type(type), _constant(type, 0xFFFFFFFF), _constant(type, 32)

    def do(operation: str, left: str, right: str) -> str:
        return out.let(f"{operation} {text} {left}, {right}")

    a_low, a_high = do("and", a, low_bits), do("lshr", a, half)
    b_low, b_high = do("and", b, low_bits), do("lshr", b, half)
    low = do("lshr", do("mul", a_low, b_low), half)
    first = do("add", do("mul", a_high, b_low), low)
    second = do("add", do("mul", a_low, b_high), do("and", first, low_bits))
    high = do("add", do("mul", a_high, b_high), do("lshr", first, half))
    product = do("add", high, do("lshr", second, half))
    if type.dtype.kind == "u":
        return product
    # Taken as unsigned, a negative factor is too large by 2**64, which adds the other factor to the upper half.
    sign = _constant(type, 63)
    excess = do("add", do("and", do("ashr", a, sign), b), do("and", do("ashr", b, sign), a))
    return do("sub", product, excess)


def _greatest_common_divisor(out: Emitter, type: Number, a: str, b: str) -> str:
    """Euclid's algorithm, one lane after the other, in a function of its own."""
    name = f"jitflow.gcd.i{type.dtype.bits}"
    out.module.define(name, _GCD.replace("WIDTH", f"i{type.dtype.bits}"))
    if type.dtype.kind == "i":
        a, b = _absolute(out, type, a), _absolute(out, type, b)
    element, lanes = f"i{type.dtype.bits}", lanes_of(type)
    if not lanes:
        return out.let(f"call {element} @{name}({element} {a}, {element} {b})")
    text, result = register_type(type), "poison"
    for lane in range(lanes):
        left = out.let(f"extractelement {text} {a}, i64 {lane}")
        right = out.let(f"extractelement {text} {b}, i64 {lane}")
        value = out.let(f"call {element} @{name}({element} {left}, {element} {right})")
        result = out.let(f"insertelement {text} {result}, {element} {value}, i64 {lane}")
    return result


_GCD = """define internal WIDTH @jitflow.gcd.WIDTH(WIDTH %a, WIDTH %b) #0 {
start:
  br label %next
next:
  %left = phi WIDTH [ %a, %start ], [ %right, %step ]
  %right = phi WIDTH [ %b, %start ], [ %rest, %step ]
  %done = icmp eq WIDTH %right, 0
  br i1 %done, label %end, label %step
step:
  %rest = urem WIDTH %left, %right
  br label %next
end:
  ret WIDTH %left
}"""


def _least_common_multiple(out: Emitter, type: Number, a: str, b: str) -> str:
    """|a| / gcd * |b|, in NumPy's order, so that it wraps around in the same way; 0 where both are 0."""
    divisor = _greatest_common_divisor(out, type, a, b)
    if type.dtype.kind == "i":
        a, b = _absolute(out, type, a), _absolute(out, type, b)
    zero = compare(out, type, "eq", divisor, _constant(type, 0))
    divisor = select(out, type, zero, _constant(type, 1), divisor)
    quotient = out.let(f"udiv {register_type(type)} {a}, {divisor}")
    return out.let(f"mul {register_type(type)} {quotient}, {b}")


def _predicate(name: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        sign = "" if name in ("eq", "ne") else "s" if type.dtype.kind == "i" else "u"
        return compare(out, type, sign + name, a, b)

    return emit


INTEGER_ROWS: list[Row] = [
    Row("add", "iu", _wrapping("add")),
    Row("subtract", "iu", _wrapping("sub")),
    Row("multiply", "iu", _wrapping("mul")),
    Row("floor_divide", "iu", _floor_divide),
    Row("remainder", "iu", _remainder),
    Row("fmod", "iu", _fmod),
    Row("divide_truncated", "iu", _truncated("div")),
    Row("remainder_truncated", "iu", _truncated("rem")),
    Row("negative", "iu", _negative),
    Row("absolute", "i", _absolute),
    Row("absolute", "u", _same),
    Row("maximum", "iu", _extremum("max")),
    Row("minimum", "iu", _extremum("min")),
    Row("fmax", "iu", _extremum("max")),
    Row("fmin", "iu", _extremum("min")),
    Row("maximum", "b", instruction("or")),
    Row("minimum", "b", instruction("and")),
    Row("fmax", "b", instruction("or")),
    Row("fmin", "b", instruction("and")),
    Row("bitwise_and", "biu", instruction("and")),
    Row("bitwise_or", "biu", instruction("or")),
    Row("bitwise_xor", "biu", instruction("xor")),
    Row("bitwise_not", "biu", _not),
    Row("logical_and", "b", instruction("and")),
    Row("logical_or", "b", instruction("or")),
    Row("logical_xor", "b", instruction("xor")),
    Row("logical_not", "b", _not),
    Row("left_shift", "iu", _shift("shl")),
    Row("right_shift", "i", _shift("ashr")),
    Row("right_shift", "u", _shift("lshr")),
    Row("bitwise_count", "iu", _count),
    Row("multiply_high", "iu", _multiply_high),
    Row("gcd", "iu", _greatest_common_divisor),
    Row("lcm", "iu", _least_common_multiple),
]

INTEGER_PREDICATES: list[Row] = [
    Row("less", "biu", _predicate("lt")),
    Row("less_equal", "biu", _predicate("le")),
    Row("greater", "biu", _predicate("gt")),
    Row("greater_equal", "biu", _predicate("ge")),
    Row("equal", "biu", _predicate("eq")),
    Row("not_equal", "biu", _predicate("ne")),
    Row("add_overflows", "i", _overflows("add")),
    Row("subtract_overflows", "i", _overflows("sub")),
    Row("multiply_overflows", "i", _overflows("mul")),
]
