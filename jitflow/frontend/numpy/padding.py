"""Padding: what is added around an array is one number, what stands inside, or what a reduction makes of that."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.casts import as_element
from jitflow.frontend.arrays.operands import (
    ArraySource,
    array_operand,
    new,
    numpy_says,
    refuse,
    static_int,
)
from jitflow.frontend.numpy.joining import concatenate_values
from jitflow.frontend.numpy.routines import new_results
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "pad"]


def pad(array: Any, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Any:
    value = array_operand(array)
    widths = _widths(pad_width, values.rank(value))
    if not isinstance(mode, str):
        raise refuse(f"np.pad with mode={mode!r}", f"modes are {', '.join(_KEYWORDS)}")
    if mode not in _KEYWORDS:
        raise UserValueError(f"mode '{mode}' is not supported")
    unsupported = set(keywords) - {_KEYWORDS[mode]}
    if unsupported:
        raise UserValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    if mode in ("linear_ramp", "median") or (keywords and mode != "constant"):
        return _padded_by_numpy(value, widths, mode, keywords)
    counts = [(_width(before), _width(after)) for before, after in widths]
    if mode in _POSITIONS:
        return new(_pad_by_position(value, counts, _POSITIONS[mode]))
    constants = _pairs(keywords.get("constant_values", 0), values.rank(value))
    padding = _PADDINGS["constant" if mode == "empty" else mode]  # nobody may rely on what is there where it is empty
    for axis, (pair, fillers) in enumerate(zip(counts, constants, strict=True)):
        value = padding(value, axis, pair, fillers)
    return new(value)


_KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("edge", "wrap", "empty"), ""),
        "constant": "constant_values",
        "linear_ramp": "end_values",
        **dict.fromkeys(("maximum", "mean", "median", "minimum"), "stat_length"),
        **dict.fromkeys(("reflect", "symmetric"), "reflect_type"),
    }
)
"""The keyword that each mode takes."""


def _padded_by_numpy(value: Value, pairs: list[tuple[Any, Any]], mode: str, keywords: Mapping[str, Any]) -> Any:
    widths = [(static_int(before, "pad_width"), static_int(after, "pad_width")) for before, after in pairs]
    if any(min(pair) < 0 for pair in widths):
        raise UserValueError("index can't contain negative values")
    shape = tuple(dim + sum(pair) for dim, pair in zip(values.dims(value), widths, strict=True))
    options = {"pad_width": tuple(widths), "mode": mode, **keywords}
    return new_results(np.pad, [value], [shape], options, kinds=[values.dtype_of_value(value)])


def _widths(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """How many elements are added in front and behind, along every axis."""
    if isinstance(given, dict):
        pairs: list[Any] = [(0, 0)] * rank
        for axis, item in given.items():
            numpy_says(operator.setitem, pairs, axis, (item, item) if isinstance(item, int) else item)
        given = pairs
    numbers: list[Any] = []
    _structure(given, numbers)
    kinds = [np.asarray(item).dtype if _is_known(item) else new(array_operand(item)).dtype for item in numbers]
    if not kinds or any(kind.kind not in "biu" for kind in kinds) or np.result_type(*kinds).kind != "i":
        raise UserTypeError("`pad_width` must be of integral type.")
    return _pairs(given, rank)


def _is_known(item: Any) -> bool:
    return not isinstance(pinned(item), tracers.Tracer | ArraySource)


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """A number, a pair, or a pair for every axis, written out as NumPy spreads them."""
    numbers: list[Any] = []
    places = numpy_says(np.asarray, _structure(given, numbers))
    if places.ndim < 3 and places.size <= 2 and places.shape != (2, 1):
        places = places.ravel()
    spread = numpy_says(np.broadcast_to, places, (rank, 2)).tolist()
    return [(numbers[before], numbers[after]) for before, after in spread]


def _structure(given: Any, numbers: list[Any]) -> Any:
    """Lists of lists with the place that each number has among the ``numbers``."""
    given = pinned(given)
    if isinstance(given, tracers.ArrayTracer | np.ndarray) and given.ndim and _has_known_shape(given):
        given = list(given)
    if isinstance(given, list | tuple):
        return [_structure(item, numbers) for item in given]
    numbers.append(given)
    return len(numbers) - 1


def _has_known_shape(array: Any) -> bool:
    return all(isinstance(size, int) for size in array.shape)


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


def _pad_by_position(value: Value, widths: Sequence[tuple[Dim, Dim]], position: _Position) -> Value:
    """Padding that reads inside: ``position`` maps an index that may be outside to one that is inside.

    What is added along an axis is looked up in the array itself, along all axes up to that one. So each result is but a
    part of the next, and what is inside is copied once.
    """
    padded, along = value, list[Value | None]()
    for axis, counts in enumerate(widths):
        if counts == (0, 0):
            along.append(None)
            continue
        extent = values.size_value(_some(value, axis, counts))

        def places(count: Dim, start: Value, extent: Value = extent) -> Value:
            return position(emit("add", values.iota(I64, (count,)), start), extent)

        begin = emit("negative", values.size_value(counts[0]))
        parts = [padded]
        if counts[0] != 0:
            parts.insert(0, _looked_up(value, along, places(counts[0], begin)))
        if counts[1] != 0:
            parts.append(_looked_up(value, along, places(counts[1], extent)))
        padded = concatenate_values(parts, axis)
        along.append(places(values.dims(padded)[axis], begin))
    return padded


def _looked_up(value: Value, along: Sequence[Value | None], last: Value) -> Value:
    """The elements at positions along the leading axes of an array, where there are any, and along the one behind."""
    first = next((axis for axis, places in enumerate(along) if places is not None), len(along))
    lines = [
        values.iota(I64, (values.dims(value)[axis],)) if places is None else places
        for axis, places in enumerate(along[first:], first)
    ]  # fmt: skip
    dims = tuple(values.dims(line)[0] for line in (*lines, last))
    indices = (values.broadcast_in(line, dims, (place,)) for place, line in enumerate((*lines, last)))
    return emit("gather", value, *indices, axis=first)


def _pad_by_statistic(name: str) -> Callable[..., Value]:
    """Padding with what a reduction makes of the whole axis; a mean of integers is rounded."""

    def padded(value: Value, axis: int, counts: tuple[Dim, Dim], fillers: tuple[Any, Any]) -> Value:
        if counts == (0, 0):
            return value
        _some(value, axis, counts)
        found = getattr(new(value), name)(axis=axis, keepdims=True)
        if name == "mean" and values.dtype_of_value(value).kind in "iu":
            found = np.rint(found)
        one, dims = values.cast(array_operand(found), values.dtype_of_value(value)), values.dims(value)

        def border(count: Dim) -> list[Value]:
            return [] if count == 0 else [broadcasting.broadcast_to(one, (*dims[:axis], count, *dims[axis + 1 :]))]

        return concatenate_values([*border(counts[0]), value, *border(counts[1])], axis)

    return padded


def _some(value: Value, axis: int, counts: tuple[Dim, Dim]) -> Dim:
    """How long an axis is. Raises ValueError, now or when the program runs, if there is nothing to pad it with."""
    size, trace = values.dims(value)[axis], current_trace()
    empty = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
    if trace.known(size, ">=", 1) is not True:
        if size == 0 and trace.known(counts[0] + counts[1], ">=", 1):
            raise UserValueError(empty)
        some, none = values.size(size), values.size(counts[0] + counts[1])
        fits = emit("logical_or", *(emit(name, item, values.size(0))
                                    for name, item in (("not_equal", some), ("equal", none))))  # fmt: skip
        values.check(fits, ValueError, empty)
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


_Position = Callable[[Value, Value], Value]

_POSITIONS: Mapping[str, _Position] = MappingProxyType(
    {"edge": _edge, "wrap": _wrap, "reflect": _reflect, "symmetric": _symmetric}
)
"""Where what is added is found."""

_PADDINGS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {
        "constant": _pad_constant,
        **{mode: _pad_by_statistic(name) for mode, name in (("maximum", "max"), ("mean", "mean"), ("minimum", "min"))},
    }
)
"""Paddings along one axis after the other."""

FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.pad: pad})
