"""Reading ``array[index]``: the basic part as slices and a reshape, the integer arrays as one gather.

An index is first laid out as a list of `Entry`, one for every axis of the result of the basic part: an axis that is
kept (sliced), a new one, or one at which positions are looked up. NumPy's rule places the looked-up axes: where the
first one stood if they were all neighbours, else in front.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.operands import ArraySource, array_operand, new, operand, view
from jitflow.frontend.arrays.windows import part_of_windows
from jitflow.frontend.control.raising import fail
from jitflow.frontend.numpy import selections
from jitflow.frontend.numpy.slices import slice_bounds
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers import wrap
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Tensor
from jitflow.records import dataclass

__all__ = ["Lookup", "gather", "get_item", "has_elements", "has_ellipsis", "lay_out", "looked_up", "said", "sliced",
           "too_many_indices", "unravelled"]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Position:
    """An index that is one number, known or a size."""

    dim: Dim


@dataclass(frozen=True, slots=True)
class Lookup:
    """Integer positions as a value: an array, or a number that only the running program knows.

    ``covers`` is the size that the axis must have, where the positions are those of a mask. ``adds_axis``: they are
    those of a single bool, in an axis of size 1 that the index adds.
    """

    positions: Value
    covers: Dim | None = None
    adds_axis: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """One axis after the basic part. ``lookup`` is None for an axis that stays; ``axis`` is the array's own."""

    size: Dim
    lookup: Lookup | Position | None = None
    axis: int = 0


def get_item(array: Any, index: Any) -> Any:
    """``array[index]``."""
    value = array_operand(array)
    mask = selections.mask_of(index[0] if isinstance(index, tuple) and len(index) == 1 else index)
    if mask is not None and not selections.is_empty_beside(mask, values.dims(value)):
        return selections.select(value, mask)
    try:
        items = lay_out(index if isinstance(index, tuple) else (index,), values.rank(value))
    except UserIndexError:
        if isinstance(array, tracers.ScalarTracer):
            raise UserIndexError("invalid index to scalar variable.") from None
        raise
    looks = any(isinstance(item, Lookup) and values.rank(item.positions) for item in items)
    if not looks:
        return _basic(value, items, index)
    moved, indices, before, axes = looked_up(value, items)
    return new(values.as_scalar(gather(moved, indices, before, axes)))


def lay_out(items: Sequence[Any], rank: int) -> list[Any]:
    """The items of an index, one for every axis: slices, None, `Position`, `Lookup`, and the mark of an ellipsis."""
    return _expanded([part for item in items for part in _parts(item)], rank)


def _parts(item: Any) -> list[Any]:
    """An item of an index; a mask is as many as it has axes."""
    mask = selections.mask_of(item)
    if mask is None:
        return [_item(item)]
    dims = tuple(current_trace().resolve(dim) for dim in values.dims(mask))
    if product(dims) == 0:
        found = [values.fill(values.constant(0, I64), (0,))] * len(dims)
    else:
        found = unravelled(selections.positions(mask), dims)
    return [Lookup(positions, size) for positions, size in zip(found, dims, strict=True)]


def unravelled(positions: Value, dims: Sequence[Dim]) -> list[Value]:
    """Positions in C order as one index for each axis. What a quotient leaves costs less than a remainder."""
    indices, rest = [], positions
    for axis in range(len(dims)):
        inner = product(list(dims[axis + 1 :]))
        if inner == 1:
            indices.append(rest)
            rest = emit("subtract", rest, rest)
        else:
            size = values.size_value(inner)
            indices.append(emit("floor_divide", rest, size))
            rest = emit("subtract", rest, emit("multiply", indices[-1], size))
    return indices


def looked_up(value: Value, items: Sequence[Any]) -> tuple[Value, list[Value], int, tuple[int, ...]]:
    """The array with the looked-up axes side by side, a position for each of them, and where the first one stands.

    Last, which axes of ``value`` they are.
    """
    basic, entries = sliced(value, items, keep_positions=True)
    return _look_up(basic, entries, _neighbours(items))


def _basic(value: Value, items: Sequence[Any], index: Any) -> Any:
    """No arrays in the index: a view, or a scalar."""
    basic, _ = sliced(value, items, keep_positions=False)
    if not values.rank(basic) and not has_ellipsis(index):
        return new(values.as_scalar(basic))
    return view(values.as_array(basic))


def has_ellipsis(index: Any) -> bool:
    """An ellipsis in the index makes a result of rank 0 an array, where it would be a scalar."""
    return index is Ellipsis or (isinstance(index, tuple) and any(item is Ellipsis for item in index))


# -- from Python's index to entries --------------------------------------------------------------------


def _item(item: Any) -> Any:
    """An item of an index as one of: slice, None, Ellipsis, `Position`, `Lookup`."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    item = tracers.as_size(item)
    if isinstance(item, tracers.SizeTracer):
        return Position(tracers.dim_of(item))
    if selections.is_flag(item):
        return Lookup(selections.flag_positions(item), adds_axis=True)
    if isinstance(item, tracers.Tracer | np.ndarray | list | tuple | range | ArraySource):
        return Lookup(_positions(item))
    try:
        return Position(operator.index(item))
    except TypeError:
        raise _not_an_index(type(item).__name__) from None


def _not_an_index(found: str) -> UserIndexError:
    return UserIndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
        "indices",
        found=found,
    )


def _positions(item: Any) -> Value:
    if isinstance(item, list | tuple | range) and not item:
        item = np.zeros(0, np.int64)
    given = operand(item.as_index() if isinstance(item, ArraySource) else item)
    assert isinstance(given, Value)
    dtype = values.dtype_of_value(given)
    if not dtype.is_integer and isinstance(item, tracers.ScalarTracer):
        raise _not_an_index(dtype.numpy.name)
    if not dtype.is_integer:
        raise UserIndexError("arrays used as indices must be of integer (or boolean) type", found=dtype.numpy.name)
    return values.as_scalar(values.as_strong(given))


def _expanded(items: list[Any], rank: int) -> list[Any]:
    """The items with the ellipsis written out, so that every axis has one. The ellipsis itself stays as a mark."""
    ellipses = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise UserIndexError("an index can only have a single ellipsis ('...')")
    used = sum(item is not Ellipsis and not _adds_axis(item) for item in items)
    if used > rank:
        raise too_many_indices(rank, used)
    if not ellipses:
        items, ellipses = [*items, Ellipsis], [len(items)]
    place = ellipses[0]
    mark = [Ellipsis] if place < len(items) - 1 else []
    return items[:place] + mark + [slice(None)] * (rank - used) + items[place + 1 :]


def _adds_axis(item: Any) -> bool:
    """Whether an item of an index stands for no axis of the array."""
    return item is None or (isinstance(item, Lookup) and item.adds_axis)


def too_many_indices(rank: int, used: int) -> UserIndexError:
    return UserIndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")


def _neighbours(items: Sequence[Any]) -> bool:
    """Whether the looked-up axes stand side by side in the index."""
    places = [place for place, item in enumerate(items) if isinstance(item, Position | Lookup)]
    return places[-1] - places[0] + 1 == len(places)


def sliced(value: Value, items: Sequence[Any], keep_positions: bool) -> tuple[Value, list[Entry]]:
    """The array after its slices and new axes, with an entry for each of its axes.

    ``keep_positions``: numbers count among the looked-up axes, as they do for NumPy beside an array; else they are
    slices of one element, whose axis is dropped.
    """
    dims, axis = values.dims(value), 0
    starts: list[Dim] = []
    sizes: list[Dim] = []
    steps: list[Dim] = []
    entries: list[Entry] = []
    before: list[tuple[int, Position | Lookup]] = []
    for item in items:
        if item is Ellipsis:
            continue
        if _adds_axis(item):
            entries.append(Entry(1, item))
            continue
        start: Dim = 0
        size: Dim = dims[axis]
        step: Dim = 1
        if isinstance(item, slice):
            start, size, step = slice_bounds(item, dims[axis])
            entries.append(Entry(size))
        elif isinstance(item, Position) and not keep_positions:
            follows = any(_is_checked(one, dims[place]) for place, one in before)
            start, size = checked_position(item.dim, dims[axis], axis, follows_checks=follows), 1
            before.append((axis, item))
        elif isinstance(item, Lookup) and not keep_positions:
            start, size = runtime_sizes.position(item.positions, dims[axis], axis), 1
            before.append((axis, item))
        else:
            if isinstance(item, Lookup) and item.covers is not None:
                selections.require_size(item.covers, size, axis)
            entries.append(Entry(size, item, axis))
        starts.append(start)
        sizes.append(size)
        steps.append(step)
        axis += 1
    sliced = part_of_windows(value, starts, sizes, steps)
    if sliced is None:
        sliced = values.slice_axes(value, starts, sizes, steps)
    return values.reshape(sliced, tuple(entry.size for entry in entries)), entries


_MISMATCH = "shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} "


def _look_up(
    basic: Value, entries: Sequence[Entry], neighbours: bool
) -> tuple[Value, list[Value], int, tuple[int, ...]]:
    places = [axis for axis, entry in enumerate(entries) if entry.lookup]
    rest = [axis for axis in range(len(entries)) if axis not in places]
    before = places[0] if neighbours else 0
    moved = values.transpose(basic, rest[:before] + places + rest[before:])
    looked = [entries[axis] for axis in places]
    indices = [_as_positions(entry.lookup, entry.size, entry.axis) for entry in looked]
    shapes = [values.dims(index) for index in indices]
    target = broadcasting.common_dims(shapes, _MISMATCH, IndexError)
    aligned = [broadcasting.broadcast_to(index, target) if values.rank(index) else index for index in indices]
    return moved, aligned, before, tuple(entry.axis for entry in looked)


def said(axes: Sequence[int], first: int) -> dict[str, Any]:
    """The attribute of an op that looks up ``axes`` of the program's array, from ``first`` on of its own operand."""
    return {} if [*axes] == [*range(first, first + len(axes))] else {"said": tuple(axes)}


def gather(value: Value, positions: Sequence[Value], axis: int, axes: Sequence[int] | None = None) -> Value:
    """The op, with its positions checked even where no element is read: beside an axis of size 0.

    ``axes`` are those by which an error speaks of them, if they are others than those from ``axis`` on.

    A kernel checks the positions that it reads. So the other axes decide at the first call, and where one of them is
    empty, or may turn out to be, the positions are looked up in an array of their own as well, which has one element
    in memory.
    """
    dims, named = values.dims(value), {} if axes is None else said(axes, axis)
    found, rest = dims[axis : axis + len(positions)], dims[:axis] + dims[axis + len(positions) :]
    if not all(has_elements(dim) for dim in rest):
        one = emit("constant", value=_nested(False, len(found)), type=Tensor(BOOL, (1,) * len(found)))
        alone = values.broadcast_in(one, (1,) * axis + found, range(axis, axis + len(found)))
        emit("gather", alone, *positions, axis=axis, **named)
    return emit("gather", value, *positions, axis=axis, **named)


def has_elements(dim: Dim) -> bool:
    """Whether an axis is known not to be empty, or was not at the first call, which is recorded as a fact."""
    if broadcasting.bound_by_call(dim):
        return current_trace().decide(dim, ">=", 1, "an index beside this axis")
    return current_trace().known(dim, ">=", 1) is True


def _nested(number: Any, rank: int) -> Any:
    """A constant of one element, as nested tuples."""
    return (_nested(number, rank - 1),) if rank else number


def _as_positions(lookup: Lookup | Position | None, size: Dim, axis: int) -> Value:
    if isinstance(lookup, Lookup):
        return lookup.positions
    assert lookup is not None
    dim = checked_position(lookup.dim, size, axis)
    return values.size_value(dim)


# -- numbers and slices ---------------------------------------------------------------------------------


def checked_position(position: Dim, size: Dim, axis: int, *, follows_checks: bool = False) -> Dim:
    """A position counted from the front. Raises IndexError, now or at run time, if the axis is too short for it.

    At run time if it ``follows_checks`` of other axes, which may fail before it.
    """
    trace = current_trace()
    if trace.is_open(position) and trace.known(position, ">=", 0) is None:
        return runtime_sizes.position(values.size_value(position), size, axis)
    back = not trace.decide(position, ">=", 0, "an index")
    front = size + position if back else position
    needed = -position if back else position + 1
    holds = trace.known(size, ">=", needed)
    message = f"index {{position}} is out of bounds for axis {axis} with size {{size}}"
    index, length = broadcasting.hint(position), broadcasting.hint(size)
    if holds is False and not follows_checks and index is not None and length is not None:
        if isinstance(position, int) and isinstance(size, int):
            raise UserIndexError(message.format(position=position, size=size))
        fail(IndexError, message.format(position="{}", size="{}"), *map(wrap, map(values.size, (position, size))))
    if not holds:
        left, right = values.size(size), values.size(needed)
        values.check(
            emit("greater_equal", left, right), IndexError, message.format(position="{}", size="{}"),
            values.size(position), left,
        )  # fmt: skip
    return front


def _is_checked(item: Position | Lookup, size: Dim) -> bool:
    """Whether looking at the position was left to the running program."""
    if isinstance(item, Lookup):
        return True
    trace, position = current_trace(), item.dim
    needed = position + 1 if trace.known(position, ">=", 0) else -position
    return trace.known(size, ">=", needed) is not True
