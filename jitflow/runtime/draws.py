"""Draws from NumPy's generators, as native code calls them, and what a call owes to the generators that it draws from.

A function here is given a generator by the address of the Python object, in which the ``bitgen_t`` lies that NumPy's C
functions work on. Where exactly is found by looking for its words in an object of the class.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache

import numpy as np

from jitflow.ir.draws import DRAW_PREFIX, DRAWS, FILL_PREFIX, Draw, bits_of, function_address, is_available
from jitflow.ir.dtypes import BOOL, DType
from jitflow.runtime.native_code import NativeCode, make_immortal
from jitflow.runtime.object_layout import OBJECT_TYPE, layout_is_known

__all__ = ["are_native", "draw_address"]

_TYPES = {"f64": "double", "f32": "float", "bool": "i1"}
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
    """Where the function starts that a context calls ``symbol``."""
    name = symbol.removeprefix(DRAW_PREFIX).removeprefix(FILL_PREFIX)
    return _code(name).address("draw" if symbol.startswith(DRAW_PREFIX) else "fill")


@cache
def _code(name: str) -> NativeCode:
    row = DRAWS[name]
    parts = [_bitgen_text(), *(_bounded_text(row) if row.bounded else _text(row))]
    code = NativeCode("\n".join(parts), optimisation=2, for_host=True)
    make_immortal(code)
    return code


def _bitgen_text() -> str:
    generator, legacy = _kinds()
    return f"""
define internal ptr @bitgen(i64 %generator) alwaysinline {{
  %object = inttoptr i64 %generator to ptr
  %type.at = getelementptr i8, ptr %object, i64 {OBJECT_TYPE}
  %type = load i64, ptr %type.at
  %new = icmp eq i64 %type, {id(generator)}
  %offset = select i1 %new, i64 {_offset(generator)}, i64 {_offset(legacy)}
  %bitgen = getelementptr i8, ptr %object, i64 %offset
  ret ptr %bitgen
}}"""


def _text(row: Draw) -> Iterator[str]:
    """One draw, and the loop over many."""
    kind = _type(row.result)
    names = [f"%p{number}" for number in range(len(row.parameters))]
    parameters = [f"{_type(dtype)} {name}" for dtype, name in zip(row.parameters, names, strict=True)]
    scratch = ["ptr %memory"] if row.memory else []
    memory = (
        f"""
  %memory = alloca i8, i64 {row.memory}, align 16
  call void @llvm.memset.p0.i64(ptr %memory, i8 0, i64 {row.memory}, i1 false)"""
        if row.memory
        else ""
    )
    function = f"inttoptr (i64 {function_address(row)} to ptr)"
    if row.memory:
        yield "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    yield f"""
define {kind} @draw({", ".join(["i64 %generator", *parameters])}) {{{memory}
  %bitgen = call ptr @bitgen(i64 %generator)
  %drawn = call {kind} {function}({", ".join(["ptr %bitgen", *parameters, *scratch])})
  ret {kind} %drawn
}}"""
    places = [f"ptr {name}.at, i64 {name}.step" for name in names]
    lines = [
        f"""
define void @fill({", ".join(["i64 %generator, i64 %count, ptr %target", *places])}) {{
start:{memory}
  %bitgen = call ptr @bitgen(i64 %generator)
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %turn, label %end
turn:
  %i = phi i64 [ 0, %start ], [ %next, %turn ]"""
    ]
    for dtype, name in zip(row.parameters, names, strict=True):
        lines += [
            f"  {name}.distance = mul i64 %i, {name}.step",
            f"  {name}.place = getelementptr i8, ptr {name}.at, i64 {name}.distance",
            f"  {name} = load {_type(dtype)}, ptr {name}.place, align {dtype.itemsize}",
        ]
    lines.append(f"""  %drawn = call {kind} {function}({", ".join(["ptr %bitgen", *parameters, *scratch])})
  %place = getelementptr {kind}, ptr %target, i64 %i
  store {kind} %drawn, ptr %place, align {row.result.itemsize}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %turn, label %end
end:
  ret void
}}""")
    yield "\n".join(lines)


def _bounded_text(row: Draw) -> Iterator[str]:
    """Integers: the C function fills an array, of one number for a single draw."""
    kind, masked = _type(row.result), str(row.masked).lower()
    function = f"inttoptr (i64 {function_address(row)} to ptr)"
    stored = "i8" if row.result == BOOL else kind
    returned = "%drawn"
    narrow = ""
    if row.result == BOOL:
        narrow, returned = "\n  %bit = trunc i8 %drawn to i1", "%bit"
    extension = " zeroext" if row.result.itemsize < 4 else ""

    def call(low: str, span: str, count: str, target: str) -> str:
        return (f"call void {function}(ptr %bitgen, {kind}{extension} {low}, {kind}{extension} {span}, i64 {count}, "
                f"i1 zeroext {masked}, ptr {target})")  # fmt: skip

    yield f"""
define {kind} @draw(i64 %generator, {kind} %low, {kind} %span) {{
  %room = alloca i64, align 8
  %bitgen = call ptr @bitgen(i64 %generator)
  {call("%low", "%span", "1", "%room")}
  %drawn = load {stored}, ptr %room, align {row.result.itemsize}{narrow}
  ret {kind} {returned}
}}
define void @fill(i64 %generator, i64 %count, ptr %target, ptr %low.at, i64 %step, ptr %span.at, i64 %other) {{
  %low = load {kind}, ptr %low.at, align {row.result.itemsize}
  %span = load {kind}, ptr %span.at, align {row.result.itemsize}
  %bitgen = call ptr @bitgen(i64 %generator)
  {call("%low", "%span", "%count", "%target")}
  ret void
}}"""


def _type(dtype: DType) -> str:
    return _TYPES.get(dtype.name, f"i{dtype.bits}")
