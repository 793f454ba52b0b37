"""Several arrays in one, and one in several."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.casts import require_cast
from jitflow.frontend.arrays.operands import (
    ArraySource,
    array_operand,
    as_int,
    converted_axis,
    dtype_argument,
    new,
    normalized_axis,
    numpy_says,
    operand,
    static_int,
    view,
)
from jitflow.frontend.arrays.promotion import result_dtype
from jitflow.frontend.numpy.calling import require_shape, store_out
from jitflow.frontend.numpy.elementwise import as_tracer
from jitflow.frontend.numpy.shape import moved_axis
from jitflow.frontend.numpy.slices import slice_bounds
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum
from jitflow.ir.dtypes import BOOL, DType

__all__ = ["FUNCTIONS", "concatenate_values", "stack_values"]


def concatenate_values(
    operands: Sequence[Value], axis: int, dtype: DType | None = None, casting: str = "unsafe"
) -> Value:
    """Arrays of one rank, promoted or cast to ``dtype``, one after the other."""
    kind = dtype or result_dtype(*operands)
    first = values.dims(operands[0])
    for place, item in enumerate(operands):
        if values.rank(item) != len(first):
            raise UserValueError(
                f"all the input arrays must have same number of dimensions, but the array at index 0 has {len(first)} "
                f"dimension(s) and the array at index {place} has {values.rank(item)} dimension(s)"
            )
    matched = [_matched(item, place, operands[0], axis) for place, item in enumerate(operands)]
    for item in matched:
        require_cast(item, kind, casting)
    converted = [values.cast(item, kind) for item in matched]
    if len(converted) == 1:
        return converted[0]
    joined = emit("concatenate", *converted, axis=axis)
    return values.reshape(joined, tuple(map(runtime_sizes.shortened, values.dims(joined))), assumed=True)


def _matched(item: Value, place: int, first: Value, axis: int) -> Value:
    """The array with the dims of the first one beside ``axis``, checked."""
    dims, wanted = list(values.dims(item)), values.dims(first)
    for other in range(len(dims)):
        if other != axis and dims[other] != wanted[other]:
            left, right = (broadcasting.message_shapes("{shapes}", [(dim,)]) for dim in (wanted[other], dims[other]))
            texts = [text[1:-2] for text, _ in (left, right)]
            message = (
                "all the input array dimensions except for the concatenation axis must match exactly, but along "
                f"dimension {other}, the array at index 0 has size {texts[0]} and the array at index {place} has size "
                f"{texts[1]}"
            )
            broadcasting.require_equal_sizes(wanted[other], dims[other], message, [*left[1], *right[1]])
            dims[other] = wanted[other]
    return values.reshape(item, tuple(dims), assumed=True)


def stack_values(operands: Sequence[Value], axis: int, dtype: DType | None = None, casting: str = "unsafe") -> Value:
    """Arrays of one shape, promoted or cast to ``dtype``, along a new axis."""
    raised = []
    for item in operands:
        dims = values.dims(item)
        raised.append(values.reshape(item, (*dims[:axis], 1, *dims[axis:])))
    return concatenate_values(raised, axis, dtype, casting)


def require_one_shape(shapes: Sequence[tuple[Dim, ...]]) -> None:
    """Raise ValueError, now or when the program runs, unless the items of a list have one shape."""
    first, *others = shapes
    if len(set(map(len, shapes))) > 1:
        raise UserValueError(_inhomogeneous(len(shapes), ()))
    for axis, dim in enumerate(first):
        message, sizes = _inhomogeneous(len(shapes), first[:axis]), [d for d in first[:axis] if not isinstance(d, int)]
        for other in others:
            broadcasting.require_equal_sizes(dim, other[axis], message, [values.size(size) for size in sizes])


def _inhomogeneous(count: int, shape: tuple[Dim, ...]) -> str:
    texts = [str(count), *(str(dim) if isinstance(dim, int) else "{}" for dim in shape)]
    detected = f"({', '.join(texts)}{'' if shape else ','})"
    return (
        "setting an array element with a sequence. The requested array has an inhomogeneous shape after "
        f"{len(texts)} dimensions. The detected shape was {detected} + inhomogeneous part."
    )


def _arrays(arrays: Any) -> list[Value]:
    if isinstance(arrays, tracers.ArrayTracer):
        return [array_operand(item) for item in arrays]
    if not isinstance(arrays, list | tuple):
        raise UserTypeError(f"expected a list or tuple of arrays, got {type(arrays).__name__}")
    found = [array_operand(item) for item in arrays]
    if not found:
        raise UserValueError("need at least one array to concatenate")
    return found


def _whole(arrays: Any, message: str = "need at least one array to concatenate") -> Value | None:
    """The arrays of a list of the running program, along a first axis; None for all else."""
    if not isinstance(arrays, ArraySource):
        return None
    some = arrays.truth()
    values.check(values.constant(some, BOOL) if isinstance(some, bool) else some, ValueError, message)
    return array_operand(arrays)


def _merged(whole: Value, axis: int) -> Value:
    """Arrays along a first axis, one after the other along an axis of theirs instead."""
    count, *dims = values.dims(whole)
    return values.reshape(moved_axis(whole, 0, axis), (*dims[:axis], count * dims[axis], *dims[axis + 1 :]))


def _finish(result: Value, out: Any) -> Any:
    require_shape(result, out, "Output array has wrong dimensionality", "Output array is the wrong shape")
    return new(result) if out is None else store_out(result, out)


def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None,
                casting: str = "same_kind") -> Any:  # fmt: skip
    kind = _joined_dtype(dtype, out)
    if (whole := _whole(arrays)) is not None:
        if axis is None:
            line = values.reshape(whole, (broadcasting.total_size(whole),))
            return _finish(concatenate_values([line], 0, kind, casting), out)
        if values.rank(whole) == 1:
            raise UserValueError("zero-dimensional arrays cannot be concatenated")
        place = converted_axis(axis, values.rank(whole) - 1)
        return _finish(concatenate_values([_merged(whole, place)], place, kind, casting), out)
    found = _arrays(arrays)
    if axis is None:
        if kind is None and isinstance(arrays, list | tuple):  # Python's numbers are weak here, and wrap around
            kind = result_dtype(*map(operand, arrays))
        flat = [values.reshape(item, (broadcasting.total_size(item),)) for item in found]
        return _finish(concatenate_values(flat, 0, kind, casting), out)
    if not values.rank(found[0]):
        raise UserValueError("zero-dimensional arrays cannot be concatenated")
    return _finish(concatenate_values(found, converted_axis(axis, values.rank(found[0])), kind, casting), out)


def _joined_dtype(dtype: Any, out: Any) -> DType | None:
    """The dtype that the arrays are cast to: what is asked for, or that of the output; None is what they promote to."""
    if dtype is not None and out is not None:
        raise UserTypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    wanted = out.dtype if isinstance(out, tracers.ArrayTracer) else dtype
    return None if wanted is None else dtype_argument(wanted)


def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if (whole := _whole(arrays, "need at least one array to stack")) is not None:
        place = normalized_axis(axis, values.rank(whole))
        return _finish(
            concatenate_values([moved_axis(whole, 0, place)], place, _joined_dtype(dtype, out), casting), out
        )
    found = _arrays(arrays)
    if len({values.rank(item) for item in found}) > 1:
        raise UserValueError("all input arrays must have the same shape")
    first = values.dims(found[0])
    for item in found[1:]:
        for dim, other in zip(first, values.dims(item), strict=True):
            broadcasting.require_equal(dim, other, "all input arrays must have the same shape")
    place = normalized_axis(axis, len(first) + 1)
    aligned = [values.reshape(item, first, assumed=True) for item in found]
    return _finish(stack_values(aligned, place, _joined_dtype(dtype, out), casting), out)


def _joined(widen: Any, axis: int, axis_of_lines: int | None = None) -> Any:
    def handler(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
        whole = _whole(tup)
        items = _arrays(tup) if whole is None else [array_operand(as_tracer(new(whole))[0])]
        found = [array_operand(widen(view(item))) for item in items]
        place = axis_of_lines if axis_of_lines is not None and values.rank(found[0]) == 1 else axis
        if whole is not None:
            found = [_merged(values.reshape(whole, (values.dims(whole)[0], *values.dims(found[0]))), place)]
        return new(concatenate_values(found, place, _joined_dtype(dtype, None), casting))

    return handler


def column_stack(tup: Any) -> Any:
    def column(value: Value) -> Value:
        if values.rank(value) < 2:
            flat = values.reshape(value, (broadcasting.total_size(value),))
            return values.reshape(flat, (*values.dims(flat), 1))
        return value

    if (whole := _whole(tup)) is not None:
        if values.rank(whole) == 1:
            whole = values.reshape(whole, (*values.dims(whole), 1))
        return new(values.transpose(whole, (1, 0)) if values.rank(whole) == 2 else _merged(whole, 1))
    return new(concatenate_values([column(item) for item in _arrays(tup)], 1))


# -- one in several ---------------------------------------------------------------------------------------


def block(arrays: Any) -> Any:
    """Blocks in nested lists: the innermost side by side along the last axis, lists of them along the one before."""
    arrays = _as_lists(arrays)
    leaves = [as_tracer(leaf) for leaf in _leaves(arrays)]
    numpy_says(np.block, _outline(arrays))  # it says what is wrong with the lists
    depth, part = 0, arrays
    while isinstance(part, list):
        depth, part = depth + 1, part[0]
    rank = max([depth, *(leaf.ndim for leaf in leaves)])
    widened = iter([np.reshape(leaf, (1,) * (rank - leaf.ndim) + leaf.shape) for leaf in leaves])

    def joined(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            return next(widened)
        return concatenate([joined(item, level - 1) for item in part], axis=-level)

    found = joined(arrays, depth)
    return found if depth else np.copy(found)


def _as_lists(part: Any, path: str = "arrays") -> Any:
    """Nested lists, with what a list of the running program is side by side as the only item in its place."""
    if isinstance(part, list):
        return [_as_lists(item, f"{path}[{place}]") for place, item in enumerate(part)]
    if (whole := _whole(part, f"List at {path} cannot be empty")) is None:
        return part
    return [new(whole if values.rank(whole) == 1 else _merged(whole, values.rank(whole) - 2))]


def _outline(part: Any) -> Any:
    """The lists, with one number for all that is in an innermost one."""
    if not isinstance(part, list):
        return 0.0
    return [_outline(item) for item in part] if any(isinstance(item, list) for item in part) else part and [0.0]


def _leaves(part: Any) -> list[Any]:
    return [leaf for item in part for leaf in _leaves(item)] if isinstance(part, list) else [part]


def _pieces(value: Value, cuts: Sequence[tuple[Dim, Dim]], axis: int) -> list[Any]:
    """Slices along an axis, each given by start and size."""
    dims = values.dims(value)
    pieces = []
    for start, size in cuts:
        starts = [start if place == axis else 0 for place in range(len(dims))]
        sizes = [size if place == axis else dim for place, dim in enumerate(dims)]
        pieces.append(view(values.slice_axes(value, starts, sizes, [1] * len(dims))))
    return pieces


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    value = array_operand(ary)
    place, size = _split_axis(value, axis)
    if _are_marks(indices_or_sections):
        marks = [None, *indices_or_sections, None]
        bounds = [slice_bounds(slice(start, stop), size) for start, stop in itertools.pairwise(marks)]
        return _pieces(value, [(start, count) for start, count, _ in bounds], place)
    sections = static_int(as_int(indices_or_sections), "the number of sections")
    if sections <= 0:
        raise UserValueError("number sections must be larger than 0.")
    each, extra = size // sections, size % sections
    cuts: list[tuple[Dim, Dim]] = []
    for section in range(sections):
        longer = minimum(extra, section + 1) - minimum(extra, section) if not isinstance(extra, int) else (
            int(section < extra)
        )  # fmt: skip
        before = section * each + (min(extra, section) if isinstance(extra, int) else minimum(extra, section))
        cuts.append((before, each + longer))
    return _pieces(value, cuts, place)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    if _are_marks(indices_or_sections):
        return array_split(ary, indices_or_sections, axis)
    value = array_operand(ary)
    place, size = _split_axis(value, axis)
    sections = static_int(as_int(indices_or_sections), "the number of sections")
    if sections <= 0:  # which NumPy divides by first
        numpy_says(np.split, np.zeros(1), sections)
    broadcasting.require_equal(size % sections, 0, "array split does not result in an equal division")
    each = size // sections
    return _pieces(value, [(section * each, each) for section in range(sections)], place)


def _are_marks(indices_or_sections: Any) -> bool:
    """Whether they say where to cut, and not into how many."""
    if isinstance(indices_or_sections, tracers.ArrayTracer | np.ndarray):
        return indices_or_sections.ndim > 0
    return isinstance(indices_or_sections, list | tuple | range | ArraySource)


def _split_axis(value: Value, axis: Any) -> tuple[int, Dim]:
    """The axis to be split, which NumPy looks up in the shape, and its size."""
    dims = values.dims(value)
    size: Dim = numpy_says(dims.__getitem__, static_int(axis, "axis"))
    return normalized_axis(axis, len(dims)), size


def _split_along(name: str, axis: int, least: int) -> Any:
    def handler(ary: Any, indices_or_sections: Any) -> list[Any]:
        rank = values.rank(array_operand(ary))
        if rank < least:
            raise UserValueError(f"{name} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, 0 if name == "hsplit" and rank == 1 else axis)

    return handler


def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Any, ...]:
    value = array_operand(x)
    if not values.rank(value):
        raise UserValueError("Input array must be at least 1-d.")
    place = normalized_axis(axis, values.rank(value), "source")
    count = static_int(tracers.size_of(values.dims(value)[place]), "the number of arrays")
    pieces = _pieces(value, [(start, 1) for start in range(count)], place)
    rest = values.dims(value)[:place] + values.dims(value)[place + 1 :]
    arrays = [values.reshape(piece.value, rest) for piece in pieces]
    return tuple(view(array) if rest else new(values.as_scalar(array)) for array in arrays)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.concatenate: concatenate,
        np.concat: concatenate,
        np.stack: stack,
        np.block: block,
        np.hstack: _joined(np.atleast_1d, 1, 0),
        np.vstack: _joined(np.atleast_2d, 0),
        np.dstack: _joined(np.atleast_3d, 2),
        np.column_stack: column_stack,
        np.array_split: array_split,
        np.split: split,
        np.hsplit: _split_along("hsplit", 1, 1),
        np.vsplit: _split_along("vsplit", 0, 2),
        np.dsplit: _split_along("dsplit", 2, 3),
        np.unstack: unstack,
    }
)
