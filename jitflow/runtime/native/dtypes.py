"""The element types that cross the border between Python and native code.

The rest of jitflow names element types in short form (`f32`, `c128`); NumPy has objects, numbers
and scalar classes for them. This table is the only place in the runtime where the two meet.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

NUMPY_NAMES: dict[str, str] = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}

PYTHON_SCALARS: dict[str, type] = {"bool": bool, "i64": int, "f64": float, "c128": complex}
"""The Python number that a dtype stands for when a scalar is of the kind "python"."""


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The native NumPy dtype of a short name; `bf16` needs ml_dtypes."""
    if name == "bf16":
        import ml_dtypes

        extended: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return extended
    return np.dtype(NUMPY_NAMES[name])


@cache
def same_layout_dtypes(name: str) -> tuple[np.dtype[Any], ...]:
    """Other built-in dtypes equal to this one, as `longlong` is to `int64` where `long` has 64 bits."""
    canonical = numpy_dtype(name)
    return tuple(
        other
        for other in (np.dtype(code) for code in np.typecodes["AllInteger"])
        if other == canonical and other.num != canonical.num
    )


def slot_count(name: str) -> int:
    """How many 64-bit slots a scalar of this dtype takes."""
    return 2 if name == "c128" else 1
