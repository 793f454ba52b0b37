"""What a boolean mask selects: ``x[mask]``, and writing it back.

The selected elements are an array whose size only the running program knows; finding them takes a pass that is no fused
kernel. Most programs do not need it: they compute on the selected elements and put the results back
(``x[mask] = x[mask] ** 2 + c[mask]``) or fold them (``x[mask].sum()``). So ``x[mask]`` is a `SelectionTracer`, which
stands for the whole array and the mask. Elementwise functions of selections by one mask are selections of the whole
result, writing one back under its mask is a ``where``, and only what asks for more makes the array (`positions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserIndexError
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.operands import ArraySource, as_value, new
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.recording import values
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.array import ArrayTracer
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product, symbols
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.renaming import renamed_by
from jitflow.ir.types import Tensor

__all__ = [
    "SelectionTracer",
    "elementwise",
    "flag_positions",
    "folded",
    "is_empty_beside",
    "is_flag",
    "marked",
    "mask_of",
    "positions",
    "require_fit",
    "require_size",
    "same_mask",
    "select",
    "selected_flat",
]


class _FoundPositions(dict[Value, tuple[Scope, Value]]):
    """Where masks hold, for those that were asked before, and the region that knows it."""


class SelectionTracer(ArrayTracer):
    """The elements of ``whole`` where ``mask`` holds, one axis of them; both are values of the same dims.

    The array is found in the region that the selection was made in, whoever needs it first.
    """

    __slots__ = ("_made", "_since", "home", "mask", "whole")
    _made: Value | None
    _since: int
    mask: Value
    whole: Value
    home: Scope

    def __init__(self, whole: Value, mask: Value, trace: Trace) -> None:
        object.__setattr__(self, "_made", None)
        object.__setattr__(self, "whole", whole)
        object.__setattr__(self, "mask", mask)
        object.__setattr__(self, "home", trace.scope)
        object.__setattr__(self, "_since", len(trace.storage.written))
        object.__setattr__(self, "_trace", trace)
        object.__setattr__(self, "owned", True)

    @property
    def _value(self) -> Value:
        """The array itself, found when it is first needed."""
        if self._made is None:
            with self._trace.region(self.home):
                found = selected_flat(self.whole, self.mask)
            self._trace.storage.hold(found)
            object.__setattr__(self, "_made", found)
        assert self._made is not None
        return self._made

    @_value.setter
    def _value(self, value: Value) -> None:
        object.__setattr__(self, "_made", value)

    @property
    def is_pending(self) -> bool:
        """Whether the array has not been needed yet, and the whole and the mask are what they were."""
        return self._made is None and not self._is_overwritten()

    def finish(self) -> None:
        if self._made is None and self.home is self._trace.scope:
            tracers.lift(self)

    def _is_overwritten(self) -> bool:
        storage = self._trace.storage
        written = storage.written[self._since :]
        return bool(written) and not storage.behind(*written).isdisjoint(storage.behind(self.whole, self.mask))

    def __getattr__(self, name: str) -> Any:
        if name in _FOLDS and self.is_pending:
            return lambda *args, **keywords: getattr(np, name)(self, *args, **keywords)
        return super().__getattr__(name)

    @property
    def ndim(self) -> int:
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return values.dtype_of_value(self.whole).numpy


def mask_of(item: Any) -> Value | None:
    """The mask that an item of an index is, None if it is none."""
    if isinstance(item, ArraySource) and item.holds_bools:
        item = item.as_array()
    if not isinstance(item, tracers.ArrayTracer | np.ndarray | list) or (isinstance(item, list) and not item):
        return None
    if isinstance(item, tracers.ArrayTracer):
        return item.value if item.ndim and item.dtype == np.bool_ else None
    if isinstance(item, list) and not all(map(is_flag, item)):
        return None
    mask = as_value(item)
    return mask if values.dtype_of_value(mask) == BOOL and values.rank(mask) else None


def is_flag(item: Any) -> bool:
    """Whether an item of an index is a single bool, which is a mask of no axes."""
    if isinstance(item, tracers.ArrayTracer | np.ndarray):
        return item.ndim == 0 and item.dtype == np.bool_
    if isinstance(item, tracers.ScalarTracer):
        return values.dtype_of_value(item.value) == BOOL
    return type(item) in (bool, np.bool_)


def flag_positions(flag: Any) -> Value:
    """Where a mask of no axes holds in the axis of size 1 that it adds: at its element, or nowhere."""
    flag = pinned(flag)
    if isinstance(flag, tracers.Tracer):
        trace = current_trace()
        count: Dim = runtime_sizes.bind(values.cast(values.as_scalar(tracers.lift(flag)), I64), "found", 1)
        trace.found_sizes.update(symbols(count))
    else:
        count = int(bool(flag))
    return values.fill(values.constant(0, I64), (count,))


def is_empty_beside(mask: Value, dims: Sequence[Dim]) -> bool:
    """Whether a mask has an axis without elements, where the array's has some: NumPy lets it select nothing there."""
    return any(_is_empty(dim, size) for dim, size in zip(values.dims(mask), dims, strict=False))


def _is_empty(dim: Dim, size: Dim) -> bool:
    trace = current_trace()
    if trace.known(dim, "==", size):
        return False
    return dim == 0 or (broadcasting.bound_by_call(dim) and trace.decide(dim, "==", 0, "the size of a mask"))


def require_fit(mask: Value, dims: Sequence[Any]) -> None:
    """Raise IndexError, now or at run time, unless a mask has the sizes of the leading axes."""
    if values.rank(mask) > len(dims):
        raise UserIndexError(
            f"too many indices for array: array is {len(dims)}-dimensional, but {values.rank(mask)} were indexed"
        )
    for axis, (dim, size) in enumerate(zip(values.dims(mask), dims, strict=False)):
        require_size(dim, size, axis)


def marked(array: Any, mask: Any, name: str) -> Any:
    """Which elements a mask of as many says, one after the other, in the shape of the array."""
    flags = values.as_array(values.cast(as_value(mask), BOOL))
    size, places = broadcasting.total_size(array.value), broadcasting.total_size(flags)
    broadcasting.require_equal(size, places, f"{name}: mask and data must be the same size")
    return np.reshape(new(flags), array.shape)


def require_size(dim: Dim, size: Dim, axis: int) -> None:
    """Raise IndexError, now or at run time, unless a mask's axis is empty or has the size of the array's."""
    if _is_empty(dim, size):
        return
    message = f"boolean index did not match indexed array along axis {axis}; size of axis is {{}} but size of "
    found = [values.size(size), values.size(dim)]
    broadcasting.require_equal_sizes(size, dim, f"{message}corresponding boolean axis is {{}}", found, IndexError)


def select(value: Value, mask: Value) -> Any:
    """``array[mask]``."""
    require_fit(mask, values.dims(value))
    if values.rank(mask) == values.rank(value):
        return SelectionTracer(value, broadcasting.broadcast_to(mask, values.dims(value)), current_trace())
    return new(selected_flat(value, mask))


def selected_flat(value: Value, mask: Value) -> Value:
    """The selected elements, or rows where the mask has fewer axes, as an array of its own."""
    rank = values.rank(mask)
    flat = values.reshape(value, (product(values.dims(mask)), *values.dims(value)[rank:]), assumed=True)
    return emit("gather", flat, positions(mask), axis=0)


def positions(mask: Value) -> Value:
    """Where a mask holds, counted along its elements in C order: i64 of a size of its own, the same for one mask."""
    trace = current_trace()
    around = set(trace.scope.around())
    for known, (scope, found) in trace.state(_FoundPositions).items():
        if scope in around and same_mask(known, mask):
            return found
    found = _found(mask)
    trace.state(_FoundPositions)[mask] = (trace.scope, found)
    trace.found_sizes.update(symbols(values.dims(found)[0]))
    return found


def _found(mask: Value) -> Value:
    """`positions`, for the first time.

    One pass: every position is written behind those found so far, and counts if the mask holds there.
    """
    trace = current_trace()
    total = product(values.dims(mask))
    if trace.storage.is_variable(mask):
        mask = emit("copy", mask)  # as it was, whatever has been written to it since
    flags = tracers.wrap(values.reshape(mask, (total,)), owned=False)
    memory = trace.storage.memory(Tensor(I64, (total,)))
    place = Value(Tensor(I64, (total,)))
    trace.storage.adopt(place, memory)
    found = tracers.wrap(place, owned=False)
    count: Any = np.int64(0)

    def found_so_far(at_most: Dim) -> Any:
        """The count as a size, which no check has to look at: it is never above the number of turns."""
        return tracers.size_of(runtime_sizes.bind(runtime_sizes.integer(count), "found", at_most))

    def body(position: Any) -> None:
        nonlocal count
        found[found_so_far(total - 1)] = position
        count = count + flags[position]

    own_loop(Range(0, tracers.size_of(total), 1), body, "count")
    return tracers.lift(found[: found_so_far(total)])


_FOLDS = frozenset({"sum", "prod", "any", "all", "mean"})


def folded(name: str, array: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """A reduction of a selection as one of the whole array under its mask; None if it is no such call."""
    if not (isinstance(array, SelectionTracer) and array.is_pending) or name not in _FOLDS or arguments:
        return None
    if set(keywords) - {"dtype"} or (name == "mean" and array.dtype.kind not in "fc"):
        return None
    whole, mask = (tracers.wrap(value, owned=False) for value in (array.whole, array.mask))
    return getattr(np, name)(whole, where=mask, **keywords)


def same_mask(one: Value, other: Value) -> bool:
    """Whether two masks are one, read anew or with other names of its sizes."""
    storage = current_trace().storage
    one, other = _as_first_named(one), _as_first_named(other)
    return one is other or (storage.same_view(one, other) and not storage.is_variable(one))


def _as_first_named(mask: Value) -> Value:
    """The mask before a check of its sizes gave them other names."""
    while isinstance(op := current_trace().storage.source(mask), Op):
        before = renamed_by(op)
        if before is None:
            break
        mask = before
    return mask


def elementwise(ufunc: np.ufunc, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """The ufunc of selections by one mask and numbers, as a selection; None if it is no such call."""
    chosen = [item for item in inputs if isinstance(item, SelectionTracer) and item.is_pending]
    if (
        not chosen
        or current_trace().exact
        or ufunc.nout != 1
        or ufunc.signature is not None
        or set(keywords) - {"dtype"}
    ):
        return None
    mask = chosen[0].mask
    whole: list[Any] = []
    for item in inputs:
        if isinstance(item, SelectionTracer) and item.is_pending:
            if not same_mask(item.mask, mask):
                return None
            whole.append(tracers.wrap(item.whole, owned=False))
        elif isinstance(item, tracers.ArrayTracer | np.ndarray | list | tuple):
            return None
        else:
            whole.append(item)
    result = tracers.lift(ufunc(*whole, **keywords))
    return SelectionTracer(result, mask, current_trace())
