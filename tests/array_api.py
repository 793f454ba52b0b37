"""The names of the Python Array API standard (2024.12) that compute, and which of them jitflow compiles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import jitflow
from jitflow.frontend.numpy.dispatch import FUNCTIONS, REPLACEMENTS
from jitflow.frontend.numpy.ufuncs import LOOPS

NAMES = {
    "numpy": """
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
        zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh
        bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign
        cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less
        less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
        multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square
        sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays
        broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax
        argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort
        sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff
        """.split(),
    "numpy.linalg": """
        cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
        pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
        """.split(),
    "numpy.fft": """
        fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
        """.split(),
}

ANSWERED = {"finfo": np.float32, "iinfo": np.int32, "isdtype": (np.dtype("f4"), "real floating")}
"""Functions of dtypes alone: nothing is traced, NumPy itself answers."""


@functools.cache
def missing(module: str) -> tuple[str, ...]:
    """The names of one module that are not compiled, in the standard's order."""
    namespace = functools.reduce(getattr, module.split(".")[1:], np)
    return tuple(name for name in NAMES[module] if not _is_compiled(name, getattr(namespace, name)))


def _is_compiled(name: str, function: Any) -> bool:
    if name in ANSWERED:
        arguments = ANSWERED[name]
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        jitflow.function(lambda x: (x, function(*arguments))[0])(np.ones(2))
        return True
    return any(function in table for table in (FUNCTIONS, REPLACEMENTS, LOOPS))
