"""Functions of single elements that are not ufuncs: choosing, clipping, rounding, converting, comparing with tolerance.

Where NumPy writes a function in Python, so do we, in its words, on tracers: the ufuncs arrive at `calling`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, layouts
from jitflow.frontend.arrays.casts import require_cast
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_value,
    dtype_argument,
    new,
    numpy_says,
    operand,
    read_only_view,
    static_int,
    view,
)
from jitflow.frontend.arrays.promotion import convert, convert_wrapping, result_dtype
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.calling import compute, require_output, store_out
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, I64, DType
from jitflow.ir.types import Scalar

__all__ = [
    "FUNCTIONS",
    "as_tracer",
    "astype",
    "clip",
    "imag",
    "imag_part",
    "python_bool",
    "real",
    "real_part",
    "round_",
    "where",
]


def as_tracer(item: Any) -> Any:
    """What ``np.asanyarray`` gives: a tracer as it is if it is an array, else an array of it."""
    return item if isinstance(item, tracers.ArrayTracer) else new(array_operand(item))


def python_bool(flag: Any) -> Any:
    """A run-time answer as a Python bool."""
    return new(emit("cast", as_value(flag), dtype=BOOL, weak=True))


# -- choosing ---------------------------------------------------------------------------------------------


def where(condition: Any, x: Any = ABSENT, y: Any = ABSENT, /) -> Any:
    """The choice; with one argument it is the business of `searching`."""
    if x is ABSENT or y is ABSENT:
        raise UserValueError("either both or neither of x and y should be given")
    chosen = (operand(x), operand(y))
    dtype = result_dtype(*chosen)
    flags = values.cast(as_value(False if condition is None else condition), BOOL)
    converted = [convert_wrapping(item, dtype) for item in chosen]
    aligned, _ = broadcasting.align([values.as_scalar(item) for item in (flags, *converted)])
    return new(values.as_array(emit("select", *aligned)))


def clip(a: Any, a_min: Any = ABSENT, a_max: Any = ABSENT, out: Any = None, *, min: Any = ABSENT,
         max: Any = ABSENT, **keywords: Any) -> Any:  # fmt: skip
    if a_min is ABSENT and a_max is ABSENT:
        a_min, a_max = (None if bound is ABSENT else bound for bound in (min, max))
    elif min is not ABSENT or max is not ABSENT:
        raise UserValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        )
    elif a_min is ABSENT or a_max is ABSENT:
        missing = "a_min" if a_min is ABSENT else "a_max"
        raise UserTypeError(f"clip() missing 1 required positional argument: '{missing}'")
    return clip_method(a, a_min, a_max, out, **keywords)


def clip_method(a: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
    array = as_tracer(a)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        min = None if type(min) is int and min <= limits.min else _brought_in("maximum", min, int(limits.min))
        max = None if type(max) is int and max >= limits.max else _brought_in("minimum", max, int(limits.max))
    given = tuple(bound for bound in (min, max) if bound is not None)
    ufunc = _clip_ufunc if len(given) == 2 else np.positive if not given else np.minimum if min is None else np.maximum
    return numpy_says(ufunc, array, *given, out=out, **keywords)


def _brought_in(op: str, bound: Any, limit: int) -> Any:
    """A bound that is a Python int of the running program, and beyond the dtype where that makes no difference."""
    is_int = isinstance(bound, tracers.NumberTracer) and values.dtype_of_value(bound.value) == I64
    if not is_int or not -(2**63) <= limit < 2**63:
        return bound
    return tracers.wrap(emit(op, bound.value, emit("constant", value=limit, type=Scalar(I64, True))))


_clip_ufunc: Any = np._core.umath.clip  # type: ignore[attr-defined]
"""The ufunc behind np.clip: its promotion takes all three operands together."""


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise UserValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise UserValueError("select with an empty condition list is not possible")
    choices = [operand(item) for item in (*choicelist, default)]
    dtype = result_dtype(*choices)
    flags = [as_value(condition) for condition in condlist]
    for place, flag in enumerate(flags):
        if values.dtype_of_value(flag) != BOOL:
            raise UserTypeError(f"invalid entry {place} in condlist: should be boolean ndarray")
    *arrays, last = (array_operand(choice) for choice in choices)  # numbers are arrays by now
    result: Any = new(values.as_array(values.cast(last, dtype)))
    for choice in arrays:
        require_cast(values.broadcast_in(choice, (1,), ()) if not values.rank(choice) else choice, dtype, "same_kind")
    for flag, choice in zip(reversed(flags), reversed(arrays), strict=True):
        result = where(new(flag), new(values.as_scalar(values.cast(choice, dtype))), result)
    return result


# -- converting -------------------------------------------------------------------------------------------


def astype(x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True) -> Any:
    value, wanted = as_value(x), dtype_argument(dtype)
    found = values.dtype_of_value(value)
    require_cast(value, wanted, casting)
    if not copy and found == wanted:
        return x
    converted = values.cast(value, wanted)
    made = new(values.as_array(converted) if isinstance(x, tracers.ArrayTracer) else converted)
    return layouts.made(made, order, value)


def astype_function(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if not isinstance(x, np.ndarray | np.generic):
        raise UserTypeError(f"Input should be a NumPy array or scalar. It is a {x.__class__} instead.")
    return astype(x, dtype, copy=copy)


def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    value, digits = values.as_strong(as_value(a)), static_int(decimals, "decimals")
    dtype = values.dtype_of_value(value)
    if out is not None and not isinstance(out, tracers.ArrayTracer):
        raise UserTypeError("output must be an array")
    if out is not None and not dtype.is_complex:
        return _round_into(out, tracers.wrap(value, owned=False), digits)
    if dtype.is_complex:
        parts = (emit(part, value) for part in ("real", "imag"))
        result = emit("complex", *(_rounded(part, digits, dtype.real) for part in parts))
    else:
        result = _rounded(value, digits, dtype)
    if out is not None:
        return store_out(result, out, name="rint")
    return new(result if not values.rank(result) else values.as_array(result))


def _round_into(out: Any, a: Any, digits: int) -> Any:
    """Rounding in the memory of ``out``: all but the first step is computed in its dtype."""
    size, room = (broadcasting.total_size(as_value(item)) for item in (a, out))
    broadcasting.require_equal(size, room, "invalid output shape")
    if digits == 0 and a.dtype.kind not in "iu":
        return np.rint(a, out)
    if digits >= 0 and a.dtype.kind in "iu":
        copyto(out, a)
        return out
    scale, unscale = (np.multiply, np.true_divide) if digits > 0 else (np.true_divide, np.multiply)
    scale(a, 10.0 ** abs(digits), out=out)
    np.rint(out, out)
    return unscale(out, 10.0 ** abs(digits), out=out)


def _rounded(value: Value, digits: int, dtype: DType) -> Value:
    if dtype.is_integer and digits >= 0:
        return values.as_scalar(value)
    if digits == 0:
        return compute(np.rint, (value,))[0]
    if dtype == BOOL:
        numpy_says(np.multiply, np.ones((), bool), 1.0, out=np.ones((), bool))
    # Integers are scaled in float64, floats in their own dtype.
    (scale, unscale) = (np.multiply, np.true_divide) if digits > 0 else (np.true_divide, np.multiply)
    factor = 10.0 ** abs(digits)
    (scaled,) = compute(scale, (value, factor))
    (whole,) = compute(np.rint, (scaled,))
    (result,) = compute(unscale, (whole, factor))
    return values.cast(result, dtype) if dtype.is_integer else result


# -- complex numbers ------------------------------------------------------------------------------------------


def real_part(value: Value) -> Value:
    """The real part; a real number's is itself."""
    return emit("real", value) if values.dtype_of_value(value).is_complex else value


def imag_part(value: Value) -> Value:
    """The imaginary part; a real number's is 0."""
    if values.dtype_of_value(value).is_complex:
        return emit("imag", value)
    zero = values.constant_like(0, value)
    return values.fill(zero, values.dims(value)) if values.rank(value) else zero


def real(val: Any) -> Any:
    if isinstance(val, tracers.NumberTracer | tracers.SizeTracer):
        return val.real  # Python's number has an attribute of its own
    if isinstance(val, tracers.ArrayTracer) and val.dtype.kind != "c":
        return val
    return _shaped_like(val, _part("real", val) or real_part(as_value(val)))


def imag(val: Any) -> Any:
    if isinstance(val, tracers.NumberTracer | tracers.SizeTracer):
        return val.imag
    found = _part("imag", val) or imag_part(as_value(val))
    if isinstance(val, tracers.ArrayTracer) and val.dtype.kind != "c":
        return read_only_view(values.as_array(found))
    return _shaped_like(val, found)


def _part(name: str, array: Any) -> Value | None:
    """The part of a complex array, through which the array can be written to; None of anything else."""
    if not isinstance(array, tracers.ArrayTracer) or array.dtype.kind != "c":
        return None
    return current_trace().storage.parts.taken(array.value, name, array)


def _shaped_like(original: Any, result: Value) -> Any:
    """A 0-d array's part is a 0-d array, a scalar's a scalar; both are views as far as writing goes."""
    return view(values.as_array(result) if isinstance(original, tracers.ArrayTracer) else result)


def angle(z: Any, deg: Any = False) -> Any:
    array = as_tracer(z)
    complex_numbers = array.dtype.kind == "c"
    result = np.arctan2(imag(array) if complex_numbers else 0, real(array))
    return result * (180 / np.pi) if deg else result


def iscomplex(x: Any) -> Any:
    array = as_tracer(x)
    if array.dtype.kind == "c":
        return np.not_equal(imag(array), 0)
    return new(values.as_scalar(values.fill(values.constant(False, BOOL), values.dims(array.value))))


# -- special values, comparing with tolerance --------------------------------------------------------------------


def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> Any:
    x, y, rtol, atol = (item if _is_python_number(item) else as_tracer(item) for item in (a, b, rtol, atol))
    if not _is_python_number(y):
        y = astype(y, np.result_type(y.dtype, 1.0))
    elif isinstance(y, int):
        y = y * 1.0
    close = np.less_equal(abs(x - y), atol + rtol * abs(y))
    result = (close & np.isfinite(y)) | np.equal(x, y)
    return result | (np.isnan(x) & np.isnan(y)) if equal_nan else result


def _is_python_number(item: Any) -> bool:
    return isinstance(item, tracers.NumberTracer | tracers.SizeTracer) or type(item) in (int, float, complex, bool)


def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: Any = False) -> Any:
    return python_bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    if a1 is None or a2 is None:  # an array of an object
        return a1 is a2
    left, right = as_tracer(a1), as_tracer(a2)
    if left.ndim != right.ndim or not _same_dims(left.value, right.value):
        return False
    same = np.equal(left, right)
    if equal_nan:
        same = same | (np.isnan(left) & np.isnan(right))
    return python_bool(np.all(same))


def _same_dims(left: Value, right: Value) -> bool:
    decide = current_trace().decide
    pairs = zip(values.dims(left), values.dims(right), strict=True)
    return all(decide(one, "==", other, "comparing shapes") for one, other in pairs)


def array_equiv(a1: Any, a2: Any) -> Any:
    left, right = as_tracer(a1), as_tracer(a2)
    decide = current_trace().decide
    pairs = zip(values.dims(left.value)[::-1], values.dims(right.value)[::-1], strict=False)
    is_one = broadcasting.is_one
    meets = all(is_one(one) or is_one(other) or decide(one, "==", other, "comparing shapes") for one, other in pairs)
    return meets and python_bool(np.all(np.equal(left, right)))


def _signed_infinity(sign: str) -> Any:
    def handler(x: Any, out: Any = None) -> Any:
        negative = np.signbit(x)
        return np.logical_and(np.isinf(x), negative if sign == "-" else ~negative, out=out)

    return handler


def sinc(x: Any) -> Any:
    """``sin(pi x) / (pi x)``, near 0 by its power series: derivatives of the quotient cancel there."""
    scaled = np.pi * as_tracer(x)
    near = np.less(np.absolute(scaled), 0.5)
    square = scaled * scaled
    series, *others = [(-1.0) ** power / math.factorial(2 * power + 1) for power in range(7, -1, -1)]
    for coefficient in others:
        series = series * square + coefficient
    apart = np.where(near, 1.0, scaled)
    return 1.0 * np.where(near, series, np.sin(apart) / apart)  # a scalar where x is one


def fix(x: Any, out: Any = None) -> Any:
    return np.trunc(x, out=out)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``np.copyto``: an assignment; of an array to itself it is nothing, also where that is read-only."""
    given_array = isinstance(dst, tracers.ArrayTracer) and isinstance(src, tracers.ArrayTracer) and dst.ndim
    if given_array and current_trace().storage.same_view(dst.value, src.value):
        return
    wanted, given = dtype_argument(dst.dtype), operand(src)
    require_output(dst, "assignment destination")
    require_cast(given, wanted, casting)
    result = convert(given, wanted)
    if where is True and isinstance(dst, tracers.ArrayTracer):
        dst[...] = tracers.wrap(result, owned=False)
        return
    if where is not True:
        aligned, _ = broadcasting.align([values.as_scalar(item) for item in (as_value(where), result, dst.value)])
        result = emit("select", *aligned)
    store_out(result, dst, casting, "copyto")


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.clip: clip,
        np.select: select,
        np.astype: astype_function,
        np.round: round_,
        np.around: round_,
        np.fix: fix,
        np.real: real,
        np.imag: imag,
        np.angle: angle,
        np.isreal: as_written(np.isreal),
        np.iscomplex: iscomplex,
        np.nan_to_num: as_written(np.nan_to_num, "copy"),
        np.isclose: isclose,
        np.allclose: allclose,
        np.array_equal: array_equal,
        np.array_equiv: array_equiv,
        np.isposinf: _signed_infinity("+"),
        np.isneginf: _signed_infinity("-"),
        np.sinc: sinc,
        np.copyto: copyto,
    }
)
