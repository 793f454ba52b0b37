"""Arrays of draws of a `RandomState` from an MT19937, the bit generator of ``np.random``'s functions.

Its 624 words are renewed, mixed and made into numbers in lanes. What is not a whole number of lanes, or would need
words of before and after they are renewed, is done one by one. Normal numbers take theirs from a buffer, and give back
what they leave. As for the PCG64, all is compared with the installed NumPy before it is used.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial

import numpy as np

from jitflow.runtime.generators.draws_text import Quick
from jitflow.runtime.native.native_code import NativeCode, make_immortal

__all__ = ["quick_fill"]

_WORDS, _FAR, _LANES = 624, 397, 8
_ROOM = 8 * (_WORDS // 2)

_PARAMETERS: dict[str, tuple[float, ...]] = {
    "legacy_standard_uniform": (), "legacy_uniform": (0.3, 1.7),
    "legacy_standard_normal": (), "legacy_normal": (0.3, 1.7),
}  # fmt: skip
"""The rows that are filled so, and with which parameters they are compared."""


def _lanes(number: int | str, kind: str) -> str:
    """A constant, in all lanes where the kind is a vector."""
    if not kind.startswith("<"):
        return str(number)
    count, element = kind.strip("<>").split(" x ")
    return f"<{', '.join([f'{element} {number}'] * int(count))}>"


def _renewed_text() -> str:
    """``@renew(words)``. The new words stand behind the old ones, so that all of them are made in the same way."""
    kind = f"<{_LANES} x i32>"
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @renew(ptr %words) {{
start:
  %both = alloca [{8 * _WORDS} x i8], align 64
  call void @llvm.memcpy.p0.p0.i64(ptr %both, ptr %words, i64 {4 * _WORDS}, i1 false)
  br label %turn
turn:
  %k = phi i64 [ 0, %start ], [ %next, %turn ]
  %this.at = getelementptr i32, ptr %both, i64 %k
  %after.at = getelementptr i8, ptr %this.at, i64 4
  %other.at = getelementptr i8, ptr %this.at, i64 {4 * _FAR}
  %behind.at = getelementptr i8, ptr %this.at, i64 {4 * _WORDS}
  %word.at = getelementptr i32, ptr %words, i64 %k
  %this = load {kind}, ptr %this.at, align 4
  %after = load {kind}, ptr %after.at, align 4
  %other = load {kind}, ptr %other.at, align 4
  %upper = and {kind} %this, {_lanes(-2147483648, kind)}
  %lower = and {kind} %after, {_lanes(2147483647, kind)}
  %joined = or {kind} %upper, %lower
  %half = lshr {kind} %joined, {_lanes(1, kind)}
  %odd = and {kind} %joined, {_lanes(1, kind)}
  %mask = sub {kind} {_lanes(0, kind)}, %odd
  %matrix = and {kind} %mask, {_lanes(-1727483681, kind)}
  %mixed = xor {kind} %other, %half
  %new = xor {kind} %mixed, %matrix
  store {kind} %new, ptr %behind.at, align 4
  store {kind} %new, ptr %word.at, align 4
  %next = add i64 %k, {_LANES}
  %more = icmp slt i64 %next, {_WORDS}
  br i1 %more, label %turn, label %end
end:
  ret void
}}"""


def _tempered(name: str, kind: str, word: str) -> str:
    """What is given for a word."""
    lines, now = [], word
    for step, (shift, by, mask) in enumerate(
        (("lshr", 11, -1), ("shl", 7, -1658038656), ("shl", 15, -272236544), ("lshr", 18, -1))
    ):
        made = f"{name}.y{step}" if step < 3 else name
        lines.append(f"""
  {name}.s{step} = {shift} {kind} {now}, {_lanes(by, kind)}
  {name}.m{step} = and {kind} {name}.s{step}, {_lanes(mask, kind)}
  {made} = xor {kind} {now}, {name}.m{step}""")
        now = made
    return "".join(lines)


def _double(name: str, words: str, kind: str, a: str, b: str) -> str:
    """Numbers between 0 and 1, of the 27 upper bits of one word and the 26 upper bits of the next."""
    return f"""
  {name}.a.bits = lshr {words} {a}, {_lanes(5, words)}
  {name}.b.bits = lshr {words} {b}, {_lanes(6, words)}
  {name}.a = uitofp {words} {name}.a.bits to {kind}
  {name}.b = uitofp {words} {name}.b.bits to {kind}
  {name}.high = fmul {kind} {name}.a, {_lanes("6.7108864e+07", kind)}
  {name}.sum = fadd {kind} {name}.high, {name}.b
  {name} = fmul {kind} {name}.sum, {_lanes("0x3CA0000000000000", kind)}"""


def _uniform_text() -> str:
    """``@some(words, target, most)``: at least one number and at most so many, which is how many were made."""
    pair, half = f"<{2 * _LANES} x i32>", f"<{_LANES} x i32>"
    evens, odds = (", ".join(f"i32 {2 * lane + odd}" for lane in range(_LANES)) for odd in (0, 1))
    return f"""{_renewed_text()}
define internal i32 @word(ptr %words) {{
start:
  %position.at = getelementptr i32, ptr %words, i64 {_WORDS}
  %position = load i32, ptr %position.at, align 4
  %is.used = icmp sge i32 %position, {_WORDS}
  br i1 %is.used, label %turn, label %give
turn:
  call void @renew(ptr %words)
  br label %give
give:
  %at = phi i32 [ %position, %start ], [ 0, %turn ]
  %at.next = add i32 %at, 1
  store i32 %at.next, ptr %position.at, align 4
  %place = sext i32 %at to i64
  %word.at = getelementptr i32, ptr %words, i64 %place
  %word = load i32, ptr %word.at, align 4{_tempered("%given", "i32", "%word")}
  ret i32 %given
}}
define internal i64 @some(ptr %words, ptr %target, i64 %most) {{
start:
  %position.at = getelementptr i32, ptr %words, i64 {_WORDS}
  %position = load i32, ptr %position.at, align 4
  %left = sub i32 {_WORDS}, %position
  %pairs = ashr i32 %left, 1
  %room = sext i32 %pairs to i64
  %fits = icmp slt i64 %room, %most
  %least = select i1 %fits, i64 %room, i64 %most
  %whole = and i64 %least, {-_LANES}
  %none = icmp slt i64 %whole, 1
  br i1 %none, label %one, label %many
one:
  %a = call i32 @word(ptr %words)
  %b = call i32 @word(ptr %words){_double("%single", "i32", "double", "%a", "%b")}
  store double %single, ptr %target, align 8
  ret i64 1
many:
  %first = sext i32 %position to i64
  %from = getelementptr i32, ptr %words, i64 %first
  br label %turn
turn:
  %i = phi i64 [ 0, %many ], [ %next, %turn ]
  %twice = shl i64 %i, 1
  %pair.at = getelementptr i32, ptr %from, i64 %twice
  %pair = load {pair}, ptr %pair.at, align 4{_tempered("%given", pair, "%pair")}
  %evens = shufflevector {pair} %given, {pair} poison, {half} <{evens}>
  %odds = shufflevector {pair} %given, {pair} poison, {half} <{odds}>{
        _double("%made", half, f"<{_LANES} x double>", "%evens", "%odds")
    }
  %place = getelementptr double, ptr %target, i64 %i
  store <{_LANES} x double> %made, ptr %place, align 8
  %next = add i64 %i, {_LANES}
  %more = icmp slt i64 %next, %whole
  br i1 %more, label %turn, label %end
end:
  %words.made = trunc i64 %whole to i32
  %words.used = shl i32 %words.made, 1
  %position.next = add i32 %position, %words.used
  store i32 %position.next, ptr %position.at, align 4
  ret i64 %whole
}}
define void @standard_uniform(ptr %bitgen, i64 %count, ptr %target) {{
start:
  %words = load ptr, ptr %bitgen, align 8
  br label %check
check:
  %i = phi i64 [ 0, %start ], [ %next, %turn ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %turn, label %end
turn:
  %place = getelementptr double, ptr %target, i64 %i
  %rest = sub i64 %count, %i
  %made = call i64 @some(ptr %words, ptr %place, i64 %rest)
  %next = add i64 %i, %made
  br label %check
end:
  ret void
}}"""


def _normal_text(kept: int) -> str:
    """Pairs by Marsaglia's polar method; the second of the last one is kept, ``kept`` bytes behind the ``bitgen_t``."""
    return f"""
declare double @log(double)
declare double @llvm.sqrt.f64(double)

define internal double @next(ptr %words, ptr %buffer, ptr %used.at, ptr %full.at) {{
start:
  %used = load i64, ptr %used.at, align 8
  %full = load i64, ptr %full.at, align 8
  %some = icmp slt i64 %used, %full
  br i1 %some, label %give, label %renew
renew:
  %made = call i64 @some(ptr %words, ptr %buffer, i64 {_ROOM // 8})
  store i64 %made, ptr %full.at, align 8
  br label %give
give:
  %at = phi i64 [ %used, %start ], [ 0, %renew ]
  %next = add i64 %at, 1
  store i64 %next, ptr %used.at, align 8
  %place = getelementptr double, ptr %buffer, i64 %at
  %drawn = load double, ptr %place, align 8
  ret double %drawn
}}
define void @standard_normal(ptr %bitgen, i64 %count, ptr %target) {{
start:
  %buffer = alloca [{_ROOM} x i8], align 64
  %used.at = alloca i64, align 8
  %full.at = alloca i64, align 8
  store i64 0, ptr %used.at, align 8
  store i64 0, ptr %full.at, align 8
  %words = load ptr, ptr %bitgen, align 8
  %flag.at = getelementptr i8, ptr %bitgen, i64 {kept}
  %kept.at = getelementptr i8, ptr %flag.at, i64 8
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %begin, label %nothing
nothing:
  ret void
begin:
  %flag = load i32, ptr %flag.at, align 4
  %is.kept = icmp ne i32 %flag, 0
  br i1 %is.kept, label %kept, label %check
kept:
  %before = load double, ptr %kept.at, align 8
  store i32 0, ptr %flag.at, align 4
  store double 0.0, ptr %kept.at, align 8
  store double %before, ptr %target, align 8
  br label %check
check:
  %i = phi i64 [ 0, %begin ], [ 1, %kept ], [ %i.both, %both ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %pair, label %end
pair:
  %used = load i64, ptr %used.at, align 8
  %full = load i64, ptr %full.at, align 8
  %used.next = add i64 %used, 2
  %is.there = icmp sle i64 %used.next, %full
  br i1 %is.there, label %quick, label %slow
quick:
  store i64 %used.next, ptr %used.at, align 8
  %quick.u.at = getelementptr double, ptr %buffer, i64 %used
  %quick.v.at = getelementptr i8, ptr %quick.u.at, i64 8
  %quick.u = load double, ptr %quick.u.at, align 8
  %quick.v = load double, ptr %quick.v.at, align 8
  br label %try
slow:
  %slow.u = call double @next(ptr %words, ptr %buffer, ptr %used.at, ptr %full.at)
  %slow.v = call double @next(ptr %words, ptr %buffer, ptr %used.at, ptr %full.at)
  br label %try
try:
  %u = phi double [ %quick.u, %quick ], [ %slow.u, %slow ]
  %v = phi double [ %quick.v, %quick ], [ %slow.v, %slow ]
  %u.twice = fmul double 2.0, %u
  %x = fsub double %u.twice, 1.0
  %v.twice = fmul double 2.0, %v
  %y = fsub double %v.twice, 1.0
  %x.square = fmul double %x, %x
  %y.square = fmul double %y, %y
  %square = fadd double %x.square, %y.square
  %outside = fcmp oge double %square, 1.0
  %is.zero = fcmp oeq double %square, 0.0
  %again = or i1 %outside, %is.zero
  br i1 %again, label %pair, label %made
made:
  %log = call double @log(double %square)
  %twice = fmul double -2.0, %log
  %quotient = fdiv double %twice, %square
  %factor = call double @llvm.sqrt.f64(double %quotient)
  %first = fmul double %factor, %y
  %second = fmul double %factor, %x
  %place = getelementptr double, ptr %target, i64 %i
  store double %first, ptr %place, align 8
  %i.next = add i64 %i, 1
  %is.more = icmp slt i64 %i.next, %count
  br i1 %is.more, label %both, label %last
both:
  %place.next = getelementptr i8, ptr %place, i64 8
  store double %second, ptr %place.next, align 8
  %i.both = add i64 %i, 2
  br label %check
last:
  store double %second, ptr %kept.at, align 8
  store i32 1, ptr %flag.at, align 4
  br label %end
end:
  %used.end = load i64, ptr %used.at, align 8
  %full.end = load i64, ptr %full.at, align 8
  %unused = sub i64 %full.end, %used.end
  %unused.words = shl i64 %unused, 1
  %back = trunc i64 %unused.words to i32
  %position.at = getelementptr i32, ptr %words, i64 {_WORDS}
  %position = load i32, ptr %position.at, align 4
  %position.end = sub i32 %position, %back
  store i32 %position.end, ptr %position.at, align 4
  ret void
}}"""


def _moved_text(name: str) -> str:
    """Numbers that are moved to another place and stretched."""
    return f"""
define void @{name}(ptr %bitgen, i64 %count, ptr %target, double %loc, double %scale) {{
start:
  call void @standard_{name}(ptr %bitgen, i64 %count, ptr %target)
  br label %check
check:
  %i = phi i64 [ 0, %start ], [ %next, %turn ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %turn, label %end
turn:
  %place = getelementptr double, ptr %target, i64 %i
  %drawn = load double, ptr %place, align 8
  %scaled = fmul double %scale, %drawn
  %made = fadd double %loc, %scaled
  store double %made, ptr %place, align 8
  %next = add i64 %i, 1
  br label %check
end:
  ret void
}}"""


@cache
def _code(normal: bool, kept: int) -> NativeCode:
    code = NativeCode(partial(_text, normal, kept), optimisation=2, for_host=True)
    make_immortal(code)
    return code


def _text(normal: bool, kept: int) -> str:
    return _uniform_text() + (_normal_text(kept) if normal else "") + _moved_text("normal" if normal else "uniform")


@cache
def quick_fill(name: str, offset: int, kept: int) -> Quick | None:
    """The function for a row of draws; None where there is none, or where it would have other bits than NumPy.

    A `RandomState` has its ``bitgen_t`` at ``offset``, and at ``kept`` the second of two normal numbers.
    """
    if name not in _PARAMETERS:
        return None
    parameters, method = _PARAMETERS[name], name.removeprefix("legacy_")
    fill = _code("normal" in name, kept - offset).address(method)
    ours, theirs = (np.random.RandomState(np.random.MT19937(1)) for _ in range(2))
    bitgen = id(ours) + offset
    words = ctypes.c_uint64.from_address(bitgen).value
    if ctypes.string_at(words, 4 * _WORDS) != ours.get_state(legacy=False)["state"]["key"].tobytes():
        return None
    numbers = [ctypes.c_double] * len(parameters)
    several = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *numbers)(fill)
    given = (0.3, 0.3 + 1.7) if method == "uniform" else parameters
    draw = getattr(theirs, method.replace("standard_uniform", "random_sample"))
    for count in (1, 1000, 2, 313, 5):
        made, expected = np.empty(count), draw(*given, count)
        several(bitgen, count, made.ctypes.data, *parameters)
        if made.tobytes() != expected.tobytes():
            return None
    if repr(ours.get_state(legacy=False)) != repr(theirs.get_state(legacy=False)):
        return None
    return Quick(ctypes.c_uint64.from_address(bitgen + 24).value, fill)
