"""Arrays of draws from a PCG64, the bit generator of ``default_rng``, without a call for each number.

Its state is a linear congruential generator of 128 bits, so several numbers can be on their way at a time: each is as
many steps behind the one before it in its lane. Normal numbers are made by the first step of NumPy's ziggurat, which
accepts 99 of 100: a product with the width of a layer, if it is inside. The widths are read off the library, by
drawing from a generator that says what we want it to say; what the first step does not accept is drawn by the library,
from a generator that repeats the last number. So nothing here decides about bits, and the results are compared before
it is used: where the installed NumPy has another layout or another method, all draws are the library's.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from jitflow.ir.draws import DRAWS, function_address
from jitflow.runtime.draws_text import Quick
from jitflow.runtime.native_code import NativeCode, make_immortal
from jitflow.runtime.pcg64_lanes import LANES, MULTIPLIER, has_lanes, lanes_text, series

__all__ = ["quick_draws"]

_CHAINS = 4
_LAYERS = 256
_MANTISSA = 1 << 52

_HEAD = """
declare i64 @llvm.fshr.i64(i64, i64, i64)
"""

_PCG = """
  %state.at = load ptr, ptr %bitgen, align 8
  %pcg = load ptr, ptr %state.at, align 8"""
"""The two numbers of 128 bits, from the ``bitgen_t``."""


def _output(state: str, name: str) -> str:
    """The number of 64 bits that a state gives."""
    return f"""
  {name}.upper = lshr i128 {state}, 64
  {name}.high = trunc i128 {name}.upper to i64
  {name}.low = trunc i128 {state} to i64
  {name}.mixed = xor i64 {name}.high, {name}.low
  {name}.turn = lshr i64 {name}.high, 58
  {name} = call i64 @llvm.fshr.i64(i64 {name}.mixed, i64 {name}.mixed, i64 {name}.turn)"""


def _uniform(word: str, name: str, place: str, moved: bool) -> str:
    move = f"""
  {name}.scaled = fmul double %span, {name}.drawn
  {name}.moved = fadd double %low, {name}.scaled"""
    return f"""
  {name}.bits = lshr i64 {word}, 11
  {name}.whole = sitofp i64 {name}.bits to double
  {name}.drawn = fmul double {name}.whole, 0x3CA0000000000000{move * moved}
  store double {name}.{"moved" if moved else "drawn"}, ptr {place}, align 8"""


def _uniform_text(moved: bool) -> str:
    """So many numbers that the lanes divide them, behind the few that are left over."""
    lanes = LANES if has_lanes() else _CHAINS
    parameters = _BOUNDS if moved else ""
    return f"""{_HEAD}{lanes_text(moved) if has_lanes() else _chains_text(moved)}
define void @uniform(ptr %bitgen, i64 %count, ptr %target{parameters}) {{
start:{_PCG}
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %before = load i128, ptr %pcg, align 8
  %rest = and i64 %count, {lanes - 1}
  br label %few
few:
  %n = phi i64 [ 0, %start ], [ %n.next, %one ]
  %start.state = phi i128 [ %before, %start ], [ %one.state, %one ]
  %more.few = icmp slt i64 %n, %rest
  br i1 %more.few, label %one, label %whole
one:
  %one.product = mul i128 %start.state, {MULTIPLIER}
  %one.state = add i128 %one.product, %increment{_output("%one.state", "%word")}
  %place = getelementptr double, ptr %target, i64 %n{_uniform("%word", "%u", "%place", moved)}
  %n.next = add i64 %n, 1
  br label %few
whole:
  store i128 %start.state, ptr %pcg, align 8
  %some = icmp slt i64 %rest, %count
  br i1 %some, label %lanes, label %end
lanes:
  %count.whole = sub i64 %count, %rest
  %target.whole = getelementptr double, ptr %target, i64 %rest
  call void @lanes(ptr %pcg, i64 %count.whole, ptr %target.whole{parameters})
  br label %end
end:
  ret void
}}"""


_BOUNDS = ", double %low, double %span"


def _chains_text(moved: bool) -> str:
    """What `lanes_text` gives, for other processors: four numbers are on their way at a time."""
    lanes = range(_CHAINS)
    first = "".join(
        f"""
  %product{lane} = mul i128 {"%before" if not lane else f"%first{lane - 1}"}, {MULTIPLIER}
  %first{lane} = add i128 %product{lane}, %increment"""
        for lane in lanes
    )
    phis = "".join(f"\n  %state{lane} = phi i128 [ %first{lane}, %start ], [ %next{lane}, %turn ]" for lane in lanes)
    body = "".join(
        f"""{_output(f"%state{lane}", f"%word{lane}")}
  %place{lane} = getelementptr double, ptr %target, i64 %i{lane}{
            _uniform(f"%word{lane}", f"%u{lane}", f"%place{lane}", moved)
        }
  %i{lane + 1} = add i64 %i{lane}, 1
  %jump{lane} = mul i128 %state{lane}, {pow(MULTIPLIER, _CHAINS, 1 << 128)}
  %next{lane} = add i128 %jump{lane}, %distance"""
        for lane in lanes
    )
    return f"""
define internal void @lanes(ptr %pcg, i64 %count, ptr %target{_BOUNDS if moved else ""}) {{
start:
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %before = load i128, ptr %pcg, align 8
  %distance = mul i128 %increment, {series(_CHAINS)}{first}
  br label %turn
turn:
  %i0 = phi i64 [ 0, %start ], [ %i{_CHAINS}, %turn ]{phis}{body}
  %more = icmp slt i64 %i{_CHAINS}, %count
  br i1 %more, label %turn, label %end
end:
  store i128 %state{_CHAINS - 1}, ptr %pcg, align 8
  ret void
}}"""


def _normal_text(function: int, widths: Sequence[float], limits: Sequence[int], moved: bool) -> str:
    """Normal numbers, one behind the other; what the first step leaves is drawn by the library."""
    numbers = ", ".join(f"double 0x{struct.unpack('<Q', struct.pack('<d', width))[0]:016X}" for width in widths)
    borders = ", ".join(f"i64 {limit}" for limit in limits)
    forwards = "".join(f"""
define internal {kind} @forward{place}(ptr %again) {{
  %real.at = getelementptr i8, ptr %again, i64 16
  %real = load ptr, ptr %real.at, align 8
  %state = load ptr, ptr %real, align 8
  %function.at = getelementptr i8, ptr %real, i64 {8 * place}
  %function = load ptr, ptr %function.at, align 8
  %drawn = call {kind} %function(ptr %state)
  ret {kind} %drawn
}}""" for place, kind in ((1, "i64"), (2, "i32"), (3, "double")))  # fmt: skip
    return f"""
@widths = internal constant [{_LAYERS} x double] [{numbers}]
@limits = internal constant [{_LAYERS} x i64] [{borders}]
{forwards}
define internal i64 @again(ptr %again) {{
  %used = load i64, ptr %again, align 8
  %is.used = icmp ne i64 %used, 0
  br i1 %is.used, label %other, label %same
same:
  store i64 1, ptr %again, align 8
  %word.at = getelementptr i8, ptr %again, i64 8
  %word = load i64, ptr %word.at, align 8
  ret i64 %word
other:
  %drawn = call i64 @forward1(ptr %again)
  ret i64 %drawn
}}
{_normal_fill(function, moved)}{_normal_draw(moved)}
!0 = !{{!"branch_weights", i32 100, i32 1}}"""


def _first_step() -> str:
    """What the ziggurat makes of the number behind ``%state``, and whether it is sure to be accepted."""
    return f"""\
  %product = mul i128 %state, {MULTIPLIER}
  %stepped = add i128 %product, %increment{_output("%stepped", "%word")}
  %layer = and i64 %word, {_LAYERS - 1}
  %signed = and i64 %word, 256
  %above = lshr i64 %word, 9
  %position = and i64 %above, {_MANTISSA - 1}
  %limit.at = getelementptr i64, ptr @limits, i64 %layer
  %limit = load i64, ptr %limit.at, align 8
  %width.at = getelementptr double, ptr @widths, i64 %layer
  %width = load double, ptr %width.at, align 8
  %whole = sitofp i64 %position to double
  %size = fmul double %whole, %width
  %sign = shl i64 %signed, 55
  %size.bits = bitcast double %size to i64
  %made.bits = xor i64 %size.bits, %sign
  %made = bitcast i64 %made.bits to double
  %inside = icmp slt i64 %position, %limit"""


def _normal_draw(moved: bool) -> str:
    """One number; what the first step leaves is an array of one."""
    parameters = ", double %loc, double %scale" if moved else ""
    name, move = ("normal", _MOVE) if moved else ("standard_normal", "")
    return f"""
define double @{name}_draw(ptr %bitgen{parameters}) {{
start:{_PCG}
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %state = load i128, ptr %pcg, align 8
{_first_step()}
  br i1 %inside, label %done, label %rare, !prof !0
rare:
  %room = alloca double, align 8
  call void @{name}(ptr %bitgen, i64 1, ptr %room{parameters})
  %other = load double, ptr %room, align 8
  ret double %other
done:
  store i128 %stepped, ptr %pcg, align 8
  %drawn = fadd double %made, -0.0{move}
  ret double {"%made.last" if moved else "%drawn"}
}}"""


_MOVE = """
  %scaled = fmul double %scale, %drawn
  %made.last = fadd double %loc, %scaled"""


def _normal_fill(function: int, moved: bool) -> str:
    """The loop, for numbers as they are, or ``moved`` to another mean and deviation."""
    parameters = ", double %loc, double %scale" if moved else ""
    move = _MOVE if moved else ""
    return f"""
define void @{"normal" if moved else "standard_normal"}(ptr %bitgen, i64 %count, ptr %target{parameters}) {{
start:{_PCG}
  %record = alloca [3 x i64], align 8
  %repeating = alloca [5 x ptr], align 8
  store ptr %record, ptr %repeating, align 8
  %r1 = getelementptr i8, ptr %repeating, i64 8
  store ptr @again, ptr %r1, align 8
  %r2 = getelementptr i8, ptr %repeating, i64 16
  store ptr @forward2, ptr %r2, align 8
  %r3 = getelementptr i8, ptr %repeating, i64 24
  store ptr @forward3, ptr %r3, align 8
  %r4 = getelementptr i8, ptr %repeating, i64 32
  store ptr @again, ptr %r4, align 8
  %word.at = getelementptr i8, ptr %record, i64 8
  %real.at = getelementptr i8, ptr %record, i64 16
  store ptr %bitgen, ptr %real.at, align 8
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %before = load i128, ptr %pcg, align 8
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %turn, label %end
turn:
  %i = phi i64 [ 0, %start ], [ %next, %done ]
  %state = phi i128 [ %before, %start ], [ %behind, %done ]
{_first_step()}
  br i1 %inside, label %done, label %rare, !prof !0
rare:
  store i128 %stepped, ptr %pcg, align 8
  store i64 0, ptr %record, align 8
  store i64 %word, ptr %word.at, align 8
  %other = call double inttoptr (i64 {function} to ptr)(ptr %repeating)
  %elsewhere = load i128, ptr %pcg, align 8
  br label %done
done:
  %drawn = phi double [ %made, %turn ], [ %other, %rare ]
  %behind = phi i128 [ %stepped, %turn ], [ %elsewhere, %rare ]{move}
  %place = getelementptr double, ptr %target, i64 %i
  store double {"%made.last" if moved else "%drawn"}, ptr %place, align 8
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %turn, label %end
end:
  %after = phi i128 [ %before, %start ], [ %behind, %done ]
  store i128 %after, ptr %pcg, align 8
  ret void
}}"""


# -- what the library says


_Word = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)
_Half = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p)
_Number = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)


class _Bitgen(ctypes.Structure):
    """NumPy's ``bitgen_t``."""

    _fields_ = (
        ("state", ctypes.c_void_p),
        ("next_uint64", _Word),
        ("next_uint32", _Half),
        ("next_double", _Number),
        ("next_raw", _Word),
    )


class _Asked:
    """The library's function of one normal number, asked what it makes of a word."""

    def __init__(self) -> None:
        self._words: list[int] = []
        word = _Word(lambda state: self._words.pop() if self._words else 5 | 1 << 9)
        self._bitgen = _Bitgen(None, word, _Half(lambda state: 0), _Number(self._number), word)
        self._draw = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(
            function_address(DRAWS["standard_normal"])
        )  # fmt: skip
        self._is_first = True

    def _number(self, state: Any) -> float:
        self._is_first = False
        return 0.5

    def first(self, layer: int, position: int) -> float | None:
        """The number that the first step makes; None if it accepts none."""
        self._words, self._is_first = [layer | position << 9], True
        drawn: float = self._draw(ctypes.addressof(self._bitgen))
        return drawn if self._is_first else None


@cache
def _ziggurat() -> tuple[list[float], list[int]]:
    """The width of each layer, and up to where in it the first step accepts for sure."""
    asked = _Asked()
    widths = [asked.first(layer, 1) or 0.0 for layer in range(_LAYERS)]
    limits = []
    for layer, width in enumerate(widths):
        before = widths[layer - 1] if layer else 0.0
        limit = max(int(before / width * _MANTISSA) - _SAFETY, 0) if width and layer > 1 else 0
        exact = limit > 1 and asked.first(layer, limit - 1) == (limit - 1) * width
        limits.append(limit if exact else 0)
    return widths, limits


_SAFETY = 1 << 12
"""By how many of 2**52 positions the limits are too low, so that no rounding matters."""


# -- the functions


_PARAMETERS: dict[str, tuple[float, ...]] = {
    "standard_uniform": (), "uniform": (0.3, 1.7), "standard_normal": (), "normal": (0.3, 1.7),
}  # fmt: skip
"""The rows that are filled so, and with which parameters they are compared."""


@cache
def quick_draws(name: str) -> Quick | None:
    """The functions for a row of draws; None where there are none, or where they would have other bits than NumPy."""
    if name not in _PARAMETERS:
        return None
    is_uniform, parameters = name.endswith("uniform"), _PARAMETERS[name]
    code = (_uniform_code if is_uniform else _normal_code)(bool(parameters))
    fill = code.address("uniform" if is_uniform else name)
    draw = 0 if is_uniform else code.address(f"{name}_draw")
    ours, theirs = np.random.PCG64(1), np.random.Generator(np.random.PCG64(1))
    made, expected = np.empty(_SAMPLE), np.empty(_SAMPLE)
    bitgen = _Bitgen.from_address(ours.ctypes.bit_generator.value or 0)
    if not _state_is_known(ours, bitgen.state):
        return None
    address, pointer, numbers = ctypes.addressof(bitgen), ctypes.c_void_p, [ctypes.c_double] * len(parameters)
    one = ctypes.CFUNCTYPE(ctypes.c_double, pointer, *numbers)(draw) if draw else None
    several = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64, pointer, *numbers)(fill)
    singles = [one(address, *parameters) for _ in range(_SINGLE)] if one else []
    made[: len(singles)] = singles
    several(address, _SAMPLE - len(singles), made[len(singles) :].ctypes.data, *parameters)
    if name == "uniform":
        expected[:] = theirs.uniform(parameters[0], sum(parameters), _SAMPLE)
    else:
        expected[:] = getattr(theirs, name.replace("standard_uniform", "random"))(*parameters, size=_SAMPLE)
    if made.tobytes() != expected.tobytes() or ours.state != theirs.bit_generator.state:
        return None
    return Quick(ctypes.cast(bitgen.next_double, pointer).value or 0, fill, draw)


def _state_is_known(bits: Any, address: int) -> bool:
    """Whether a PCG64 has its two numbers of 128 bits inside the Python object, in the order in which they are used."""
    found = ctypes.c_uint64.from_address(address).value
    if not 0 <= found - id(bits) <= type(bits).__basicsize__ - 32:
        return False
    wanted = b"".join(bits.state["state"][name].to_bytes(16, "little") for name in ("state", "inc"))
    return ctypes.string_at(found, 32) == wanted


_SAMPLE, _SINGLE = 4099, 500


@cache
def _uniform_code(moved: bool) -> NativeCode:
    return _compiled(_uniform_text(moved))


@cache
def _normal_code(moved: bool) -> NativeCode:
    return _compiled(_HEAD + _normal_text(function_address(DRAWS["standard_normal"]), *_ziggurat(), moved))


def _compiled(text: str) -> NativeCode:
    code = NativeCode(text, optimisation=2, for_host=True)
    make_immortal(code)
    return code
