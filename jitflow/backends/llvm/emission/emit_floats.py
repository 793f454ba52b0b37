"""Floats: arithmetic, rounding, comparisons and properties.

Everything is IEEE 754 with rounding to nearest, and nothing is contracted or reassociated; `fast_math` adds LLVM's
flags for that, but never those that would let NaN or infinity go wrong. f16 and bf16 are computed in f32 and rounded
after every operation (`through_f32`), except where only bits are looked at.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.convert import narrow_float, widen_half
from jitflow.backends.llvm.emission.emit_integers import select
from jitflow.backends.llvm.emission.emitter import Emitter, intrinsic_suffix
from jitflow.backends.llvm.emission.rows import Arithmetic, Row, instruction
from jitflow.backends.llvm.emission.types import (
    Number,
    lanes_of,
    literal,
    register_type,
    splat_literal,
    vector_of,
    with_element,
)
from jitflow.ir.dtypes import F32

__all__ = ["FLOAT_PREDICATES", "FLOAT_ROWS", "compare", "predicate_through_f32", "through_f32"]

INFINITY = float("inf")


def compare(out: Emitter, type: Number, predicate: str, a: str, b: str) -> str:
    """A comparison of floats, by LLVM's name for it: ``o...`` is false and ``u...`` true where either is NaN."""
    return out.let(f"fcmp {predicate} {register_type(type)} {a}, {b}")


def _arithmetic(name: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        return out.let(f"{name} {out.module.fast_flags}{register_type(type)} {a}, {b}")

    return emit


def _intrinsic(name: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, *operands: str) -> str:
        text = register_type(type)
        return out.call(text, f"llvm.{name}.{intrinsic_suffix(type)}", *(f"{text} {operand}" for operand in operands))

    return emit


def _negative(out: Emitter, type: Number, a: str) -> str:
    return out.let(f"fneg {register_type(type)} {a}")


def _extremum(better: str, chosen: str) -> Arithmetic:
    """``a`` if it is ``better``, else ``b``: one instruction on x86, which gives ``b`` where either is NaN.

    So one more comparison is needed, for where that is wrong: ``chosen`` ``"nan"`` wants a NaN in ``a`` to win,
    ``"number"`` a NaN in ``b`` to lose. Of equal zeros the second is taken, as NumPy's vector loops do.
    """

    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        best = select(out, type, compare(out, type, better, a, b), a, b)
        suspect = a if chosen == "nan" else b
        return select(out, type, compare(out, type, "uno", suspect, suspect), a, best)

    return emit


def _predicate(name: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str, b: str) -> str:
        return compare(out, type, name, a, b)

    return emit


def _is_nan(out: Emitter, type: Number, a: str) -> str:
    return compare(out, type, "uno", a, a)


def _against_infinity(predicate: str) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str) -> str:
        infinity = splat_literal(type, literal(INFINITY, type.dtype))
        return compare(out, type, predicate, _intrinsic("fabs")(out, type, a), infinity)

    return emit


def bits_of(out: Emitter, type: Number, a: str) -> tuple[str, str]:
    """The LLVM type of the integers of the same width, and a float's bits as one."""
    integer = vector_of(f"i{type.dtype.bits}", lanes_of(type))
    text = register_type(type)
    return integer, a if text == integer else out.let(f"bitcast {text} {a} to {integer}")


def _sign_bit(out: Emitter, type: Number, a: str) -> str:
    integer, bits = bits_of(out, type, a)
    return out.let(f"icmp slt {integer} {bits}, zeroinitializer")


# Signs of halves, which are i16 in registers: flipping, clearing and copying a bit is exact also for NaN.


def _half_bits(operation: str, mask: int) -> Arithmetic:
    def emit(out: Emitter, type: Number, a: str) -> str:
        return out.let(f"{operation} {register_type(type)} {a}, {splat_literal(type, str(mask))}")

    return emit


_half_magnitude, _half_sign = _half_bits("and", 0x7FFF), _half_bits("and", 0x8000)


def _half_copysign(out: Emitter, type: Number, a: str, b: str) -> str:
    return instruction("or")(out, type, _half_magnitude(out, type, a), _half_sign(out, type, b))


def _copysign(out: Emitter, type: Number, a: str, b: str) -> str:
    """On the bits for f32.

    LLVM's code generation narrows the first operand of a ``copysign`` that is rounded to half and takes the sign from
    the f64 that the second was rounded from, by a call of ``__truncdfhf2``, which no library here has.
    """
    if type.dtype != F32:
        return _intrinsic("copysign")(out, type, a, b)
    integer, magnitude = bits_of(out, type, a)
    _, sign = bits_of(out, type, b)
    splat = (lambda number: f"splat (i32 {number})") if lanes_of(type) else str
    kept = out.let(f"and {integer} {magnitude}, {splat(0x7FFFFFFF)}")
    taken = out.let(f"and {integer} {sign}, {splat(-0x80000000)}")
    return out.let(f"bitcast {integer} {out.let(f'or {integer} {kept}, {taken}')} to {register_type(type)}")


def _next_after(out: Emitter, type: Number, a: str, b: str) -> str:
    """One step on the integers that a float's magnitude is ordered like; exact for every format."""
    integer, bits = bits_of(out, type, a)
    width = type.dtype.bits
    splat = (lambda number: f"splat (i{width} {number})") if lanes_of(type) else str
    as_float = type if type.dtype.name in ("f32", "f64") else with_element(type, F32)
    x, y = (a, b) if as_float is type else (widen_half(out, type, a), widen_half(out, type, b))
    zero = splat_literal(as_float, literal(0.0, as_float.dtype))
    grow = compare(out, as_float, "olt", x, y)
    positive = compare(out, as_float, "ogt", x, zero)
    outward = out.let(f"icmp eq {vector_of('i1', lanes_of(type))} {grow}, {positive}")
    mask = vector_of("i1", lanes_of(type))
    step = out.let(f"select {mask} {outward}, {integer} {splat(1)}, {integer} {splat(-1)}")
    moved = out.let(f"add {integer} {bits}, {step}")
    target, target_bits = bits_of(out, type, b)
    sign = out.let(f"and {target} {target_bits}, {splat(-(1 << (width - 1)))}")
    smallest = out.let(f"or {target} {sign}, {splat(1)}")
    from_zero = compare(out, as_float, "oeq", x, zero)
    moved = out.let(f"select {mask} {from_zero}, {integer} {smallest}, {integer} {moved}")
    equal = compare(out, as_float, "oeq", x, y)
    moved = out.let(f"select {mask} {equal}, {integer} {target_bits}, {integer} {moved}")
    text = register_type(type)
    result = moved if text == integer else out.let(f"bitcast {integer} {moved} to {text}")
    # A NaN in either operand is what comes out, b's if only b is one.
    result = select(out, type, compare(out, as_float, "uno", y, y), b, result)
    return select(out, type, compare(out, as_float, "uno", x, x), a, result)


def _spacing(out: Emitter, type: Number, a: str) -> str:
    """The distance to the next float away from zero, with the sign of ``a`` unless that is 0; NaN for infinities."""
    infinity, zero = (splat_literal(type, literal(number, type.dtype)) for number in (INFINITY, 0.0))
    outward = _intrinsic("copysign")(out, type, infinity, a)
    toward = select(out, type, compare(out, type, "oeq", a, zero), infinity, outward)
    return _arithmetic("fsub")(out, type, _next_after(out, type, a, toward), a)


def _half_spacing(out: Emitter, type: Number, a: str) -> str:
    """The libraries differ: NumPy's f16 always looks upwards, bf16 away from zero, where -0.0 is negative."""
    infinity, nan = (splat_literal(type, literal(number, type.dtype)) for number in (INFINITY, float("nan")))
    toward = infinity if type.dtype.name == "f16" else _half_copysign(out, type, infinity, a)
    distance = through_f32(_arithmetic("fsub"))(out, type, _next_after(out, type, a, toward), a)
    is_infinite = predicate_through_f32(_against_infinity("oeq"))(out, type, a)
    return select(out, type, is_infinite, nan, distance)


# -- half formats by way of f32


def through_f32(emit: Arithmetic) -> Arithmetic:
    """The same operation in f32, rounded to the half format after it."""

    def emit_half(out: Emitter, type: Number, *operands: str) -> str:
        wide = with_element(type, F32)
        result = emit(out, wide, *(widen_half(out, type, operand) for operand in operands))
        return narrow_float(out, wide, result, type.dtype)

    return emit_half


def predicate_through_f32(emit: Arithmetic) -> Arithmetic:
    """The same predicate of the same numbers in f32."""

    def emit_half(out: Emitter, type: Number, *operands: str) -> str:
        return emit(out, with_element(type, F32), *(widen_half(out, type, operand) for operand in operands))

    return emit_half


FLOAT_ROWS: list[Row] = [
    Row("add", "f", _arithmetic("fadd")),
    Row("subtract", "f", _arithmetic("fsub")),
    Row("multiply", "f", _arithmetic("fmul")),
    Row("divide", "f", _arithmetic("fdiv")),
    Row("negative", "f", _negative),
    Row("negative", "h", _half_bits("xor", 0x8000)),
    Row("absolute", "f", _intrinsic("fabs")),
    Row("absolute", "h", _half_magnitude),
    Row("copysign", "f", _copysign),
    Row("copysign", "h", _half_copysign),
    Row("fma", "f", _intrinsic("fma")),
    Row("sqrt", "f", _intrinsic("sqrt")),
    Row("floor", "f", _intrinsic("floor")),
    Row("ceil", "f", _intrinsic("ceil")),
    Row("trunc", "f", _intrinsic("trunc")),
    Row("rint", "f", _intrinsic("rint")),
    Row("maximum", "f", _extremum("ogt", "nan")),
    Row("minimum", "f", _extremum("olt", "nan")),
    Row("fmax", "f", _extremum("ogt", "number")),
    Row("fmin", "f", _extremum("olt", "number")),
    Row("maximum", "h", through_f32(_extremum("oge", "nan"))),
    Row("minimum", "h", through_f32(_extremum("ole", "nan"))),
    Row("fmax", "h", through_f32(_extremum("oge", "number"))),
    Row("fmin", "h", through_f32(_extremum("ole", "number"))),
    Row("nextafter", "fh", _next_after),
    Row("spacing", "f", _spacing),
    Row("spacing", "h", _half_spacing),
]

FLOAT_PREDICATES: list[Row] = [
    Row("less", "f", _predicate("olt")),
    Row("less_equal", "f", _predicate("ole")),
    Row("greater", "f", _predicate("ogt")),
    Row("greater_equal", "f", _predicate("oge")),
    Row("equal", "f", _predicate("oeq")),
    Row("not_equal", "f", _predicate("une")),
    Row("isnan", "f", _is_nan),
    Row("isinf", "f", _against_infinity("oeq")),
    Row("isfinite", "f", _against_infinity("olt")),
    Row("signbit", "fh", _sign_bit),
]
