"""Convolutions, and their adjoints: sums over windows that slide along one, two or three axes.

They are contractions of windows (`numpy.lib.stride_tricks.sliding_window_view`, a view) with weights, so what a user
writes in their place is compiled as well, and no window is ever copied. The kernel is not turned round, as everywhere
in this field.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from jitflow.errors import UserValueError
from jitflow.nn.windows import axes_of_space, channel_axis, numbers, padded, paddings, windows
from jitflow.records import dataclass

__all__ = ["conv", "conv_transpose"]


def conv(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    layout: str = "NCHW",
) -> Any:  # fmt: skip
    """The sum over windows of ``x`` times ``weight``, plus ``bias``, at each place and for each output channel.

    ``x`` has the shape ``(batch, inputs, *space)``, or ``(batch, *space, inputs)`` with the layout ``"NHWC"``, and one,
    two or three axes of space; ``weight`` the shape ``(outputs, inputs / groups, *kernel)``, ``bias`` ``(outputs,)``.
    The result has the outputs as channels, and along each axis of space
    ``(size + padding - dilation * (kernel - 1) - 1) // stride + 1`` elements.

    ``stride``, ``padding`` and ``dilation`` are integers, one for all axes or one for each; ``padding`` may have a pair
    for each axis, what stands before and behind, or be ``"same"``: as many elements as there are, divided by the stride
    and rounded up, or ``"valid"``: none. Outputs of one of the ``groups`` see its inputs alone. The dtype is that of
    ``x * weight``. Raises ValueError for shapes, layouts and numbers that do not fit, TypeError for what is no integer.

    Dumoulin and Visin, A guide to convolution arithmetic for deep learning, 2016.
    """
    axes, groups = axes_of_space(x, layout), operator.index(groups)
    kernel = _kernel(weight, axes)
    strides, dilations = numbers(stride, len(axes), "stride"), numbers(dilation, len(axes), "dilation")
    _require_channels(x, weight, layout, groups, inputs_first=False)
    spans = [(size - 1) * apart + 1 for size, apart in zip(kernel, dilations, strict=True)]
    shown = padded(x, axes, paddings(padding, x, axes, spans, strides))
    found = _contract(shown, weight, kernel, strides, dilations, groups, layout)
    return _with_bias(found, bias, layout)


def conv_transpose(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    dilation: Any = 1, groups: int = 1, layout: str = "NCHW",
) -> Any:  # fmt: skip
    """The adjoint of `conv` with the same numbers, plus ``bias``: each element is spread over a window of the result.

    ``x`` has the shape ``(batch, inputs, *space)``, ``weight`` ``(inputs, outputs / groups, *kernel)``: that of the
    convolution whose adjoint it is, which makes the inputs of the outputs. Along each axis of space the result has
    ``(size - 1) * stride - padding + dilation * (kernel - 1) + output_padding + 1`` elements; ``padding``, counted
    twice where it is one number, is cut off, and ``output_padding`` is room behind, which tells the sizes apart of
    which a convolution makes one. Shapes, dtypes and errors are those of `conv`; ``padding`` is no text.

    Where the stride is s, each element of the result is a sum over every s-th element of the kernel, and so computed.
    Dumoulin and Visin, 2016, chapter 4.
    """
    axes, groups = axes_of_space(x, layout), operator.index(groups)
    kernel, count = _kernel(weight, axes), len(axes)
    strides, dilations = numbers(stride, count, "stride"), numbers(dilation, count, "dilation")
    rooms = numbers(output_padding, count, "output_padding", least=0)
    if isinstance(padding, str):
        raise UserValueError(f"expected a padding of numbers, got {padding!r}")
    cut = paddings(padding, x, axes, kernel, strides)
    _require_channels(x, weight, layout, groups, inputs_first=True)
    whole = [
        (x.shape[axis] - 1) * step + (size - 1) * apart + 1 + room
        for axis, step, size, apart, room in zip(axes, strides, kernel, dilations, rooms, strict=True)
    ]
    shape = list(x.shape)
    for axis, size in zip(axes, whole, strict=True):
        shape[axis] = size
    shape[channel_axis(layout)] = weight.shape[1] * groups
    turned = _inputs_second(weight, groups)
    found = np.zeros_like(x, np.result_type(x.dtype, weight.dtype), shape=tuple(shape))
    for phases in product(*map(_phases, kernel, strides, dilations)):
        places: list[slice] = [slice(None)] * x.ndim
        for axis, step, phase in zip(axes, strides, phases, strict=True):
            places[axis] = slice(phase.first, None, step)
        counts = [
            (size - phase.first + step - 1) // step for size, step, phase in zip(whole, strides, phases, strict=True)
        ]
        found[tuple(places)] = _spread(x, turned, phases, axes, counts, groups, layout)
    kept: list[slice] = [slice(None)] * x.ndim
    for axis, (before, behind), size in zip(axes, cut, whole, strict=True):
        kept[axis] = slice(before, size - behind)
    return _with_bias(found[tuple(kept)], bias, layout)


@dataclass(frozen=True)
class _Phase:
    """Along one axis: the places ``first + step q`` of a result are sums of ``x[q - delay - apart j]`` and taps.

    These are ``taps`` of the kernel, ``pace`` apart from ``tap`` on.
    """

    first: int
    tap: int
    pace: int
    taps: int
    delay: int
    apart: int


def _phases(kernel: int, step: int, dilation: int) -> Iterator[_Phase]:
    """The phases that any element of the kernel reaches."""
    common = math.gcd(step, dilation)
    pace = step // common
    for tap in range(min(pace, kernel)):
        taps = len(range(tap, kernel, pace))
        yield _Phase(tap * dilation % step, tap, pace, taps, tap * dilation // step, dilation // common)


def _spread(
    x: Any, weight: Any, phases: Sequence[_Phase], axes: Sequence[int], counts: Sequence[Any], groups: int, layout: str
) -> Any:
    """The elements of an adjoint at one phase, so many along each axis."""
    pairs, taps = [], [slice(None), slice(None)]
    for axis, count, phase in zip(axes, counts, phases, strict=True):
        pairs.append((phase.delay + (phase.taps - 1) * phase.apart, count - phase.delay - x.shape[axis]))
        last = phase.tap + (phase.taps - 1) * phase.pace
        taps.append(slice(last, phase.tap - phase.pace if phase.tap >= phase.pace else None, -phase.pace))
    sizes, dilations = [phase.taps for phase in phases], [phase.apart for phase in phases]
    shown = padded(x, axes, pairs)
    return _contract(shown, weight[tuple(taps)], sizes, (1,) * len(axes), dilations, groups, layout)


def _kernel(weight: Any, axes: Sequence[int]) -> tuple[int, ...]:
    if weight.ndim != len(axes) + 2:
        raise UserValueError(
            "the weights of a convolution do not fit its array", found=f"{weight.ndim} axes",
            expected=f"{len(axes) + 2}: outputs, inputs of a group, and the kernel's {len(axes)}",
        )  # fmt: skip
    return tuple(operator.index(size) for size in weight.shape[2:])


def _require_channels(x: Any, weight: Any, layout: str, groups: int, *, inputs_first: bool) -> None:
    channels = x.shape[channel_axis(layout)]
    expected = weight.shape[0] if inputs_first else weight.shape[1] * groups
    if groups < 1 or weight.shape[0] % groups != 0 or channels != expected:
        raise UserValueError(
            "the channels of a convolution do not fit its weights",
            found=f"{channels} channels, and weights of {weight.shape[0]} and {weight.shape[1]} in {groups} groups",
            expected="as many as the weights have for all groups, which divide their first axis",
        )


def _inputs_second(weight: Any, groups: int) -> Any:
    """Weights of ``(inputs, outputs / groups, ...)`` as ``(outputs, inputs / groups, ...)``."""
    inputs, outputs, *kernel = weight.shape
    apart = weight.reshape(groups, inputs // groups, outputs, *kernel)
    return np.swapaxes(apart, 1, 2).reshape(groups * outputs, inputs // groups, *kernel)


def _contract(
    x: Any, weight: Any, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], groups: int,
    layout: str,
) -> Any:  # fmt: skip
    """The contraction of windows with weights of ``(outputs, inputs / groups, *kernel)``."""
    batch, group, inputs, outputs, *rest = range(4 + 2 * len(kernel))
    places, taps = rest[: len(kernel)], rest[len(kernel) :]
    last = layout == "NHWC"
    shown = x if groups == 1 else _grouped(x, channel_axis(layout) % x.ndim, groups)
    channels = (inputs,) if groups == 1 else (group, inputs)
    labels = [batch, *places, *channels] if last else [batch, *channels, *places]
    found = windows(shown, tuple(map(labels.index, places)), kernel, strides, dilations)
    labels += taps
    of_weight = [outputs, inputs, *taps] if groups == 1 else [group, outputs, inputs, *taps]
    factors = weight if groups == 1 else _grouped(weight, 0, groups)
    made = (outputs,) if groups == 1 else (group, outputs)
    of_result = [batch, *places, *made] if last else [batch, *made, *places]
    found = np.einsum(found, labels, factors, of_weight, of_result, optimize=True)
    if groups == 1:
        return found
    axis = of_result.index(group)
    return found.reshape(*found.shape[:axis], weight.shape[0], *found.shape[axis + 2 :])


def _grouped(x: Any, axis: int, groups: int) -> Any:
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def _with_bias(found: Any, bias: Any, layout: str) -> Any:
    if bias is None:
        return found
    if bias.ndim != 1 or bias.shape[0] != found.shape[channel_axis(layout)]:
        raise UserValueError(
            "the bias of a convolution does not fit its outputs", found=f"the shape {bias.shape}",
            expected=f"({found.shape[channel_axis(layout)]},)",
        )  # fmt: skip
    return found + (bias if layout == "NHWC" else bias.reshape(-1, *(1,) * (found.ndim - 2)))
