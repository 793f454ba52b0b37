"""Draws from NumPy's generators, as native code calls them, and what a call owes to the generators that it draws from.

A function here is given a generator by the address of the Python object, in which the ``bitgen_t`` lies that NumPy's C
functions work on. Where exactly is found by looking for its words in an object of the class.
"""

from __future__ import annotations

import ctypes
import random
import struct
from functools import cache, partial

import numpy as np

from jitflow.ir.draws import DRAW_PREFIX, DRAWS, FILL_PREFIX, bits_of, draw, function_address, is_available
from jitflow.runtime.generators.draws_text import (
    FUNCTION,
    GENERATOR,
    NEXT_DOUBLE,
    QUICK_FILL,
    Quick,
    bitgen_text,
    bounded_text,
    function_text,
    legacy_text,
    python_text,
    quick_text,
)
from jitflow.runtime.generators.mt19937 import quick_fill
from jitflow.runtime.generators.pcg64 import native_record, quick_draws
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.object_layout import layout_is_known

__all__ = [
    "are_native",
    "draw_address",
    "legacy_is_native",
    "python_is_native",
    "record_address",
    "shuffles_from_the_end",
]

_BITGEN_WORDS = 5


@cache
def are_native() -> bool:
    """Whether compiled code can draw itself: C functions and the places in the objects are known."""
    return is_available() and layout_is_known() and all(_offset(kind) for kind in _kinds())


def _kinds() -> tuple[type, type]:
    return np.random.Generator, np.random.RandomState


@cache
def _offset(kind: type) -> int:
    """Where the ``bitgen_t`` lies in an object of a class; 0 if it cannot be found."""
    sample = kind(np.random.MT19937(0))
    wanted = bytes((ctypes.c_char * (8 * _BITGEN_WORDS)).from_address(_bitgen_of(bits_of(sample).capsule)))
    found = bytes((ctypes.c_char * kind.__basicsize__).from_address(id(sample))).find(wanted)
    return max(found, 0)


def _bitgen_of(capsule: object) -> int:
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, b"BitGenerator") or 0


@cache
def draw_address(symbol: str) -> int:
    """Where the function starts that a context calls ``symbol``. Those of `random.Random` draw one number."""
    name, fills = symbol.removeprefix(DRAW_PREFIX).removeprefix(FILL_PREFIX), symbol.startswith(FILL_PREFIX)
    row = DRAWS[name]
    if name.startswith("python_"):
        text, outside = partial(python_text, row, _twister()), dict[str, int]()
    else:
        generator, legacy = _kinds()
        quick = _quick(name) if fills and not row.bounded else None
        offsets = _offset(generator), _offset(legacy)
        text = partial(_text, name, offsets, _kept_normal() if row.method else 0, quick is not None, fills)
        outside = {GENERATOR: id(generator)}
        if not row.method:
            outside[FUNCTION] = function_address(row)
        if quick is not None:
            outside |= {NEXT_DOUBLE: quick.next_double, QUICK_FILL: quick.fill}
    code = NativeCode(text, optimisation=2, for_host=True, outside=outside)
    make_immortal(code)
    return code.address("fill" if fills else "draw")


def _text(name: str, offsets: tuple[int, int], kept: int, is_quick: bool, fills: bool) -> str:
    row, bitgen = DRAWS[name], bitgen_text(*offsets)
    quick = quick_text(row) if is_quick else ""
    if row.bounded:
        return bounded_text(row, bitgen)
    if row.method:
        return legacy_text(row, kept, bitgen, quick, fills)
    return function_text(row, bitgen, quick, fills)


def _quick(name: str) -> Quick | None:
    if name.startswith("legacy_"):
        kept = _kept_normal()
        return quick_fill(name, _offset(np.random.RandomState), kept) if kept else None
    return quick_draws(name)


def record_address(name: str) -> int:
    """Where the record lies with which compiled code makes the numbers of a row itself."""
    return native_record(name, _offset(np.random.Generator))


@cache
def _kept_normal() -> int:
    """Where a `RandomState` keeps the second of two normal numbers (`legacy_text`); 0 if it cannot be found."""
    sample = np.random.RandomState(np.random.MT19937(0))
    words = (ctypes.c_int64 * (type(sample).__basicsize__ // 8)).from_address(id(sample))
    own = id(sample) + _offset(np.random.RandomState)
    sample.standard_normal()
    kept = struct.pack("d", sample.get_state(legacy=False)["gauss"])
    found = [8 * place for place, word in enumerate(words[:-2]) if word == own]
    return next((at + 8 for at in found if bytes(words)[at + 16 : at + 24] == kept), 0)


@cache
def legacy_is_native(name: str) -> bool:
    """Whether compiled code has the bits of a `RandomState` for a row: some draws are compared."""
    if not are_native():
        return False
    row, method = DRAWS[name], name.removeprefix("legacy_").replace("standard_uniform", "random_sample")
    ours, theirs = (np.random.RandomState(np.random.MT19937(1)) for _ in range(2))
    for parameters in _SAMPLES.get(name, ((0.3, 1.7)[: len(row.parameters)],)):
        expected = getattr(theirs, method)(*parameters, 501).tolist()
        if not row.method:
            found = draw(name, id(ours), tuple(map(np.asarray, parameters)), (501,)).tolist()
        elif _kept_normal():
            kinds = [ctypes.c_double] * len(parameters)
            function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, *kinds)(draw_address(DRAW_PREFIX + name))
            found = [function(id(ours), *parameters) for _ in range(501)]
        else:
            return False
        if found != expected:
            return False
    return True


_SAMPLES: dict[str, tuple[tuple[float, ...], ...]] = {
    "legacy_uniform": ((0.0, 1.75),), "legacy_triangular": ((0.1, 0.4, 1.5),),
    "legacy_poisson": ((0.0,), (3.0,), (60.0,)),
}  # fmt: skip
"""The parameters with which rows are compared, where the usual ones do not do."""


@cache
def _twister() -> int:
    """Where a `random.Random` has the position and the words of its Mersenne Twister; 0 if they cannot be found."""
    sample = random.Random(1)
    *words, position = sample.getstate()[1]
    wanted = struct.pack("625I", position, *words)
    size = type(sample).__mro__[1].__basicsize__
    return max(ctypes.string_at(id(sample), size).find(wanted), 0) if size >= len(wanted) else 0


@cache
def python_is_native() -> bool:
    """Whether compiled code has the bits of a `random.Random`: some draws are compared."""
    if not layout_is_known() or not _twister():
        return False
    ours, theirs = random.Random(2), random.Random(2)
    uniform = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_int64)(draw_address(f"{DRAW_PREFIX}python_random"))
    below = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        draw_address(f"{DRAW_PREFIX}python_below")
    )
    for bound in (1, 2, 3, 1000, 2**31, 2**32 - 1, 2**32, 2**40 + 1, 2**62 + 1) * 80:
        if uniform(id(ours)) != theirs.random() or below(id(ours), bound) != theirs.randrange(bound):
            return False
    return ours.getstate() == theirs.getstate()


@cache
def shuffles_from_the_end(kind: str) -> bool:
    """Whether a generator shuffles by changing each element, from the last on, with one in front of it or itself."""
    if not are_native():
        return False
    ours, theirs = (getattr(np.random, kind)(np.random.PCG64(5)) for _ in range(2))
    order = list(range(50))
    for place in range(49, 0, -1):
        span = (np.uint64(0), np.uint64(place))
        other = int(draw("masked_uint64", id(ours), span, (1,))[0])
        order[place], order[other] = order[other], order[place]
    return bool(order == theirs.permutation(50).tolist())
