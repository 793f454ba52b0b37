"""How the types of the IR are written in CUDA C++, in registers and in memory, and how numbers are.

A vector is one number in each thread of a warp, so it is written as its element. One of more lanes is several numbers
in each, which lie side by side: its *parts*.

=============  ===========  ===========  ==============================================================
IR             register     memory       why
=============  ===========  ===========  ==============================================================
``bool``       ``bool``     ``u8``       NumPy's bools are bytes
``f16, bf16``  ``u16``      ``u16``      only bits: arithmetic is done in f32
``index``      ``i64``      ``i64``
``buffer``     a pointer                 to the element type, ``const`` where the kernel only reads
=============  ===========  ===========  ==============================================================
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import BOOL, F64, I64, DType
from jitflow.ir.types import Index, Scalar, Type, Vector

__all__ = ["SIZES", "TYPEDEFS", "WARP", "class_of", "dtype_of", "literal", "memory_type", "parts_of",
           "register_type", "unsigned"]  # fmt: skip

WARP = 32
"""Threads of a warp, among which the lanes of every vector are divided."""

TYPEDEFS = """\
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;"""

SIZES = {f"{kind}{8 * size}": size for kind, sizes in {"iu": (1, 2, 4, 8), "f": (4, 8)}.items() for kind in kind
         for size in sizes}  # fmt: skip
"""Bytes of a number of each of these types."""

_CLASSES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float"}


def dtype_of(type: Type) -> DType:
    """The element type of a number; a size is an i64. Raises `CompilerBug` for what a thread cannot hold."""
    if isinstance(type, Index):
        return I64
    if isinstance(type, Vector) and (type.lanes % WARP or not type.lanes):
        raise CompilerBug(f"expected vectors of {WARP} lanes, or as many for each thread of a warp, got {type}")
    if isinstance(type, Scalar | Vector) and not type.dtype.is_complex:
        return type.dtype
    raise CompilerBug(f"expected a number, vector or index for CUDA, got {type}")


def parts_of(type: Type) -> int:
    """How many numbers of a value each thread has."""
    return type.lanes // WARP if isinstance(type, Vector) else 1


def class_of(type: Type) -> str:
    """The class of dtype under which a row is found: ``bool signed unsigned float half index``."""
    if isinstance(type, Index):
        return "index"
    dtype = dtype_of(type)
    return "half" if dtype.name in ("f16", "bf16") else _CLASSES[dtype.kind]


def register_type(dtype: DType) -> str:
    """The C++ type of a number in a register."""
    return "u16" if dtype.name in ("f16", "bf16") else dtype.name


def memory_type(dtype: DType) -> str:
    """The C++ type of a number in memory."""
    return "u8" if dtype == BOOL else register_type(dtype)


def unsigned(dtype: DType) -> str:
    """The unsigned type in which integers of a dtype are computed: it wraps around, and is not promoted to ``int``."""
    return "u64" if dtype.itemsize == 8 else "u32"


def literal(value: Any, dtype: DType) -> str:
    """A number as an expression that has its very bits."""
    number = np.asarray(value).astype(dtype.numpy)
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.name in ("f16", "bf16"):
        return f"(u16){int(number.view(np.uint16)):#06x}"
    if dtype.is_float:
        return _float_literal(number, dtype)
    return _integer_literal(int(number), dtype)


def _integer_literal(number: int, dtype: DType) -> str:
    """Small numbers are plain: whatever they meet has the right type, and no two of them overflow an ``int``."""
    if dtype == I64 and number == -(1 << 63):
        return "(-9223372036854775807LL - 1)"
    plain = abs(number) < 1 << 15
    suffix = "" if plain else {"i64": "LL", "u64": "ULL", "u32": "u"}.get(dtype.name, "")
    text = f"{number}{suffix}"
    return f"({text})" if number < 0 else text


def _float_literal(number: Any, dtype: DType) -> str:
    if not math.isfinite(number):
        if dtype == F64:
            return f"__longlong_as_double({int(number.view(np.int64)):#x}LL)"
        return f"__int_as_float({int(number.view(np.uint32)):#x})"
    text = f"{np.asarray(number)[()]!s}{'' if dtype == F64 else 'f'}"
    return f"({text})" if text.startswith("-") else text
