"""Pooling: what windows that slide along one, two or three axes have as their largest element, or as their mean.

The elements of windows are slices, so each is read where it lies. The other way round, what arrives at windows is
gathered by the elements: every s-th of them, where windows are s apart, is in windows that are as far from it as those
of the first one are, so that a sum over these is one of slices as well, and each element is written once. Slices that
are added to, one for each element of a window, would be read and written once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError
from jitflow.gradients import custom_gradient
from jitflow.nn.windows import axes_of_space, channel_axis, numbers, padded, paddings, windows

__all__ = ["avg_pool", "local_response_norm", "max_pool"]


def max_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, layout: str = "NCHW") -> Any:
    """The largest element of each window.

    ``x`` has the shape ``(batch, channels, *space)``, or ``(batch, *space, channels)`` with the layout ``"NHWC"``.
    Windows have ``size`` elements along each axis of space, an integer for all or one for each, and are ``stride``
    apart, ``size`` if not given; ``padding``, as in `jitflow.nn.conv`, is never chosen. Along each axis there are
    ``(elements + padding - size) // stride + 1`` windows; the dtype is that of ``x``, which has integers or floats. A
    nan is larger than anything. Of equal elements all have the same share of the derivative.

    Raises ValueError for shapes and numbers that do not fit, and TypeError for other dtypes.
    """
    if x.dtype.kind not in "iuf":
        raise UserTypeError(f"expected integers or floats to pool, got {x.dtype}")
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    shown, windows = _windows(x, size, stride, padding, layout, least)
    return windows.largest(shown)


def avg_pool(x: Any, size: Any, stride: Any = None, padding: Any = 0, layout: str = "NCHW") -> Any:
    """The mean of each window, in which zeros that the padding adds count.

    Shapes, numbers and errors are those of `max_pool`; the dtype is that of ``x``, which has floats.
    """
    if x.dtype.kind not in "fc":
        raise UserTypeError(f"expected floats to take means of, got {x.dtype}", mend="convert them: x.astype(float)")
    shown, windows = _windows(x, size, stride, padding, layout, 0)
    return windows.mean(shown)


def _windows(x: Any, size: Any, stride: Any, padding: Any, layout: str, around: Any) -> tuple[Any, _Windows]:
    """An array with what stands around it, and the windows of that."""
    axes = axes_of_space(x, layout)
    sizes = numbers(size, len(axes), "size")
    steps = sizes if stride is None else numbers(stride, len(axes), "stride")
    return padded(x, axes, paddings(padding, x, axes, sizes, steps), around), _Windows(axes, sizes, steps)


@dataclass(frozen=True)
class _Windows:
    """The axes along which windows slide, how many elements they have along each, and how far apart they are."""

    axes: Sequence[int]
    sizes: Sequence[int]
    steps: Sequence[int]

    def largest(self, x: Any) -> Any:
        """The largest element of each window. Those that are as large share what arrives at it, as do nans."""

        def chosen(element: Any, largest: Any) -> Any:
            return (element == largest) | (element != element)

        def with_rule(x: Any) -> tuple[Any, Callable[[Any], Any]]:
            elements = self._elements(x)
            found = reduce(np.maximum, elements)

            def rule(arriving: Any) -> Any:
                count = reduce(np.add, [np.where(chosen(element, found), x.dtype.type(1), 0) for element in elements])
                return self._gathered(
                    x, (found, arriving / count),
                    lambda element, largest, share: np.where(chosen(element, largest), share, 0),
                )  # fmt: skip

            return found, rule

        return custom_gradient(with_rule)(x)

    def mean(self, x: Any) -> Any:
        """The mean of each window."""
        share = 1 / len(list(product(*map(range, self.sizes))))

        def with_rule(x: Any) -> tuple[Any, Callable[[Any], Any]]:
            found = reduce(np.add, self._elements(x)) * share
            return found, lambda arriving: self._gathered(x, (arriving * share,), lambda element, part: part)

        return custom_gradient(with_rule)(x)

    def _elements(self, x: Any) -> list[Any]:
        """For each place in a window, the array of the elements there of all windows."""
        found = windows(x, self.axes, self.sizes, self.steps, (1,) * len(self.axes))
        return [found[(..., *places)] for places in product(*map(range, self.sizes))]

    def _gathered(self, x: Any, values: Sequence[Any], part: Callable[..., Any]) -> Any:
        """For each element the sum over the windows that it is in of its part of what these have in ``values``.

        A part of zeros is zero: there are no windows beyond the ends.
        """
        before = [(size - 1) // step for size, step in zip(self.sizes, self.steps, strict=True)]
        room = [
            (first, (x.shape[axis] + step - 1) // step - values[0].shape[axis])
            for first, axis, step in zip(before, self.axes, self.steps, strict=True)
        ]
        among_zeros = [padded(value, self.axes, room) for value in values]
        found = np.zeros_like(x)
        for phases in product(*(range(min(pair)) for pair in zip(self.sizes, self.steps, strict=True))):
            every = zip(phases, self.steps, strict=True)
            place = self._slices(x.ndim, [slice(phase, None, step) for phase, step in every])
            shown = x[place]
            delays = [
                range((size - phase + step - 1) // step)
                for size, phase, step in zip(self.sizes, phases, self.steps, strict=True)
            ]
            parts = []
            for delay in product(*delays):
                starts = [first - far for first, far in zip(before, delay, strict=True)]
                ends = [start + shown.shape[axis] for start, axis in zip(starts, self.axes, strict=True)]
                around = self._slices(x.ndim, list(map(slice, starts, ends)))
                parts.append(part(shown, *(value[around] for value in among_zeros)))
            found[place] = reduce(np.add, parts)
        return found

    def _slices(self, rank: int, along: Sequence[slice]) -> tuple[slice, ...]:
        """An index that takes such slices along the axes of the windows, and all of the others."""
        places = dict(zip(self.axes, along, strict=True))
        return tuple(places.get(axis, slice(None)) for axis in range(rank))


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
