"""The same elements in another shape: reshape, axes in another order, broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserAxisError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, layouts, runtime_sizes
from jitflow.frontend.arrays.operands import (
    array_operand,
    converted_int,
    new,
    normalized_axes,
    normalized_axis,
    read_only_view,
    refuse,
    sequence_of,
    shape_argument,
    sizes_of,
    static_int,
    view,
)
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit, size_value
from jitflow.frontend.tracers.base import class_name
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "broadcast_value", "moved_axis", "reshape", "reshape_value", "set_shape", "swapaxes",
           "transpose"]  # fmt: skip


def reshape_value(value: Value, shape: Any, order: Any = "C", what: str | None = None) -> Value:
    """The elements in C order (or F) with other dims, one of which may be -1.

    ``what`` gives the program an array, which is a view if NumPy's is; otherwise the elements are only to be read.
    """
    order = "C" if order is None else order
    if order not in ("C", "F"):
        if not isinstance(order, str):
            raise UserTypeError(f"order must be str, not {class_name(order)}")
        if order not in ("A", "K"):
            raise UserValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
        if values.rank(value) > 1:
            raise refuse(f"order={order!r}, which depends on the array's layout", "use order='C' or order='F'")
    dims = _complete(_requested(shape), product(values.dims(value)))
    fill = partial(values.reshape, assumed=True) if what is None else partial(layouts.reshaped, what=what)
    if order == "F":
        turned = values.transpose(value, range(values.rank(value))[::-1])
        return values.transpose(fill(turned, dims[::-1]), range(len(dims))[::-1])
    return fill(value, dims)


def _requested(shape: Any) -> tuple[Dim | Value, ...]:
    """The dims that are asked for; a value where only the running program knows the number, which may be negative."""
    return tuple(map(_requested_dim, sizes_of(shape)))


def _requested_dim(item: Any) -> Dim | Value:
    item = tracers.as_size(pinned(item))
    trace = current_trace()
    if isinstance(item, tracers.SizeTracer):
        dim = tracers.dim_of(item)
        if trace.known(dim, ">=", 0):
            return dim
        if trace.is_open(dim):
            return size_value(dim)
        return dim if trace.decide(dim, ">=", 0, "a size of reshape") else -1
    if runtime_sizes.is_running(item) and values.dtype_of_value(tracers.lift(item)).is_integer:
        return runtime_sizes.integer(item)
    return tracers.dim_of(item)


def _complete(requested: tuple[Dim | Value, ...], total: Dim) -> tuple[Dim, ...]:
    """The requested dims with -1 replaced, after checking, now or at run time, that the sizes fit."""
    if any(isinstance(dim, Value) for dim in requested):
        requested = _completed_at_run_time(requested, total)
    dims = tuple(dim for dim in requested if not isinstance(dim, Value))
    unknown = [axis for axis, dim in enumerate(dims) if isinstance(dim, int) and dim < 0]
    if len(unknown) > 1:
        raise UserValueError(_UNKNOWN)
    if not unknown:
        _require_size(product(dims), total, dims)
        return dims
    rest = product([dim for axis, dim in enumerate(dims) if axis not in unknown])
    missing = runtime_sizes.shortened(_quotient(total, rest))
    _require_divides(rest, total, dims)
    return tuple(missing if axis in unknown else dim for axis, dim in enumerate(dims))


_UNKNOWN = "can only specify one unknown dimension"


def _completed_at_run_time(requested: tuple[Dim | Value, ...], total: Dim) -> tuple[Dim, ...]:
    """The requested dims where some are numbers of the running program, each of which may be the one that is unknown.

    An unknown one becomes what the others leave of the total, if they divide it. Its check is made here, because the
    message has another shape in it; that the product of all of them is the total is checked afterwards.
    """
    zero, one, whole = values.constant(0, I64), values.constant(1, I64), size_value(total)
    numbers = [dim if isinstance(dim, Value) else size_value(dim) for dim in requested]
    negative = [emit("less", number, zero) for number in numbers]
    unknown = reduce(partial(emit, "add"), [values.cast(flag, I64) for flag in negative])
    values.check(emit("less_equal", unknown, one), ValueError, _UNKNOWN)
    if any(dim == -1 for dim in requested):  # so the others are not
        return tuple(runtime_sizes.bind(dim, "size") if isinstance(dim, Value) else dim for dim in requested)
    rest = reduce(
        partial(emit, "multiply"),
        [values.select(flag, one, number) for flag, number in zip(negative, numbers, strict=True)],
    )
    is_zero = emit("equal", rest, zero)
    divisor = values.select(is_zero, one, rest)
    divides = emit("greater", emit("equal", emit("remainder", whole, divisor), zero), is_zero)
    missing = emit("floor_divide", whole, divisor)
    found: list[Dim] = []
    for axis, dim in enumerate(requested):
        if not isinstance(dim, Value):
            found.append(dim)
            continue
        fits = emit("logical_or", emit("logical_not", negative[axis]), divides)
        shape = [-1 if place == axis else other for place, other in enumerate(requested)]
        message, shown = _message(total, shape)
        values.check(fits, ValueError, message, *shown)
        found.append(runtime_sizes.bind(values.select(negative[axis], missing, dim), "size"))
    return tuple(found)


def _message(total: Dim, requested: Sequence[Dim | Value]) -> tuple[str, list[Value]]:
    """NumPy's error with ``{}`` for the run-time sizes, and those. An unknown size in front is not mentioned."""
    negative = [isinstance(dim, int) and dim < 0 for dim in requested]
    words: list[str] = []
    sizes = [values.size(total)]
    for dim, is_unknown in zip(requested, negative, strict=True):
        if isinstance(dim, int):
            words.append("newaxis" if is_unknown else str(dim))
            continue
        words.append("{}")
        sizes.append(dim if isinstance(dim, Value) else values.size(dim))
    text = ",".join(words[1:] if negative[:1] == [True] else words)
    return f"cannot reshape array of size {{}} into shape ({text}{',' if len(requested) == 1 else ''})", sizes


def _now(total: Dim, requested: tuple[Dim, ...]) -> UserValueError:
    message, sizes = _message(total, requested)
    return UserValueError(message.format(*map(broadcasting.shown, sizes)))


def _require_size(size: Dim, total: Dim, requested: tuple[Dim, ...]) -> None:
    known = current_trace().known(size, "==", total)
    if known is False:
        raise _now(total, requested)
    if known is None:
        message, sizes = _message(total, requested)
        values.check(emit("equal", values.size(size), values.size(total)), ValueError, message, *sizes)


def _quotient(total: Dim, rest: Dim) -> Dim:
    """``total // rest`` as a size that is a number even where a check refuses the rest, which is 0 then."""
    trace = current_trace()
    if isinstance(rest, int) or total % rest == 0 or trace.known(rest, ">=", 1):
        return total // rest if rest != 0 else 0
    if trace.is_open(rest):
        return total // maximum(rest, 1)
    return total // rest if trace.decide(rest, ">=", 1, "a size of reshape") else 0


def _require_divides(rest: Dim, total: Dim, requested: tuple[Dim, ...]) -> None:
    """An axis of unknown size: the others must divide the total, and none of them may be 0."""
    if isinstance(rest, int) and (rest == 0 or (isinstance(total, int) and total % rest)):
        raise _now(total, requested)
    if current_trace().known(rest, ">=", 1) is not True:
        message, sizes = _message(total, requested)
        values.check(emit("not_equal", values.size(rest), values.size(0)), ValueError, message, *sizes)
    if current_trace().known(rest, "==", 0) is not True and total % rest != 0:
        message, sizes = _message(total, requested)
        values.check(emit("equal", values.size(total % rest), values.size(0)), ValueError, message, *sizes)


def set_shape(array: Any, shape: Any) -> None:
    """``array.shape = shape``, which never copies."""
    shown = array._value
    trace = current_trace()
    if trace.storage.is_parameter(shown):
        raise refuse("a new shape for an array of the caller", "reshape it: y = x.reshape(...)")
    if trace.storage.homes.get(shown) is not trace.scope:
        what = "a new shape, in a branch or a loop that the running program takes, for an array of before"
        raise refuse(what, "reshape it there, and give the result the name: x = x.reshape(...)")
    found = reshape_value(shown, shape)
    plain = [[dim for dim in values.dims(value) if dim != 1] for value in (shown, found)]
    fits = plain[0] == plain[1] or layouts.is_evenly_spaced(shown)
    if fits is False and len(plain[1]) == 1:
        raise UserAttributeError(
            "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
        )
    if not fits:
        raise refuse("a new shape of an array with gaps", "use reshape, which copies where it must")
    array._value = found


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    if copy:
        return new(reshape_value(array_operand(a), shape, order))
    value, storage = array_operand(a), current_trace().storage
    found = reshape_value(value, shape, order, "what reshape gives")
    made = storage.root(found)
    if copy is not None and made is not storage.root(value):
        if made in storage.imitations.of:
            what = "copy=False of an array that NumPy may have to copy, as it lies in memory,"
            raise refuse(what, "leave copy= out")
        raise UserValueError("Unable to avoid creating a copy while reshaping.")
    return view(found)


def reshape_method(a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    if not shape:
        raise UserTypeError("reshape() takes exactly 1 argument (0 given)")
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def ravel(a: Any, order: str = "C") -> Any:
    value = array_operand(a)
    if order not in ("C", "F"):
        return view(flat_value(value, order))
    turned = values.transpose(value, range(values.rank(value))[::-1]) if order == "F" else value
    return view(flat_value(layouts.in_order(turned, "what ravel gives")))


def flatten(a: Any, order: str = "C") -> Any:
    return new(flat_value(array_operand(a), order))


def flat_value(value: Value, order: str = "C") -> Value:
    """All elements as one axis."""
    return reshape_value(value, -1, order)


# -- axes in another order --------------------------------------------------------------------------------


def transpose(a: Any, axes: Any = None) -> Any:
    if isinstance(a, np.generic) and not axes:
        return a
    value = array_operand(a)
    rank = values.rank(value)
    if axes is None:
        return view(values.transpose(value, range(rank)[::-1]))
    wanted = [converted_int(axis) for axis in sequence_of(axes)]
    if len(wanted) != rank:
        raise UserValueError("axes don't match array")
    order = [normalized_axis(axis, rank) for axis in wanted]
    if len(set(order)) != rank:
        raise UserValueError("repeated axis in transpose")
    return view(values.transpose(value, order))


def transpose_method(a: Any, *axes: Any) -> Any:
    return transpose(a, axes[0] if len(axes) == 1 else axes or None)


def matrix_transpose(x: Any, /) -> Any:
    value = array_operand(x)
    if values.rank(value) < 2:
        raise UserValueError(f"Input array must be at least 2-dimensional, but it is {values.rank(value)}")
    order = list(range(values.rank(value)))
    return view(values.transpose(value, [*order[:-2], order[-1], order[-2]]))


def matrix_transpose_attribute(x: Any) -> Any:
    """``array.mT``, whose error has other words than the function's."""
    if values.rank(array_operand(x)) < 2:
        raise UserValueError("matrix transpose with ndim < 2 is undefined")
    return matrix_transpose(x)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    value = array_operand(a)
    order = list(range(values.rank(value)))
    first, second = (normalized_axis(axis, len(order), name) for axis, name in ((axis1, "axis1"), (axis2, "axis2")))
    order[first], order[second] = order[second], order[first]
    return view(values.transpose(value, order))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    value = array_operand(a)
    rank = values.rank(value)
    origins = normalized_axes(sequence_of(source), rank, "source")
    targets = normalized_axes(sequence_of(destination), rank, "destination")
    if len(origins) != len(targets):
        raise UserValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(rank) if axis not in origins]
    for target, origin in sorted(zip(targets, origins, strict=True)):
        order.insert(target, origin)
    return view(values.transpose(value, order))


def moved_axis(value: Value, source: int, destination: int) -> Value:
    """One axis elsewhere, the others in their order."""
    order = [axis for axis in range(values.rank(value)) if axis != source]
    order.insert(destination, source)
    return values.transpose(value, order)


def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    value = array_operand(a)
    rank, place = values.rank(value), static_int(start, "start")
    source, target = normalized_axis(axis, rank), place + (rank if place < 0 else 0)
    if not 0 <= target <= rank:
        raise UserAxisError(f"'start' arg requires {-rank} <= start < {rank + 1}, but {target} was passed in")
    return view(moved_axis(value, source, target - (source < target)))


# -- broadcasting ---------------------------------------------------------------------------------------------


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    value = array_operand(array)
    found = broadcast_value(value, shape_argument(shape))
    if found is value:
        found = values.emit("broadcast", value, dims=values.dims(value), axes=tuple(range(values.rank(value))))
    return read_only_view(found)


def broadcast_value(value: Value, target: tuple[Dim, ...]) -> Value:
    """`broadcast_to` on a value, with its errors."""
    source = values.dims(value)
    if len(source) > len(target):
        raise UserValueError("input operand has more dimensions than allowed by the axis remapping")
    message = (
        "operands could not be broadcast together with remapped shapes [original->remapped]: "
        "{shape}  and requested shape {shape}"
    )
    broadcasting.require_fit(source, target, message)
    return broadcasting.broadcast_to(value, target)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    operands = [array_operand(item) for item in args]
    target = _common([values.dims(item) for item in operands])
    return tuple(
        item
        if isinstance(item, tracers.ArrayTracer) and _has_dims(operand, target)
        else view(broadcasting.broadcast_to(operand, target))
        for item, operand in zip(args, operands, strict=True)
    )


def _has_dims(value: Value, target: tuple[Dim, ...]) -> bool:
    """Whether an array is known to have these dims, so that NumPy gives the array itself."""
    dims, known = values.dims(value), current_trace().known
    return len(dims) == len(target) and all(known(dim, "==", size) for dim, size in zip(dims, target, strict=True))


def _common(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """The dims that shapes broadcast to; of several that do not, nobody says which two."""
    which = ".  Mismatch is between arg 0 with shape {tuple} and arg 1 with shape {tuple}."
    message = "shape mismatch: objects cannot be broadcast to a single shape"
    return broadcasting.common_dims(shapes, message + (which if len(shapes) == 2 else ": {shapes}"))


def broadcast_shapes(*args: Any) -> tuple[Any, ...]:
    """Shapes as the program has them, of ints and sizes."""
    dims = _common([shape_argument(shape) for shape in args])
    return tuple(tracers.size_of(dim) for dim in dims)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.reshape: reshape,
        np.ravel: ravel,
        np.transpose: transpose,
        np.permute_dims: transpose,
        np.matrix_transpose: matrix_transpose,
        np.linalg.matrix_transpose: matrix_transpose,
        np.swapaxes: swapaxes,
        np.moveaxis: moveaxis,
        np.rollaxis: rollaxis,
        np.broadcast_to: broadcast_to,
        np.broadcast_arrays: broadcast_arrays,
        np.broadcast_shapes: broadcast_shapes,
    }
)
