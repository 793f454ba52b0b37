"""One number from a PCG64, the bit generator of ``default_rng``, as LLVM text: the same steps for one and for many.

A program that draws single numbers has a function for each kind of draw, which steps the state in the generator's
memory and makes a number of it. It knows a PCG64 by its C function for a double. Any other bit generator, and what the
first step of a ziggurat does not accept, is left to the library, from the state as it was: so what is rare has no text
here, and the state in memory is always NumPy's. What is known when the program is linked stands in a record
(`jitflow.ir.draws.RECORD_WORDS`).
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.draws import PCG64_MULTIPLIER, RECORD_WORDS, ZIGGURATS, Ziggurat

__all__ = ["INTRINSICS", "NATIVE_DRAWS", "first_step_text", "moved_text", "output_text", "step_text", "uniform_text"]

INTRINSICS = {"llvm.fshr.i64": ("i64", ("i64", "i64", "i64"))}
"""What the functions call, with results and parameters."""

_LIKELY = ", !prof !1"
_KEPT = ", align 8, !invariant.load !2"
"""How is loaded what is the same for as long as there is the generator."""


def step_text(before: str, name: str) -> str:
    """The state behind another one: a linear congruential generator of 128 bits."""
    return f"""
  {name}.product = mul i128 {before}, {PCG64_MULTIPLIER}
  {name} = add i128 {name}.product, %increment"""


def output_text(state: str, name: str) -> str:
    """The number of 64 bits that a state gives."""
    return f"""
  {name}.upper = lshr i128 {state}, 64
  {name}.high = trunc i128 {name}.upper to i64
  {name}.low = trunc i128 {state} to i64
  {name}.mixed = xor i64 {name}.high, {name}.low
  {name}.turn = lshr i64 {name}.high, 58
  {name} = call i64 @llvm.fshr.i64(i64 {name}.mixed, i64 {name}.mixed, i64 {name}.turn)"""


def uniform_text(word: str, name: str) -> str:
    """The number below 1 that a word gives."""
    return f"""
  {name}.bits = lshr i64 {word}, 11
  {name}.whole = sitofp i64 {name}.bits to double
  {name} = fmul double {name}.whole, 0x3CA0000000000000"""


def first_step_text(ziggurat: Ziggurat) -> str:
    """What a ziggurat makes of ``%word``, and whether that is sure to be accepted.

    ``%layers`` has for each layer its width, and up to where in it the first step accepts.
    """
    sign = ""
    if ziggurat.is_signed:
        sign = """
  %signed = and i64 %word, 256
  %sign = shl i64 %signed, 55
  %size.bits = bitcast double %size to i64
  %made.bits = xor i64 %size.bits, %sign
  %made = bitcast i64 %made.bits to double"""
    return f"""
  %layer.bits = lshr i64 %word, {ziggurat.layer_bit}
  %layer = and i64 %layer.bits, 255
  %position.bits = lshr i64 %word, {ziggurat.position_bit}
  %position = and i64 %position.bits, {(1 << ziggurat.position_width) - 1}
  %layer.at = getelementptr [2 x i64], ptr %layers, i64 %layer
  %limit.at = getelementptr i8, ptr %layer.at, i64 8
  %width = load double, ptr %layer.at{_KEPT}
  %limit = load i64, ptr %limit.at{_KEPT}
  %whole = sitofp i64 %position to double
  {"%size" if sign else "%made"} = fmul double %whole, %width{sign}
  %inside = icmp slt i64 %position, %limit"""


def moved_text(row: str, drawn: str, name: str) -> str:
    """A number of a standard distribution, moved and stretched by the parameters ``%p0`` and ``%p1`` of a row."""
    if row.startswith("standard_"):
        return f"\n  {name} = fadd double {drawn}, -0.0"
    if row == "exponential":
        return f"\n  {name} = fmul double %p0, {drawn}"
    return f"\n  {name}.scaled = fmul double %p1, {drawn}\n  {name} = fadd double %p0, {name}.scaled"


_BITGEN = f"""
  %offset.at = getelementptr i8, ptr %record, i64 8
  %offset = load i64, ptr %offset.at{_KEPT}
  %address = add i64 %generator, %offset
  %bitgen = inttoptr i64 %address to ptr
  %library.at = getelementptr i8, ptr %record, i64 16
  %library.function = load ptr, ptr %library.at{_KEPT}
  %known = load i64, ptr %record{_KEPT}
  %next.at = getelementptr i8, ptr %bitgen, i64 24
  %next.double = load i64, ptr %next.at{_KEPT}
  %is.known = icmp eq i64 %next.double, %known
  %state.known = load ptr, ptr %bitgen{_KEPT}
  %state.at = select i1 %is.known, ptr %state.known, ptr %bitgen
  %pcg = load ptr, ptr %state.at{_KEPT}"""
"""Where the state of a PCG64 is; of another bit generator, something that is not read. There is no branch, so that a
loop can find it once."""

_STATE = """
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %state = load i128, ptr %pcg, align 8"""


def _continuous(row: str, count: int) -> str:
    """A function for a row of numbers of one kind, with so many parameters."""
    names = [f"double %p{number}" for number in range(count)]
    head = ", ".join(["i64 %generator", "ptr %record", *names])
    kind = next((name for name in ZIGGURATS if name in f"standard_{row}"), "")
    if kind:
        made = f"""
  %layers = getelementptr i8, ptr %record, i64 {8 * RECORD_WORDS}{first_step_text(ZIGGURATS[kind])}
  br i1 %inside, label %done, label %library{_LIKELY}
done:"""
    else:
        made = uniform_text("%word", "%made")
    return f"""define internal double @"draw.{row}"({head}) #0 {{
start:{_BITGEN}
  br i1 %is.known, label %quick, label %library{_LIKELY}
quick:{_STATE}{step_text("%state", "%stepped")}{output_text("%stepped", "%word")}{made}
  store i128 %stepped, ptr %pcg, align 8{moved_text(row, "%made", "%drawn")}
  ret double %drawn
library:
  %other = call double %library.function({", ".join(["ptr %bitgen", *names])})
  ret double %other
}}"""


_BOUNDED = f"""define internal i64 @"draw.bounded_uint64"(i64 %generator, ptr %record, i64 %low, i64 %span) #0 {{
start:
  %room = alloca i64, align 8{_BITGEN}
  %below = sub i64 %span, 1
  %is.half = icmp ult i64 %below, 4294967294
  %is.quick = and i1 %is.known, %is.half
  br i1 %is.quick, label %quick, label %library{_LIKELY}
quick:{_STATE}
  %kept.at = getelementptr i8, ptr %state.at, i64 8
  %half.at = getelementptr i8, ptr %state.at, i64 12
  %kept = load i32, ptr %kept.at, align 4
  %is.kept = icmp ne i32 %kept, 0
  br i1 %is.kept, label %second, label %first
second:
  %half = load i32, ptr %half.at, align 4
  br label %made
first:{step_text("%state", "%stepped")}{output_text("%stepped", "%word")}
  %word.half = trunc i64 %word to i32
  %word.up = lshr i64 %word, 32
  %word.rest = trunc i64 %word.up to i32
  br label %made
made:
  %taken = phi i32 [ %half, %second ], [ %word.half, %first ]
  %after = phi i128 [ %state, %second ], [ %stepped, %first ]
  %kept.after = phi i32 [ 0, %second ], [ 1, %first ]
  %rest = phi i32 [ %half, %second ], [ %word.rest, %first ]
  %choices = add i64 %span, 1
  %wide = zext i32 %taken to i64
  %product = mul i64 %wide, %choices
  %leftover = and i64 %product, 4294967295
  %is.sure = icmp uge i64 %leftover, %choices
  br i1 %is.sure, label %done, label %unsure{_LIKELY}
unsure:
  %unfair = sub i64 4294967296, %choices
  %threshold = urem i64 %unfair, %choices
  %is.fair = icmp uge i64 %leftover, %threshold
  br i1 %is.fair, label %done, label %library
done:
  store i128 %after, ptr %pcg, align 8
  store i32 %kept.after, ptr %kept.at, align 4
  store i32 %rest, ptr %half.at, align 4
  %above = lshr i64 %product, 32
  %drawn = add i64 %low, %above
  ret i64 %drawn
library:
  call void %library.function(ptr %bitgen, i64 %low, i64 %span, i64 1, i1 zeroext false, ptr %room)
  %other = load i64, ptr %room, align 8
  ret i64 %other
}}"""
"""Whole numbers up to a distance, each half of a word being one: by Lemire's product, as NumPy has it."""

NATIVE_DRAWS: Mapping[str, str] = {
    **{row: _continuous(row, count) for row, count in
       (("standard_uniform", 0), ("standard_normal", 0), ("standard_exponential", 0), ("exponential", 1),
        ("uniform", 2), ("normal", 2))},
    "bounded_uint64": _BOUNDED,
}  # fmt: skip
"""The functions by the rows of `jitflow.ir.draws.DRAWS`, of which they are ``@"draw.<row>"``."""
