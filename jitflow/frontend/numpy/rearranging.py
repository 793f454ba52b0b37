"""The same elements in other places, some of them several times: flips, rolls, repeats, tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_int,
    converted_axis,
    new,
    normalized_axes,
    normalized_axis,
    numpy_says,
    operand,
    refuse,
    sequence_of,
    shape_argument,
    sizes_of,
    static_int,
)
from jitflow.frontend.arrays.promotion import result_dtype
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.joining import concatenate_values
from jitflow.frontend.numpy.routines import fresh, new_results
from jitflow.frontend.numpy.taking import positions_of
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "repeat", "stretch"]


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    value = array_operand(a)
    if axis is None:
        flat = values.reshape(value, (broadcasting.total_size(value),))
        return new(values.reshape(_rolled_along(flat, shift, 0), values.dims(value)))
    return new(_rolled_along(value, shift, axis))


def _rolled_along(value: Value, shift: Any, axis: Any) -> Value:
    """One or several axes rolled, one by several shifts."""
    places = [normalized_axis(item, values.rank(value)) for item in sequence_of(axis)]
    shifts = list(shift) if isinstance(shift, tuple | list | range) else [shift] * len(places)
    if len(places) == 1:
        places *= len(shifts)
    if len(shifts) != len(places):
        raise UserValueError(
            "shape mismatch: objects cannot be broadcast to a single shape.  Mismatch is between arg 0 "
            f"with shape ({len(shifts)},) and arg 1 with shape ({len(places)},)."
        )
    for place, step in zip(places, shifts, strict=True):
        value = _rolled(value, step, place)
    return value


def _rolled(value: Value, shift: Any, axis: int) -> Value:
    """One axis rolled: its last ``shift`` elements first. A shift that only the running program knows gathers."""
    size = values.dims(value)[axis]
    if isinstance(shift, tracers.ScalarTracer | tracers.ArrayTracer):
        distance = values.cast(array_operand(shift), I64)
        if values.rank(distance):
            raise refuse("np.roll by an array of shifts", "roll by one number at a time")
        position = emit("subtract", values.iota(I64, (size,)), values.as_scalar(distance))
        return emit("gather", value, position, axis=axis, mode="wrap")
    moved = tracers.dim_of(as_int(shift))
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


def _swapped(rank: int, axes: Any) -> list[int]:
    order = np.arange(rank)  # which takes a bool for a mask
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return [*map(int, order)]


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    if len(axes) != 2:
        raise UserValueError("len(axes) must be 2.")
    array = as_tracer(m)
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == array.ndim:
        raise UserValueError("Axes must be different.")
    if any(not -array.ndim <= axis < array.ndim for axis in axes):
        raise UserValueError(f"Axes={tuple(axes)} out of range for array of ndim={array.ndim}.")
    turns = static_int(as_int(k), "the number of turns") % 4
    if turns == 0:
        return array[:]
    if turns == 2:
        return np.flip(np.flip(array, axes[0]), axes[1])
    order = numpy_says(_swapped, array.ndim, axes)
    return np.transpose(np.flip(array, axes[1]), order) if turns == 1 else np.flip(np.transpose(array, order), axes[1])


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    value = array_operand(a)
    if axis is None:
        value, place = values.reshape(value, (broadcasting.total_size(value),)), 0
    else:
        if not values.rank(value):
            value = values.reshape(value, (1,))  # NumPy repeats a 0-d array as one of one element
        place = converted_axis(axis, values.rank(value))
    if not isinstance(repeats, np.ndarray) and result_dtype(operand(repeats)).numpy.kind in "bf":
        repeats = new(positions_of(repeats, "safe"))
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
    shape = (new_shape,) if isinstance(new_shape, int | np.integer) else tuple(new_shape)
    dims = tuple(map(tracers.dim_of, sizes_of(shape)))
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
    numbers = map(as_int, sequence_of(reps))
    counts = shape_argument(tuple(int(count) if isinstance(count, bool) else count for count in numbers))
    rank = max(len(counts), values.rank(value))
    dims = (1,) * (rank - values.rank(value)) + values.dims(value)
    counts = (1,) * (rank - len(counts)) + counts
    value = values.reshape(value, dims)
    spread = tuple(dim for pair in zip(counts, dims, strict=True) for dim in pair)
    wide = values.broadcast_in(value, spread, range(1, 2 * rank, 2)) if rank else value
    return new(values.reshape(wide, tuple(dim * count for dim, count in zip(dims, counts, strict=True))))


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
        np.fft.fftshift: fftshift,
        np.fft.ifftshift: ifftshift,
    }
)
