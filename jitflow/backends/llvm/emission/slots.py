"""Values in 64-bit slots: how `run` takes arguments, gives results, and reports the values of a failed check.

A buffer is its address, a size itself, a number its bits in the low bytes: integers extended to 64 bits, bools 0 or 1.
A c64 fills one slot with its two parts, a c128 takes two slots.
"""

from __future__ import annotations

from jitflow.backends.llvm.emission.emitter import Emitter
from jitflow.backends.llvm.emission.types import element_type, register_type
from jitflow.errors import CompilerBug
from jitflow.ir.types import Buffer, Index, Scalar, Type

__all__ = ["ERROR_SLOTS", "from_slot", "to_slots"]

ERROR_SLOTS = 16
"""Slots that a failing `run` may fill; values beyond them are left out."""


def from_slot(out: Emitter, type: Type, slot: str) -> str:
    """Read the value that starts at the address ``slot``; the low bytes come first on every target we have."""
    if isinstance(type, Scalar) and type.dtype.kind == "b":
        return out.let(f"icmp ne i8 {out.let(f'load i8, ptr {slot}, align 8')}, 0")
    return out.let(f"load {register_type(type)}, ptr {slot}, align 8")


def to_slots(out: Emitter, type: Type, operand: str) -> list[str]:
    """The value as 64-bit words, one or two."""
    if isinstance(type, Index):
        return [operand]
    if isinstance(type, Buffer):
        return [out.let(f"ptrtoint ptr {operand} to i64")]
    if not isinstance(type, Scalar):
        raise CompilerBug(f"expected a value that fits into slots, got {type}")
    text = register_type(type)
    if type.dtype.name == "c128":
        parts = [out.let(f"extractelement {text} {operand}, i64 {lane}") for lane in (0, 1)]
        return [out.let(f"bitcast double {part} to i64") for part in parts]
    width = 1 if type.dtype.kind == "b" else type.dtype.bits
    if element_type(type.dtype) != f"i{width}":
        operand = out.let(f"bitcast {text} {operand} to i{width}")
    if width == 64:
        return [operand]
    return [out.let(f"{'sext' if type.dtype.kind == 'i' else 'zext'} i{width} {operand} to i64")]
