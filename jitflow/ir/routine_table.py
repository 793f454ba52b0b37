"""The table of library routines: what stands for each of them on the CPU and on a GPU, and what it does beside.

On the CPU a routine is the function of that path. On a GPU it is one of `jitflow.runtime.calls.gpu_routines`, which
calls cupy on arrays that stay where they are and gives what NumPy gives: up to rounding, and where NumPy leaves a
choice (the signs of singular vectors, the order of equal elements where a sort is not stable) with a choice of its own.
What cupy does not have, or does otherwise, stays on the host, with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitflow.ir.dtypes import BF16, DType
from jitflow.records import dataclass

__all__ = ["GPU_ROUTINES", "ROUTINES", "SUCCEEDS", "LibraryRoutine", "row_of", "why_not_on_gpu"]

GPU_ROUTINES = "jitflow.runtime.calls.gpu_routines"
"""The module of the functions for GPUs, whose first argument is cupy."""

SUCCEEDS = "jitflow.runtime.calls.routines.succeeds"
"""The routine that says whether another one, which its options name, raises none of some errors."""

Options = Mapping[str, Any]
Stays = Callable[[Options, Sequence[DType]], str]


@dataclass(frozen=True, slots=True)
class LibraryRoutine:
    """``quicker`` gives the same on the CPU, and sooner; ``gpu`` is the function for GPUs, empty where there is none.

    ``stays`` is why it has none, or asks the options and the operands' dtypes of a call why that stays on the host all
    the same. ``silent``: it raises no floating-point flags that NumPy would warn of. ``warns``: in Python's way.
    ``overwrites``: its first result takes over the memory of its first operand, which is its own for that.
    """

    gpu: str = ""
    stays: str | Stays = ""
    quicker: str = ""
    silent: bool = False
    warns: bool = False
    overwrites: bool = False


# -- what keeps a call on the host


def _but(option: str, reason: str) -> Stays:
    """Of a call for which an option is given, or true."""

    def stays(options: Options, dtypes: Sequence[DType]) -> str:
        value = options.get(option)
        return "" if value is None or value is False else reason

    return stays


def _either(*rules: Stays) -> Stays:
    return lambda options, dtypes: next(filter(None, (rule(options, dtypes) for rule in rules)), "")


def _same_dtype(options: Options, dtypes: Sequence[DType]) -> str:
    return "NumPy compares elements of two dtypes in several ways, by what they are" if len(set(dtypes)) > 1 else ""


def _real(options: Options, dtypes: Sequence[DType]) -> str:
    complex = any(dtype.is_complex for dtype in dtypes)
    return "cupy searches complex numbers that hold nan in another order" if complex else ""


def _unweighted(options: Options, dtypes: Sequence[DType]) -> str:
    return "cupy adds weights in no fixed order" if len(dtypes) > 1 or "weights" in options else ""


def _cutoff(options: Options, dtypes: Sequence[DType]) -> str:
    rcond = options.get("rcond")
    return (
        "" if rcond is None or 0 < rcond < 1 else "an rcond that is not between 0 and 1 has a meaning to LAPACK alone"
    )


_HERMITIAN = _but("hermitian", "cupy has no hermitian=True")
_UNIQUE = _but("assume_unique", "NumPy gives something else where the assumption is wrong")
_PAIRS = _but("return_indices", "cupy chooses other positions among equal elements")
_ROWS = _but("axis", "cupy sorts rows from the host, a comparison at a time")
_ORDER = "cupy gives eigenvalues in another order"
_HOST = "it is a library's routine, which works on the host's memory"


# -- the table

_FFT = "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split()
_WARNING = "nanmedian nanpercentile nanquantile polyfit histogram".split()

ROUTINES: Mapping[str, LibraryRoutine] = {
    **{
        f"numpy.{name}": LibraryRoutine(name, silent=True)
        for name in ("sort", "argsort", "partition", "argpartition", "sort_complex", "unique_all", "unique_counts",
                     "unique_inverse", "unique_values", "union1d")
    },
    "jitflow.runtime.calls.routines.lexsort": LibraryRoutine("lexsort", silent=True),
    "numpy.searchsorted": LibraryRoutine("searchsorted", _real, silent=True),
    "numpy.digitize": LibraryRoutine("digitize", _real, silent=True),
    "numpy.unique": LibraryRoutine("unique", _ROWS, silent=True),
    "numpy.isin": LibraryRoutine("isin", _either(_same_dtype, _real), silent=True),
    "numpy.setdiff1d": LibraryRoutine("setdiff1d", _either(_same_dtype, _real), silent=True),
    "numpy.setxor1d": LibraryRoutine("setxor1d", _either(_same_dtype, _UNIQUE), silent=True),
    "numpy.intersect1d": LibraryRoutine("intersect1d", _either(_same_dtype, _real, _UNIQUE, _PAIRS), silent=True),
    "numpy.bincount": LibraryRoutine("bincount", _unweighted, silent=True),
    "numpy.packbits": LibraryRoutine(silent=True),
    **{f"numpy.fft.{name}": LibraryRoutine(name) for name in _FFT},
    **{f"numpy.linalg.{name}": LibraryRoutine(name)
       for name in ("solve", "inv", "det", "slogdet", "cholesky", "qr", "svdvals", "eigh", "eigvalsh")},
    "jitflow.runtime.calls.routines.inverse": LibraryRoutine("inv"),
    "jitflow.runtime.calls.routines.qr_factors": LibraryRoutine(overwrites=True),
    "numpy.linalg.svd": LibraryRoutine("svd", _HERMITIAN),
    "numpy.linalg.pinv": LibraryRoutine("pinv", _HERMITIAN),
    "numpy.linalg.matrix_rank": LibraryRoutine("matrix_rank", _HERMITIAN),
    "numpy.linalg.lstsq": LibraryRoutine("lstsq", _cutoff),
    "jitflow.runtime.calls.routines.eig": LibraryRoutine(stays=_ORDER),
    "jitflow.runtime.calls.routines.eigvals": LibraryRoutine(stays=_ORDER),
    "numpy.median": LibraryRoutine("median", quicker="jitflow.runtime.calls.routines.median"),
    **{f"numpy.{name}": LibraryRoutine(warns=True) for name in _WARNING},
    "jitflow.runtime.calls.routines.histogram": LibraryRoutine(warns=True),
    "jitflow.runtime.objects.texts.print_text": LibraryRoutine(silent=True),
    "jitflow.runtime.objects.texts.packed_text": LibraryRoutine(silent=True),
    "jitflow.runtime.objects.texts.raise_error": LibraryRoutine(silent=True),
}  # fmt: skip
"""By path. A routine that is not here is called as it is, on the CPU alone."""

_OTHER = LibraryRoutine()


def row_of(routine: str) -> LibraryRoutine:
    """The row of a routine."""
    return ROUTINES.get(routine, _OTHER)


def why_not_on_gpu(routine: str, options: Options, dtypes: Sequence[DType]) -> str:
    """Why a call of a library's routine stays on the host; empty for one that a GPU can do.

    ``dtypes`` are those of all operands.
    """
    if routine == SUCCEEDS:
        return why_not_on_gpu(options["routine"], dict(options["options"]), dtypes)
    row = row_of(routine)
    if not row.gpu:
        return row.stays if isinstance(row.stays, str) and row.stays else _HOST
    if BF16 in dtypes:
        return "cupy has no routines for bf16"
    return row.stays if isinstance(row.stays, str) else row.stays(options, dtypes)
