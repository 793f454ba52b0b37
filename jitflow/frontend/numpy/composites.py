"""Ufuncs that are several IR ops, each as NumPy's C code computes it, bit for bit.

A rule takes values of the loop's dtypes whose shapes meet and gives the result, or a tuple where the ufunc has several.
What NumPy computes for float16 through float32 is marked `through_f32`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from jitflow.frontend.numpy.complex_extremes import clip_complex
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import cast, constant_like, dtype_of_value, emit, select
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, F32, I16, I32, I64, U8, U64, DType

__all__ = ["clip", "complex_reciprocal", "deg2rad", "divmod_", "expit", "fabs", "frexp", "heaviside", "ldexp",
           "log_expit", "logit", "mixed_comparison", "modf", "ndtr", "rad2deg", "reciprocal", "through_f32", "truth",
           "xlog1py", "xlogy"]  # fmt: skip

Rule = Callable[..., Any]


def through_f32(rule: Rule) -> Rule:
    """The rule computed in f32 for 16-bit floats and rounded once, as NumPy's half loops are."""

    @wraps(rule)
    def widened(*operands: Value) -> Any:
        dtype = dtype_of_value(operands[0])
        if dtype.name not in ("f16", "bf16"):
            return rule(*operands)
        wide = (cast(operand, F32) if dtype_of_value(operand) == dtype else operand for operand in operands)
        found = rule(*wide)
        if isinstance(found, tuple):
            return tuple(cast(item, dtype) if dtype_of_value(item) == F32 else item for item in found)
        return cast(found, dtype) if dtype_of_value(found) == F32 else found

    return widened


def truth(value: Value) -> Value:
    """Whether a number is not zero: true for nan, as NumPy's logical functions take it."""
    return cast(value, BOOL)


def flag_like(value: Value, flag: bool) -> Value:
    """The same bool for every element."""
    return values.fill(values.constant(flag, BOOL), values.dims(value)) if values.rank(value) else (
        values.constant(flag, BOOL)
    )  # fmt: skip


@through_f32
def deg2rad(x: Value) -> Value:
    return emit("multiply", x, _ratio(x, np.pi, 180.0))


@through_f32
def rad2deg(x: Value) -> Value:
    return emit("multiply", x, _ratio(x, 180.0, np.pi))


def _ratio(x: Value, numerator: float, denominator: float) -> Value:
    """A quotient of constants, rounded in the dtype of ``x``."""
    kind = dtype_of_value(x).numpy.type
    return constant_like(float(kind(numerator) / kind(denominator)), x)


def fabs(x: Value) -> Value:
    return emit("absolute", x)


@through_f32
def reciprocal(x: Value) -> Value:
    dtype = dtype_of_value(x)
    if dtype.is_complex:
        return complex_reciprocal(x)
    if dtype.is_integer:
        quotient = emit("floor_divide", constant_like(1, x), x)
        # 1 // -5 rounds down to -1, but C truncates the quotient of floats to 0.
        one = constant_like(1, x)
        unit = emit("equal", emit("absolute", x), one) if dtype.kind == "i" else emit("equal", x, one)
        inexact = select(unit, quotient, constant_like(0, x))
        zero = emit("equal", x, constant_like(0, x))
        return select(zero, constant_like(_integer_infinity(dtype), x), inexact)
    return emit("divide", constant_like(1.0, x), x)


def _integer_infinity(dtype: DType) -> int:
    """What NumPy gives for the reciprocal of 0 in an integer dtype: its own conversion of infinity."""
    with np.errstate(all="ignore"):
        return int(np.reciprocal(np.zeros(1, dtype.numpy))[0])


def complex_reciprocal(z: Value) -> Value:
    """Smith's method (Robert L. Smith, algorithm 116, CACM 1962), as NumPy has it."""
    a, b = emit("real", z), emit("imag", z)
    one = constant_like(1.0, a)

    def scaled(large: Value, small: Value) -> tuple[Value, Value]:
        ratio = emit("divide", small, large)
        return ratio, emit("add", large, emit("multiply", small, ratio))

    ratio, denominator = scaled(a, b)
    wide = emit("complex", emit("divide", one, denominator), emit("divide", emit("negative", ratio), denominator))
    ratio, denominator = scaled(b, a)
    tall = emit("complex", emit("divide", ratio, denominator), emit("divide", constant_like(-1.0, a), denominator))
    return select(emit("less_equal", emit("absolute", b), emit("absolute", a)), wide, tall)


@through_f32
def heaviside(x: Value, at_zero: Value) -> Value:
    zero, one = constant_like(0.0, x), constant_like(1.0, x)
    stepped = select(emit("less", x, zero), zero, one)
    return select(emit("isnan", x), x, select(emit("equal", x, zero), at_zero, stepped))


def divmod_(a: Value, b: Value) -> tuple[Value, Value]:
    return emit("floor_divide", a, b), emit("remainder", a, b)


@through_f32
def modf(x: Value) -> tuple[Value, Value]:
    whole = emit("trunc", x)
    fraction = select(emit("isinf", x), constant_like(0.0, x), emit("subtract", x, whole))
    return emit("copysign", fraction, x), whole


# -- floats by their bits: exponent field and its bias --------------------------------------------------

_FIELDS = {"f32": (I32, 23, 127), "f64": (I64, 52, 1023)}
_SMALL = {"f32": 2.0**24, "f64": 2.0**53}
"""What makes the smallest subnormal normal."""


@through_f32
def frexp(x: Value) -> tuple[Value, Value]:
    """Mantissa in [0.5, 1) and exponent, from the bits; zero, infinities and nan are their own mantissa."""
    integer, bits, bias = _FIELDS[dtype_of_value(x).name]
    magnitude = emit("absolute", x)
    smallest = constant_like(float(np.finfo(dtype_of_value(x).numpy).smallest_normal), x)
    subnormal = emit("less", magnitude, smallest)
    scaled = select(subnormal, emit("multiply", x, constant_like(_SMALL[dtype_of_value(x).name], x)), x)
    raw = emit("bitcast", scaled, dtype=integer)
    mask = constant_like((1 << (integer.bits - 1 - bits)) - 1, raw)
    field = emit("bitwise_and", emit("right_shift", raw, constant_like(bits, raw)), mask)
    shift = int(np.log2(_SMALL[dtype_of_value(x).name]))
    offset = select(subnormal, constant_like(bias - 1 + shift, raw), constant_like(bias - 1, raw))
    exponent = emit("subtract", field, offset)
    cleared = emit("bitwise_and", raw, constant_like(~(((1 << (integer.bits - 1 - bits)) - 1) << bits), raw))
    half = emit("bitwise_or", cleared, constant_like((bias - 1) << bits, raw))
    mantissa = emit("bitcast", half, dtype=dtype_of_value(x))
    zero = emit("equal", x, constant_like(0.0, x))
    plain = emit("logical_and", emit("isfinite", x), emit("logical_not", zero))
    return select(plain, mantissa, x), cast(select(plain, exponent, constant_like(0, raw)), I32)


@through_f32
def ldexp(x: Value, exponent: Value) -> Value:
    """``x * 2**exponent``, rounded once.

    Three multiplications by powers of two (the way of musl's scalbn); the middle ones are exact, because a step down
    leaves room for all digits before the last one rounds into the subnormals.
    """
    integer, bits, bias = _FIELDS[dtype_of_value(x).name]
    limit = 4 * bias
    if dtype_of_value(exponent).bits < 16:
        exponent = cast(exponent, I16)
    low, high = constant_like(-limit, exponent), constant_like(limit, exponent)
    left = cast(emit("minimum", emit("maximum", exponent, low), high), integer)
    down = -(bias - 1) + bits + 1
    for _ in range(2):
        over = emit("greater", left, constant_like(bias, left))
        under = emit("less", left, constant_like(-(bias - 1), left))
        step = select(over, constant_like(bias, left), select(under, constant_like(down, left), constant_like(0, left)))
        x = emit("multiply", x, _power_of_two(step, x))
        left = emit("subtract", left, step)
    left = emit("minimum", emit("maximum", left, constant_like(-(bias - 1), left)), constant_like(bias, left))
    return emit("multiply", x, _power_of_two(left, x))


def _power_of_two(exponent: Value, like: Value) -> Value:
    integer, bits, bias = _FIELDS[dtype_of_value(like).name]
    assert dtype_of_value(exponent) == integer
    biased = emit("add", exponent, constant_like(bias, exponent))
    return emit("bitcast", emit("left_shift", biased, constant_like(bits, exponent)), dtype=dtype_of_value(like))


def bitwise_count(x: Value) -> Value:
    return cast(emit("bitwise_count", x), U8)


def mixed_comparison(name: str, a: Value, b: Value) -> Value:
    """A comparison of i64 with u64 by value: a negative number is below every unsigned one."""
    signed_first = dtype_of_value(a).kind == "i"
    signed, unsigned = (a, b) if signed_first else (b, a)
    negative = emit("less", signed, constant_like(0, signed))
    as_unsigned = cast(signed, U64)
    compared = emit(name, as_unsigned, unsigned) if signed_first else emit(name, unsigned, as_unsigned)
    if name == "equal":
        return emit("logical_and", emit("logical_not", negative), compared)
    below = name.startswith("less") if signed_first else name.startswith("greater")
    if name == "not_equal" or below:
        return emit("logical_or", negative, compared)
    return emit("logical_and", emit("logical_not", negative), compared)


# -- scipy.special ---------------------------------------------------------------------------------------


@through_f32
def ndtr(x: Value) -> Value:
    """The normal distribution function, as Cephes computes it."""
    scaled = emit("multiply", x, constant_like(float(dtype_of_value(x).numpy.type(np.sqrt(0.5))), x))
    half, one = constant_like(0.5, x), constant_like(1.0, x)
    magnitude = emit("absolute", scaled)
    near = emit("add", half, emit("multiply", half, emit("erf", scaled)))
    tail = emit("multiply", half, emit("erfc", magnitude))
    far = select(emit("greater", scaled, constant_like(0.0, x)), emit("subtract", one, tail), tail)
    return select(emit("less", magnitude, one), near, far)


@through_f32
def expit(x: Value) -> Value:
    """1 / (1 + exp(-x)); where the power overflows a 0 that was chosen, whose derivative is a number as well.

    All of it is made of the power, and so is its derivative: a gradient keeps nothing else.
    """
    zero, one = constant_like(0.0, x), constant_like(1.0, x)
    power = emit("exp", emit("negative", x))
    overflows = emit("equal", power, constant_like(float("inf"), x))
    return select(overflows, zero, emit("divide", one, emit("add", one, power)))


@through_f32
def logit(x: Value) -> Value:
    """log(x / (1 - x)); near 1/2 through log1p, where the quotient cancels."""
    one, half = constant_like(1.0, x), constant_like(0.5, x)
    plain = emit("log", emit("divide", x, emit("subtract", one, x)))
    s = emit("multiply", constant_like(2.0, x), emit("subtract", x, half))
    near = emit("subtract", emit("log1p", s), emit("log1p", emit("negative", s)))
    middle = emit("logical_and", emit("greater_equal", x, constant_like(0.3, x)),
                  emit("less_equal", x, constant_like(0.65, x)))  # fmt: skip
    return select(middle, near, plain)


@through_f32
def log_expit(x: Value) -> Value:
    """log(expit(x)); the magnitude is chosen, since that of 0 has no slope of its own."""
    negative = emit("less", x, constant_like(0.0, x))
    tail = emit("log1p", emit("exp", select(negative, x, emit("negative", x))))
    return select(negative, emit("subtract", x, tail), emit("negative", tail))


def _times_log(x: Value, y: Value, logarithm: str) -> Value:
    zero = constant_like(0.0, x)
    vanishes = emit("logical_and", emit("equal", x, zero), emit("logical_not", emit("isnan", y)))
    product = emit("multiply", x, emit(logarithm, y))
    # Nothing times a number is that product without its sign, so that its derivative is the number.
    nothing = select(emit("isnan", product), zero, emit("add", product, zero))
    return select(vanishes, nothing, product)


def clip(x: Value, low: Value, high: Value) -> Value:
    """Not below ``low`` nor above ``high``. Between two numbers a zero keeps its sign: NumPy compares with them."""
    if dtype_of_value(x).is_complex:
        return clip_complex(x, low, high)
    if values.rank(low) or values.rank(high) or not dtype_of_value(x).is_float:
        return emit("minimum", emit("maximum", x, low), high)
    raised = select(emit("less", x, low), low, x)
    lowered = select(emit("greater", raised, high), high, raised)
    return select(emit("isnan", low), low, select(emit("isnan", high), high, lowered))


@through_f32
def xlogy(x: Value, y: Value) -> Value:
    return _times_log(x, y, "log")


@through_f32
def xlog1py(x: Value, y: Value) -> Value:
    return _times_log(x, y, "log1p")


@through_f32
def entr(x: Value) -> Value:
    zero = constant_like(0.0, x)
    inside = emit("negative", emit("multiply", x, emit("log", x)))
    outside = select(emit("equal", x, zero), zero, constant_like(-np.inf, x))
    return select(emit("isnan", x), x, select(emit("greater", x, zero), inside, outside))


@through_f32
def rel_entr(x: Value, y: Value) -> Value:
    """Relative entropy: x * log(x / y), 0 where x is 0, else infinite outside of positive numbers."""
    zero, ratio = constant_like(0.0, x), emit("divide", x, y)
    near = emit("log1p", emit("divide", emit("subtract", x, y), y))
    apart = emit("subtract", emit("log", x), emit("log", y))  # for a quotient that over- or underflows
    logarithm = select(_between(0.5, ratio, 2.0), near, emit("log", ratio))
    tiny = float(np.finfo(dtype_of_value(x).numpy).tiny)
    logarithm = select(_between(tiny, ratio, np.inf), logarithm, apart)
    vanishes = emit("logical_and", emit("equal", x, zero), emit("greater_equal", y, zero))
    positive = emit("logical_and", emit("greater", x, zero), emit("greater", y, zero))
    outside = select(vanishes, zero, constant_like(np.inf, x))
    unknown = emit("logical_or", emit("isnan", x), emit("isnan", y))
    return select(unknown, constant_like(np.nan, x), select(positive, emit("multiply", x, logarithm), outside))


def _between(low: float, x: Value, high: float) -> Value:
    return emit("logical_and", emit("less", constant_like(low, x), x), emit("less", x, constant_like(high, x)))
