"""Writing to arrays: ``array[index] = value`` and its kin.

The basic part of an index gives a view, as in reading, and the view a *place* in the array's memory
(`jitflow.frontend.recording.memory`). Without arrays in the index that place is stored to; with integer arrays the
values are scattered over it; with a mask every element of the place is written, most of them with what they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, layouts
from jitflow.frontend.arrays.casts import as_element, as_object, require_cast
from jitflow.frontend.arrays.operands import array_operand, as_value, normalized_axis, operand
from jitflow.frontend.arrays.promotion import ufunc_dtypes
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.numpy import indexing, selections
from jitflow.frontend.numpy.creation import array_object, list_item, object_or_number
from jitflow.frontend.numpy.elementwise import as_tracer, copyto
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.numpy.shape import reshape_value, set_shape
from jitflow.frontend.numpy.taking import positions_of, require_mode
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import class_name
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor

__all__ = ["FUNCTIONS", "in_place", "put", "set_flat", "set_item"]


def set_item(array: Any, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    _require_writeable(array)
    items = index if isinstance(index, tuple) else (index,)
    mask = selections.mask_of(items[0]) if len(items) == 1 else None
    if mask is not None and not selections.is_empty_beside(mask, array.type.dims):
        _store_under_mask(array, mask, value)
        return
    laid_out = indexing.lay_out(items, array.ndim)
    if not any(isinstance(item, indexing.Lookup) and values.rank(item.positions) for item in laid_out):
        view, _ = indexing.sliced(_shown(array), laid_out, keep_positions=False)
        # What ``x[i] += y`` ends with: the view has been written to in place already.
        if not (isinstance(value, tracers.ArrayTracer) and current_trace().storage.same_view(view, value._value)):
            _store(view, value, is_element=not values.rank(view) and not indexing.has_ellipsis(index))
        return
    given = array_object(value, values.dtype_of_value(_shown(array)))
    _scatter(*indexing.looked_up(_shown(array), laid_out), given)


def _shown(array: Any) -> Value:
    """The value whose views are views of the array's memory."""
    if not isinstance(array, tracers.ArrayTracer):
        raise UserTypeError(f"'{class_name(array)}' object does not support item assignment")
    return array.value


def _require_writeable(array: Any, what: str = "assignment destination") -> None:
    current_trace().storage.require_writeable(_shown(array), what)


def _store(view: Value, thing: Any, *, is_element: bool = False) -> None:
    """Make the elements that ``view`` shows be what is given, broadcast to it; ``is_element`` if it is one place."""
    dtype = values.dtype_of_value(view)
    if isinstance(thing, list | tuple) and values.dims(view) == (len(thing),) and len(thing) <= _MOST_ELEMENTS:
        numbers = [list_item(item, dtype) for item in thing]
        if not any(map(values.rank, numbers)):
            for place, number in enumerate(numbers):
                element, _ = indexing.sliced(view, indexing.lay_out((place,), 1), keep_positions=False)
                current_trace().storage.write(element, values.as_scalar(number))
            return
    given = object_or_number(thing, dtype)
    if is_element or not (isinstance(given, Value) and values.rank(given)):
        given = as_element(given, dtype)
    current_trace().storage.write(view, _fitting(values.cast(given, dtype), view))


_MOST_ELEMENTS = 8
"""How many numbers are written one by one, as a loop of scalar code can, and not as an array."""


def _fitting(given: Value, view: Value) -> Value:
    """What is given with the dims of ``view``, or of rank 0."""
    value, target = values.as_scalar(given), values.dims(view)
    source = values.dims(value)
    if not source:
        return value
    message, shapes = broadcasting.DOES_NOT_FIT, (source, target)
    while len(source) > len(target) and (source[0] == 1 or not isinstance(source[0], int)):
        if source[0] != 1:  # NumPy drops leading axes of size 1, which the running program may find
            broadcasting.require_equal_sizes(source[0], 1, *broadcasting.message_shapes(message, shapes))
        value, source = values.reshape(value, source[1:], assumed=True), source[1:]
    if len(source) > len(target):
        raise UserValueError(broadcasting.with_shapes(message, shapes))
    broadcasting.require_fit(source, target, message)
    return broadcasting.broadcast_to(value, target)


# -- masks ----------------------------------------------------------------------------------------------


def _store_under_mask(array: Any, mask: Value, value: Any) -> None:
    shown = _shown(array)
    dtype, dims = values.dtype_of_value(shown), values.dims(shown)
    selections.require_fit(mask, dims)
    axes = range(values.rank(mask))
    flags = values.broadcast_in(mask, dims, axes, assumed=True)
    beside = isinstance(value, selections.SelectionTracer) and value.is_pending and len(axes) == len(dims)
    if beside and selections.same_mask(value.mask, mask):
        wide = values.broadcast_in(values.cast(value.whole, dtype), dims, axes, assumed=True)
    else:
        wide = _spread_under_mask(values.as_scalar(array_object(value, dtype)), mask, dims)
    current_trace().storage.write(shown, values.emit("select", flags, wide, shown))


def _spread_under_mask(value: Value, mask: Value, dims: Sequence[Any]) -> Value:
    """Values for every element: one for all, one for each row, or one for each element that the mask selects."""
    source, rest = values.dims(value), tuple(dims[values.rank(mask) :])
    if len(source) <= len(rest):
        broadcasting.require_fit(source, rest, _MISMATCH)
        return broadcasting.broadcast_to(value, tuple(dims))
    if len(source) == 1 and not rest and broadcasting.is_one(source[0]):
        return broadcasting.broadcast_to(values.as_scalar(values.reshape(value, (), assumed=True)), tuple(dims))
    flat = tracers.wrap(values.reshape(mask, (product(values.dims(mask)),)), owned=False)
    place, selected = np.cumsum(flat) - 1, tracers.dim_of(np.sum(flat))
    if rest and (len(source) != len(rest) + 1 or source[1:] != rest):
        value = _spread(value, (selected, *rest))
    else:
        _require_one_for_each(value, selected, len(rest))
        place = np.minimum(place, tracers.wrap(values.size_value(source[0])) - 1)  # a single value is for all
    nearest = tracers.lift(np.maximum(place, 0))
    one = values.fill(values.constant_like(0, value), (1, *rest))  # for elements before the first that is selected
    spread = values.emit("gather", values.emit("concatenate", value, one, axis=0), nearest, axis=0)
    return values.reshape(spread, tuple(dims), assumed=True)


def _require_one_for_each(value: Value, selected: Dim, rest: int) -> None:
    """Require a value, or a row of the ``rest`` axes, for each that a mask selects, or one for all of them."""
    if (found := values.rank(value)) != 1 + rest:
        message = "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input has {} dimensions"
        raise UserTypeError(message.format(found))
    given, counts = values.dims(value)[0], (values.constant(1, I64), values.size_value(selected))
    fits = values.emit("logical_or", *(values.emit("equal", values.size_value(given), count) for count in counts))
    message = "NumPy boolean array indexing assignment cannot assign {} input values to the {} output values where "
    values.check(fits, ValueError, message + "the mask is true", values.size(given), values.size(selected))


# -- integer arrays ---------------------------------------------------------------------------------------


def _scatter(
    moved: Value, indices: Sequence[Value], before: int, axes: Sequence[int], given: Value, combine: str = "set"
) -> None:
    looked_up = next((values.dims(index) for index in indices if values.rank(index)), ())
    target = values.dims(moved)[:before] + looked_up + values.dims(moved)[before + len(indices) :]
    value = values.as_scalar(given)
    if values.rank(value):
        value = _spread(value, target, _MISMATCH if combine == "set" else _NOT_SPREAD)
    if combine == "set" and values.rank(value) > 1 and len(looked_up) == values.rank(value) == len(target):
        *indices, value = layouts.in_order_of_iteration([*indices, value], len(target))
    trace = current_trace()
    place = trace.storage.target(moved)
    trace.add("scatter", place, *indices, value, axis=before, combine=combine, **indexing.said(axes, before))


_MISMATCH = "shape mismatch: value array of shape {shape} could not be broadcast to indexing result of shape {shape}"
_NOT_SPREAD = "array is not broadcastable to correct shape"


def _spread(value: Value, target: tuple[Any, ...], message: str = _MISMATCH) -> Value:
    source = values.dims(value)
    shapes = (source, target)
    while message is _MISMATCH and len(source) > len(target) and source[0] == 1:
        value, source = values.reshape(value, source[1:]), source[1:]
    if len(source) > len(target):
        raise UserValueError(broadcasting.with_shapes(message, shapes))
    broadcasting.require_fit(source, target, message)
    return broadcasting.broadcast_to(value, target)


def ufunc_at(ufunc: np.ufunc, a: Any, indices: Any, b: Any) -> None:
    """``ufunc.at(a, indices, b)``: repeated positions combine, one after the other. What is stored is cast."""
    _require_writeable(a, "operand array with iterator write flag set")
    dtype, added = values.dtype_of_value(_shown(a)), array_operand(b)
    *_, found = ufunc_dtypes(ufunc, (a.value, added), casting="unsafe")
    keeps = found == dtype or (found.is_integer and dtype.is_integer)
    if not keeps or ufunc not in (np.add, np.subtract):
        _combine_in_turn(ufunc, a, indices, added)
        return
    added = values.cast(added, dtype)
    items = indices if isinstance(indices, tuple) else (indices,)
    laid_out = indexing.lay_out(items, a.ndim)
    if not any(isinstance(item, indexing.Lookup) and values.rank(item.positions) for item in laid_out):
        _combine_in_turn(ufunc, a, indices, added)
        return
    signed = values.emit("negative", added) if ufunc is np.subtract else added
    _scatter(*indexing.looked_up(_shown(a), laid_out), signed, "add")


def _combine_in_turn(ufunc: np.ufunc, a: Any, indices: Any, given: Value) -> None:
    """One element after the other, each computed in the dtype of the ufunc's loop and cast."""
    dtype = values.dtype_of_value(_shown(a))
    places = as_value(indexing.get_item(np.reshape(arange(a.size), a.shape), indices))
    target = values.dims(places)
    positions = [
        tracers.wrap(values.reshape(values.as_array(axis), (product(target),)), owned=False)
        for axis in indexing.unravelled(places, values.dims(a.value))
    ]
    numbers = tracers.wrap(values.reshape(_spread(given, target, _NOT_SPREAD), (product(target),)), owned=False)

    def body(turn: Any) -> None:
        place = tuple(axis[turn] for axis in positions)
        set_item(a, place, tracers.wrap(values.cast(as_value(ufunc(a[place], numbers[turn])), dtype)))

    own_loop(Range(0, tracers.size_of(product(target)), 1), body)


def set_attribute(array: Any, name: str, value: Any) -> None:
    """``array.name = value`` for the attributes that can be assigned to."""
    if name == "shape":
        set_shape(array, value)
    elif name == "real":
        set_item(array.real, Ellipsis, value)
    elif name == "imag":
        if array.dtype.kind != "c":
            raise UserTypeError("array does not have imaginary part to set")
        set_item(array.imag, Ellipsis, value)
    elif name == "flat":
        _require_writeable(array, "array")
        set_flat(array, slice(None), value)
    elif name == "T":
        raise UserAttributeError("attribute 'T' of 'numpy.ndarray' objects is not writable")
    elif values.rank(as_value(value)):
        set_item(array, Ellipsis, reshape_value(as_value(value), array.shape))
    else:
        set_item(array, Ellipsis, value)


def fill(array: Any, value: Any) -> None:
    """``array.fill(value)``: what one element would be, in all of them."""
    shown = _shown(array)
    dtype = values.dtype_of_value(shown)
    current_trace().storage.write(shown, as_element(object_or_number(value, dtype), dtype))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """``np.fill_diagonal``; few values are repeated."""
    if a.ndim < 2:
        raise UserValueError("array must be at least 2-d")
    for dim in a.type.dims[1:] if a.ndim > 2 else ():
        broadcasting.require_equal(dim, a.type.dims[0], "All dimensions of input must be of equal length")
    _require_writeable(a, "underlying array")
    if a.ndim > 2 or wrap:
        steps = [product(a.type.dims[place:]) for place in range(1, a.ndim + 1)]  # from one element to the next
        set_flat(a, slice(None, None, tracers.size_of(sum(steps))), val)
        return
    rows, columns = a.type.dims
    size = broadcasting.smaller(rows, columns)
    diagonal = values.emit("diagonal", _shown(a), axes=(0, 1), offset=0, size=size)
    given = _repeated(array_object(val, values.dtype_of_value(diagonal)), (size,))
    if given is not None:
        _store(diagonal, tracers.wrap(given, owned=False))


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``np.put``."""
    require_mode(mode)
    _require_writeable(a, "put: output array")
    shown, found = _shown(a), positions_of(ind, "safe")
    count = broadcasting.total_size(found)
    places: Any = tracers.wrap(values.reshape(found, (count,)), owned=False)
    filled = values.emit("not_equal", values.size(broadcasting.total_size(shown)), values.size(0))
    none = values.emit("equal", values.size(count), values.size(0))
    values.check(values.emit("logical_or", filled, none), IndexError, "cannot replace elements of an empty array")
    if mode == "clip":
        places = np.clip(places, 0, a.size - 1)
    elif mode == "wrap":
        places = np.remainder(places, a.size)
    set_flat(a, places, v)


def set_flat(array: Any, index: Any, value: Any) -> None:
    """``array.flat[index] = value``: positions in C order, however the elements lie; few values are repeated."""
    shown, lies_in_order = _shown(array), layouts.is_contiguous(_shown(array))
    if lies_in_order and isinstance(index, tracers.ArrayTracer) and index.ndim and index.dtype.kind in "iu":
        places = as_value(index)  # these are checked where they are stored to
    else:
        places = as_value(indexing.get_item(arange(array.size), index))
    if values.rank(places):
        given = _repeated(array_object(value, values.dtype_of_value(shown)), values.dims(places))
        if given is None:
            return
        value = tracers.wrap(given, owned=False)
    if lies_in_order:
        set_item(tracers.wrap(reshape_value(shown, -1), owned=False), index, value)
        return
    found = indexing.unravelled(places, values.dims(shown))
    set_item(array, tuple(tracers.wrap(place) for place in found), value)


def _repeated(given: Value, target: tuple[Dim, ...]) -> Value | None:
    """The elements of an array in C order, over and over, in another shape; None where there are none."""
    size, wanted = product(values.dims(given)), product(target)
    if not values.rank(given) or size == 1:
        return values.as_scalar(values.reshape(given, ()) if values.rank(given) else given)
    if values.dims(given) == target:
        return given
    if not indexing.has_elements(size):
        if broadcasting.bound_by_call(size) or size == 0:
            return None
        found = values.emit("greater", values.size(size), values.size(0))
        values.check(
            found, UserValueError, "expected values to store, got an empty array that the running program found"
        )
    flat = values.reshape(given, (size,))
    if not current_trace().known(size, "==", wanted):
        flat = array_operand(
            np.take(tracers.wrap(flat, owned=False), arange(tracers.size_of(wanted)) % tracers.size_of(size))
        )
    return values.reshape(flat, target, assumed=True)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """``np.putmask``: ``a.flat[i] = values.flat[i % values.size]`` where the mask is set."""
    _require_writeable(a, "putmask: output array")
    given = _repeated(_safely_cast(values, a.value), a.type.dims)
    marked = selections.marked(a, mask, "putmask")
    if given is not None:
        copyto(a, given, "unsafe", marked)


def place(arr: Any, mask: Any, vals: Any) -> None:
    """``np.place``: the values in turn, again and again, where the mask is set."""
    if not isinstance(arr, tracers.ArrayTracer):
        raise UserTypeError(f"place() argument 1 must be numpy.ndarray, not {arr.__class__.__name__}")
    _require_writeable(arr, "WRITEBACKIFCOPY base")
    marked, given = selections.marked(arr, mask, "place"), np.ravel(as_tracer(_safely_cast(vals, _shown(arr))))
    if given.size == 0:
        none = values.as_scalar(as_value(np.logical_not(np.any(marked))))
        values.check(none, ValueError, "Cannot insert from an empty array!")
        return
    turn = np.remainder(np.cumsum(marked) - 1, given.size)
    copyto(arr, np.reshape(np.take(given, turn), arr.shape), "unsafe", marked)


def _safely_cast(thing: Any, target: Value) -> Value:
    """Values for an array: arrays are cast where nothing is lost, numbers as long as they fit."""
    dtype = values.dtype_of_value(target)
    given = array_object(thing, dtype) if isinstance(thing, list | tuple) else operand(thing)
    if isinstance(given, Value) and isinstance(given.type, Tensor):
        require_cast(given, dtype, "safe")
    return as_object(given, dtype)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """``np.put_along_axis``: what ``take_along_axis`` reads, written."""
    places, target = as_tracer(indices), arr
    if axis is None:
        if places.ndim != 1:
            raise UserValueError("when axis=None, `indices` must have a single dimension.")
        set_flat(arr, places, values)
        return
    place = normalized_axis(axis, target.ndim)
    if places.ndim != target.ndim:
        raise UserValueError("`indices` and `arr` must have the same number of dimensions")
    line = [tuple(-1 if axis_ == other else 1 for axis_ in range(target.ndim)) for other in range(target.ndim)]
    index = tuple(
        places if other == place else arange(target.shape[other]).reshape(line[other]) for other in range(target.ndim)
    )
    set_item(target, index, values)


def in_place(function: Any) -> Any:
    """The method that puts the elements of an array in the order in which ``function`` gives them: ``x.sort()``."""

    def method(array: Any, *args: Any, **keywords: Any) -> None:
        found = function(array, *args, **keywords)
        _require_writeable(array, f"{function.__name__} array")
        set_item(array, Ellipsis, found)

    return method


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {np.fill_diagonal: fill_diagonal, np.put: put, np.putmask: putmask, np.place: place,
     np.put_along_axis: put_along_axis}
)  # fmt: skip
