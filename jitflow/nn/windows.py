"""What convolutions and pooling say of the axes along which their windows slide: layouts, numbers for each, padding."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jitflow.errors import UserTypeError, UserValueError

__all__ = ["LAYOUTS", "Pairs", "axes_of_space", "channel_axis", "numbers", "padded", "paddings", "windows"]

Pairs = Sequence[tuple[Any, Any]]
"""How much stands before and behind, for each axis."""

LAYOUTS = ("NCHW", "NHWC")
"""Channels behind the batch, or last; so they are called whatever the number of axes of space."""


def axes_of_space(x: Any, layout: str) -> tuple[int, ...]:
    """The axes of an array that are neither its batch nor its channels. Raises ValueError where there are none to 3."""
    if layout not in LAYOUTS:
        raise UserValueError(f"expected a layout of {' or '.join(LAYOUTS)}, got {layout!r}")
    if not 3 <= x.ndim <= 5:
        raise UserValueError(
            "windows slide along one, two or three axes",
            found=f"an array of {x.ndim} axes",
            expected="a batch and channels beside those, 3 to 5 axes in all",
            mend="add an axis of size 1: x[None]",
        )
    return tuple(range(2, x.ndim)) if layout == "NCHW" else tuple(range(1, x.ndim - 1))


def channel_axis(layout: str) -> int:
    """The axis of the channels."""
    return 1 if layout == "NCHW" else -1


def numbers(given: Any, count: int, what: str, least: int = 1) -> tuple[int, ...]:
    """A number for each axis: one for all, or a sequence of as many.

    Raises TypeError for what is no integer, and ValueError for another number of them, or one below the least.
    """
    items = tuple(given) if isinstance(given, tuple | list) else (given,) * count
    try:
        found = tuple(operator.index(item) for item in items)
    except TypeError:
        raise UserTypeError(f"expected {what} in integers, got {given!r}") from None
    if len(found) != count or any(number < least for number in found):
        raise UserValueError(
            f"{what} does not fit the windows", found=repr(given),
            expected=f"an integer of at least {least}, or {count} of them",
        )  # fmt: skip
    return found


def paddings(given: Any, x: Any, axes: Sequence[int], spans: Sequence[int], steps: Sequence[int]) -> Pairs:
    """How much to put before and behind: a number, one for each axis, a pair for each, "valid" or "same".

    "same" gives as many windows as there are elements, divided by the step and rounded up. What is odd goes behind.
    """
    if given == "valid":
        return ((0, 0),) * len(axes)
    if given == "same":
        missing = [
            max(-(-x.shape[axis] // step) * step - step + span - x.shape[axis], 0)
            if step > 1 else span - 1 for axis, span, step in zip(axes, spans, steps, strict=True)
        ]  # fmt: skip
        return tuple((count // 2, count - count // 2) for count in missing)
    if isinstance(given, str):
        raise UserValueError(f'expected a padding of numbers, "same" or "valid", got {given!r}')
    items = tuple(given) if isinstance(given, tuple | list) else (given,) * len(axes)
    pairs = [item if isinstance(item, tuple | list) else (item, item) for item in items]
    if len(pairs) != len(axes):
        raise UserValueError(
            "the padding does not fit the windows", found=repr(given),
            expected=f"a number, or {len(axes)} numbers or pairs",
        )  # fmt: skip
    found = [numbers(tuple(pair), 2, "padding", least=0) for pair in pairs]
    return tuple((before, behind) for before, behind in found)


def padded(x: Any, axes: Sequence[int], pairs: Pairs, value: Any = 0) -> Any:
    """``x`` with ``value`` around it along some axes."""
    if all(pair == (0, 0) for pair in pairs):
        return x
    along = dict(zip(axes, pairs, strict=True))
    return np.pad(x, tuple(along.get(axis, (0, 0)) for axis in range(x.ndim)), constant_values=value)


def windows(x: Any, axes: Sequence[int], sizes: Sequence[int], steps: Sequence[int], dilations: Sequence[int]) -> Any:
    """Windows of so many elements, ``dilations`` apart, at each of ``steps``: their elements are new last axes."""
    spans = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilations, strict=True)]
    for axis, span in zip(axes, spans, strict=True):
        if x.shape[axis] < span:
            raise UserValueError(
                "a window is larger than what it slides along", found=f"{span} elements for {x.shape[axis]}",
                mend="pad the array, or take smaller windows",
            )  # fmt: skip
    found = sliding_window_view(x, tuple(spans), tuple(axes))
    if all(number == 1 for number in (*steps, *dilations)):
        return found
    along = dict(zip((*axes, *range(x.ndim, found.ndim)), (*steps, *dilations), strict=True))
    return found[tuple(slice(None, None, along.get(axis, 1)) for axis in range(found.ndim))]
