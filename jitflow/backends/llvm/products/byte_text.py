"""Sums of products of bytes: what takes the place of multiplying and adding floats in blocks of i32.

A lane holds four bytes of a column, and the number that it is multiplied by four of a row, which have no sign. Their
products are added up and to the lane:

- at once, where the processor can (VNNI, i8mm);
- in two steps, where it multiplies pairs of 16 bits and adds these (`pmaddwd`, WebAssembly's `dot`): bytes with even
  numbers become halves of a lane, and so do those with odd ones. What adds products of bytes in 16 bits (`pmaddubsw`)
  saturates, and is not used;
- one byte after the other anywhere else.

Sums wrap around as those of i32 do, so all have the same bits.
"""

from __future__ import annotations

from jitflow.backends.llvm.products.vector_text import VectorText
from jitflow.ir.dtypes import I32
from jitflow.machines.processor import CodeTarget

__all__ = ["ByteText", "way_of_bytes"]

_PAIRS = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}


def way_of_bytes(target: CodeTarget) -> str:
    """How a processor adds up products of bytes: part of the name of a function."""
    if target.has("avx512vnni", "avx512vl") or (target.has("avxvnni") and not target.has("avx512f")):
        return "vnni"
    if target.has("i8mm"):
        return "i8mm"
    if target.has("sse2") and (target.has("avx512bw") or not target.has("avx512f")):
        return "pairs"
    return "dot" if target.has("simd128") else "each"


class ByteText(VectorText):
    """Text of blocks of which an element is four bytes."""

    def __init__(self, lanes: int, way: str) -> None:
        super().__init__(I32, lanes)
        self.way = way

    def load(self, pointer: str, type: str = "") -> str:
        """Four bytes of a row may lie at any address."""
        if type != self.element:
            return super().load(pointer, type)
        return self.let(f"load {type}, ptr {pointer}, align 1")

    def add(self, left: str, right: str) -> str:
        return self.let(f"add {self.vector} {left}, {right}")

    def fma(self, left: str, right: str, addend: str) -> str:
        """Add the products of the bytes of ``left``, without a sign, and ``right``."""
        if self.way in ("vnni", "i8mm"):
            name = f"llvm.x86.avx512.vpdpbusd.{8 * self.bytes}" if self.way == "vnni" else self._usdot
            operands = (f"<{self.bytes} x i8> {self._seen_as(one, 'i8', self.bytes)}" for one in (left, right))
            return self.call(self.vector, name, f"{self.vector} {addend}", *operands)
        for place in range(2) if self.way in ("pairs", "dot") else range(4):
            product = self._pairs(left, right, place) if self.way in ("pairs", "dot") else self._one(left, right, place)
            addend = self.add(addend, product)
        return addend

    @property
    def _usdot(self) -> str:
        return f"llvm.aarch64.neon.usdot.v{self.lanes}i32.v{self.bytes}i8"

    def _pairs(self, left: str, right: str, place: int) -> str:
        """The products of the bytes of even numbers, or of odd ones, as pairs of 16 bits."""
        halves = f"<{2 * self.lanes} x i16>"
        eights = f"<{', '.join(['i16 8'] * 2 * self.lanes)}>"
        levels, weights = (self._seen_as(one, "i16", 2 * self.lanes) for one in (left, right))
        if place == 0:
            low = self.let(f"and {halves} {levels}, <{', '.join(['i16 255'] * 2 * self.lanes)}>")
            signed = self.let(f"shl {halves} {weights}, {eights}")
        else:
            low, signed = self.let(f"lshr {halves} {levels}, {eights}"), weights
        signed = self.let(f"ashr {halves} {signed}, {eights}")
        name = _PAIRS[self.lanes] if self.way == "pairs" else "llvm.wasm.dot"
        return self.call(self.vector, name, f"{halves} {low}", f"{halves} {signed}")

    def _one(self, left: str, right: str, place: int) -> str:
        """The products of the bytes of one number."""
        down, up, top = (f"<{', '.join([f'i32 {bits}'] * self.lanes)}>" for bits in (8 * place, 24 - 8 * place, 24))
        level = self.let(f"lshr {self.vector} {left}, {down}") if place else left
        level = self.let(f"and {self.vector} {level}, <{', '.join(['i32 255'] * self.lanes)}>")
        weight = self.let(f"shl {self.vector} {right}, {up}") if place < 3 else right
        weight = self.let(f"ashr {self.vector} {weight}, {top}")
        return self.let(f"mul {self.vector} {level}, {weight}")

    def _seen_as(self, vector: str, element: str, lanes: int) -> str:
        return self.let(f"bitcast {self.vector} {vector} to <{lanes} x {element}>")
