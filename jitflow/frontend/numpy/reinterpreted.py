"""Memory seen otherwise: `strides`, `as_strided`, and `view` with another dtype.

What is seen is a copy that imitates a view (`jitflow.frontend.recording.imitations`): reading it is right, and a write
that NumPy's view would show is refused. Bytes are in the order of little-endian processors, which all of ours are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.layouts import are_same, is_contiguous, reshaped, strides_of
from jitflow.frontend.arrays.operands import (
    as_value,
    dtype_argument,
    new,
    numpy_says,
    read_only_view,
    refuse,
    sequence_of,
    shape_argument,
    static_int,
    view,
)
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product, symbols
from jitflow.ir.dtypes import BOOL, DTYPES, DType
from jitflow.ir.layout import Layout, contiguous, view_layout
from jitflow.ir.types import Tensor

__all__ = ["FUNCTIONS", "strides", "viewed_as"]


def _imitating(copy: Value, source: Value, what: str, **attributes: Any) -> Any:
    """The copy as an array that stands for a view of ``source``."""
    found = new(copy)
    storage = current_trace().storage
    storage.imitations.add(storage.root(found.value), source, what, (what, attributes), is_view=True)
    return found


# -- strides ---------------------------------------------------------------------------------------


def strides(array: Any) -> tuple[Any, ...]:
    """``array.strides``."""
    return tuple(map(tracers.size_of, _known_strides(as_value(array))))


def _known_strides(value: Value) -> tuple[Dim, ...]:
    found = strides_of(value)
    if found is None or any(name.startswith("stride_") for stride in found for name in symbols(stride)):
        raise refuse("strides of an array of which the compiled code does not know how it lies", "copy it: x.copy()")
    trace = current_trace()
    for dim in values.dims(trace.storage.root(value)):
        is_open = trace.known(dim, ">=", 1) is None and trace.is_open(dim)
        if is_open or not trace.decide(dim, ">=", 1, "the strides of an array"):
            raise refuse("strides of an empty array, which may be anything", "test x.size before")
    if any(dim == 1 for dim in values.dims(value)):
        raise refuse("strides of an array with an axis of length 1, which may be anything", "leave that axis out")
    return found


def strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Any:
    """`as_strided`: elements of the array that ``x`` shows by position; what lies outside of it is an IndexError."""
    value = as_tracer(x).value
    shown, first = _place(value)
    dims = values.dims(value) if shape is None else shape_argument(shape)
    steps = _known_strides(value) if strides is None else tuple(map(tracers.dim_of, sequence_of(strides)))
    if len(dims) != len(steps):
        raise UserValueError("strides is incompatible with shape of requested array and size of buffer")
    itemsize = values.dtype_of_value(value).itemsize
    positions: Any = tracers.size_of(_in_items(first, itemsize))
    for axis, (dim, step) in enumerate(zip(dims, steps, strict=True)):
        along = arange(tracers.size_of(dim)) * tracers.size_of(_in_items(step, itemsize))
        positions = positions + along.reshape((-1,) + (1,) * (len(dims) - 1 - axis))
    flat = as_tracer(reshaped(shown, (_count(shown),), "as_strided"))
    positions = np.where(positions < 0, len(flat), positions)
    found = _imitating(as_value(np.take(flat, positions)), value, "as_strided", shape=dims, strides=steps)
    if not writeable:
        current_trace().storage.make_read_only(found.value)
    return found


def _place(value: Value) -> tuple[Value, Dim]:
    """The array without gaps that a value shows, and how many bytes behind its begin the value begins."""
    shown, ops, storage = value, [], current_trace().storage
    while (source := storage.source(shown)) is not None:
        if isinstance(source, Op):
            ops.append(source)
        shown = source.operands[0] if isinstance(source, Op) else source
    if is_contiguous(shown):
        itemsize = values.dtype_of_value(shown).itemsize
        layout: Layout | None = contiguous(values.dims(shown), itemsize)
        for op in reversed(ops):
            layout = None if layout is None else view_layout(op, layout, itemsize)
        if layout is not None:
            return storage.read(shown), layout.offset
    if is_contiguous(value):
        return value, 0
    raise refuse("as_strided of an array with gaps, or of which nobody knows whether it has some", "copy it: x.copy()")


def _in_items(step: Dim, itemsize: int) -> Dim:
    known = current_trace().known(step % itemsize, "==", 0)
    if not known:
        raise refuse("as_strided with strides that are not known to be whole elements", "use x.itemsize and x.strides")
    return step // itemsize


def _count(value: Value) -> Dim:
    return product(values.dims(value))


# -- dtypes ----------------------------------------------------------------------------------------


def viewed_as(array: Any, dtype: Any) -> Any:
    """``array.view(dtype)``."""
    value, wanted = array.value, dtype_argument(dtype)
    own = values.dtype_of_value(value)
    if own == wanted and isinstance(array, np.ndarray):
        return view(value)
    if own.itemsize != wanted.itemsize:
        _require_last_axis(value, own, wanted)
    elif isinstance(array, np.ndarray) and BOOL not in (own, wanted) and not (own.is_complex or wanted.is_complex):
        return view(current_trace().storage.parts.taken(value, wanted.name, array))
    found = _same_bits(value, own, wanted)
    return _imitating(found, value, "view", dtype=wanted.name) if isinstance(array, np.ndarray) else new(found)


def _require_last_axis(value: Value, own: DType, wanted: DType) -> None:
    if not values.rank(value):
        raise UserValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    found, last = strides_of(value), values.dims(value)[-1]
    is_next = None if found is None else are_same(found[-1], own.itemsize)
    if broadcasting.total_size(value) == 1:
        is_next = True
    if is_next is False:
        raise UserValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if is_next is None:
        raise refuse("view of an array of which nobody knows how it lies", "copy it: x.copy()")
    if own.itemsize < wanted.itemsize:
        rest = (last * own.itemsize) % wanted.itemsize
        message = (
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis "
            "of the array."
        )
        values.check(values.emit("equal", values.size(rest), values.size(0)), ValueError, message)


def _same_bits(value: Value, own: DType, wanted: DType) -> Value:
    """The elements of the last axis as others of the same bytes; one of several parts has an axis for that."""
    if own == wanted:
        return emit("copy", value)
    if not values.rank(value) and (own.is_complex or wanted.is_complex):
        found = _same_bits(values.reshape(values.as_array(value), (1,)), own, wanted)
        single = values.reshape(found, ())
        return single if isinstance(value.type, Tensor) else values.as_scalar(single)
    if BOOL in (own, wanted):
        if wanted.itemsize > 1 or own.itemsize > 1 or wanted == BOOL:
            raise refuse(f"view of {own.name} as {wanted.name}", "compare with 0, or use astype")
        return values.cast(value, wanted)
    if own.is_complex:
        parts = _interleaved([emit("real", value), emit("imag", value)])
        return _same_bits(parts, own.real, wanted)
    if wanted.is_complex:
        parts = _same_bits(value, own, wanted.real) if own != wanted.real else value
        return emit("complex", *_every(parts, 2))
    if own.itemsize == wanted.itemsize:
        return emit("bitcast", value, dtype=wanted)
    bits = emit("bitcast", value, dtype=_unsigned(own)) if own != _unsigned(own) else value
    split = own.itemsize > wanted.itemsize
    found = _split(bits, own, wanted) if split else _merged(bits, own, wanted)
    return found if wanted == _unsigned(wanted) else emit("bitcast", found, dtype=wanted)


def _unsigned(dtype: DType) -> DType:
    return DTYPES[f"u{8 * dtype.itemsize}"]


def _split(bits: Value, own: DType, wanted: DType) -> Value:
    width = 8 * wanted.itemsize
    shifted = [
        emit("right_shift", bits, values.constant_like(width * place, bits)) if place else bits
        for place in range(own.itemsize // wanted.itemsize)
    ]
    return _interleaved([values.cast(part, _unsigned(wanted)) for part in shifted])


def _merged(bits: Value, own: DType, wanted: DType) -> Value:
    parts = [values.cast(part, _unsigned(wanted)) for part in _every(bits, wanted.itemsize // own.itemsize)]
    placed = [
        emit("left_shift", part, values.constant_like(8 * own.itemsize * place, part)) if place else part
        for place, part in enumerate(parts)
    ]
    return reduce(lambda left, right: emit("bitwise_or", left, right), placed)


def _interleaved(parts: list[Value]) -> Value:
    """Elements of several arrays in turn, along the last axis."""
    stacked = as_value(np.stack([as_tracer(part) for part in parts], axis=-1))
    *outer, last = values.dims(parts[0])
    return values.reshape(stacked, (*outer, last * len(parts)))


def _every(value: Value, count: int) -> list[Value]:
    """Each of ``count`` neighbours along the last axis, which has so many times as many."""
    *outer, last = values.dims(value)
    grouped = as_tracer(values.reshape(value, (*outer, last // count, count), assumed=True))
    return [as_value(grouped[..., place]) for place in range(count)]


# -- buffers -----------------------------------------------------------------------------------------


def frombuffer(buffer: Any, dtype: Any = float, count: Any = -1, offset: Any = 0, *, like: Any = None) -> Any:
    """``np.frombuffer`` of an array: its bytes as a line of another dtype."""
    if isinstance(buffer, bytes):
        return read_only_view(as_value(numpy_says(np.frombuffer, buffer, dtype, count, offset)))
    if not isinstance(buffer, np.ndarray):
        mend = "call it before the compiled function, and pass the array"
        raise refuse("np.frombuffer of what is neither an array nor bytes that are known while tracing", mend)
    value, wanted = as_tracer(buffer).value, dtype_argument(dtype)
    first, number = static_int(offset, "offset"), static_int(count, "count")
    if not is_contiguous(value):
        if is_contiguous(value) is None:
            raise refuse("np.frombuffer of an array of which nobody knows how it lies", "copy it: x.copy()")
        raise UserValueError("ndarray is not C-contiguous")
    line: Any = view(reshaped(value, (_count(value),), "frombuffer"))
    whole = _count(value) * line.itemsize
    _require(whole, first if first >= 0 else whole + 1, _OFFSET, whole)
    length = whole - first if number < 0 else number * wanted.itemsize
    if number < 0:
        broadcasting.require_equal(length % wanted.itemsize, 0, "buffer size must be a multiple of element size")
    else:
        _require(whole, first + length, "buffer is smaller than requested size")
    if first % line.itemsize or current_trace().known(length % line.itemsize, "==", 0) is not True:
        line = viewed_as(line, np.uint8)
    start, stop = first // line.itemsize, (first + length) // line.itemsize
    return viewed_as(line[start : tracers.size_of(stop)], wanted)


_OFFSET = "offset must be non-negative and no greater than buffer length ({})"


def _require(size: Dim, least: Dim, message: str, *sizes: Dim) -> None:
    """Raise a ValueError, now or when the program runs, for a size that is too small."""
    if current_trace().known(size, ">=", least) is not True:
        holds = values.emit("greater_equal", values.size(size), values.size(least))
        values.check(holds, ValueError, message, *map(values.size, sizes))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({as_strided: strided})

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType({np.frombuffer: frombuffer})
"""What does not dispatch on its arguments."""
