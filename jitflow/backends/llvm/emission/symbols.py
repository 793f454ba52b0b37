"""The library functions that host programs call through the context, and how each is called.

The convention is that of `scipy.linalg.cython_blas`, which is Fortran's: everything is passed by pointer, matrices are
column-major, and ``int`` has 32 bits. The operands of a ``library`` op are values; those that the function wants by
pointer are put into the frame first. Which matrix comes first, transposed or not, is the lowering's affair, which sees
a row-major product as the column-major product of the transposed matrices in the other order.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.records import dataclass

__all__ = ["DEVICE_LIBRARY", "FLAG_LETTERS", "LIBRARY", "LibraryFunction"]


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A signature.

    ``parameters``: ``flag`` is an integer operand, 0 to 2, passed as the letter N, T or C; ``int`` a size passed as a
    32-bit integer; a dtype a number of that dtype; all these by pointer. ``array`` is a buffer.
    ``result`` is a dtype that the function returns, which goes into the buffer that is one more, last operand.
    """

    parameters: tuple[str, ...]
    result: str = ""


def _signature(text: str, dtype: str, result: str = "") -> LibraryFunction:
    return LibraryFunction(tuple(text.replace("number", dtype).split()), result)


_GEMM = "flag flag int int int number array int array int number array int"
_GEMV = "flag int int number array int array int number array int"
_DOT = "int array int array int"

LIBRARY: dict[str, LibraryFunction] = {
    # transa transb m n k alpha a lda b ldb beta c ldc: c = alpha * op(a) @ op(b) + beta * c
    "sgemm": _signature(_GEMM, "f32"),
    "dgemm": _signature(_GEMM, "f64"),
    "cgemm": _signature(_GEMM, "c64"),
    "zgemm": _signature(_GEMM, "c128"),
    # trans m n alpha a lda x incx beta y incy: y = alpha * op(a) @ x + beta * y
    "sgemv": _signature(_GEMV, "f32"),
    "dgemv": _signature(_GEMV, "f64"),
    "cgemv": _signature(_GEMV, "c64"),
    "zgemv": _signature(_GEMV, "c128"),
    # n x incx y incy -> the inner product
    "sdot": _signature(_DOT, "f32", "f32"),
    "ddot": _signature(_DOT, "f64", "f64"),
}

DEVICE_LIBRARY = {name: f"cublas{name.capitalize()}_v2_64" for name in ("sgemm", "dgemm", "cgemm", "zgemm")}
"""What cuBLAS calls those of them that it has for GPUs, with sizes of 64 bits by value, after its handle."""

FLAG_LETTERS: Sequence[str] = ("N", "T", "C")
