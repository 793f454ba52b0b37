"""Conversions between any two dtypes, for any value, as NumPy's ``astype`` does them on x86-64.

What C leaves undefined, NumPy takes from the machine. A float that an integer cannot hold becomes

- the smallest integer for i64 and i32 (what ``cvttsd2si`` gives);
- the low bits of the i32 for i8, u8, i16 and u16;
- the low bits of the i64 for u32. This is what NumPy gives for a single number; its vector loops give something else,
  which depends on the position in the array;
- for u64 the i64's bits below 2**63, and from there on those of x - 2**63 with the highest bit flipped.

f16 and bf16 go through f32, but f64 is rounded to them once, and so are integers to bf16: rounded to odd on the way
(Boldo and Melquiond 2005), the f32 keeps what the second rounding needs to know. Integers are rounded twice to f16.
"""

from __future__ import annotations

from jitflow.ir.dtypes import DTYPES
from jitflow.passes.expand.notation import Number
from jitflow.passes.expand.primitives import INDEX, dtype_class
from jitflow.passes.expand.term import Term, select

__all__ = ["expand_cast"]


def expand_cast(x: Number, dtype: str) -> Number:
    """The number as another dtype, in primitives."""
    source, target = dtype_class(x.dtype), dtype_class(dtype)
    if x.dtype == dtype:
        return x
    if source == INDEX:
        return expand_cast(x.cast("i64"), dtype) if dtype != "i64" else x.cast("i64")
    if source == "half":
        return _from_half(x, dtype)
    if target == "bool":
        return x.differs(0)
    if source == "bool":
        return select(x, _constant(x, 1, dtype), _constant(x, 0, dtype))
    if target == "half":
        return _to_half(x, dtype)
    if source == "float" and target in ("signed", "unsigned"):
        return _to_integer(x, dtype)
    return x.cast(dtype)


def _constant(beside: Number, value: int, dtype: str) -> Number:
    return Term(beside.machine, beside.machine.constant(value, dtype))


# -- floats to integers ----------------------------------------------------------------------------


def _to_integer(x: Number, dtype: str) -> Number:
    if dtype in ("i32", "i64"):
        return _truncate(x, dtype)
    if dtype == "u64":
        return _to_u64(x)
    if dtype == "u32":
        return _truncate(x, "i64").cast("u32")
    return _truncate(x, "i32").cast(dtype)


def _truncate(x: Number, dtype: str) -> Number:
    """To i32 or i64, with the smallest integer for what does not fit."""
    bound = 2.0 ** (DTYPES[dtype].bits - 1)
    fraction_shows = dtype == "i32" and x.dtype == "f64"
    above = x > -bound - 1 if fraction_shows else x >= -bound
    inside = above & (x < bound)
    return select(inside, select(inside, x, 0.0).cast(dtype), -int(bound))


def _to_u64(x: Number) -> Number:
    large = x >= 2.0**63
    low = _truncate(select(large, x - 2.0**63, x), "i64").bitcast("u64")
    return select(large, low ^ (1 << 63), low)


# -- halves ----------------------------------------------------------------------------------------


def _from_half(x: Number, dtype: str) -> Number:
    wide = x.cast("f32") if x.dtype == "f16" else (x.bitcast("u16").cast("u32") << 16).bitcast("f32")
    return wide if dtype == "f32" else expand_cast(wide, dtype)


def _to_half(x: Number, dtype: str) -> Number:
    if dtype == "bf16" and x.dtype in ("i32", "u32"):
        x = x.cast("f64")
    elif dtype == "bf16" and x.dtype in ("i64", "u64"):
        x = _wide_to_odd(x)
    single = _round_to_odd(x) if x.dtype == "f64" else x if x.dtype == "f32" else x.cast("f32")
    return single.cast("f16") if dtype == "f16" else _round_to_bf16(single)


def _wide_to_odd(x: Number) -> Number:
    """64 bits to f64: where inexact, the neighbour whose last bit is set."""
    last = select((x & 0x7FF).equals(0), _constant(x, 0, x.dtype), _constant(x, 1, x.dtype))
    odd = (x >> 11 | last).cast("f64") * 2.0**11
    beyond = x >> 53
    is_exact = beyond.equals(0) if x.dtype == "u64" else beyond.equals(0) | beyond.equals(-1)
    return select(is_exact, x.cast("f64"), odd)


def _round_to_odd(x: Number) -> Number:
    """f64 to f32: where inexact, the neighbour whose last bit is set."""
    near = x.cast("f32")
    bits, back = near.bitcast("i32"), near.cast("f64")
    wrong = back.differs(x) & x.equals(x) & (bits & 1).equals(0)
    neighbour = select(abs(back) > abs(x), bits - 1, bits + 1)
    return select(wrong, neighbour, bits).bitcast("f32")


def _round_to_bf16(x: Number) -> Number:
    """The upper half of an f32, rounded to nearest, ties to even."""
    bits = x.bitcast("u32")
    rounded = (bits + ((bits >> 16) & 1) + 0x7FFF) >> 16
    quiet = ((bits >> 16) & 0x8000) | 0x7FC0
    return select(x.equals(x), rounded, quiet).cast("u16").bitcast("bf16")
