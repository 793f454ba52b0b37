"""Arrays with elements added, dropped or packed, where NumPy makes a new array of another size."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.operands import (
    ArraySource,
    array_operand,
    axis_of_method,
    new,
    normalized_axes,
    normalized_axis,
    static_int,
)
from jitflow.frontend.numpy import selections
from jitflow.frontend.numpy.creation import array_object
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.indexing import checked_position
from jitflow.frontend.numpy.joining import concatenate_values
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.numpy.rearranging import stretch
from jitflow.frontend.numpy.routines import fresh, new_results, split
from jitflow.frontend.numpy.slices import slice_bounds
from jitflow.frontend.python.chosen_items import indexed
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import as_array, dtype_of_value, emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS"]


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    array, more = as_tracer(arr), as_tracer(values)
    if axis is None:
        array, more = np.ravel(array), np.ravel(more)
        axis = 0
    return np.concatenate((array, more), axis=axis)


def _along(arr: Any, axis: Any) -> tuple[Value, int]:
    value = array_operand(arr)
    if axis is None:
        return values.reshape(value, (broadcasting.total_size(value),)), 0
    return value, normalized_axis(axis, values.rank(value))


def _with_size(value: Value, axis: int, size: Dim) -> tuple[Dim, ...]:
    dims = values.dims(value)
    return (*dims[:axis], size, *dims[axis + 1 :])


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    value, place = _along(arr, axis)
    size = values.dims(value)[place]
    obj = as_tracer(obj) if isinstance(obj, ArraySource) else pinned(obj)
    array = tracers.wrap(value, owned=False)
    if isinstance(obj, slice):
        _, count, _ = slice_bounds(obj, size)
        return new_results(np.delete, [value, _taken(obj, size)], [_with_size(value, place, size - count)],
                           {"axis": place}, kinds=[values.dtype_of_value(value)])  # fmt: skip
    mask = selections.mask_of(obj)
    if mask is not None:
        message = "boolean array argument obj to delete must be one dimensional and match the axis length of {}"
        if values.rank(mask) != 1:
            raise UserValueError(message.format(broadcasting.shown(size)))
        broadcasting.require_equal_sizes(values.dims(mask)[0], size, message, [values.size(size)])
        return np.compress(np.logical_not(tracers.wrap(mask, owned=False)), array, axis=place)
    if _is_integer(obj):
        position = runtime_sizes.position(obj, size, place) if runtime_sizes.is_running(obj) else (
            checked_position(tracers.dim_of(obj), size, place)
        )  # fmt: skip
        return _joined([stretch(value, place, 0, position), stretch(value, place, position + 1, size - position - 1)],
                       place, size - 1)  # fmt: skip
    if len(obj) == 1 if isinstance(obj, list | tuple) else not np.ndim(obj):
        single = split(value, obj=obj, axis=place)
        return single.new(np.delete, [_with_size(value, place, maximum(size - 1, 0))],
                          kinds=[values.dtype_of_value(value)])  # fmt: skip
    positions = array_operand(np.zeros(0, np.int64) if isinstance(obj, list | tuple | range) and not obj else obj)
    return new_results(np.delete, [value, positions], [_with_size(value, place, fresh("kept"))], {"axis": place},
                       kinds=[values.dtype_of_value(value)])  # fmt: skip


def _is_integer(obj: Any) -> bool:
    """Whether an index is one integer, which says where two stretches meet."""
    if isinstance(obj, tracers.ScalarTracer) or (isinstance(obj, tracers.ArrayTracer) and not obj.ndim):
        return dtype_of_value(obj.value).is_integer
    return isinstance(obj, int | np.integer | tracers.SizeTracer) and not isinstance(obj, bool)


def _joined(parts: list[Value], axis: int, size: Dim) -> Any:
    """Parts of one dtype, one after the other, which are ``size`` together."""
    found = concatenate_values(parts, axis)
    return new(values.reshape(found, _with_size(found, axis, size), assumed=True))


def _taken(obj: slice, size: Dim) -> Value:
    """The positions that a slice takes."""
    positions: Value = arange(tracers.size_of(size))[obj].value
    return positions


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    value, place = _along(arr, axis)
    obj, given = pinned(obj), as_array(array_object(values, dtype_of_value(value)))
    if _is_integer(obj) and len(_dims(value)) == 1 and len(_dims(given)) < 2:
        return _inserted(value, obj, given)
    if isinstance(obj, slice):
        obj = tracers.wrap(_taken(obj, _dims(value)[place]), owned=False)
    if isinstance(obj, list | tuple | np.ndarray | tracers.VariableTracer):
        obj = as_tracer(np.zeros(0, np.int64) if isinstance(obj, list | tuple) and not obj else obj)
    kind = np.dtype(value.type.dtype.numpy)  # type: ignore[union-attr]
    arguments = split(value, obj=obj, values=given, axis=place)
    return arguments.new(np.insert, [_with_size(value, place, fresh("longer"))], kinds=[kind])


def _inserted(line: Value, obj: Any, given: Value) -> Any:
    """A line with elements inserted in front of one of its positions, or behind all of them."""
    (size,) = values.dims(line)
    number, length = runtime_sizes.integer(obj), values.size_value(size)
    front = runtime_sizes.from_front(number, length)
    inside = emit("logical_and", emit("greater_equal", front, values.constant(0, I64)),
                  emit("less_equal", front, length))  # fmt: skip
    message = "index {} is out of bounds for axis 0 with size {}"
    values.check(inside, IndexError, message, number, values.size(size))
    position = runtime_sizes.bind(front, "position", size)
    (count,) = values.dims(given) or (1,)
    parts = [stretch(line, 0, 0, position), values.reshape(given, (count,)),
             stretch(line, 0, position, size - position)]  # fmt: skip
    return _joined(parts, 0, size + count)


def _dims(value: Value) -> tuple[Dim, ...]:
    return values.dims(value)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """A view of what lies between the outermost elements that are not zero; of a list a list."""
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise UserValueError(f"unexpected character(s) in `trim`: {trim!r}")
    marked = as_tracer(filt) != 0
    axes = normalized_axes(axis, marked.ndim, "axis")
    parts = [slice(None)] * marked.ndim
    for place in axes:
        line = np.any(marked, axis=tuple(other for other in range(marked.ndim) if other != place))
        places, length = arange(line.shape[0]), line.shape[0]
        stop = np.max(np.where(line, places + 1, 0), initial=0)
        start = np.min(np.where(line, places, length), initial=length)
        parts[place] = slice(start if "f" in trim else None, stop if "b" in trim else None)
    if not axes:
        return filt
    return indexed(filt)[parts[0] if len(parts) == 1 else tuple(parts)]


# -- bits -----------------------------------------------------------------------------------------------------


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    value = array_operand(a)
    place = None if axis is None else axis_of_method(axis)
    arguments = split(value, axis=place, bitorder=bitorder)
    arguments.sampled(np.packbits)
    value, where = _along(a, axis)
    return arguments.new(np.packbits, [_with_size(value, where, (values.dims(value)[where] + 7) // 8)])


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    value = array_operand(a)
    place = None if axis is None else axis_of_method(axis)
    number = None if count is None else static_int(count, "count")
    split(value, axis=place, bitorder=bitorder).sampled(np.unpackbits)
    flat, where = _along(a, axis)
    size = values.dims(flat)[where] * 8
    if number is not None:
        size = number if number >= 0 else current_trace().not_negative(size + number)
    shape = _with_size(flat, where, size)
    arguments = split(value, axis=place, count=number, bitorder=bitorder)
    return arguments.new(np.unpackbits, [shape], kinds=[np.uint8])


# -- functions of functions --------------------------------------------------------------------------------------


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    array = as_tracer(a)
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        place = static_int(axis, "axis")
        found = func(array, axis if isinstance(axis, bool) else place)
        if found.ndim != array.ndim:
            found = np.expand_dims(found, place)
        array = found
    return array


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.append: append,
        np.delete: delete,
        np.insert: insert,
        np.trim_zeros: trim_zeros,
        np.packbits: packbits,
        np.unpackbits: unpackbits,
        np.apply_over_axes: apply_over_axes,
    }
)
