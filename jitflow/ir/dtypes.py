"""Element types: one frozen record each, named as they print in the IR.

>>> F32.itemsize, F32.kind, parse_dtype("c64").real.name
(4, 'f', 'f32')
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from jitflow.records import dataclass

__all__ = [
    "BF16", "BOOL", "C64", "C128", "DTYPES", "F16", "F32", "F64", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64",
    "DType", "dtype_of", "parse_dtype",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """An element type. ``kind`` is ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex.

    There is one object for each, compared by identity: types are compared, and are keys, everywhere.
    """

    name: str
    kind: str
    itemsize: int

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_dtype, (self.name,)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype with the same bits."""
        return _NUMPY.get(self.name) or _bfloat16()

    @property
    def bits(self) -> int:
        return 8 * self.itemsize

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def real(self) -> DType:
        """The type of a complex number's parts; itself for every other type."""
        return {"c64": F32, "c128": F64}.get(self.name, self)

    @property
    def complex(self) -> DType:
        """The complex type whose parts have this type."""
        return {"f32": C64, "f64": C128}.get(self.name, self if self.is_complex else C128)

    def __repr__(self) -> str:
        return self.name


BOOL = DType("bool", "b", 1)
I8, I16, I32, I64 = (DType(f"i{8 * n}", "i", n) for n in (1, 2, 4, 8))
U8, U16, U32, U64 = (DType(f"u{8 * n}", "u", n) for n in (1, 2, 4, 8))
F16, BF16, F32, F64 = DType("f16", "f", 2), DType("bf16", "f", 2), DType("f32", "f", 4), DType("f64", "f", 8)
C64, C128 = DType("c64", "c", 8), DType("c128", "c", 16)

DTYPES = {dtype.name: dtype for dtype in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, C128)}

_NUMPY: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_),
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    **{f"f{8 * n}": np.dtype(f"f{n}") for n in (2, 4, 8)},
    "c64": np.dtype("c8"),
    "c128": np.dtype("c16"),
}
_BY_NUMPY = {numpy_dtype: DTYPES[name] for name, numpy_dtype in _NUMPY.items()}


def parse_dtype(name: str) -> DType:
    """The element type called ``name``. Raises ``ValueError`` for a name that is not one."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(f"expected an element type (one of {', '.join(DTYPES)}), got {name!r}") from None


def dtype_of(numpy_dtype: np.dtype[Any] | type) -> DType | None:
    """The element type of a native NumPy dtype, or None where jitflow has none (objects, strings, byte-swapped...)."""
    found = np.dtype(numpy_dtype)
    return _BY_NUMPY.get(found) or (BF16 if "ml_dtypes" in sys.modules and found == _bfloat16() else None)


@cache
def _bfloat16() -> np.dtype[Any]:
    """NumPy's dtype for bf16, from a package that few programs need."""
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found
