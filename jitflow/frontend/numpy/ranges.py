"""Numbers in a line: ``arange``, and what divides an interval, ``linspace`` and its kin.

How many numbers there are may be known now, a size, or a number of the running program.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError, UserZeroDivisionError
from jitflow.frontend.arrays import runtime_sizes
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_value,
    dtype_argument,
    is_bool,
    new,
    numpy_says,
    operand,
    refuse,
    require_no_less_than_zero,
    sizes_of,
)
from jitflow.frontend.arrays.promotion import convert, result_dtype
from jitflow.frontend.control.logic import SEVERAL
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit, size_value
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.dtypes import BOOL, C128, F32, F64, I64, DType, dtype_of

__all__ = ["FUNCTIONS", "REPLACEMENTS", "arange", "line", "linspace"]

# -- steps of one length --------------------------------------------------------------------------------


def size_dim(item: Any) -> Dim | None:
    """A number as a dim if it is a whole number that is known or a size, else None."""
    if isinstance(item, tracers.SizeTracer):
        return tracers.dim_of(item)
    item = pinned(item)
    if isinstance(item, tracers.Tracer):
        raise refuse("a range whose bounds are computed at run time", "use sizes, literals or static arguments")
    return int(item) if float(item) == int(item) else None


def arange(*bounds: Any, start: Any = ABSENT, stop: Any = ABSENT, step: Any = None, dtype: Any = None,
           device: Any = None, like: Any = None) -> Any:  # fmt: skip
    if not bounds and stop is ABSENT:
        raise UserTypeError("arange() requires stop to be specified.")
    first, last, pace, kind = (*bounds, *(start, stop, step, dtype)[len(bounds) :])
    if last is None or last is ABSENT:  # the first bound stands alone
        first, last = 0, None if first is ABSENT else first
    first, pace = 0 if first is ABSENT else first, 1 if pace is None else pace
    if first is None or last is None:
        names = " and ".join(f"'{_class_name(item)}'" for item in (last, first))
        raise UserTypeError(f"unsupported operand type(s) for -: {names}")
    first, last, pace = (tracers.as_size(pinned(item)) for item in (first, last, pace))
    arrays = [item for item in (first, last, pace) if isinstance(item, tracers.ArrayTracer) and item.ndim]
    if any(product(values.dims(item.value)) != 1 for item in arrays):
        raise UserValueError(SEVERAL)
    if arrays:
        raise UserTypeError("only 0-dimensional arrays can be converted to Python scalars")
    kinds = [_kind(item) for item in (first, last, pace)]
    wanted = dtype_argument(kind, dtype_argument(np.result_type(np.int64, *(kind.numpy for kind in kinds if kind))))
    return new(line(first, pace, _steps(first, last, pace), wanted))


def _class_name(item: Any) -> str:
    return str(item.__class__.__name__)


def _steps(first: Any, last: Any, pace: Any) -> Dim:
    """How many numbers a range has."""
    if any(isinstance(item, tracers.ScalarTracer | tracers.ArrayTracer) for item in (first, last, pace)):
        return _running_steps(first, last, pace)
    dims = [size_dim(item) for item in (first, last, pace)]
    if any(isinstance(item, tracers.Tracer) for item in (first, last, pace)):
        start, stop, step = dims
        if start is None or stop is None or step is None:
            raise refuse("a range over a size with fractional bounds or step", "multiply np.arange(n) by the step")
        if step == 0:
            raise UserZeroDivisionError("division by zero")
        if not isinstance(step, int):  # a size, which is not negative
            nonzero = emit("not_equal", values.size(step), values.size(0))
            values.check(nonzero, ZeroDivisionError, "division by zero")
        backward = isinstance(step, int) and step < 0
        span, width = (
            current_trace().not_negative(start - stop if backward else stop - start),
            -step if backward else step,
        )
        return (span + (width - 1)) // width
    return len(numpy_says(np.arange, first, last, pace))


def _kind(bound: Any) -> DType | None:
    if isinstance(bound, tracers.SizeTracer):
        return I64
    if isinstance(bound, tracers.Tracer):
        return values.dtype_of_value(tracers.lift(bound))
    return dtype_of(np.asarray(bound).dtype)


def _running_steps(first: Any, last: Any, pace: Any) -> Dim:
    """The number of steps where only the running program knows the bounds: a quotient of theirs, rounded up."""
    zero, one = values.constant(0.0, F64), values.constant(1.0, F64)
    span = last - first
    quotient = span / pace
    if _kind(quotient) == C128:
        quotient = np.minimum(quotient.real, quotient.imag)
    ratio = as_value(quotient, F64)
    values.check(emit("equal", ratio, ratio), ValueError, "arange: cannot compute length")
    finite = emit("less", emit("absolute", ratio), values.constant(2.0**62, F64))
    values.check(finite, ValueError, "Maximum allowed size exceeded")
    # A step so long that the quotient is 0 leaves the first number, if it leads towards the end.
    vanished = emit("logical_and", emit("equal", ratio, zero), as_value(np.not_equal(span, 0)))
    ahead = emit("logical_and", vanished, emit("logical_not", emit("signbit", ratio)))
    count = values.select(ahead, one, emit("maximum", emit("ceil", ratio), zero))
    return runtime_sizes.bind(values.cast(count, I64), "count")


def line(first: Any, pace: Any, count: Dim, dtype: DType) -> Value:
    """``start + i * delta`` in ``dtype``, where delta is what rounding leaves of ``(start + step) - start``."""
    if dtype == BOOL:
        return _bools(first, pace, count)
    if dtype.is_integer:
        index = values.iota(dtype, (count,))
        if not (type(pace) is int and pace == 1 and _is_python_int(first)):
            index = emit("multiply", index, _whole_step(first, pace, dtype))
        plain = type(first) is int and first == 0
        return index if plain else emit("add", index, convert(operand(first), dtype))
    wide = F32 if dtype.bits == 16 else dtype
    start, second = (values.cast(convert(operand(number), dtype), wide) for number in (first, first + pace))
    delta = emit("subtract", second, start)
    index = values.iota(wide, (count,))
    found = emit("add", start, emit("multiply", index, delta))
    if isinstance(pace, tracers.Tracer):  # it may be infinite, and 0 * inf is nan
        found = values.select(emit("equal", index, values.constant_like(0, index)), start, found)
    return values.cast(found, dtype)


def _whole_step(first: Any, pace: Any, dtype: DType) -> Value:
    """The step of a range of integers: as long as it is from the first number to the second, each cut off."""
    if _is_python_int(first) and _is_python_int(pace):
        return as_value(convert(operand(pace), dtype))
    start, second = (convert(operand(number), dtype) for number in (first, first + pace))
    return emit("subtract", second, start)


def _is_python_int(number: Any) -> bool:
    kind = _kind(number)
    return tracers.is_weak(number) and kind is not None and kind.is_integer


def _bools(first: Any, pace: Any, count: Dim) -> Value:
    """A range of at most two bools: whether its numbers differ from 0."""
    error = "arange() is only supported for booleans when the result has at most length 2."
    if current_trace().known(2, ">=", count) is False:
        raise UserTypeError(error)
    if current_trace().known(2, ">=", count) is None:
        values.check(emit("less_equal", values.size(count), values.size(2)), TypeError, error)
    index = values.iota(I64, (count,))
    start, second = (values.cast(as_value(number), BOOL) for number in (first, first + pace))
    return values.select(emit("equal", index, values.constant(0, I64)), start, second)


# -- parts of an interval -------------------------------------------------------------------------------

_SAMPLES = "Number of samples, {}, must be non-negative."


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None,
             axis: Any = 0, *, device: Any = None) -> Any:  # fmt: skip
    count = _samples(num)
    low, high = array_operand(start), array_operand(stop)
    loop = result_dtype(operand(start), operand(stop), 0.0)
    wanted = dtype_argument(dtype, loop)
    first, last = new(values.as_scalar(values.cast(low, loop))), new(values.as_scalar(values.cast(high, loop)))
    delta = np.subtract(last, first)
    index = new(values.reshape(values.iota(loop, (count,)), (count,) + (1,) * delta.ndim))
    intervals = count - 1 if endpoint else count
    some = current_trace().known(intervals, ">=", 1)
    if retstep and some is None:  # without intervals, the step is another object: Python's nan
        some = _has_intervals(intervals)
    # One number or none is what it would be if there were one interval.
    parts = new(values.cast(size_value(intervals if some else maximum(intervals, 1)), loop.real))
    step = np.divide(delta, parts)
    # A step that underflows to 0 would lose the line: NumPy divides first then.
    vanishes = np.any(np.equal(step, 0))
    line = np.where(vanishes, index / parts * delta, index * step) + first
    if endpoint:
        line = np.where(np.equal(index, parts), last, line)
    if axis != 0:
        line = np.moveaxis(line, 0, axis)
    if wanted.is_integer:
        line = np.floor(line)
    result = new(values.cast(array_operand(line), wanted))
    return (result, step if some else np.nan) if retstep else result


def _has_intervals(intervals: Dim) -> bool:
    """Whether a step can be told, by the sizes of this call; where the running program decides, it has to be."""
    trace = current_trace()
    if not trace.is_open(intervals):
        return trace.decide(intervals, ">=", 1, "the step of np.linspace")
    some = emit("greater_equal", values.size(intervals), values.size(1))
    values.check(some, UserNotImplementedError, "np.linspace(..., retstep=True) without intervals, found when it runs")
    return True


def _samples(num: Any) -> Dim:
    """How many numbers are asked for."""
    count = tracers.dim_of(num, _SAMPLES)
    require_no_less_than_zero(count, _SAMPLES)
    return count


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None,
             axis: Any = 0) -> Any:  # fmt: skip
    if np.ndim(base):
        raise refuse("logspace with an array of bases", "write np.power(base, np.linspace(...))")
    result = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else new(values.cast(array_operand(result), dtype_argument(dtype)))


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    first, last = new(values.as_scalar(array_operand(start))), new(values.as_scalar(array_operand(stop)))
    for end in (first, last):
        nonzero = values.as_scalar(as_value(np.all(np.not_equal(end, 0))))
        values.check(nonzero, ValueError, "Geometric sequence cannot include zero")
    kind = np.result_type(first.dtype, last.dtype, 0.0, *([] if dtype is None else [dtype_argument(dtype).numpy]))
    if kind.kind == "c":
        raise refuse("geomspace of complex numbers", "use np.exp of np.linspace between the logarithms")
    first, last = (new(values.cast(as_value(item), dtype_argument(kind))) for item in (first, last))
    sign = np.sign(first)
    low, high = first / sign, last / sign
    count = _samples(num)
    result = logspace(np.log10(low), np.log10(high), count, endpoint, 10.0)
    index = new(values.reshape(values.iota(I64, (count,)), (count,) + (1,) * (result.ndim - 1)))
    result = np.where(np.equal(index, 0), low, result)
    if endpoint:
        result = np.where(np.equal(index, new(size_value(maximum(count - 1, 1)))), high, result)
    result = np.moveaxis(result * sign, 0, axis) if axis != 0 else result * sign
    return new(values.cast(array_operand(result), dtype_argument(dtype, dtype_argument(kind))))


def _points(n: Any) -> Dim:
    """How many points there are, which NumPy takes of Python's and NumPy's integers alone."""
    is_integer = isinstance(n, int | np.integer | tracers.SizeTracer | tracers.ScalarTracer)
    if not is_integer or (is_bool(n) and not isinstance(n, bool)):
        raise UserValueError("n should be an integer")
    return tracers.dim_of(n)


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    count = _points(n)
    if n is not False:
        sizes_of(n)  # which takes no bool
    index = values.iota(I64, (count,))
    positive = (count - 1) // 2 + 1
    wrapped = emit("subtract", index, size_value(count))
    signed = emit("select", emit("less", index, size_value(positive)), index, wrapped)
    return np.multiply(new(signed), 1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    count = _points(n)
    return np.multiply(new(values.iota(I64, (count // 2 + 1,))), 1.0 / (n * d))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType({np.linspace: linspace, np.logspace: logspace, np.geomspace: geomspace})
"""What dispatches on its arguments."""

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType(
    {np.arange: arange, np.fft.fftfreq: fftfreq, np.fft.rfftfreq: rfftfreq}
)
"""What does not: sizes are no arrays."""
