"""The bounds of slices: ``start:stop:step`` of an axis as the position of the first element, a size and a step.

Bounds and steps that arguments determine stay expressions, and what they decide (the sign of the step, from which end a
bound counts) becomes a fact. Those that only the running program knows are clamped when it runs. A step whose sign
nobody knows is the difference of two sizes, of which one is 0.
"""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import runtime_sizes
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Scalar

__all__ = ["slice_bounds"]

_ZERO_STEP = "slice step cannot be zero"


def slice_bounds(item: slice, size: Dim) -> tuple[Dim, Dim, Dim]:
    """Start, size and step of a slice of an axis. Raises ValueError, now or at run time, if the step is 0.

    A start beyond the end stays as it is; the size is 0 then.
    """
    start, count, step = _bounds(item, runtime_sizes.shortened(size))
    return current_trace().shortened(start), runtime_sizes.shortened(count), step


def _bounds(item: slice, size: Dim) -> tuple[Dim, Dim, Dim]:
    step = 1 if item.step is None else _step(item.step)
    if step is None:
        return _running_bounds(item, size)
    backwards = not current_trace().decide(step, ">=", 1, "the step of a slice")
    numbers = [tracers.as_size(pinned(bound)) for bound in (item.start, item.stop)]
    start, stop = (_bound(number, size, backwards) for number in numbers)
    if step == 1 and _is_next(*numbers):
        return _one_or_none(start, stop)
    return _known_bounds(start, stop, size, step, backwards)


def _known_bounds(start: Dim | None, stop: Dim | None, size: Dim, step: Dim, backwards: bool) -> tuple[Dim, Dim, Dim]:
    """Bounds are kept as the alternatives that clamping chooses from.

    ``stop`` is the least of some dims, ``start`` the greatest of some (the other way round for negative steps). So the
    size is the least difference of any two, and comes out as plainly as it can: ``x[1:-1]`` has ``max(n - 2, 0)``
    elements.
    """
    trace = current_trace()
    if start is None and stop is None and not backwards:
        return 0, _count(size, step), step

    def from_end(bound: Dim) -> bool:
        if trace.is_open(bound) and trace.known(bound, ">=", 0) is None:
            return False  # clamped when the program runs, to -1 at the least
        return not trace.decide(bound, ">=", 0, "a bound of a slice")

    if not backwards:
        starts = [0] if start is None else [size + start, 0] if from_end(start) else [start]
        stops = [size] if stop is None else [size + stop] if from_end(stop) else [stop, size]
        if stop is not None and trace.known(size, ">=", stop):
            stops = stops[:1]
        span = minimum(*(last - first for last in stops for first in starts))
        first = maximum(*starts)
    else:
        starts = [size - 1] if start is None else [size + start] if from_end(start) else [start, size - 1]
        stops = [-1] if stop is None else [size + stop, -1] if from_end(stop) else [stop]
        span = minimum(*(first - last for last in stops for first in starts))
        first = minimum(*starts)
    return first, _count(trace.not_negative(span), -step if backwards else step), step


def _is_next(start: Any, stop: Any) -> bool:
    """Whether both bounds are known when the program runs, so that they are clamped, and ``stop`` is ``start + 1``."""
    if not all(isinstance(bound, tracers.NumberTracer) for bound in (start, stop)):
        return False
    (base, number), (other, another) = (runtime_sizes.sum_of(bound.value) for bound in (start, stop))
    return base is other and another == number + 1


def _one_or_none(start: Dim | None, stop: Dim | None) -> tuple[Dim, Dim, Dim]:
    """The bounds of a slice that has one element, or none at the end of the axis: its size says so."""
    assert start is not None
    assert stop is not None
    span = emit("subtract", values.size_value(stop), values.size_value(start))
    return start, runtime_sizes.bind(emit("maximum", span, values.constant(0, I64)), "count", 1), 1


def _count(span: Dim, stride: Dim) -> Dim:
    """How many of ``span`` elements stand at multiples of ``stride``."""
    if stride == 1:
        return span
    if isinstance(stride, int):
        return (span + (stride - 1)) // stride
    return (span - 1) // stride + 1  # a large stride plus a large span may not be a number of 64 bits


def _bound(bound: Any, size: Dim, backwards: bool) -> Dim | None:
    if bound is None:
        return None
    if runtime_sizes.is_running(bound):
        return runtime_sizes.clamped(_integral(bound), size, backwards=backwards)
    return _dim(bound)


def _step(step: Any) -> Dim | None:
    """The step, None if its sign is known only when the program runs."""
    step = tracers.as_size(pinned(step))
    if isinstance(step, tracers.ArrayTracer | tracers.ScalarTracer):
        _integral(step)
        return None
    known = _dim(step)
    if current_trace().is_open(known) and not _has_sign(known):
        return None
    if current_trace().decide(known, "==", 0, "the step of a slice"):
        raise UserValueError(_ZERO_STEP)
    return known


def _has_sign(dim: Dim) -> bool:
    known = current_trace().known
    return bool(known(dim, ">=", 1) or known(-dim, ">=", 1) or known(dim, "==", 0))


def _dim(number: Any) -> Dim:
    try:
        return tracers.dim_of(number)
    except TypeError:
        raise _not_integral() from None


def _integral(number: Any) -> Any:
    value = tracers.lift(number)
    if isinstance(value.type, Scalar) and value.type == Scalar(BOOL, True):
        return tracers.wrap(values.cast(value, I64))
    if not values.dtype_of_value(value).is_integer:
        raise _not_integral()
    return number


def _not_integral() -> UserTypeError:
    return UserTypeError("slice indices must be integers or None or have an __index__ method")


# -- steps of either sign -----------------------------------------------------------------------------------


def _running_bounds(item: slice, size: Dim) -> tuple[Dim, Dim, Dim]:
    """`slice_bounds` where the program computes all of them when it runs, as Python does."""
    zero, one = values.constant(0, I64), values.constant(1, I64)
    length = values.cast(values.size_value(size), I64)
    step = runtime_sizes.integer(item.step)
    values.check(emit("not_equal", step, zero), ValueError, _ZERO_STEP)
    most = emit("maximum", length, one)  # a longer step leads to no other element
    step = emit("maximum", emit("minimum", step, most), emit("negative", most))
    backwards = emit("less", step, zero)
    stride = emit("absolute", step)
    low = values.select(backwards, values.constant(-1, I64), zero)
    high = emit("add", length, low)
    start = _clamped(item.start, length, low, high, values.select(backwards, high, low))
    stop = _clamped(item.stop, length, low, high, values.select(backwards, low, high))
    span = emit("subtract", *(values.select(backwards, one, other) for one, other in ((start, stop), (stop, start))))
    some = emit("greater", span, zero)
    count = emit("add", emit("floor_divide", emit("subtract", emit("maximum", span, one), one), stride), one)
    first = runtime_sizes.bind(values.select(some, start, zero), "start", size)
    found = runtime_sizes.bind(values.select(some, count, zero), "count", size)
    up, down = (runtime_sizes.bind(emit("maximum", pace, zero), "step") for pace in (step, emit("negative", step)))
    return first, found, up - down


def _clamped(bound: Any, length: Value, low: Value, high: Value, missing: Value) -> Value:
    """A bound counted from the front, between ``low`` and ``high``."""
    if bound is None:
        return missing
    number = runtime_sizes.integer(_integral(pinned(bound)))
    return emit("minimum", emit("maximum", runtime_sizes.from_front(number, length), low), high)
