"""Conversions between dtypes: casts, bitcasts, and the half formats.

Floats to integers follow what NumPy gives on x86 where that does not depend on the loop that it takes, and are defined
for every float: 8 and 16 bits are cut off from a 32-bit conversion, u32 from a 64-bit one, and where the conversion
itself is out of range or NaN it gives the most negative integer. LLVM's own instruction is poison there, so its result
is selected only where it is in range; the comparison that decides is exact since the bound is a power of two.
"""

from __future__ import annotations

from functools import partial

from jitflow.backends.llvm.emission.emitter import Emitter, intrinsic_suffix
from jitflow.backends.llvm.emission.types import (
    Number,
    lanes_of,
    literal,
    memory_type,
    register_type,
    splat_literal,
    vector_of,
    with_element,
    with_lanes,
)
from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import BOOL, F16, F32, F64, I32, I64, U32, DType
from jitflow.ir.types import Vector

__all__ = ["bitcast_number", "cast_number", "narrow_float", "widen_half"]


def cast_number(out: Emitter, type: Number, operand: str, target: DType) -> str:
    """The operand as ``target``, as ``astype`` converts."""
    source = type.dtype
    if source == target:
        return operand
    if source.is_complex or target.is_complex:
        return _cast_complex(out, type, operand, target)
    if source.name in ("f16", "bf16"):
        wide = with_element(type, F32)
        operand = widen_half(out, type, operand)
        return cast_number(out, wide, operand, target)
    if target.kind == "b":
        return _as_bool(out, type, operand)
    if target.is_float:
        return _to_float(out, type, operand, target)
    if source.is_float:
        return _float_to_integer(out, type, operand, target)
    return _resize_integer(out, type, operand, target)


def _convert(out: Emitter, instruction: str, type: Number, operand: str, target: DType) -> str:
    result = register_type(with_element(type, target))
    return out.let(f"{instruction} {register_type(type)} {operand} to {result}")


def _as_bool(out: Emitter, type: Number, operand: str) -> str:
    comparison = "fcmp une" if type.dtype.is_float else "icmp ne"
    zero = splat_literal(type, literal(0, type.dtype))
    return out.let(f"{comparison} {register_type(type)} {operand}, {zero}")


def _to_float(out: Emitter, type: Number, operand: str, target: DType) -> str:
    source = type.dtype
    if target.name in ("f16", "bf16"):
        if not source.is_float:
            operand, type = _to_float(out, type, operand, F32), with_element(type, F32)
        return narrow_float(out, type, operand, target)
    if source.is_float:
        return _convert(out, "fpext" if target.itemsize > source.itemsize else "fptrunc", type, operand, target)
    return _convert(out, "sitofp" if source.kind == "i" else "uitofp", type, operand, target)


def _resize_integer(out: Emitter, type: Number, operand: str, target: DType) -> str:
    source = type.dtype
    if source.kind != "b" and source.itemsize == target.itemsize:
        return operand
    if source.kind != "b" and source.itemsize > target.itemsize:
        return _convert(out, "trunc", type, operand, target)
    return _convert(out, "sext" if source.kind == "i" else "zext", type, operand, target)


def _float_to_integer(out: Emitter, type: Number, operand: str, target: DType) -> str:
    if target.name == "u64":
        return _float_to_unsigned(out, type, operand)
    via = I32 if target.itemsize < 4 or target == I32 else I64
    whole = _float_to_signed(out, type, operand, via)
    return _resize_integer(out, with_element(type, via), whole, target)


def _float_to_signed(out: Emitter, type: Number, operand: str, target: DType) -> str:
    result = with_element(type, target)
    inside = _fits(out, type, operand, 2.0 ** (target.bits - 1))
    whole = _convert(out, "fptosi", type, operand, target)
    least = splat_literal(result, str(-(1 << (target.bits - 1))))
    mask = vector_of("i1", lanes_of(type))
    return out.let(f"select {mask} {inside}, {register_type(result)} {whole}, {register_type(result)} {least}")


def _fits(out: Emitter, type: Number, operand: str, bound: float) -> str:
    """Whether a float lies between two bounds; asked of one number as programs ask it, which LLVM then notices."""
    text = register_type(type)
    above, below = (splat_literal(type, literal(number, type.dtype)) for number in (-bound, bound))
    if lanes_of(type):
        return out.let(f"fcmp olt {text} {_magnitude(out, type, operand)}, {below}")
    large_enough = out.let(f"fcmp oge {text} {operand}, {above}")
    return out.let(f"and i1 {large_enough}, {out.let(f'fcmp olt {text} {operand}, {below}')}")


def _float_to_unsigned(out: Emitter, type: Number, operand: str) -> str:
    """To u64: what is beyond 63 bits is moved down by 2**63 before the conversion, and back after it."""
    text, mask = register_type(type), vector_of("i1", lanes_of(type))
    middle = splat_literal(type, literal(2.0**63, type.dtype))
    large = out.let(f"fcmp oge {text} {operand}, {middle}")
    lowered = out.let(f"fsub {text} {operand}, {middle}")
    inside = out.let(f"select {mask} {large}, {text} {lowered}, {text} {operand}")
    whole = _float_to_signed(out, type, inside, I64)
    integer = with_element(type, I64)
    result = register_type(integer)
    top = out.let(f"zext {mask} {large} to {result}")
    raised = out.let(f"shl {result} {top}, {splat_literal(integer, '63')}")
    return out.let(f"xor {result} {whole}, {raised}")


def _magnitude(out: Emitter, type: Number, operand: str) -> str:
    text = register_type(type)
    return out.call(text, f"llvm.fabs.{intrinsic_suffix(type)}", f"{text} {operand}")


# -- half formats


def widen_half(out: Emitter, type: Number, operand: str) -> str:
    """A half, given as its bits, in f32: always exact."""
    lanes, text = lanes_of(type), register_type(type)
    if type.dtype == F16 and not out.module.target.converts_halves:
        return _widen_f16(out, operand, lanes)
    if type.dtype == F16:
        half = out.let(f"bitcast {text} {operand} to {vector_of('half', lanes)}")
        return out.let(f"fpext {vector_of('half', lanes)} {half} to {vector_of('float', lanes)}")
    bits, integer = vector_of("i32", lanes), with_lanes(I32, lanes)
    extended = out.let(f"zext {text} {operand} to {bits}")
    shifted = out.let(f"shl {bits} {extended}, {splat_literal(integer, '16')}")
    return out.let(f"bitcast {bits} {shifted} to {vector_of('float', lanes)}")


def narrow_float(out: Emitter, type: Number, operand: str, target: DType) -> str:
    """A float rounded to a half format, as its bits.

    f64 is rounded once, as NumPy and ml_dtypes do.
    """
    if type.dtype == target:
        return operand
    if type.dtype == F64:
        operand = _round_to_odd(out, type, operand)
    lanes = lanes_of(type)
    if target != F16:
        return _narrow_to_bf16(out, operand, lanes)
    if not out.module.target.converts_halves:
        return _narrow_to_f16(out, operand, lanes)
    half = out.let(f"fptrunc {vector_of('float', lanes)} {operand} to {vector_of('half', lanes)}")
    return out.let(f"bitcast {vector_of('half', lanes)} {half} to {vector_of('i16', lanes)}")


def _bits(lanes: int, value: int) -> str:
    """32 bits, in every lane."""
    return splat_literal(with_lanes(U32, lanes), str(value))


def _widen_f16(out: Emitter, operand: str, lanes: int) -> str:
    """On the bits: the exponents of f16 are 112 lower in f32, where its subnormal numbers are subnormal, too."""
    bits, mask, text = vector_of("i32", lanes), vector_of("i1", lanes), vector_of("float", lanes)
    constant = partial(_bits, lanes)
    half = out.let(f"zext {vector_of('i16', lanes)} {operand} to {bits}")
    magnitude = out.let(f"and {bits} {half}, {constant(0x7FFF)}")
    sign = out.let(f"shl {bits} {out.let(f'xor {bits} {half}, {magnitude}')}, {constant(16)}")
    moved = out.let(f"shl {bits} {magnitude}, {constant(13)}")
    lowered = out.let(f"bitcast {bits} {moved} to {text}")
    power = splat_literal(with_lanes(F32, lanes), literal(2.0**112, F32))
    number = out.let(f"bitcast {text} {out.let(f'fmul {text} {lowered}, {power}')} to {bits}")
    is_nan = out.let(f"icmp ugt {bits} {magnitude}, {constant(0x7C00)}")
    largest = out.let(f"select {mask} {is_nan}, {bits} {constant(0x7FC00000)}, {bits} {constant(0x7F800000)}")
    special = out.let(f"or {bits} {moved}, {largest}")
    is_special = out.let(f"icmp uge {bits} {magnitude}, {constant(0x7C00)}")
    chosen = out.let(f"select {mask} {is_special}, {bits} {special}, {bits} {number}")
    return out.let(f"bitcast {bits} {out.let(f'or {bits} {chosen}, {sign}')} to {text}")


def _narrow_to_f16(out: Emitter, operand: str, lanes: int) -> str:
    """On the bits, to nearest, ties to even; NaN keeps its upper bits and becomes quiet.

    What is below the smallest normal number is rounded by adding 0.5, whose last bit is that of a subnormal f16.
    """
    bits, mask, text = vector_of("i32", lanes), vector_of("i1", lanes), vector_of("float", lanes)
    constant = partial(_bits, lanes)
    raw = out.let(f"bitcast {text} {operand} to {bits}")
    magnitude = out.let(f"and {bits} {raw}, {constant(0x7FFFFFFF)}")
    sign = out.let(f"lshr {bits} {out.let(f'xor {bits} {raw}, {magnitude}')}, {constant(16)}")
    upper = out.let(f"lshr {bits} {magnitude}, {constant(13)}")
    odd = out.let(f"and {bits} {upper}, {constant(1)}")
    lowered = out.let(f"sub {bits} {magnitude}, {constant((112 << 23) - 0xFFF)}")
    rounded = out.let(f"lshr {bits} {out.let(f'add {bits} {lowered}, {odd}')}, {constant(13)}")
    normal = out.call(bits, f"llvm.umin.{intrinsic_suffix(with_lanes(I32, lanes))}",
                      f"{bits} {rounded}", f"{bits} {constant(0x7C00)}")  # fmt: skip
    positive = out.let(f"bitcast {bits} {magnitude} to {text}")
    half = splat_literal(with_lanes(F32, lanes), literal(0.5, F32))
    sum_bits = out.let(f"bitcast {text} {out.let(f'fadd {text} {positive}, {half}')} to {bits}")
    subnormal = out.let(f"sub {bits} {sum_bits}, {constant(126 << 23)}")
    is_small = out.let(f"icmp ult {bits} {magnitude}, {constant(113 << 23)}")
    number = out.let(f"select {mask} {is_small}, {bits} {subnormal}, {bits} {normal}")
    payload = out.let(f"and {bits} {upper}, {constant(0x3FF)}")
    quiet = out.let(f"or {bits} {payload}, {constant(0x7E00)}")
    is_nan = out.let(f"fcmp uno {text} {operand}, {operand}")
    chosen = out.let(f"select {mask} {is_nan}, {bits} {quiet}, {bits} {number}")
    return out.let(f"trunc {bits} {out.let(f'or {bits} {chosen}, {sign}')} to {vector_of('i16', lanes)}")


def _narrow_to_bf16(out: Emitter, operand: str, lanes: int) -> str:
    """To nearest, ties to even, on the bits; NaN keeps its upper half and becomes quiet."""
    bits, mask, text = vector_of("i32", lanes), vector_of("i1", lanes), vector_of("float", lanes)
    constant = partial(_bits, lanes)
    raw = out.let(f"bitcast {text} {operand} to {bits}")
    upper = out.let(f"lshr {bits} {raw}, {constant(16)}")
    odd = out.let(f"and {bits} {upper}, {constant(1)}")
    bias = out.let(f"add {bits} {odd}, {constant(0x7FFF)}")
    rounded = out.let(f"lshr {bits} {out.let(f'add {bits} {raw}, {bias}')}, {constant(16)}")
    quiet = out.let(f"or {bits} {upper}, {constant(0x40)}")
    is_nan = out.let(f"fcmp uno {text} {operand}, {operand}")
    chosen = out.let(f"select {mask} {is_nan}, {bits} {quiet}, {bits} {rounded}")
    return out.let(f"trunc {bits} {chosen} to {vector_of('i16', lanes)}")


def _round_to_odd(out: Emitter, type: Number, operand: str) -> str:
    """f64 to f32 such that a second rounding to f16 gives what a single one would.

    The value is cut off and its last bit set where something was lost (Boldo and Melquiond, "Emulation of FMA and
    correctly rounded sums: proved algorithms using rounding to odd", 2008).
    """
    lanes, text = lanes_of(type), register_type(type)
    narrow, bits, mask = vector_of("float", lanes), vector_of("i32", lanes), vector_of("i1", lanes)
    near = out.let(f"fptrunc {text} {operand} to {narrow}")
    back = out.let(f"fpext {narrow} {near} to {text}")
    away = out.let(f"fcmp ogt {text} {_magnitude(out, type, back)}, {_magnitude(out, type, operand)}")
    raw = out.let(f"bitcast {narrow} {near} to {bits}")
    step = out.let(f"sext {mask} {away} to {bits}")
    cut = out.let(f"add {bits} {raw}, {step}")
    lost = out.let(f"fcmp one {text} {back}, {operand}")
    sticky = out.let(f"zext {mask} {lost} to {bits}")
    return out.let(f"bitcast {bits} {out.let(f'or {bits} {cut}, {sticky}')} to {narrow}")


# -- bits, and complex scalars


def bitcast_number(out: Emitter, type: Number, operand: str, target: DType) -> str:
    """The same bits as another dtype; a bool is the byte that it is in memory."""
    result = with_element(type, target)
    if target == BOOL:
        return out.let(f"trunc {register_type(type)} {operand} to {register_type(result)}")
    if type.dtype == BOOL:
        return out.let(f"zext {register_type(type)} {operand} to {memory_type(type)}")
    if register_type(type) == register_type(result):
        return operand
    return out.let(f"bitcast {register_type(type)} {operand} to {register_type(result)}")


def _cast_complex(out: Emitter, type: Number, operand: str, target: DType) -> str:
    """Between complex scalars lane by lane; from a real number with an imaginary part of 0; to one without it."""
    if isinstance(type, Vector):
        raise CompilerBug(f"expected complex vectors to be split into parts, got a cast of {type}")
    if type.dtype.is_complex and target.is_complex:
        instruction = "fpext" if target.itemsize > type.dtype.itemsize else "fptrunc"
        return _convert(out, instruction, type, operand, target)
    if type.dtype.is_complex:
        real = out.let(f"extractelement {register_type(type)} {operand}, i64 0")
        return cast_number(out, with_element(type, type.dtype.real), real, target)
    part, text = target.real, register_type(with_element(type, target))
    real = cast_number(out, type, operand, part)
    return out.let(f"insertelement {text} zeroinitializer, {register_type(with_element(type, part))} {real}, i64 0")
