"""Between scalars and lanes: splats, masks, folds and single lanes."""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.backends.llvm.emission.convert import cast_number
from jitflow.backends.llvm.emission.emit_elementwise import apply
from jitflow.backends.llvm.emission.emitter import Emission, Emitter
from jitflow.backends.llvm.emission.types import element_type, literal, number_type, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Vector

__all__ = ["LANE_EMISSION"]


def _vector(value: Value) -> Vector:
    if not isinstance(value.type, Vector):
        raise CompilerBug(f"expected a vector, got {value.type}")
    return value.type


def _splat(out: Emitter, op: Op) -> Sequence[str]:
    (operand,) = op.operands
    return [out.splat(register_type(operand.type), out.operand(operand), op.attributes["lanes"])]


def _lane_index(out: Emitter, op: Op) -> Sequence[str]:
    dtype, lanes = op.attributes["dtype"], op.attributes["lanes"]
    return [f"<{', '.join(f'{element_type(dtype)} {literal(lane, dtype)}' for lane in range(lanes))}>"]


def _lanes_below(out: Emitter, op: Op) -> Sequence[str]:
    """Compared in i32, as wide as most of what is masked, after the bound is brought into its range."""
    lanes, (bound,) = op.attributes["lanes"], op.operands
    clamped = out.call("i64", "llvm.smin.i64", f"i64 {out.operand(bound)}", f"i64 {lanes}")
    bounds = out.splat("i32", out.let(f"trunc i64 {clamped} to i32"), lanes)
    numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
    return [out.let(f"icmp slt <{lanes} x i32> <{numbers}>, {bounds}")]


def _fold_lanes(out: Emitter, op: Op) -> Sequence[str]:
    """The upper half onto the lower one until one lane is left: a tree that depends on the lane count alone."""
    (operand,) = op.operands
    type, folded = _vector(operand), out.operand(operand)
    if type.lanes & (type.lanes - 1):
        raise CompilerBug(f"fold_lanes: expected a power of two of lanes, got {type}", location=op.loc)
    while type.lanes > 1:
        text, half = register_type(type), type.lanes // 2
        halves = []
        for start in (0, half):
            picked = ", ".join(f"i32 {lane}" for lane in range(start, start + half))
            halves.append(out.let(f"shufflevector {text} {folded}, {text} poison, <{half} x i32> <{picked}>"))
        type = Vector(type.dtype, half)
        folded = apply(out, op.attributes["combine"], type, *halves)
    return [out.let(f"extractelement {register_type(type)} {folded}, i64 0")]


def _shift_lanes(out: Emitter, op: Op) -> Sequence[str]:
    (operand,) = op.operands
    type, count = _vector(operand), op.attributes["count"]
    picked = ", ".join(f"i32 {lane if lane < count else lane - count}" for lane in range(type.lanes))
    return [
        out.let(f"shufflevector {out.typed(operand)}, {register_type(type)} poison, <{type.lanes} x i32> <{picked}>")
    ]


def _mask_bits(out: Emitter, mask: Value) -> tuple[str, str]:
    """A mask as an integer with one bit a lane, and the type of that integer."""
    bits = f"i{_vector(mask).lanes}"
    return bits, out.let(f"bitcast {out.typed(mask)} to {bits}")


def _any_lane(out: Emitter, op: Op) -> Sequence[str]:
    text, bits = _mask_bits(out, op.operands[0])
    return [out.let(f"icmp ne {text} {bits}, 0")]


def _first_lane(out: Emitter, op: Op) -> Sequence[str]:
    """Counts the zeros below the first bit; of none it gives the lane count, which ``i1 false`` asks for."""
    text, bits = _mask_bits(out, op.operands[0])
    # An i6 could not hold the count of its 64 values' bits safely in every width, so narrow masks count in i64.
    lanes = _vector(op.operands[0]).lanes
    if lanes >= 64:
        count = out.call(text, f"llvm.cttz.{text}", f"{text} {bits}", "i1 false")
        return [count if lanes == 64 else out.let(f"trunc {text} {count} to i64")]
    wide = out.let(f"zext {text} {bits} to i64")
    stopped = out.let(f"or i64 {wide}, {1 << lanes}")
    return [out.call("i64", "llvm.cttz.i64", f"i64 {stopped}", "i1 true")]


def _extract_lane(out: Emitter, op: Op) -> Sequence[str]:
    """A lane beyond the last is the last: LLVM would give poison."""
    vector, index = op.operands
    position = out.operand(index)
    if not position.isdigit():
        last = _vector(vector).lanes - 1
        position = out.call("i64", "llvm.umin.i64", f"i64 {position}", f"i64 {last}")
    return [out.let(f"extractelement {out.typed(vector)}, i64 {position}")]


def _to_index(out: Emitter, op: Op) -> Sequence[str]:
    (operand,) = op.operands
    return [cast_number(out, number_type(operand.type), out.operand(operand), I64)]


LANE_EMISSION: dict[str, Emission] = {
    "splat": _splat,
    "lane_index": _lane_index,
    "lanes_below": _lanes_below,
    "fold_lanes": _fold_lanes,
    "shift_lanes": _shift_lanes,
    "any_lane": _any_lane,
    "first_lane": _first_lane,
    "extract_lane": _extract_lane,
    "to_index": _to_index,
}
