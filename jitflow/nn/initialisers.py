"""First values of parameters, drawn from a `jitflow.random.Generator`.

All take a shape and give an array of it. Weights are meant for ``x @ w``: of a shape ``(..., inputs, outputs)``, where
axes before the last two, as those of a convolution's window, multiply both.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError

__all__ = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "normal", "ones", "orthogonal", "uniform",
           "zeros"]  # fmt: skip


def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    """An array of zeros."""
    return np.zeros(shape, dtype)


def ones(shape: Any, dtype: Any = np.float32) -> Any:
    """An array of ones."""
    return np.ones(shape, dtype)


def uniform(shape: Any, generator: Any, limit: float = 0.05, dtype: Any = np.float32) -> Any:
    """An array of uniform numbers from ``-limit`` to ``limit``. Raises TypeError for a dtype of no floats."""
    drawn = generator.random(shape, dtype=_drawn_type(dtype))
    return ((drawn * 2 - 1) * limit).astype(dtype)


def normal(shape: Any, generator: Any, deviation: float = 0.05, dtype: Any = np.float32) -> Any:
    """An array of normal numbers of mean 0, and of a standard deviation. Raises TypeError for a dtype of no floats."""
    return (generator.standard_normal(shape, dtype=_drawn_type(dtype)) * deviation).astype(dtype)


def glorot_uniform(shape: Any, generator: Any, dtype: Any = np.float32) -> Any:
    """Uniform numbers of variance ``2 / (inputs + outputs)``: for tanh and linear layers (Glorot and Bengio, 2010).

    Weights have the shape ``(..., inputs, outputs)``; axes before these, as those of a convolution's window, multiply
    both. Raises ValueError for shapes of fewer axes, and TypeError for a dtype of no floats.
    """
    inputs, outputs = _fans(shape)
    return uniform(shape, generator, math.sqrt(6 / (inputs + outputs)), dtype)


def glorot_normal(shape: Any, generator: Any, dtype: Any = np.float32) -> Any:
    """Normal numbers of variance ``2 / (inputs + outputs)`` (Glorot and Bengio, 2010).

    Shapes, dtypes and errors are those of `glorot_uniform`.
    """
    inputs, outputs = _fans(shape)
    return normal(shape, generator, math.sqrt(2 / (inputs + outputs)), dtype)


def he_uniform(shape: Any, generator: Any, dtype: Any = np.float32) -> Any:
    """Uniform numbers of variance ``2 / inputs``: for layers that end in `relu` (He and others, 2015).

    Shapes, dtypes and errors are those of `glorot_uniform`.
    """
    return uniform(shape, generator, math.sqrt(6 / _fans(shape)[0]), dtype)


def he_normal(shape: Any, generator: Any, dtype: Any = np.float32) -> Any:
    """Normal numbers of variance ``2 / inputs`` (He and others, 2015).

    Shapes, dtypes and errors are those of `glorot_uniform`.
    """
    return normal(shape, generator, math.sqrt(2 / _fans(shape)[0]), dtype)


def orthogonal(shape: Any, generator: Any, gain: float = 1.0, dtype: Any = np.float32) -> Any:
    """A random orthogonal matrix times ``gain``, or a part of one: its rows or its columns are orthogonal.

    Axes before the last are taken as one. Every such matrix is equally likely, because the signs of the QR
    decomposition's diagonal are taken out (Mezzadri, 2007). For recurrent layers (Saxe, McClelland and Ganguli, 2013).

    Raises ValueError for shapes of less than two axes, and TypeError for a dtype of no floats.
    """
    _fans(shape)
    rows, columns = math.prod(shape[:-1]), shape[-1]
    larger, smaller = max(rows, columns), min(rows, columns)
    q, r = np.linalg.qr(generator.standard_normal((larger, smaller), dtype=_drawn_type(dtype)))
    q = q * np.where(np.diagonal(r) < 0, -1, 1)
    q = q.T if rows < columns else q
    return (q * gain).astype(dtype).reshape(shape)


def _fans(shape: Any) -> tuple[int, int]:
    """How many inputs an output has, and the other way round. Both are at least 1, so that empty weights can be."""
    if not isinstance(shape, tuple | list) or len(shape) < 2:
        raise UserValueError(
            f"expected the shape of weights, with inputs and outputs as its last axes, got {shape}",
            mend="pass a shape of two axes or more",
        )
    window = math.prod(shape[:-2])
    return max(window * shape[-2], 1), max(window * shape[-1], 1)


def _drawn_type(dtype: Any) -> Any:
    """Floats of less than 32 bits are drawn as f32 and rounded."""
    found = np.dtype(dtype)
    if found.kind not in "fV":  # bfloat16 is a V to NumPy
        raise UserTypeError(f"expected a dtype of floats, got {found}", mend="use np.float32 or np.float64")
    return np.float64 if found == np.float64 else np.float32
