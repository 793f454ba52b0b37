"""Pooling: what windows that slide along one, two or three axes have as their largest element, or as their mean.

The elements of windows are slices, so each is read where it lies.

What arrives at an element through a maximum is a sum over the few windows that show it. With windows of k elements, s
apart, the element ``s q + r`` is shown by the windows ``q``, ``q - 1``... at their places ``r``, ``r + s``... below k:

    x'[s q + r] = sum over j with r + s j < k of where(x[s q + r] == y[q - j], y'[q - j] / equals[q - j], 0)

So each element is written once, for each of the s phases r in one sweep, and nothing has an element for each element of
each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.nn.windows import Pairs, axes_of_space, channel_axis, numbers, padded, paddings, windows
from jitflow.transforms.gradients import custom_gradient

__all__ = ["avg_pool", "local_response_norm", "max_pool"]


def max_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, layout: str = "NCHW") -> Any:
    """The largest element of each window.

    ``x`` has the shape ``(batch, channels, *space)``, or ``(batch, *space, channels)`` with the layout ``"NHWC"``.
    Windows have ``size`` elements along each axis of space, an integer for all or one for each, and are ``stride``
    apart, ``size`` if not given; ``padding``, as in `jitflow.nn.conv`, is never chosen. Along each axis there are
    ``(elements + padding - size) // stride + 1`` windows; the dtype is that of ``x``, which has integers or floats. A
    nan is larger than anything. Of equal elements all have a share of the derivative.

    Raises ValueError for shapes and numbers that do not fit, and TypeError for other dtypes.
    """
    if x.dtype.kind not in "iuf":
        raise UserTypeError(f"expected integers or floats to pool, got {x.dtype}")
    axes, sizes, steps, pairs = _windows(x, size, stride, padding, layout)
    if x.dtype.kind != "f":
        return reduce(np.maximum, _elements(padded(x, axes, pairs, np.iinfo(x.dtype).min), axes, sizes, steps))

    def largest(shown: Any) -> Any:
        found = reduce(np.maximum, _elements(shown, axes, sizes, steps))
        return found, lambda arriving: _at_largest(shown, found, arriving, axes, sizes, steps)

    return custom_gradient(largest)(padded(x, axes, pairs, -np.inf))


def _at_largest(
    x: Any, found: Any, arriving: Any, axes: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> Any:
    """What arrives at the elements of ``x``, of whose windows ``found`` are the largest."""
    equal = [(element == found).astype(x.dtype) for element in _elements(x, axes, sizes, steps)]
    share = arriving / np.maximum(reduce(np.add, equal), 1)  # of a nan, which equals nothing, nothing arrives
    # Windows that are not there stand around those that are, and nothing arrives through them.
    reach = [(size - 1) // step for size, step in zip(sizes, steps, strict=True)]
    found, share = (padded(y, axes, [(most, most) for most in reach]) for y in (found, share))
    counts = [found.shape[axis] - most for axis, most in zip(axes, reach, strict=True)]
    whole = [count * step for count, step in zip(counts, steps, strict=True)]
    phases = list[Any]()
    for element, place in zip(
        _elements(_resized(x, axes, whole), axes, steps, steps), product(*map(range, steps)), strict=True
    ):
        parts = [np.zeros_like(element)]
        for taps in product(*(range(at, size, step) for at, size, step in zip(place, sizes, steps, strict=True))):
            starts = [most - tap // step for most, tap, step in zip(reach, taps, steps, strict=True)]
            before = _along(x, axes, [slice(at, at + count) for at, count in zip(starts, counts, strict=True)])
            parts.append(np.where(element == found[before], share[before], 0))
        phases.append(reduce(np.add, parts[1:] or parts))
    dims = list(x.shape)
    for axis, size, step in reversed(list(zip(axes, whole, steps, strict=True))):
        phases = [np.stack(phases[at : at + step], axis + 1) for at in range(0, len(phases), step)]
        dims[axis] = size
    return _resized(phases[0].reshape(dims), axes, [x.shape[axis] for axis in axes])


def _resized(x: Any, axes: Sequence[int], sizes: Sequence[Any]) -> Any:
    """``x`` with so many elements along some axes: without the last ones, or with zeros behind them."""
    for axis, size in zip(axes, sizes, strict=True):
        if size < x.shape[axis]:
            x = x[_along(x, (axis,), (slice(size),))]
        else:
            x = padded(x, (axis,), ((0, size - x.shape[axis]),))
    return x


def _along(x: Any, axes: Sequence[int], places: Sequence[slice]) -> tuple[slice, ...]:
    """An index with slices along some axes of an array."""
    along = dict(zip(axes, places, strict=True))
    return tuple(along.get(axis, slice(None)) for axis in range(x.ndim))


def avg_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, layout: str = "NCHW") -> Any:
    """The mean of each window, in which zeros that the padding adds count.

    Shapes, numbers and errors are those of `max_pool`; the dtype is that of ``x``, which has floats.
    """
    if x.dtype.kind not in "fc":
        raise UserTypeError(f"expected floats to take means of, got {x.dtype}", mend="convert them: x.astype(float)")
    axes, sizes, steps, pairs = _windows(x, size, stride, padding, layout)
    elements = _elements(padded(x, axes, pairs), axes, sizes, steps)
    return reduce(np.add, elements) * (1 / len(elements))


def _windows(
    x: Any, size: Any, stride: Any, padding: Any, layout: str
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Pairs]:
    """The axes along which windows slide; for each their size, how far they are apart, and the padding."""
    axes = axes_of_space(x, layout)
    sizes = numbers(size, len(axes), "size")
    steps = sizes if stride is None else numbers(stride, len(axes), "stride")
    return axes, sizes, steps, paddings(padding, x, axes, sizes, steps)


def _elements(x: Any, axes: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> list[Any]:
    """For each place in a window, the array of the elements there of all windows."""
    found = windows(x, axes, sizes, steps, (1,) * len(axes))
    return [found[(..., *places)] for places in product(*map(range, sizes))]


def local_response_norm(
    x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0, layout: str = "NCHW"
) -> Any:
    """``x / (k + alpha * s) ** beta``, where s is the mean of the squares of ``size`` neighbouring channels.

    Of an even number of neighbours, one more stands before than behind; at the ends, zeros count. Shape and dtype are
    those of ``x``, which has a batch, channels and at least one axis of space. Raises ValueError for shapes and sizes
    that do not fit. Krizhevsky, Sutskever and Hinton, 2012, where s is the sum.
    """
    axes_of_space(x, layout)
    (count,) = numbers(size, 1, "size")
    axis = channel_axis(layout) % x.ndim
    squares = windows(padded(x * x, (axis,), ((count // 2, (count - 1) // 2),)), (axis,), (count,), (1,), (1,))
    total = reduce(np.add, [squares[..., place] for place in range(count)])
    return x / (k + total * (alpha / count)) ** beta
