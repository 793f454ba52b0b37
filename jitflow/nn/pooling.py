"""Pooling: what windows that slide along one, two or three axes have as their largest element, or as their mean.

The elements of windows are slices, so each is read where it lies, and derivatives go to slices as well.
"""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.nn.windows import axes_of_space, channel_axis, numbers, padded, paddings, windows

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
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return reduce(np.maximum, _elements(x, size, stride, padding, layout, least))


def avg_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, layout: str = "NCHW") -> Any:
    """The mean of each window, in which zeros that the padding adds count.

    Shapes, numbers and errors are those of `max_pool`; the dtype is that of ``x``, which has floats.
    """
    if x.dtype.kind not in "fc":
        raise UserTypeError(f"expected floats to take means of, got {x.dtype}", mend="convert them: x.astype(float)")
    elements = _elements(x, size, stride, padding, layout, 0)
    return reduce(np.add, elements) * (1 / len(elements))


def _elements(x: Any, size: Any, stride: Any, padding: Any, layout: str, around: Any) -> list[Any]:
    """For each place in a window, the array of the elements there of all windows."""
    axes = axes_of_space(x, layout)
    sizes = numbers(size, len(axes), "size")
    steps = sizes if stride is None else numbers(stride, len(axes), "stride")
    shown = padded(x, axes, paddings(padding, x, axes, sizes, steps), around)
    found = windows(shown, axes, sizes, steps, (1,) * len(axes))
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
