"""Draws from a PCG64, the bit generator of ``default_rng``, without NumPy's C functions: arrays, and single numbers.

Its state is a linear congruential generator of 128 bits, so several numbers can be on their way at a time: each is as
many steps behind the one before it in its lane. Normal and exponential numbers are made by the first step of NumPy's
ziggurats, which accepts 98 of 100: a product with the width of a layer, if it is inside. The widths are read off the
library, by drawing from a generator that says what we want it to say; what the first step does not accept is drawn by
the library, from the state as it was. So nothing here decides about bits, and all is compared with the installed NumPy
before it is used: where that has another layout or another method, all draws are the library's.

Single numbers are made by the programs themselves (`jitflow.runtime.generators.pcg64_text`), which find here what they
must know. What is compared for them is the method, in Python: it is there for the first call without anything being
compiled.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from jitflow.ir.draws import DRAWS, PCG64_MULTIPLIER, ZIGGURATS, Ziggurat, function_address
from jitflow.runtime.generators.draws_text import Quick
from jitflow.runtime.generators.pcg64_lanes import LANES, has_lanes, lanes_text, series
from jitflow.runtime.generators.pcg64_text import (
    INTRINSICS,
    first_step_text,
    moved_text,
    output_text,
    step_text,
    uniform_text,
)
from jitflow.runtime.native.native_code import NativeCode, make_immortal

__all__ = ["native_record", "quick_draws"]

_CHAINS = 4
_LAYERS = 256

_HEAD = "".join(
    f"\ndeclare {result} @{name}({', '.join(parameters)})\n" for name, (result, parameters) in INTRINSICS.items()
)
_METADATA = '\n!1 = !{!"branch_weights", i32 1048575, i32 1}\n!2 = !{}\n'

_PCG = """
  %state.at = load ptr, ptr %bitgen, align 8
  %pcg = load ptr, ptr %state.at, align 8
  %increment.at = getelementptr i8, ptr %pcg, i64 16
  %increment = load i128, ptr %increment.at, align 8
  %before = load i128, ptr %pcg, align 8"""
"""The two numbers of 128 bits, from the ``bitgen_t``."""

_BOUNDS = ", double %p0, double %p1"


def _uniform(name: str, word: str, number: str, place: str) -> str:
    return f"""{uniform_text(word, f"{number}.drawn")}{moved_text(name, f"{number}.drawn", number)}
  store double {number}, ptr {place}, align 8"""


def _uniform_text(name: str) -> str:
    """So many numbers that the lanes divide them, behind the few that are left over."""
    moved = name == "uniform"
    lanes = LANES if has_lanes() else _CHAINS
    parameters = _BOUNDS if moved else ""
    return f"""{_HEAD}{lanes_text(moved) if has_lanes() else _chains_text(name)}
define void @fill(ptr %bitgen, i64 %count, ptr %target{parameters}) {{
start:{_PCG}
  %rest = and i64 %count, {lanes - 1}
  br label %few
few:
  %n = phi i64 [ 0, %start ], [ %n.next, %one ]
  %start.state = phi i128 [ %before, %start ], [ %one.state, %one ]
  %more.few = icmp slt i64 %n, %rest
  br i1 %more.few, label %one, label %whole
one:{step_text("%start.state", "%one.state")}{output_text("%one.state", "%word")}
  %place = getelementptr double, ptr %target, i64 %n{_uniform(name, "%word", "%u", "%place")}
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


def _chains_text(name: str) -> str:
    """What `lanes_text` gives, for other processors: four numbers are on their way at a time."""
    lanes = range(_CHAINS)
    first = "".join(step_text(f"%first{lane - 1}" if lane else "%before", f"%first{lane}") for lane in lanes)
    phis = "".join(f"\n  %state{lane} = phi i128 [ %first{lane}, %start ], [ %next{lane}, %turn ]" for lane in lanes)
    body = "".join(
        f"""{output_text(f"%state{lane}", f"%word{lane}")}
  %place{lane} = getelementptr double, ptr %target, i64 %i{lane}{
            _uniform(name, f"%word{lane}", f"%u{lane}", f"%place{lane}")
        }
  %i{lane + 1} = add i64 %i{lane}, 1
  %jump{lane} = mul i128 %state{lane}, {pow(PCG64_MULTIPLIER, _CHAINS, 1 << 128)}
  %next{lane} = add i128 %jump{lane}, %distance"""
        for lane in lanes
    )
    return f"""
define internal void @lanes(ptr %pcg, i64 %count, ptr %target{_BOUNDS if name == "uniform" else ""}) {{
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


def _ziggurat_text(name: str) -> str:
    """Numbers by a ziggurat, one behind the other; what the first step leaves is drawn by the library."""
    kind, count = _kind(name), len(DRAWS[name].parameters)
    parameters = "".join(f", double %p{number}" for number in range(count))
    return f"""{_HEAD}
define void @fill(ptr %bitgen, i64 %count, ptr %target{parameters}) {{
start:{_PCG}
  %layers = getelementptr i8, ptr @layers, i64 0
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %turn, label %end
turn:
  %i = phi i64 [ 0, %start ], [ %next, %done ]
  %state = phi i128 [ %before, %start ], [ %behind, %done ]{step_text("%state", "%stepped")}{
        output_text("%stepped", "%word")
    }{first_step_text(ZIGGURATS[kind])}
  br i1 %inside, label %done, label %rare, !prof !1
rare:
  store i128 %state, ptr %pcg, align 8
  %other = call double @c_function(ptr %bitgen)
  %elsewhere = load i128, ptr %pcg, align 8
  br label %done
done:
  %drawn = phi double [ %made, %turn ], [ %other, %rare ]
  %behind = phi i128 [ %stepped, %turn ], [ %elsewhere, %rare ]{moved_text(name, "%drawn", "%last")}
  %place = getelementptr double, ptr %target, i64 %i
  store double %last, ptr %place, align 8
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %turn, label %end
end:
  %after = phi i128 [ %before, %start ], [ %behind, %done ]
  store i128 %after, ptr %pcg, align 8
  ret void
}}{_METADATA}"""


def _kind(name: str) -> str:
    """The row of the ziggurat behind a row; empty for uniform numbers."""
    return next((kind for kind in ZIGGURATS if kind.endswith(name)), "")


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
    """The library's function of a row, asked what it makes of a word, or of half a word."""

    def __init__(self, name: str) -> None:
        self._word, self._used = 0, 0
        whole, half = _Word(self._next), _Half(lambda state: self._next(state) % 2**32)
        self._bitgen = _Bitgen(None, whole, half, _Number(lambda state: _fraction(self._next(state))), whole)
        row = DRAWS[name]
        kinds: list[Any] = [ctypes.c_double] * len(row.parameters)
        if row.bounded:
            kinds = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_ssize_t, ctypes.c_bool, ctypes.c_void_p]
        result = None if row.bounded else ctypes.c_double
        self._function = ctypes.CFUNCTYPE(result, ctypes.c_void_p, *kinds)(function_address(row))

    def _next(self, state: Any) -> int:
        """The word, and then such that sooner or later one is accepted."""
        self._used += 1
        return self._word if self._used == 1 else self._used * 0x9E3779B97F4A7C15 % 2**64

    def number(self, word: int, *parameters: Any) -> Any:
        """What the function returns for a word; None if that was not enough."""
        self._word, self._used = word, 0
        drawn = self._function(ctypes.addressof(self._bitgen), *parameters)
        return drawn if self._used == 1 else None

    def whole(self, half: int, low: int, span: int) -> int | None:
        """The integer that half a word gives."""
        room = ctypes.c_uint64()
        self.number(half, low, span, 1, False, ctypes.addressof(room))
        return room.value if self._used == 1 else None


def _word(ziggurat: Ziggurat, layer: int, position: int) -> int:
    return layer << ziggurat.layer_bit | position << ziggurat.position_bit


@cache
def _layers(kind: str) -> Any:
    """For each layer of a ziggurat its width, and up to where in it the first step accepts for sure."""
    asked, ziggurat = _Asked(kind), ZIGGURATS[kind]
    widths = [asked.number(_word(ziggurat, layer, 1)) or 0.0 for layer in range(_LAYERS)]
    top, words = 1 << ziggurat.position_width, b""
    for layer, width in enumerate(widths):
        part = widths[layer - 1] / width if layer > 2 else _part_accepted(asked, ziggurat, layer)
        limit = max(int(part * top) - _SAFETY, 0)
        exact = limit > 1 and asked.number(_word(ziggurat, layer, limit - 1)) == (limit - 1) * width
        words += struct.pack("dq", width, limit if exact else 0)
    layers = ctypes.create_string_buffer(words, len(words))
    make_immortal(layers)
    return layers


def _part_accepted(asked: _Asked, ziggurat: Ziggurat, layer: int) -> float:
    """How much of a layer the first step accepts, where that is not what the next narrower one is to it."""
    top, found = 1 << ziggurat.position_width, 0
    for bit in range(1, 20):
        more = found + (top >> bit)
        found = found if asked.number(_word(ziggurat, layer, more)) is None else more
    return found / top


_SAFETY = 1 << 12
"""By how many positions the limits are too low, so that no rounding matters."""


@cache
def _next_double() -> int:
    """The C function for a double of a PCG64, by which one is known; 0 where its state is not what we take it for."""
    ours, raw = np.random.PCG64(1), np.random.PCG64(1).random_raw(6).tolist()
    interface = ours.ctypes
    address, found = interface.state_address, ours.state["state"]
    pcg = ctypes.c_uint64.from_address(address).value
    if not 0 <= pcg - id(ours) <= type(ours).__basicsize__ - 32:
        return 0
    if ctypes.string_at(pcg, 32) != b"".join(found[name].to_bytes(16, "little") for name in ("state", "inc")):
        return 0
    state, words = found["state"], []
    for _ in raw:
        state = (state * PCG64_MULTIPLIER + found["inc"]) % 2**128
        mixed, turn = (state >> 64 ^ state) % 2**64, state >> 122
        words.append((mixed >> turn | mixed << 64 - turn) % 2**64)
    halves = [(interface.next_uint32(address), *struct.unpack("iI", ctypes.string_at(address + 8, 8)))
              for _ in range(4)]  # fmt: skip
    wanted = [(half, kept, word >> 32) for word in words[:2] for half, kept in ((word % 2**32, 1), (word >> 32, 0))]
    numbers = [interface.next_double(address) for _ in words[2:]]
    if words != raw or halves != wanted or numbers != [_fraction(word) for word in words[2:]]:
        return 0
    bitgen = _Bitgen.from_address(interface.bit_generator.value or 0)
    return ctypes.cast(bitgen.next_double, ctypes.c_void_p).value or 0


def _fraction(word: int) -> float:
    return (word >> 11) * 2.0**-53


def _method_is_known(name: str) -> bool:
    """Whether the library makes of words what `jitflow.runtime.generators.pcg64_text` makes of them."""
    asked, words = _Asked(name), np.random.PCG64(3).random_raw(_WORDS).tolist()
    if name == "bounded_uint64":
        asks = [(word >> 32, low, span) for word, (low, span) in zip(words, _SPANS * _WORDS, strict=False)]
        return all(asked.whole(half, low, span) == _whole(half, low, span) for half, low, span in asks)
    kind, parameters = _kind(name), _PARAMETERS[name]
    if not kind:
        generator = np.random.Generator(np.random.PCG64(3))
        if not parameters:
            return [generator.random() for _ in words] == [_fraction(word) for word in words]
        low, high = parameters[0], sum(parameters)
        return [generator.uniform(low, high) for _ in words] == [low + (high - low) * _fraction(word) for word in words]
    ziggurat, layers = ZIGGURATS[kind], list(struct.iter_unpack("dq", _layers(kind).raw))
    for word in words:
        width, limit = layers[word >> ziggurat.layer_bit & _LAYERS - 1]
        position = word >> ziggurat.position_bit & 2**ziggurat.position_width - 1
        made = -position * width if ziggurat.is_signed and word & _LAYERS else position * width
        if parameters:
            made = parameters[0] + parameters[1] * made if len(parameters) == 2 else parameters[0] * made
        if position < limit and asked.number(word, *parameters) != made:
            return False
    return True


def _whole(half: int, low: int, span: int) -> int | None:
    """The integer that half a word gives by Lemire's product; None if it would not be fair."""
    product = half * (span + 1)
    return (low + (product >> 32)) % 2**64 if product % 2**32 >= (2**32 - 1 - span) % (span + 1) else None


_WORDS = 200
_SPANS = [(0, 5), (2**64 - 7, 999), (3, 2**31), (1, 2**32 - 2)]


# -- the functions


_PARAMETERS: dict[str, tuple[float, ...]] = {
    "standard_uniform": (), "uniform": (0.3, 1.7), "standard_normal": (), "normal": (0.3, 1.7),
    "standard_exponential": (), "exponential": (1.7,),
}  # fmt: skip
"""The rows that are filled so, and with which parameters they are compared."""


@cache
def native_record(name: str, offset: int) -> int:
    """Where the record of a row lies (`jitflow.ir.draws.RECORD_WORDS`), whose generators have a ``bitgen_t`` there."""
    kind = _kind(name)
    known = _next_double() if _method_is_known(name) else 0
    words = struct.pack("3Q", known, offset, function_address(DRAWS[name])) + (_layers(kind).raw if kind else b"")
    record = ctypes.create_string_buffer(words, len(words))
    make_immortal(record)
    return ctypes.addressof(record)


@cache
def quick_draws(name: str) -> Quick | None:
    """The function that fills arrays for a row; None where there is none, or it would have other bits than NumPy."""
    if name not in _PARAMETERS or not _next_double():
        return None
    parameters = _PARAMETERS[name]
    kind, outside = _kind(name), dict[str, int]()
    if kind:
        outside = {"layers": ctypes.addressof(_layers(kind)), "c_function": function_address(DRAWS[kind])}
    text = partial(_ziggurat_text if kind else _uniform_text, name)
    code = NativeCode(text, optimisation=2, for_host=True, outside=outside)
    make_immortal(code)
    fill = code.address("fill")
    ours, theirs = np.random.PCG64(1), np.random.Generator(np.random.PCG64(1))
    made, expected = np.empty(_SAMPLE), np.empty(_SAMPLE)
    numbers: Sequence[Any] = [ctypes.c_double] * len(parameters)
    several = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, *numbers)(fill)
    several(ours.ctypes.bit_generator.value, _SAMPLE, made.ctypes.data, *parameters)
    if name == "uniform":
        expected[:] = theirs.uniform(parameters[0], sum(parameters), _SAMPLE)
    else:
        expected[:] = getattr(theirs, name.replace("standard_uniform", "random"))(*parameters, size=_SAMPLE)
    if made.tobytes() != expected.tobytes() or ours.state != theirs.bit_generator.state:
        return None
    return Quick(_next_double(), fill)


_SAMPLE = 4099
