"""Sequences as signals and polynomials: convolution, phases, coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import array_operand, as_int, as_value, new, static_int
from jitflow.frontend.numpy import written_algebra
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.numpy.routines import fresh, new_results, split
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.scalar import pinned
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, minimum

__all__ = ["FUNCTIONS"]

# -- convolution ------------------------------------------------------------------------------------------


def _line(item: Any) -> Value:
    value = array_operand(item)
    return value if values.rank(value) else values.reshape(value, (1,))


def _overlap(first: Value, second: Value, mode: str) -> Dim:
    (one,), (other,) = values.dims(first), values.dims(second)
    if mode == "full":
        return current_trace().not_negative(one + other - 1)
    longer, shorter = maximum(one, other), minimum(one, other)
    return longer if mode == "same" else longer - shorter + 1


def _mode(mode: Any) -> str:
    modes = ("valid", "same", "full")
    mode = pinned(mode)
    if isinstance(mode, int) and not isinstance(mode, bool) and 0 <= mode < len(modes):
        return modes[mode]
    if mode not in modes:
        if not isinstance(mode, str):
            raise UserTypeError("convolve/correlate mode not understood")
        raise UserValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return str(mode)


def _sliding(function: Any, default: str) -> Any:
    def handler(a: Any, v: Any, mode: Any = default) -> Any:
        first, second = (_line(item) if function is np.convolve else array_operand(item) for item in (a, v))
        options = {"mode": _mode(mode)}
        new_options = split(first, second, **options)
        new_options.sampled(function)
        return new_options.new(function, [(_overlap(first, second, options["mode"]),)])

    handler.__name__ = function.__name__
    return handler


# -- polynomials ----------------------------------------------------------------------------------------------


def polyder(p: Any, m: Any = 1) -> Any:
    order, coefficients = static_int(m, "m"), as_tracer(p)
    if order < 0:
        raise UserValueError("Order of derivative must be positive (see polyint)")
    for _ in range(order):
        coefficients = coefficients[:-1] * arange(coefficients.shape[0] - 1, 0, -1)
    return coefficients


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    order, coefficients = static_int(m, "m"), as_tracer(p)
    if order < 0:
        raise UserValueError("Order of integral must be positive (see polyder)")
    constants: Any = [0.0] * order if k is None else np.atleast_1d(as_tracer(k))
    if k is not None and constants.shape[0] == 1 and order > 1:
        constants = [constants[0]] * order
    for step in range(order):
        divided = coefficients / arange(coefficients.shape[0], 0, -1)
        coefficients = np.concatenate([divided, np.atleast_1d(as_tracer(constants[step]))])
    return coefficients


def _poly_sum(ufunc: Any) -> Any:
    def handler(a1: Any, a2: Any) -> Any:
        first, second = as_tracer(a1), as_tracer(a2)
        first, second = (np.reshape(item, (1,)) if item.ndim == 0 else item for item in (first, second))
        one, other = first.shape[0], second.shape[0]
        if one < other:
            first = np.concatenate([np.zeros_like(first, shape=(other - one,)), first])
        elif other < one:
            second = np.concatenate([np.zeros_like(second, shape=(one - other,)), second])
        return ufunc(first, second)

    return handler


def polymul(a1: Any, a2: Any) -> Any:
    """Leading zeros go, as they do in NumPy's polynomials, so the data decides the size."""
    return np.convolve(_without_leading_zeros(a1), _without_leading_zeros(a2))


def _is_empty(
    count: Dim, error: type[Exception] = NotImplementedError, message: str = "a polynomial without a number in it"
) -> bool:
    """Whether there are no numbers: decided now, or, of a count that only the program finds, an error when it runs."""
    trace = current_trace()
    if not trace.is_open(count):
        return trace.decide(count, "==", 0, "a polynomial")
    values.check(values.emit("greater_equal", values.size(count), values.size(1)), error, message)
    return False


def _without_leading_zeros(item: Any) -> Any:
    """A line from its first element on that is not 0; one 0 where there is none."""
    value = _line(item)
    (count,) = values.dims(value)
    line: Any = new(value)
    if values.rank(value) == 1 and _is_empty(count):
        return np.zeros_like(line, shape=(1,))
    nonzero = np.not_equal(line, 0)
    first = np.where(np.any(nonzero), np.argmax(nonzero), line.shape[0] - 1)
    return line[first:]


def polydiv(u: Any, v: Any) -> Any:
    shapes = [(fresh("quotient"),), (fresh("remainder"),)]
    return new_results(np.polydiv, [_line(u), _line(v)], shapes)


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    points, data = array_operand(x), array_operand(y)
    degree, weights = static_int(as_int(deg), "deg"), None if w is None else array_operand(w)
    if degree < 0:
        raise UserValueError("expected deg >= 0")
    if values.rank(points) != 1:
        raise UserTypeError("expected 1D vector for x")
    if values.rank(data) not in (1, 2):
        raise UserTypeError("expected 1D or 2D array for y")
    scaled = pinned(cov)
    if not full and not scaled:
        return _fitted(points, data, degree + 1, rcond, weights)
    arguments = split(points, data, deg=degree, rcond=rcond, full=bool(full), w=weights, cov=scaled)
    of_x, of_y = (values.dtype_of_value(item) for item in (points, data))
    matrix = np.complex128 if of_x.is_complex else np.float64
    solution = np.complex128 if of_x.is_complex or of_y.is_complex else np.float64
    columns = values.dims(data)[1:]
    shape = (degree + 1, *columns)
    if full:
        given = as_value(of_x.numpy.type(1) + 0.0 if rcond is None else rcond)
        tolerance = values.dtype_of_value(given).real.numpy
        shapes = [shape, (fresh("residuals"),), None, (degree + 1,), None]
        found = arguments.new(np.polyfit, shapes, kinds=[solution, np.float64, np.int32, np.float64, tolerance])
        return found if rcond is None else (*found[:-1], rcond)  # NumPy hands back the very number
    spread = (1,) if columns and scaled == "unscaled" else columns
    return arguments.new(np.polyfit, [shape, (degree + 1, degree + 1, *spread)], kinds=[solution, matrix])


def _fitted(points: Value, data: Value, terms: int, rcond: Any, weights: Value | None) -> Any:
    """The coefficients alone, in NumPy's words."""
    (count,), (rows, *_) = values.dims(points), values.dims(data)
    if _is_empty(count, TypeError, "expected non-empty vector for x"):
        raise UserTypeError("expected non-empty vector for x")
    broadcasting.require_equal(count, rows, "expected x and y to have same length", error=TypeError)
    x: Any = new(points) + 0.0
    right: Any = new(data) + 0.0
    if rcond is None:
        rcond = x.shape[0] * float(np.finfo(x.dtype).eps)
    left = np.vander(x, terms)
    if weights is not None:
        if values.rank(weights) != 1:
            raise UserTypeError("expected a 1-d array for weights")
        message = "expected w and y to have the same length"
        broadcasting.require_equal(rows, values.dims(weights)[0], message, error=TypeError)
        column = new(weights) + 0.0
        left = left * column[:, None]
        right = right * (column[:, None] if right.ndim == 2 else column)
    scale = np.sqrt((left * left).sum(axis=0))
    found = np.linalg.lstsq(left / scale, right, rcond)[0]
    return found / (scale[:, None] if right.ndim == 2 else scale)


def poly(seq_of_zeros: Any) -> Any:
    zeros: Any = np.atleast_1d(as_tracer(seq_of_zeros))
    if zeros.ndim == 2:
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise UserValueError("input must be 1d or non-empty square 2d array.")
    elif _is_empty(values.dims(zeros.value)[0]):
        return 1.0
    elif zeros.dtype.char not in "fFD":
        zeros = astype(zeros, np.float64)
    return surface.written(written_algebra.poly)(zeros)


def roots(p: Any) -> Any:
    given: Any = np.atleast_1d(as_tracer(p))
    if given.ndim != 1:
        raise UserValueError("Input must be a rank-1 array.")
    return surface.written(written_algebra.roots)(given if given.dtype.kind in "fc" else astype(given, np.float64))


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.convolve: _sliding(np.convolve, "full"),
        np.correlate: _sliding(np.correlate, "valid"),
        np.unwrap: as_written(np.unwrap, "period"),
        np.polyder: polyder,
        np.polyint: polyint,
        np.polyadd: _poly_sum(np.add),
        np.polysub: _poly_sum(np.subtract),
        np.polymul: polymul,
        np.polydiv: polydiv,
        np.polyfit: polyfit,
        np.poly: poly,
        np.roots: roots,
    }
)
