"""The yardstick: the names of the Python Array API standard (2024.12), as NumPy spells them, and which are compiled.

Nothing here is written by hand but the names: whether one is supported is read off the tables. The README's list of
what is missing comes from ``python -m jitflow.frontend.numpy.array_api``.
"""

from __future__ import annotations

import numpy as np

from jitflow.frontend.numpy.dispatch import FUNCTIONS
from jitflow.frontend.numpy.ufuncs import LOOPS

__all__ = ["ARRAY_API", "missing", "supported"]

_CONSTANTS = "e inf nan newaxis pi"
_CREATION = (
    "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros "
    "zeros_like"
)
_DTYPES = (
    "astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 "
    "float64 complex64 complex128"
)
_ELEMENTWISE = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater "
    "greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and "
    "logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real "
    "reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc"
)
_INDEXING = "take take_along_axis"
_LINEAR = "matmul matrix_transpose tensordot vecdot"
_MANIPULATION = (
    "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile "
    "unstack"
)
_SEARCHING = "argmax argmin count_nonzero nonzero searchsorted where"
_SETS = "unique_all unique_counts unique_inverse unique_values"
_SORTING = "argsort sort"
_STATISTICS = "cumulative_prod cumulative_sum max mean min prod std sum var"
_UTILITIES = "all any diff"
_LINALG = (
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer "
    "pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"
)
_FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"

ARRAY_API: tuple[str, ...] = (
    *" ".join(
        [_CONSTANTS, _CREATION, _DTYPES, _ELEMENTWISE, _INDEXING, _LINEAR, _MANIPULATION, _SEARCHING, _SETS, _SORTING,
         _STATISTICS, _UTILITIES]
    ).split(),
    *(f"linalg.{name}" for name in _LINALG.split()),
    *(f"fft.{name}" for name in _FFT.split()),
)  # fmt: skip
"""Every name, with ``linalg.`` and ``fft.`` in front of those of the extensions."""

_ANSWERED = frozenset({*_CONSTANTS.split(), "finfo", "iinfo", "isdtype"})
"""What needs no tracer: constants, and questions about dtypes, which are known while tracing."""


def supported() -> tuple[str, ...]:
    """The names that compiled functions may use."""
    return tuple(name for name in ARRAY_API if _is_supported(name))


def missing() -> tuple[str, ...]:
    """The names that are not compiled yet."""
    return tuple(name for name in ARRAY_API if not _is_supported(name))


def _is_supported(name: str) -> bool:
    if name in _ANSWERED:
        return True
    module, _, function = name.rpartition(".")
    found = getattr(getattr(np, module) if module else np, function)
    return found in FUNCTIONS or (isinstance(found, np.ufunc) and found in LOOPS)


if __name__ == "__main__":
    print(", ".join(f"`{name}`" for name in missing()))
