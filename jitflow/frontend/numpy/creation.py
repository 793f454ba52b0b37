"""Arrays from sizes and numbers, and from what is an array already."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError, UserZeroDivisionError
from jitflow.frontend.numpy import broadcasting, layouts, runtime_sizes, values
from jitflow.frontend.numpy.casts import as_element, as_object
from jitflow.frontend.numpy.joining import stack_values
from jitflow.frontend.numpy.operands import (
    array_operand,
    as_value,
    dtype_argument,
    new,
    numpy_says,
    operand,
    pinned,
    refuse,
    shape_argument,
    static_int,
    view,
)
from jitflow.frontend.numpy.promotion import convert, result_dtype
from jitflow.frontend.numpy.values import emit, size_value
from jitflow.frontend.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, DTYPES, F32, F64, I64, DType, dtype_of

__all__ = ["FUNCTIONS", "REPLACEMENTS", "array", "array_from_sequence", "array_object", "copied", "size_dim"]

# -- one number everywhere ------------------------------------------------------------------------------


def full_value(shape: tuple[Dim, ...], number: Any, dtype: DType) -> Value:
    """An array of one number."""
    return values.fill(convert(operand(number), dtype), shape)


def _filled(number: int) -> Callable[..., Any]:
    def create(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None) -> Any:
        return layouts.made(new(full_value(shape_argument(shape), number, dtype_argument(dtype, F64))), order)

    return create


def _filled_like(number: int) -> Callable[..., Any]:
    def create(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
               device: Any = None) -> Any:  # fmt: skip
        value = array_operand(a)
        dims = values.dims(value) if shape is None else shape_argument(shape)
        made = new(full_value(dims, number, dtype_argument(dtype, values.dtype_of_value(value))))
        return layouts.made(made, order, value)

    return create


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
         like: Any = None) -> Any:  # fmt: skip
    filler = array_operand(fill_value)
    made = _spread(filler, shape_argument(shape), dtype_argument(dtype, values.dtype_of_value(filler)), fill_value)
    return layouts.made(made, order)


def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
              device: Any = None) -> Any:  # fmt: skip
    value = array_operand(a)
    dims = values.dims(value) if shape is None else shape_argument(shape)
    made = _spread(array_operand(fill_value), dims, dtype_argument(dtype, values.dtype_of_value(value)), fill_value)
    return layouts.made(made, order, value)


def _spread(filler: Value, dims: tuple[Dim, ...], dtype: DType, original: Any) -> Any:
    if not values.rank(filler):
        return new(full_value(dims, original, dtype))
    source = values.dims(filler)
    while len(source) > len(dims) and broadcasting.is_one(source[0]):
        source = source[1:]
    message, shapes = broadcasting.DOES_NOT_FIT, (source, dims)
    if len(source) > len(dims):
        raise UserValueError(broadcasting.with_shapes(message, shapes))
    broadcasting.require_fit(source, dims, message)
    filler = values.reshape(values.cast(filler, dtype), source, assumed=True)
    return new(broadcasting.broadcast_to(filler, dims))


# -- ranges ---------------------------------------------------------------------------------------------


def size_dim(item: Any) -> Dim | None:
    """A number as a dim if it is a whole number that is known or a size, else None."""
    if isinstance(item, tracers.SizeTracer):
        return tracers.dim_of(item)
    item = pinned(item)
    if isinstance(item, tracers.Tracer):
        raise refuse("a range whose bounds are computed at run time", "use sizes, literals or static arguments")
    return int(item) if float(item) == int(item) else None


def arange(*bounds: Any, start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None,
           device: Any = None, like: Any = None) -> Any:  # fmt: skip
    if len(bounds) == 1:
        bounds = (bounds[0], stop) if stop is not None else (0 if start is None else start, bounds[0])
    first, last, pace = [*bounds, *(start, stop, step)[len(bounds) :]][:3]
    first, pace = 0 if first is None else first, 1 if pace is None else pace
    if last is None:
        raise UserTypeError("arange() requires stop to be specified.")
    first, last, pace = (tracers.as_size(pinned(item)) for item in (first, last, pace))
    kinds = [_kind(item) for item in (first, last, pace)]
    found = dtype_argument(np.result_type(*(kind.numpy for kind in kinds if kind)))
    wanted = dtype_argument(dtype, I64 if found == BOOL else found)
    return new(_ramp(first, pace, _steps(first, last, pace), wanted))


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
    """The number of steps where only the running program knows the bounds: NumPy divides in f64 and rounds up."""
    start, stop, step = (as_value(item, F64) for item in (first, last, pace))
    count = emit("ceil", emit("divide", emit("subtract", stop, start), step))
    finite = emit("less", emit("absolute", count), values.constant(2.0**62, F64))
    values.check(finite, ValueError, "Maximum allowed size exceeded")
    return runtime_sizes.bind(values.cast(emit("maximum", count, values.constant(0.0, F64)), I64), "count")


def _ramp(first: Any, pace: Any, count: Dim, dtype: DType) -> Value:
    """``start + i * delta`` in ``dtype``, where delta is what rounding leaves of ``(start + step) - start``."""
    if dtype == BOOL:
        return _bools(first, pace, count)
    if dtype.is_integer:
        index = values.iota(dtype, (count,))
        if not (isinstance(pace, int) and pace == 1):
            index = emit("multiply", index, convert(operand(pace), dtype))
        plain = type(first) is int and first == 0
        return index if plain else emit("add", index, convert(operand(first), dtype))
    wide = F32 if dtype.bits == 16 else dtype
    start, second = (values.cast(convert(operand(number), dtype), wide) for number in (first, first + pace))
    delta = emit("subtract", second, start)
    scaled = emit("multiply", values.iota(wide, (count,)), delta)
    return values.cast(emit("add", start, scaled), dtype)


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


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: Any = False, dtype: Any = None,
             axis: Any = 0, *, device: Any = None) -> Any:  # fmt: skip
    count = tracers.dim_of(num)
    if isinstance(count, int) and count < 0:
        raise UserValueError(f"Number of samples, {count}, must be non-negative.")
    low, high = array_operand(start), array_operand(stop)
    loop = result_dtype(operand(start), operand(stop), 0.0)
    wanted = dtype_argument(dtype, loop)
    first, last = new(values.as_scalar(values.cast(low, loop))), new(values.as_scalar(values.cast(high, loop)))
    delta = np.subtract(last, first)
    rank = delta.ndim
    intervals = count - 1 if endpoint else count
    index = new(values.reshape(values.iota(loop, (count,)), (count,) + (1,) * rank))
    if intervals == 0 or (isinstance(intervals, int) and intervals < 0):
        step: Any = np.nan
        line = index * delta + first
    else:
        parts = new(values.cast(size_value(intervals), loop.real))
        step = np.divide(delta, parts)
        # A step that underflows to 0 would lose the line: NumPy divides first then.
        vanishes = np.any(np.equal(step, 0))
        line = np.where(vanishes, index / parts * delta, index * step) + first
    if endpoint and count != 1:
        line = np.where(np.equal(index, new(values.cast(size_value(count - 1), loop.real))), last, line)
    if axis != 0:
        line = np.moveaxis(line, 0, axis)
    if wanted.is_integer:
        line = np.floor(line)
    result = new(values.cast(array_operand(line), wanted))
    return (result, step) if retstep else result


def logspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None,
             axis: Any = 0) -> Any:  # fmt: skip
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    if np.ndim(base):
        raise refuse("logspace with an array of bases", "write np.power(base, np.linspace(...))")
    result = np.power(base, exponents)
    return result if dtype is None else new(values.cast(array_operand(result), dtype_argument(dtype)))


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Any:
    first, last = new(values.as_scalar(array_operand(start))), new(values.as_scalar(array_operand(stop)))
    kind = np.result_type(first.dtype, last.dtype, 0.0)
    if kind.kind == "c":
        raise refuse("geomspace of complex numbers", "use np.exp of np.linspace between the logarithms")
    first, last = (new(values.cast(as_value(item), dtype_argument(kind))) for item in (first, last))
    sign = np.sign(first)
    low, high = first / sign, last / sign
    result = logspace(np.log10(low), np.log10(high), num, endpoint, 10.0)
    count = tracers.dim_of(num)
    index = new(values.reshape(values.iota(I64, (count,)), (count,) + (1,) * (result.ndim - 1)))
    result = np.where(np.equal(index, 0), low, result)
    if endpoint and count != 1:
        result = np.where(np.equal(index, new(size_value(count - 1))), high, result)
    result = np.moveaxis(result * sign, 0, axis) if axis != 0 else result * sign
    return new(values.cast(array_operand(result), dtype_argument(dtype, dtype_argument(kind))))


# -- matrices of zeros and ones, grids ----------------------------------------------------------------


def _band(rows: Any, columns: Any, k: Any, dtype: Any, comparison: str) -> Any:
    """1 where ``row + k`` compares with ``column``."""
    dims = shape_argument((rows, rows if columns is None else columns))
    row, column = values.iota(I64, dims, 0), values.iota(I64, dims, 1)
    shifted = emit("add", row, as_value(k, I64))
    return new(values.cast(emit(comparison, shifted, column), dtype_argument(dtype, F64)))


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None,  # noqa: N803
        like: Any = None) -> Any:  # fmt: skip
    return _band(N, M, k, dtype, "equal")


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _band(n, None, 0, dtype, "equal")


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:  # noqa: N803
    return _band(N, M, k, dtype, "greater_equal")


def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise UserValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    lines = [np.reshape(new(array_operand(x)), (1,) * order[place] + (-1,) + (1,) * (len(xi) - 1 - order[place]))
             for place, x in enumerate(xi)]  # fmt: skip
    grids = lines if sparse else list(np.broadcast_arrays(*lines))
    return tuple(np.copy(grid) for grid in grids) if copy else tuple(grids)


def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    dims, kind = shape_argument(dimensions), dtype_argument(dtype)
    if sparse:
        shapes = [tuple(dim if place == axis else 1 for place, dim in enumerate(dims)) for axis in range(len(dims))]
        return tuple(new(values.iota(kind, shape, axis)) for axis, shape in enumerate(shapes))
    return new(stack_values([values.iota(kind, dims, axis) for axis in range(len(dims))], 0))


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    dims, kind = shape_argument(shape), dtype_argument(dtype)
    return function(*(new(values.iota(kind, dims, axis)) for axis in range(len(dims))), **kwargs)


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    count = tracers.dim_of(n)
    index = values.iota(I64, (count,))
    positive = (count - 1) // 2 + 1
    wrapped = emit("subtract", index, size_value(count))
    signed = emit("select", emit("less", index, size_value(positive)), index, wrapped)
    return np.multiply(new(signed), 1.0 / (n * d))


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    count = tracers.dim_of(n)
    return np.multiply(new(values.iota(I64, (count // 2 + 1,))), 1.0 / (n * d))


# -- from what is an array already ----------------------------------------------------------------------


def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False,
          ndmin: Any = 0, ndmax: Any = 0, like: Any = None) -> Any:  # fmt: skip
    value = array_operand(object) if dtype is None else values.as_array(array_object(object, dtype_argument(dtype)))
    missing = static_int(ndmin, "ndmin") - values.rank(value)
    if missing > 0:
        value = values.reshape(value, (1,) * missing + values.dims(value))
    return layouts.made(new(value), order, value) if copy else view(value)


def fromiter(iter: Any, dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    number = static_int(count, "count")
    items = list(iter) if number < 0 else list(islice(iter, number))
    if len(items) < number:
        raise UserValueError(f"iterator too short: Expected {number} but iterator had only {len(items)} items.")
    return array(items, dtype) if items else full(0, 0, dtype)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None,
            like: Any = None) -> Any:  # fmt: skip
    if isinstance(a, tracers.VariableTracer) and not copy:
        a = a.numpy()  # an array of its own, as outside
    same = isinstance(a, tracers.ArrayTracer) and (dtype is None or np.dtype(dtype) == a.dtype)
    return a if same and not copy else array(a, dtype, copy=True)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    found = _in_order(asarray(a, dtype), "C")
    return np.reshape(found, (1,)) if found.ndim == 0 else found


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _in_order(asarray(a, dtype), "F")


def _in_order(array: Any, order: str) -> Any:
    value = as_value(array)
    axes = range(values.rank(value))[:: -1 if order == "F" else 1]
    turned = values.transpose(value, axes)
    found = layouts.in_order(turned, "a contiguous array") if values.rank(value) else turned
    return array if found is turned else view(values.transpose(found, axes))


def copied(a: Any, order: Any = "K", subok: Any = False) -> Any:
    value = array_operand(a)
    return layouts.made(new(value), order, value)


def array_object(item: Any, dtype: DType) -> Value:
    """What ``np.asarray(item, dtype)`` holds; of rank 0 for a number."""
    if isinstance(item, list | tuple):
        return array_from_sequence(item, dtype)
    return as_object(operand(item), dtype)


def array_from_sequence(items: Sequence[Any], dtype: DType | None = None) -> Value:
    """What ``np.array`` makes of nested lists in which tracers stand: strong dtypes, promoted, stacked."""
    if not any(isinstance(item, tracers.Tracer | list | tuple) for item in items):
        return tracers.lift(numpy_says(np.asarray, items, None if dtype is None else dtype.numpy))
    rows = [array_operand(item) if dtype is None else values.as_array(_item(item, dtype)) for item in items]
    ranks = {values.rank(row) for row in rows}
    shapes = {tuple(dim for dim in values.dims(row) if isinstance(dim, int)) for row in rows}
    if len(ranks) > 1 or (len(shapes) > 1 and all(isinstance(d, int) for row in rows for d in values.dims(row))):
        raise UserValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 "
            f"dimensions. The detected shape was ({len(rows)},) + inhomogeneous part."
        )
    return stack_values(rows, 0)


def _item(item: Any, dtype: DType) -> Value:
    """An item of a list that becomes an array of ``dtype``."""
    if isinstance(item, list | tuple):
        return array_from_sequence(item, dtype)
    given = operand(item)
    listed = isinstance(given, Value) and values.rank(given)
    return as_object(given, dtype) if listed else as_element(given, dtype)


def _converter(kind: type[np.generic]) -> Callable[..., Any]:
    """What calling a scalar type does: ``np.float32(x)`` converts numbers and arrays."""

    def convert_to(value: Any = 0, /) -> Any:
        if type(value) is int and issubclass(kind, np.integer):  # it may be too large for a Python int of the program
            return new(values.constant(int(numpy_says(kind, value)), dtype_argument(kind)))
        return new(values.as_scalar(array_object(value, dtype_argument(kind))))

    convert_to.__name__ = kind.__name__
    return convert_to


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.zeros_like: _filled_like(0),
        np.ones_like: _filled_like(1),
        np.empty_like: _filled_like(0),
        np.full_like: full_like,
        np.linspace: linspace,
        np.logspace: logspace,
        np.geomspace: geomspace,
        np.meshgrid: meshgrid,
        np.copy: copied,
    }
)
"""What dispatches on its arguments."""

REPLACEMENTS: Mapping[Any, Any] = MappingProxyType(
    {
        np.zeros: _filled(0),
        np.ones: _filled(1),
        np.empty: _filled(0),
        np.full: full,
        np.arange: arange,
        np.eye: eye,
        np.identity: identity,
        np.tri: tri,
        np.indices: indices,
        np.fromfunction: fromfunction,
        np.fft.fftfreq: fftfreq,
        np.fft.rfftfreq: rfftfreq,
        np.array: array,
        np.fromiter: fromiter,
        np.asarray: asarray,
        np.asanyarray: asarray,
        np.ascontiguousarray: ascontiguousarray,
        np.asfortranarray: asfortranarray,
        **{dtype.numpy.type: _converter(dtype.numpy.type) for dtype in DTYPES.values()},
    }
)
"""What does not dispatch: sizes and nested lists are no arrays. Runs in place of the function while tracing."""
