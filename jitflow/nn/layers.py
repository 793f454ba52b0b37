"""Layers without memory of their own: their parameters are arguments, arrays or `jitflow.Variable`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.random.machine import machine

__all__ = ["batch_norm", "dropout", "embedding", "layer_norm", "one_hot"]


def layer_norm(
    x: Any, scale: Any = None, shift: Any = None, axis: int | tuple[int, ...] = -1, epsilon: float = 1e-5
) -> Any:
    """``x`` with mean 0 and variance 1 along some axes, times ``scale``, plus ``shift``; the shape is that of ``x``.

    ``scale`` and ``shift`` broadcast to ``x``; for the last axis they have the shape ``(features,)``. ``epsilon`` is
    added to the variance. Ba, Kiros and Hinton, Layer Normalization, 2016.
    """
    centred = x - x.mean(axis=axis, keepdims=True)
    normal = centred / np.sqrt(x.var(axis=axis, keepdims=True) + epsilon)
    if scale is not None:
        normal = normal * scale
    return normal if shift is None else normal + shift


def batch_norm(
    x: Any, scale: Any = None, shift: Any = None, mean: Any = None, variance: Any = None, layout: str = "NCHW",
    epsilon: float = 1e-5,
) -> Any:  # fmt: skip
    """``x`` with mean 0 and variance 1 in each channel, times ``scale``, plus ``shift``; the shape is that of ``x``.

    Channels are the second axis, or the last one with the layout ``"NHWC"``; what is given has the shape
    ``(channels,)``. Without ``mean`` and ``variance``, those of ``x`` over all other axes are taken, as in training;
    running ones are ``0.9 * mean + 0.1 * x.mean((0, 2, 3))`` in the user's program. ``epsilon`` is added to the
    variance. Raises ValueError for layouts and shapes that do not fit. Ioffe and Szegedy, Batch Normalization, 2015.
    """
    if layout not in ("NCHW", "NHWC") or x.ndim < 2:
        message = f"expected a layout of NCHW or NHWC and at least two axes, got {layout!r} and {x.ndim}"
        raise UserValueError(message)
    axis = 1 if layout == "NCHW" else x.ndim - 1
    shape = tuple(-1 if one == axis else 1 for one in range(x.ndim))
    others = tuple(one for one in range(x.ndim) if one != axis)
    for given in (scale, shift, mean, variance):
        if given is not None and (given.ndim != 1 or given.shape[0] != x.shape[axis]):
            raise UserValueError(
                "what normalises a batch does not fit its channels", found=f"the shape {given.shape}",
                expected=f"({x.shape[axis]},)",
            )  # fmt: skip
    centre = x.mean(axis=others, keepdims=True) if mean is None else mean.reshape(shape)
    spread = x.var(axis=others, keepdims=True) if variance is None else variance.reshape(shape)
    normal = (x - centre) / np.sqrt(spread + epsilon)
    if scale is not None:
        normal = normal * scale.reshape(shape)
    return normal if shift is None else normal + shift.reshape(shape)


def dropout(x: Any, rate: Any, generator: Any, training: Any = True) -> Any:
    """``x`` with each element replaced by 0 with probability ``rate``, and the others divided by ``1 - rate``.

    ``rate`` is below 1; it and ``training`` may be values of the running program. Where ``training`` is false, ``x``
    comes back as it is. ``generator`` is a `jitflow.random.Generator`, from which each call draws anew. Srivastava and
    others, Dropout, 2014.
    """
    if training is False:
        return x
    machine().require((rate >= 0) & (rate < 1), "expected a rate of dropout from 0, and below 1")
    kept = generator.random(x.shape, dtype=np.float32) >= rate
    dropped = np.where(kept, x / (1 - rate), 0)
    return dropped if training is True else np.where(training, dropped, x)


def embedding(table: Any, indices: Any) -> Any:
    """The rows of ``table`` at integer ``indices``: of ``(rows, features)`` and ``(...)`` make ``(..., features)``.

    Raises IndexError for indices out of bounds; as in NumPy, negative ones count from the end.
    """
    if table.ndim != 2:
        message = f"expected a table of two axes, rows and features, got {table.ndim}"
        raise UserValueError(message, mend="reshape it: table.reshape(-1, features)")
    return table[indices]


def one_hot(labels: Any, classes: Any, dtype: Any = np.float32) -> Any:
    """Rows of zeros with a 1 at the label: of integers ``(...)`` make ``(..., classes)``.

    A label that is none of the classes gives a row of zeros.
    """
    return (labels[..., None] == machine().positions((*labels.shape, classes), -1)).astype(dtype)
