"""The same elements in other places, some of them several times: flips, rolls, repeats, tiles, padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.casts import as_element
from jitflow.frontend.arrays.operands import (
    array_operand,
    new,
    normalized_axes,
    normalized_axis,
    numpy_says,
    refuse,
    shape_argument,
    static_int,
)
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.joining import concatenate_values
from jitflow.frontend.numpy.routines import fresh, new_results
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "repeat", "stretch"]


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    value = array_operand(a)
    if axis is None:
        flat = values.reshape(value, (broadcasting.total_size(value),))
        return new(values.reshape(_rolled(flat, shift, 0), values.dims(value)))
    places = [
        normalized_axis(item, values.rank(value)) for item in (axis if isinstance(axis, tuple | list) else (axis,))
    ]
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift] * len(places)
    if len(places) == 1:
        places *= len(shifts)
    if len(shifts) != len(places):
        raise UserValueError(
            "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 "
            f"with shape ({len(shifts)},) and arg 1 with shape ({len(places)},)."
        )
    for place, step in zip(places, shifts, strict=True):
        value = _rolled(value, step, place)
    return new(value)


def _rolled(value: Value, shift: Any, axis: int) -> Value:
    """One axis rolled: its last ``shift`` elements first. A shift that only the running program knows gathers."""
    size = values.dims(value)[axis]
    if isinstance(shift, tracers.ScalarTracer | tracers.ArrayTracer):
        distance = values.cast(array_operand(shift), I64)
        if values.rank(distance):
            raise refuse("np.roll by an array of shifts", "roll by one number at a time")
        position = emit("subtract", values.iota(I64, (size,)), values.as_scalar(distance))
        return emit("gather", value, position, axis=axis, mode="wrap")
    moved = tracers.dim_of(shift)
    if size == 0:
        return value
    offset = moved % maximum(size, 1)  # no elements: nothing moves
    first = stretch(value, axis, size - offset, offset)
    return concatenate_values([first, stretch(value, axis, 0, size - offset)], axis)


def stretch(value: Value, axis: int, start: Dim, size: Dim) -> Value:
    """A stretch of one axis."""
    dims = values.dims(value)
    starts = [start if place == axis else 0 for place in range(len(dims))]
    sizes = [size if place == axis else dim for place, dim in enumerate(dims)]
    return values.slice_axes(value, starts, sizes, [1] * len(dims))


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    if len(axes) != 2:
        raise UserValueError("len(axes) must be 2.")
    array = as_tracer(m)
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == array.ndim:
        raise UserValueError("Axes must be different.")
    if any(not -array.ndim <= axis < array.ndim for axis in axes):
        raise UserValueError(f"Axes={tuple(axes)} out of range for array of ndim={array.ndim}.")
    turns = static_int(k, "the number of turns") % 4
    if turns == 0:
        return array[:]
    if turns == 2:
        return np.flip(np.flip(array, axes[0]), axes[1])
    order = list(range(array.ndim))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return np.transpose(np.flip(array, axes[1]), order) if turns == 1 else np.flip(np.transpose(array, order), axes[1])


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    value = array_operand(a)
    if axis is None:
        value, place = values.reshape(value, (broadcasting.total_size(value),)), 0
    else:
        if not values.rank(value):
            value = values.reshape(value, (1,))  # NumPy repeats a 0-d array as one of one element
        place = normalized_axis(axis, values.rank(value))
    if isinstance(repeats, list | tuple | np.ndarray) and not isinstance(repeats, tracers.Tracer):
        return _repeat_each(value, [static_int(item, "repeats") for item in repeats], place)
    if isinstance(repeats, tracers.ArrayTracer) and repeats.ndim:
        return _repeat_by(value, repeats, place)
    count = tracers.dim_of(repeats)
    if isinstance(count, int) and count < 0:
        raise UserValueError("negative dimensions are not allowed")
    dims = values.dims(value)
    spread = (*dims[: place + 1], count, *dims[place + 1 :])
    axes = [axis if axis <= place else axis + 1 for axis in range(len(dims))]
    wide = values.broadcast_in(value, spread, axes)
    return new(values.reshape(wide, (*dims[:place], dims[place] * count, *dims[place + 1 :])))


def _repeat_each(value: Value, counts: Sequence[int], axis: int) -> Any:
    """Known numbers of repetitions: the positions are a constant."""
    size = values.dims(value)[axis]
    if len(counts) == 1:
        return repeat(new(value), counts[0], axis)
    if any(count < 0 for count in counts):
        raise UserValueError("repeats may not contain negative values.")
    message = f"operands could not be broadcast together with shape {{shape}} ({len(counts)},)"
    broadcasting.require_equal(size, len(counts), message, [(size,)])
    positions = tracers.lift(np.repeat(np.arange(len(counts)), counts))
    return new(emit("gather", value, positions, axis=axis))


def _repeat_by(value: Value, counts: Any, axis: int) -> Any:
    """Numbers of repetitions that only the running program knows: each place of the result looks up its element."""
    numbers, dims = array_operand(counts), values.dims(value)
    if not values.dtype_of_value(numbers).is_integer:
        numpy_says(np.repeat, np.zeros(1), np.ones(1, counts.dtype))
    if values.rank(numbers) != 1:
        raise UserValueError("object too deep for desired array")
    shape = (*dims[:axis], fresh("count"), *dims[axis + 1 :])
    kinds = [values.dtype_of_value(value)]
    return new_results(np.repeat, [value, numbers], [shape], {"axis": axis}, kinds=kinds)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements in C order, again and again until the new shape is full."""
    value = array_operand(a)
    items = new_shape if isinstance(new_shape, tuple | list) else (new_shape,)
    dims = tuple(tracers.dim_of(item) for item in items)
    if any(isinstance(dim, int) and dim < 0 for dim in dims):
        raise UserValueError("all elements of `new_shape` must be non-negative")
    size, total = broadcasting.total_size(value), product(dims)
    if tracers.size_of(size) == 0:
        return new(values.fill(values.constant_like(0, value), dims))
    places = emit("remainder", values.iota(I64, (total,)), values.size_value(size))
    flat = values.reshape(value, (size,))
    return new(values.reshape(emit("gather", flat, places, axis=0), dims))


def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    value = array_operand(A)
    counts = shape_argument(reps)
    rank = max(len(counts), values.rank(value))
    dims = (1,) * (rank - values.rank(value)) + values.dims(value)
    counts = (1,) * (rank - len(counts)) + counts
    value = values.reshape(value, dims)
    spread = tuple(dim for pair in zip(counts, dims, strict=True) for dim in pair)
    wide = values.broadcast_in(value, spread, range(1, 2 * rank, 2)) if rank else value
    return new(values.reshape(wide, tuple(dim * count for dim, count in zip(dims, counts, strict=True))))


# -- padding ----------------------------------------------------------------------------------------------


def pad(array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Any:
    value = array_operand(array)
    told = {"reflect_type", "stat_length"} & set(keywords)
    if isinstance(mode, str) and (mode in _ROUTINE_PADDINGS or (mode in _PADDINGS and told)):
        return _padded_by_numpy(value, pad_width, mode, keywords)
    if not isinstance(mode, str) or mode not in _PADDINGS:
        raise refuse(f"np.pad with mode={mode!r}", f"modes are {', '.join((*_PADDINGS, *_ROUTINE_PADDINGS))}")
    allowed = {"constant_values"} if mode == "constant" else set()
    if set(keywords) - allowed:
        raise UserValueError(f"unsupported keyword arguments for mode '{mode}': {set(keywords) - allowed}")
    widths = _pairs(pad_width, values.rank(value), "pad_width")
    constants = _pairs(keywords.get("constant_values", 0), values.rank(value), "constant_values")
    for axis, ((before, after), fillers) in enumerate(zip(widths, constants, strict=True)):
        counts = (_width(before), _width(after))
        value = _PADDINGS[mode](value, axis, counts, fillers)
    return new(value)


_ROUTINE_PADDINGS = ("linear_ramp", "median", "empty")
"""What NumPy pads with that no kernel of ours does."""


def _padded_by_numpy(value: Value, pad_width: Any, mode: str, keywords: Mapping[str, Any]) -> Any:
    widths = [(static_int(before, "pad_width"), static_int(after, "pad_width"))
              for before, after in _pairs(pad_width, values.rank(value), "pad_width")]  # fmt: skip
    if mode == "empty":  # nobody may rely on what is there
        return pad(new(value), widths)
    if any(min(pair) < 0 for pair in widths):
        raise UserValueError("index can't contain negative values")
    shape = tuple(dim + sum(pair) for dim, pair in zip(values.dims(value), widths, strict=True))
    options = {"pad_width": tuple(widths), "mode": mode, **keywords}
    return new_results(np.pad, [value], [shape], options, kinds=[values.dtype_of_value(value)])


def _pairs(given: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """A number, a pair, or a pair for every axis, written out."""
    items = given.tolist() if isinstance(given, np.ndarray) and not isinstance(given, tracers.Tracer) else given
    if isinstance(items, dict):
        pairs: list[Any] = [items.get(axis, items.get(axis - rank, (0, 0))) for axis in range(rank)]
        return [tuple(pair) for pair in pairs]
    if not isinstance(items, tuple | list):
        return [(items, items)] * rank
    if not isinstance(items[0], tuple | list):
        one, other = (items[0], items[0]) if len(items) == 1 else items
        return [(one, other)] * rank
    pairs = [(item[0], item[-1]) for item in items]
    if len(pairs) == 1:
        return pairs * rank
    if len(pairs) != rank:
        numpy_says(np.broadcast_to, np.zeros((len(pairs), 2)), (rank, 2))
        raise UserTypeError(f"expected a pair of {name} per axis")
    return pairs


def _width(count: Any) -> Dim:
    """How many elements are added; not negative, now or at run time."""
    message = "index can't contain negative values"
    count = tracers.as_size(pinned(count))
    if runtime_sizes.is_running(count):
        number = runtime_sizes.integer(count)
        values.check(emit("greater_equal", number, values.constant(0, I64)), ValueError, message)
    width = tracers.dim_of(count)
    holds = current_trace().known(width, ">=", 0)
    if holds is False:
        raise UserValueError(message)
    if holds is None:
        values.check(emit("greater_equal", values.size(width), values.size(0)), ValueError, message)
    return width


def _number_of_array(filler: Any) -> Value:
    """What is padded with: NumPy makes an array of it, and takes the number out of that."""
    given = array_operand(filler)
    is_one = values.rank(given) and all(map(broadcasting.is_one, values.dims(given)))
    return values.as_scalar(values.reshape(given, (), assumed=True) if is_one else given)


def _pad_constant(value: Value, axis: int, counts: tuple[Dim, Dim], fillers: tuple[Any, Any]) -> Value:
    dtype = values.dtype_of_value(value)
    dims = values.dims(value)

    def block(count: Dim, filler: Any) -> list[Value]:
        if count == 0:
            return []
        number = as_element(_number_of_array(filler), dtype)
        return [values.fill(number, (*dims[:axis], count, *dims[axis + 1 :]))]

    return concatenate_values([*block(counts[0], fillers[0]), value, *block(counts[1], fillers[1])], axis)


def _pad_by_position(position: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    """Padding that reads inside: ``position`` maps an index that may be outside to one that is inside.

    Only what is added is looked up; what is inside is copied as it lies.
    """

    def padded(value: Value, axis: int, counts: tuple[Dim, Dim], fillers: tuple[Any, Any]) -> Value:
        if counts == (0, 0):
            return value
        extent = values.size_value(_some(value, axis))

        def border(count: Dim, start: Value) -> list[Value]:
            if count == 0:
                return []
            outside = emit("add", values.iota(I64, (count,)), start)
            return [emit("gather", value, position(outside, extent), axis=axis)]

        before = border(counts[0], emit("negative", values.size_value(counts[0])))
        return concatenate_values([*before, value, *border(counts[1], extent)], axis)

    return padded


def _pad_by_statistic(name: str) -> Callable[..., Value]:
    """Padding with what a reduction makes of the whole axis; a mean of integers is rounded."""

    def padded(value: Value, axis: int, counts: tuple[Dim, Dim], fillers: tuple[Any, Any]) -> Value:
        if counts == (0, 0):
            return value
        _some(value, axis)
        found = getattr(new(value), name)(axis=axis, keepdims=True)
        if name == "mean" and values.dtype_of_value(value).kind in "iu":
            found = np.rint(found)
        one, dims = values.cast(array_operand(found), values.dtype_of_value(value)), values.dims(value)

        def border(count: Dim) -> list[Value]:
            return [] if count == 0 else [broadcasting.broadcast_to(one, (*dims[:axis], count, *dims[axis + 1 :]))]

        return concatenate_values([*border(counts[0]), value, *border(counts[1])], axis)

    return padded


def _some(value: Value, axis: int) -> Dim:
    """How long an axis is. Raises ValueError, now or when the program runs, if there is nothing along it."""
    size = values.dims(value)[axis]
    empty = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
    if size == 0:
        raise UserValueError(empty)
    if current_trace().known(size, ">=", 1) is not True:
        values.check(emit("not_equal", values.size(size), values.size(0)), ValueError, empty)
    return size


def _edge(index: Value, size: Value) -> Value:
    zero = values.constant(0, I64)
    return emit("maximum", emit("minimum", index, emit("subtract", size, values.constant(1, I64))), zero)


def _wrap(index: Value, size: Value) -> Value:
    return emit("remainder", index, size)


def _reflect(index: Value, size: Value) -> Value:
    """Back and forth without repeating the edge: a period of 2 (n - 1)."""
    one = values.constant(1, I64)
    last = emit("subtract", size, one)
    period = emit("maximum", emit("add", last, last), one)
    inside = emit("remainder", index, period)
    return emit("minimum", inside, emit("subtract", period, inside))


def _symmetric(index: Value, size: Value) -> Value:
    """Back and forth with the edge repeated: a period of 2 n."""
    period = emit("add", size, size)
    inside = emit("remainder", index, period)
    mirrored = emit("subtract", emit("subtract", period, values.constant(1, I64)), inside)
    return emit("minimum", inside, mirrored)


_PADDINGS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {
        "constant": _pad_constant,
        **{mode: _pad_by_statistic(name) for mode, name in (("maximum", "max"), ("mean", "mean"), ("minimum", "min"))},
        "edge": _pad_by_position(_edge),
        "wrap": _pad_by_position(_wrap),
        "reflect": _pad_by_position(_reflect),
        "symmetric": _pad_by_position(_symmetric),
    }
)


def fftshift(x: Any, axes: Any = None) -> Any:
    """The zero of a frequency axis in the middle."""
    array = as_tracer(x)
    places = normalized_axes(axes, array.ndim)
    return roll(array, tuple(array.shape[place] // 2 for place in places), places)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """`fftshift` undone."""
    array = as_tracer(x)
    places = normalized_axes(axes, array.ndim)
    return roll(array, tuple(-(array.shape[place] // 2) for place in places), places)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.flip: as_written(np.flip),
        np.fliplr: as_written(np.fliplr),
        np.flipud: as_written(np.flipud),
        np.roll: roll,
        np.rot90: rot90,
        np.repeat: repeat,
        np.resize: resize,
        np.tile: tile,
        np.pad: pad,
        np.fft.fftshift: fftshift,
        np.fft.ifftshift: ifftshift,
    }
)
