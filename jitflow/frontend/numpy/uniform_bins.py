"""`numpy.histogram` over bins of one width, as programs compute it: a division finds the bin of each element.

The arithmetic is NumPy's to the bit: how rounding at the edges of bins is mended, and that weights are added up in
blocks. What is not floats over their own range or over one that is written down, NumPy's own routine does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.frontend.arrays import broadcasting, runtime_sizes
from jitflow.frontend.arrays.operands import new
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.ranges import Range
from jitflow.frontend.numpy import creation, ranges
from jitflow.frontend.numpy.shape import flat_value
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.dtypes import F32, F64, I64

__all__ = ["uniform_edges", "uniform_histogram"]

_BLOCK = 65536
"""Elements whose weights NumPy adds up before it adds the sums to those before."""
_LARGEST = 1 << 53
"""Up to which integers are floats."""

Limits = tuple[float, float]


def uniform_histogram(array: Value, count: Dim, limits: Any, weights: Value | None) -> Any:
    """Counts (or sums of weights) and edges of ``count`` bins, None if that is for the routine."""
    found = _uniform_bins(array, count, limits, weights)
    if found is None:
        return None
    size = product(values.dims(array))
    if weights is not None:
        weights = values.reshape(weights, (size,), assumed=True)
    return _added(found, size, weights), found.edges


def uniform_edges(array: Value, count: Dim, limits: Any, weights: Value | None) -> Any:
    """The edges of ``count`` bins, None if they are for the routine."""
    found = _uniform_bins(array, count, limits, weights)
    return None if found is None else found.edges


def _uniform_bins(array: Value, count: Dim, limits: Any, weights: Value | None) -> _Bins | None:
    size, ends = product(values.dims(array)), None if limits is None else _written_down(limits)
    if ends is None and limits is not None:
        return None
    if not _is_arithmetic(array, ends, weights) or not _is_plain(size, count):
        return None
    if weights is not None:
        for own, other in zip(values.dims(array), values.dims(weights), strict=True):
            broadcasting.require_equal_sizes(own, other, "weights should have the same shape as a.", [])
    flat = new(flat_value(array))
    first, last = _own_ends(flat) if ends is None else ends
    edges = ranges.linspace(first, last, tracers.size_of(count + 1), dtype=flat.dtype)
    _require_bins(edges, count)
    return _Bins(flat, first, last, edges, count, own=ends is None)


def _written_down(limits: Any) -> Limits | None:
    """The ends of a range as floats, if they are numbers of the program's text that need no check."""
    if any(type(limit) not in (int, float) or abs(limit) > _LARGEST for limit in limits):
        return None  # which infinities and nan are not
    low, high = map(float, limits)
    return (low, high) if low < high else None


def _is_arithmetic(array: Value, ends: Limits | None, weights: Value | None) -> bool:
    """Whether dtypes and ranks are those for which the arithmetic here is NumPy's."""
    kind = values.dtype_of_value(array)
    if not values.rank(array) or kind not in ((F32, F64) if ends is None else (F64,)):
        return False
    if weights is None:
        return True
    weight = values.dtype_of_value(weights)
    return (weight.is_integer or weight in (F32, F64)) and values.rank(weights) == values.rank(array)


def _is_plain(size: Dim, count: Dim) -> bool:
    """Whether the arguments decide that there are elements and bins."""
    trace = current_trace()
    if trace.is_open(size) or trace.is_open(count):
        return False
    return not trace.decide(size, "==", 0, "a histogram") and trace.decide(count, ">=", 1, "a histogram")


def _own_ends(array: Any) -> tuple[Any, Any]:
    low, high = (tracers.lift(fold(array)) for fold in (np.min, np.max))
    finite = emit("logical_and", emit("isfinite", low), emit("isfinite", high))
    values.check(finite, ValueError, "autodetected range of [{}, {}] is not finite", low, high)
    single = emit("equal", low, high)
    half = values.constant(0.5, values.dtype_of_value(low))
    return (
        new(values.select(single, emit("subtract", low, half), low)),
        new(values.select(single, emit("add", high, half), high)),
    )


def _require_bins(edges: Any, count: Dim) -> None:
    # So the width of the range is finite and not 0, and no quotient of what is inside of it is beyond 0 and 1.
    rising = tracers.lift(np.all(edges[:-1] < edges[1:]))
    message = "Too many bins for data range. Cannot create {} finite-sized bins."
    values.check(rising, ValueError, message, values.size(count))


class _Bins:
    """What finds the bin of an element."""

    def __init__(self, array: Any, first: Any, last: Any, edges: Any, count: Dim, *, own: bool) -> None:
        self.array, self.edges, self.count = array, edges, count
        self.kind = values.dtype_of_value(tracers.lift(array))
        self.first, self.last = (values.cast(tracers.lift(end), self.kind) for end in (first, last))
        self.width = emit("subtract", self.last, self.first)
        self.number = values.cast(values.size_value(count), self.kind)
        self.final = values.size_value(count - 1)
        self.own = own
        """Whether the ends are those of the array, so that every element has a bin."""

    def of(self, position: Any) -> Any:
        """The bin of the element at a position, as a size; behind the last one if the element is out of range."""
        element, zero, one = tracers.lift(self.array[position]), *(values.constant(number, I64) for number in (0, 1))
        quotient = emit("divide", emit("subtract", element, self.first), self.width)
        scaled = emit("multiply", quotient, self.number)
        inside = emit("logical_and", emit("greater_equal", element, self.first), emit("less_equal", element, self.last))
        if not self.own:
            scaled = values.select(inside, scaled, values.constant(0.0, self.kind))
        # The last bin has its right edge, the others have not; and the quotient may be off by a rounding at an edge.
        found = emit("minimum", values.cast(scaled, I64), self.final)
        before = emit("logical_and", emit("less", element, self._edge(found, 0)), emit("greater", found, zero))
        found = values.select(before, emit("subtract", found, one), found)
        behind = emit(
            "logical_and", emit("greater_equal", element, self._edge(found, 1)), emit("less", found, self.final)
        )
        found = values.select(behind, emit("add", found, one), found)
        if not self.own:
            found = values.select(inside, found, values.size_value(self.count))
        return tracers.size_of(runtime_sizes.bind(found, "bin", self.count - self.own))

    def _edge(self, found: Value, distance: int) -> Value:
        """The left or right edge of a bin."""
        size = runtime_sizes.bind(found, "bin", self.count - 1)
        return tracers.lift(self.edges[tracers.size_of(size + distance)])


def _added(bins: _Bins, size: Dim, weights: Value | None) -> Any:
    """How many elements are in each bin, or their weights added up."""
    number, stop = tracers.size_of(bins.count + 1), tracers.size_of(size)
    given = None if weights is None else new(weights)
    found = creation.full(number, 0, np.dtype(np.int64) if given is None else given.dtype)

    def count(position: Any) -> None:
        slot = bins.of(position)
        found[slot] = found[slot] + 1

    def block(start: Any) -> None:
        assert given is not None
        sums = creation.full(number, 0.0, np.dtype(np.float64))

        def add(position: Any) -> None:
            slot = bins.of(position)
            sums[slot] = sums[slot] + given[position]

        end = tracers.size_of(minimum(tracers.dim_of(start) + _BLOCK, size))
        own_loop(Range(start, end, 1), add)
        found[...] = found + sums.astype(given.dtype)

    if given is None:
        own_loop(Range(0, stop, 1), count)
    else:
        own_loop(Range(0, stop, _BLOCK), block)
    return found[: tracers.size_of(bins.count)].copy()
