"""How the types of the IR are written in LLVM's language, in registers and in memory.

=============  ==============  ===========  ==========================================================
IR             register        memory       why
=============  ==============  ===========  ==========================================================
``bool``       ``i1``          ``i8``       masks are ``<N x i1>``, NumPy's bools are bytes
``f16, bf16``  ``i16``         ``i16``      only bits: arithmetic is done in f32 and rounded after every
                                            operation, as NumPy does, and no target has to support halves
``c64, c128``  two lanes       two lanes    scalars between host program and libraries; kernels see parts
``index``      ``i64``         ``i64``
``buffer``     ``ptr``         ``ptr``
``tape``       ``ptr``         none         the address of its record (`tapes`)
=============  ==============  ===========  ==========================================================
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np

from jitflow.errors import CompilerBug
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.types import Buffer, Index, Scalar, Tape, Type, Vector

__all__ = ["Number", "element_type", "lanes_of", "literal", "memory_type", "number_type", "register_type",
           "splat_literal", "vector_of", "with_element", "with_lanes"]  # fmt: skip

Number = Scalar | Vector
"""What arithmetic is done on; an index counts as a scalar of i64."""

_ELEMENTS = {
    "bool": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "i8", "u16": "i16", "u32": "i32",
    "u64": "i64", "f16": "i16", "bf16": "i16", "f32": "float", "f64": "double", "c64": "<2 x float>",
    "c128": "<2 x double>",
}  # fmt: skip


def element_type(dtype: DType) -> str:
    """The register type of one number."""
    return _ELEMENTS[dtype.name]


def vector_of(element: str, lanes: int) -> str:
    """The LLVM type of ``lanes`` elements, or of one element where ``lanes`` is 0."""
    return f"<{lanes} x {element}>" if lanes else element


@cache
def register_type(type: Type) -> str:
    """The LLVM type of a value in a register. Raises `CompilerBug` for a type that kernels and hosts do not have."""
    if isinstance(type, Buffer | Tape):
        return "ptr"
    if isinstance(type, Index):
        return "i64"
    if isinstance(type, Scalar):
        return element_type(type.dtype)
    if isinstance(type, Vector) and not type.dtype.is_complex:
        return vector_of(element_type(type.dtype), type.lanes)
    raise CompilerBug(f"expected a number, vector, index or buffer for machine code, got {type}")


@cache
def memory_type(type: Number) -> str:
    """The LLVM type of what lies in memory for a number or its lanes."""
    if type.dtype.kind == "b":
        return vector_of("i8", lanes_of(type))
    return register_type(type)


def number_type(type: Type) -> Number:
    """The type as arithmetic sees it."""
    if isinstance(type, Index):
        return _INDEX
    if isinstance(type, Scalar | Vector):
        return type
    raise CompilerBug(f"expected a number, got {type}")


_INDEX = Scalar(I64)


def lanes_of(type: Type) -> int:
    """The lanes of a vector, 0 for everything else."""
    return type.lanes if isinstance(type, Vector) else 0


def with_lanes(dtype: DType, lanes: int) -> Number:
    """A vector of that many lanes, or a scalar for 0."""
    return Vector(dtype, lanes) if lanes else Scalar(dtype)


def with_element(type: Number, dtype: DType) -> Number:
    """The same lanes with another element type."""
    return with_lanes(dtype, lanes_of(type))


def literal(value: Any, dtype: DType) -> str:
    """A number as an LLVM constant without its type. Floats are written as their bits, so nothing is lost."""
    with np.errstate(all="ignore"):
        number: Any = np.asarray(value).astype(dtype.numpy)
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.is_complex:
        element = element_type(dtype.real)
        return f"<{element} {_float_literal(number.real)}, {element} {_float_literal(number.imag)}>"
    if dtype.name in ("f16", "bf16"):
        return str(int(number.view(np.uint16)))
    return _float_literal(number) if dtype.is_float else str(int(number))


def _float_literal(number: Any) -> str:
    """LLVM writes a float as the bits of the double of equal value."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", float(number)))
    return f"0x{bits:016X}"


def splat_literal(type: Number, text: str) -> str:
    """A literal in every lane of ``type``."""
    return f"splat ({element_type(type.dtype)} {text})" if isinstance(type, Vector) else text
