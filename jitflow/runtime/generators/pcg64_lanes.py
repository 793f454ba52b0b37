"""Uniform numbers of a PCG64 in the lanes of vectors, on processors that multiply numbers of 52 bits in lanes.

A state of 128 bits is three limbs of 52, and each lane is so many steps behind the one before it. The sums of products
carry into the next limb when they are used, so limbs are never masked: a product looks at 52 bits alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.draws import PCG64_MULTIPLIER
from jitflow.machines.processor import has_features

__all__ = ["LANES", "has_lanes", "lanes_text", "series"]

_WIDTH = 8
_VECTORS = 2
LANES = _WIDTH * _VECTORS
_VECTOR = f"<{_WIDTH} x i64>"
_LIMB = (1 << 52) - 1
_PRODUCTS = (("l", 0, 0, 0), ("h", 0, 0, 1), ("l", 0, 1, 1), ("l", 1, 0, 1), ("h", 0, 1, 2), ("h", 1, 0, 2),
             ("l", 0, 2, 2), ("l", 1, 1, 2), ("l", 2, 0, 2))  # fmt: skip
"""Which half of the product of which limbs is added to which limb."""


def series(steps: int) -> int:
    """How much of the increment a state has more, so many steps later."""
    return sum(pow(PCG64_MULTIPLIER, power, 1 << 128) for power in range(steps)) % (1 << 128)


def has_lanes() -> bool:
    """Whether this processor multiplies so."""
    return has_features("avx512f", "avx512dq", "avx512ifma")


def lanes_text(moved: bool) -> str:
    """``@lanes(pcg, count, target)``: as many numbers as ``count`` says, a multiple of `LANES` above 0.

    Where they are ``moved``, there are two parameters more, the smallest number and the distance to the largest.
    """
    behind = range(1, _WIDTH + 1)
    powers = [pow(PCG64_MULTIPLIER, steps, 1 << 128) for steps in behind]
    rows = [series(steps) for steps in behind]
    next_vector = [pow(PCG64_MULTIPLIER, _WIDTH, 1 << 128)] * _WIDTH
    next_turn = [pow(PCG64_MULTIPLIER, LANES, 1 << 128)] * _WIDTH
    steps_text, steps = _sums("%steps", _names("%increment"), _constants(rows), ["zeroinitializer"] * 3)
    numbers = "".join(map(_in_limbs, ("%before", "%increment", "%jump", "%distance")))
    vectors = range(_VECTORS)
    phis = "".join(
        f"\n  %s{vector}.{limb} = phi {_VECTOR} [ %first{vector}.{limb}, %start ], [ %next{vector}.{limb}, %turn ]"
        for vector in vectors
        for limb in range(3)
    )
    chain = "".join(
        _product(f"%first{vector}", _names(f"%first{vector - 1}"), _constants(next_vector), _names("%jump"))
        for vector in vectors[1:]
    )
    body = "".join(
        _output(vector, moved)
        + _product(f"%next{vector}", _names(f"%s{vector}"), _constants(next_turn), _names("%distance"))
        for vector in vectors
    )
    return f"""
declare {_VECTOR} @llvm.x86.avx512.vpmadd52l.uq.512({_VECTOR}, {_VECTOR}, {_VECTOR})
declare {_VECTOR} @llvm.x86.avx512.vpmadd52h.uq.512({_VECTOR}, {_VECTOR}, {_VECTOR})
declare {_VECTOR} @llvm.fshr.v{_WIDTH}i64({_VECTOR}, {_VECTOR}, {_VECTOR})

define internal void @lanes(ptr %pcg, i64 %count, ptr %target{", double %low, double %span" if moved else ""}) {{
start:{_in_all_lanes("double", "%low", "%lows") + _in_all_lanes("double", "%span", "%spans") if moved else ""}
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %before = load i128, ptr %pcg, align 8
  %jump = mul i128 %increment, {series(_WIDTH)}
  %distance = mul i128 %increment, {series(LANES)}{numbers}
{steps_text}{_product("%first0", _names("%before"), _constants(powers), steps)}{chain}
  br label %turn
turn:
  %i = phi i64 [ 0, %start ], [ %i.next, %turn ]{phis}
  %place = getelementptr double, ptr %target, i64 %i{body}
  %i.next = add i64 %i, {LANES}
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %turn, label %end
end:{_last(_VECTORS - 1)}
  store i128 %after, ptr %pcg, align 8
  ret void
}}"""


def _names(name: str) -> list[str]:
    return [f"{name}.{limb}" for limb in range(3)]


def _limbs(number: int) -> list[int]:
    return [number & _LIMB, number >> 52 & _LIMB, number >> 104]


def _constants(numbers: Sequence[int]) -> list[str]:
    columns = zip(*map(_limbs, numbers), strict=True)
    return [f"<{', '.join(f'i64 {limb}' for limb in column)}>" for column in columns]


def _in_limbs(name: str) -> str:
    """One number in all lanes."""
    return "".join(
        f"""
  {name}{limb}.down = lshr i128 {name}, {52 * limb}
  {name}{limb}.word = trunc i128 {name}{limb}.down to i64
  {name}{limb} = and i64 {name}{limb}.word, {_LIMB}{_in_all_lanes("i64", f"{name}{limb}", f"{name}.{limb}")}"""
        for limb in range(3)
    )


def _in_all_lanes(kind: str, name: str, vector: str) -> str:
    type = f"<{_WIDTH} x {kind}>"
    return f"""
  {vector}.one = insertelement {type} poison, {kind} {name}, i64 0
  {vector} = shufflevector {type} {vector}.one, {type} poison, <{_WIDTH} x i32> zeroinitializer"""


def _sums(name: str, left: Sequence[str], right: Sequence[str], start: Sequence[str]) -> tuple[str, list[str]]:
    """``left * right + start``, whose limbs have not carried, and where they are."""
    sums, lines = list(start), []
    for number, (half, i, j, place) in enumerate(_PRODUCTS):
        found = f"{name}.sum{number}"
        operands = f"{_VECTOR} {sums[place]}, {_VECTOR} {left[i]}, {_VECTOR} {right[j]}"
        lines.append(f"\n  {found} = call {_VECTOR} @llvm.x86.avx512.vpmadd52{half}.uq.512({operands})")
        sums[place] = found
    return "".join(lines), sums


def _product(name: str, left: Sequence[str], right: Sequence[str], start: Sequence[str]) -> str:
    """``left * right + start``. ``start`` has not carried, or the next limb would have it twice."""
    text, sums = _sums(name, left, right, start)
    return f"""{text}
  {name}.0 = add {_VECTOR} {sums[0]}, zeroinitializer
  {name}.carry0 = lshr {_VECTOR} {sums[0]}, {_same(52)}
  {name}.1 = add {_VECTOR} {sums[1]}, {name}.carry0
  {name}.carry1 = lshr {_VECTOR} {name}.1, {_same(52)}
  {name}.2 = add {_VECTOR} {sums[2]}, {name}.carry1"""


def _same(number: int) -> str:
    return f"<{', '.join([f'i64 {number}'] * _WIDTH)}>"


def _words(name: str, state: str) -> str:
    """The two words of states. What a limb has carried is cut off, or the next one would have it twice."""
    return f"""
  {name}.l0 = and {_VECTOR} {state}.0, {_same(_LIMB)}
  {name}.l1 = shl {_VECTOR} {state}.1, {_same(52)}
  {name}.low = or {_VECTOR} {name}.l0, {name}.l1
  {name}.m1 = and {_VECTOR} {state}.1, {_same(_LIMB)}
  {name}.h1 = lshr {_VECTOR} {name}.m1, {_same(12)}
  {name}.h2 = shl {_VECTOR} {state}.2, {_same(40)}
  {name}.high = or {_VECTOR} {name}.h1, {name}.h2"""


def _output(vector: int, moved: bool) -> str:
    name, state, doubles = f"%u{vector}", f"%s{vector}", f"<{_WIDTH} x double>"
    move = f"""
  {name}.scaled = fmul {doubles} %spans, {name}.drawn
  {name}.moved = fadd {doubles} %lows, {name}.scaled"""
    return f"""{_words(name, state)}
  {name}.mixed = xor {_VECTOR} {name}.high, {name}.low
  {name}.turn = lshr {_VECTOR} {name}.high, {_same(58)}
  {name} = call {_VECTOR} @llvm.fshr.v{_WIDTH}i64({_VECTOR} {name}.mixed, {_VECTOR} {name}.mixed, {_VECTOR} {name}.turn)
  {name}.bits = lshr {_VECTOR} {name}, {_same(11)}
  {name}.whole = sitofp {_VECTOR} {name}.bits to {doubles}
  {name}.drawn = fmul {doubles} {name}.whole, <{", ".join(["double 0x3CA0000000000000"] * _WIDTH)}>{move * moved}
  %place{vector} = getelementptr double, ptr %place, i64 {_WIDTH * vector}
  store {doubles} {name}.{"moved" if moved else "drawn"}, ptr %place{vector}, align 8"""


def _last(vector: int) -> str:
    """The state behind the last number."""
    return f"""{_words("%last", f"%s{vector}")}
  %last.low.word = extractelement {_VECTOR} %last.low, i64 {_WIDTH - 1}
  %last.high.word = extractelement {_VECTOR} %last.high, i64 {_WIDTH - 1}
  %last.low.wide = zext i64 %last.low.word to i128
  %last.high.wide = zext i64 %last.high.word to i128
  %last.up = shl i128 %last.high.wide, 64
  %after = or i128 %last.up, %last.low.wide"""
