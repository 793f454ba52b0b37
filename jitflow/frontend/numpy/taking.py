"""Elements at integer positions, by function: ``take`` and its like."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, as_value, converted_axis, new, normalized_axis, operand
from jitflow.frontend.arrays.promotion import convert_wrapping, result_dtype
from jitflow.frontend.numpy.calling import require_shape, store_out, write_back
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.indexing import gather, has_elements
from jitflow.frontend.numpy.joining import stack_values
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit, size_value
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "WRONG_SHAPE", "choose", "positions_of", "require_mode", "take", "take_along_axis"]

WRONG_SHAPE = "output array does not match result of ndarray.take"
_MODES = ("raise", "wrap", "clip")


def require_mode(mode: str) -> None:
    """Refuse a mode that says nothing of positions out of range."""
    if mode not in _MODES:
        raise UserValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def positions_of(indices: Any, rule: str) -> Value:
    """Positions as i64, cast as NumPy's ``take`` casts them: of an array by a rule, numbers and lists as they are."""
    if isinstance(indices, list | tuple) and not indices:
        indices = np.zeros(0, np.int64)
    value = values.as_scalar(as_value(indices))
    found = values.dtype_of_value(value).numpy
    rule = rule if isinstance(indices, np.ndarray) else "unsafe"
    if found.kind == "c" or not np.can_cast(found, np.intp, rule):  # type: ignore[arg-type]
        raise UserTypeError(f"Cannot cast array data from {found!r} to dtype('int64') according to the rule '{rule}'")
    return values.cast(value, I64)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    require_mode(mode)
    value = array_operand(a)
    if axis is None or not values.rank(value):
        if axis is not None:
            converted_axis(axis, 1)
        value, axis = values.reshape(value, (broadcasting.total_size(value),)), 0
    place = converted_axis(axis, values.rank(value))
    positions = positions_of(indices, "same_kind")
    known = _known_position(indices, values.dims(value)[place])
    if known and mode == "raise":
        raise UserIndexError(f"index {indices} is out of bounds for axis {place} with size {values.dims(value)[place]}")
    _refuse_empty(value, positions, place)
    outer = values.dims(value)[:place]
    if mode == "raise" and any(broadcasting.bound_by_call(dim) and not has_elements(dim) for dim in outer):
        mode = "clip"  # NumPy looks at the positions once for each of the outer elements: here at none
    if mode == "raise":
        result = gather(value, (positions,), place)
    else:
        result = emit("gather", value, positions, axis=place, mode=mode)
    return new(values.as_scalar(result)) if out is None else write_back(result, out, WRONG_SHAPE)


def _refuse_empty(value: Value, positions: Value, axis: int) -> None:
    """An axis without elements has none to take, which is an error if the result is to have some."""
    dims = values.dims(value)
    count = broadcasting.total_size(positions) * product(dims[:axis] + dims[axis + 1 :])
    if current_trace().known(dims[axis], ">=", 1) or count == 0:
        return
    some = emit("not_equal", values.size(dims[axis]), values.size(0))
    if not isinstance(count, int):
        some = emit("logical_or", some, emit("equal", values.size(count), values.size(0)))
    values.check(some, IndexError, "cannot do a non-empty take from an empty axes.")


def _known_position(indices: Any, size: Any) -> bool:
    """Whether a position that is known now is out of a range that is known now."""
    return type(indices) is int and isinstance(size, int) and not -size <= indices < size


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    array, positions = as_tracer(arr), as_tracer(indices)
    if axis is None:
        if positions.ndim != 1:
            raise UserValueError("when axis=None, `indices` must have a single dimension.")
        array, axis = np.ravel(array), 0
    place = normalized_axis(axis, array.ndim)
    if positions.dtype.kind not in "iu":
        raise UserIndexError("`indices` must be an integer array")
    if positions.ndim != array.ndim:
        raise UserValueError("`indices` and `arr` must have the same number of dimensions")
    # Every other axis is looked up at its own positions, which broadcast against the given ones.
    shape = values.dims(array.value)
    index = []
    for other, dim in enumerate(shape):
        if other == place:
            index.append(positions)
            continue
        line = tuple(dim if axis_ == other else 1 for axis_ in range(len(shape)))
        index.append(new(values.iota(I64, line, other)))
    return array[tuple(index)]


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    require_mode(mode)
    table = choices.value if isinstance(choices, tracers.ArrayTracer) else _table(choices)
    count, target = values.dims(table)[0], values.dims(table)[1:]
    positions = positions_of(as_tracer(a), "safe")
    wanted = broadcasting.common_dims([values.dims(positions), target])
    chosen = new(broadcasting.broadcast_to(values.as_array(_within(positions, count, mode)), wanted))
    index: list[Any] = [chosen]
    for axis, dim in enumerate(target):
        place = len(wanted) - len(target) + axis
        index.append(new(values.iota(I64, tuple(dim if other == place else 1 for other in range(len(wanted))), place)))
    found = new(table)[tuple(index)]
    result = array_operand(found)
    misfit = "choose: invalid shape for output array."
    require_shape(result, out, misfit, misfit, TypeError)
    return found if out is None else store_out(result, out, "unsafe")


def _table(choices: Any) -> Value:
    """The choices in one dtype and one shape, along a new first axis."""
    given = [operand(item) for item in choices]
    dtype = result_dtype(*given)
    options = [convert_wrapping(item, dtype) for item in given]
    target = broadcasting.common_dims([values.dims(option) for option in options])
    return stack_values([values.as_array(broadcasting.broadcast_to(option, target)) for option in options], 0)


def _within(positions: Value, count: Dim, mode: str) -> Value:
    """Numbers of choices, brought into range or checked."""
    zero, total = values.constant(0, I64), size_value(count)
    last = emit("subtract", total, values.constant(1, I64))
    if mode == "clip":
        return emit("minimum", emit("maximum", positions, zero), last)
    if mode == "wrap":
        return emit("remainder", positions, total)
    fits = emit("logical_and", emit("greater_equal", positions, zero), emit("less_equal", positions, last))
    if values.rank(fits):
        fits = emit("reduce_logical_and", fits, axes=tuple(range(values.rank(fits))))
    values.check(fits, ValueError, "invalid entry in choice array")
    return positions


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.take: take, np.take_along_axis: take_along_axis, np.choose: choose})
