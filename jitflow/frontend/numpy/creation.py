"""Arrays from sizes and numbers, and from what is an array already."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import index, neg
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserAttributeError, UserKeyError, UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting, layouts
from jitflow.frontend.arrays.casts import as_element, as_object
from jitflow.frontend.arrays.operands import (
    ArraySource,
    Operand,
    array_operand,
    as_value,
    asked_array,
    dtype_argument,
    is_array_like,
    new,
    numpy_says,
    operand,
    refuse,
    require_integer,
    shape_argument,
    static_int,
    view,
)
from jitflow.frontend.arrays.promotion import convert, result_dtype
from jitflow.frontend.numpy.joining import require_one_shape, stack_values
from jitflow.frontend.numpy.ranges import arange, line
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BF16, DTYPES, F64, I64, DType

__all__ = ["BY_PATH", "FUNCTIONS", "REPLACEMENTS", "array", "array_from_sequence", "array_object", "converter",
           "copied", "list_item", "object_or_number"]  # fmt: skip

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


def ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None,
            order: Any = None) -> Any:  # fmt: skip
    """``np.ndarray(shape, dtype)``, as `np.empty` makes it."""
    if buffer is not None or offset or strides is not None:
        raise refuse("np.ndarray of a buffer", "make an array of its own, and assign to it")
    return _filled(0)(shape, dtype, order or "C")


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
         like: Any = None) -> Any:  # fmt: skip
    filler = array_operand(fill_value) if fill_value is not None or dtype is None else _nothing(dtype_argument(dtype))
    fill_value = new(filler) if fill_value is None else fill_value
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


# -- matrices of zeros and ones, grids ----------------------------------------------------------------


def _band(dims: tuple[Dim, ...], k: Any, dtype: Any, comparison: str) -> Any:
    """1 where ``row + k`` compares with ``column``."""
    if isinstance(k, tracers.ScalarTracer):
        require_integer(k, k.value)
    if isinstance(k, list | tuple):
        numpy_says(neg, k)
    row, column = values.iota(I64, dims, 0), values.iota(I64, dims, 1)
    shifted = emit("add", row, as_value(k, I64))
    return new(values.cast(emit(comparison, shifted, column), dtype_argument(dtype, F64)))


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *, device: Any = None,  # noqa: N803
        like: Any = None) -> Any:  # fmt: skip
    if _is_float(k) or isinstance(k, np.bool):
        numpy_says(index, k if isinstance(k, np.bool) else 0.5)
    return _band(shape_argument((N, N if M is None else M)), k, dtype, "equal")


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:  # noqa: N803
    dims = tuple(values.dims(as_value(arange(size)))[0] for size in (N, N if M is None else M))
    if isinstance(k, np.bool):
        numpy_says(neg, k)
    if not _is_float(k):
        return _band(dims, k, dtype, "greater_equal")
    columns = new(line(-k, 1, dims[1], I64))  # a range of integers that begins with a fraction, cut off as NumPy does
    return np.greater_equal.outer(new(values.iota(I64, dims[:1])), columns).astype(dtype)


def _is_float(number: Any) -> bool:
    return result_dtype(operand(number)).numpy.kind == "f"


def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise UserValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    order = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        order[:2] = [1, 0]
    lines = [np.reshape(x, (1,) * order[place] + (-1,) + (1,) * (len(xi) - 1 - order[place]))
             for place, x in enumerate(xi)]  # fmt: skip
    grids = lines if sparse else list(np.broadcast_arrays(*lines))
    return tuple(np.copy(grid) for grid in grids) if copy else tuple(grids)


def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    dims, kind = shape_argument(tuple(dimensions)), dtype_argument(dtype)
    if sparse:
        shapes = [tuple(dim if place == axis else 1 for place, dim in enumerate(dims)) for axis in range(len(dims))]
        return tuple(new(values.iota(kind, shape, axis)) for axis, shape in enumerate(shapes))
    if not dims:
        return full(0, 0, kind.numpy)
    return new(stack_values([values.iota(kind, dims, axis) for axis in range(len(dims))], 0))


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any) -> Any:
    dims, kind = shape_argument(shape), dtype_argument(dtype)
    return function(*(new(values.iota(kind, dims, axis)) for axis in range(len(dims))), **kwargs)


# -- from what is an array already ----------------------------------------------------------------------


def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", subok: Any = False,
          ndmin: Any = 0, ndmax: Any = 0, like: Any = None) -> Any:  # fmt: skip
    if object is None and dtype is None:
        raise UserTypeError("an array of None is one of objects, which are not compiled", mend="write np.nan for it")
    if isinstance(object, ArraySource) and object.is_shown:
        object, copy = object.as_array(), None
    if is_array_like(object):
        object, copy = _asked(object, dtype, copy)
    value = array_operand(object) if dtype is None else values.as_array(array_object(object, dtype_argument(dtype)))
    most = static_int(ndmax, "ndmax")
    if most and isinstance(object, list | tuple) and values.rank(value) > most:
        too_deep = f"The requested array would exceed the maximum number of dimension of {most}."
        raise UserValueError(f"setting an array element with a sequence. {too_deep}")
    missing = static_int(ndmin, "ndmin") - values.rank(value)
    if missing > 0:
        value = values.reshape(value, (1,) * missing + values.dims(value))
    shows = isinstance(object, tracers.ArrayTracer) and values.dtype_of_value(value) == object.type.dtype
    if isinstance(copy, str):
        numpy_says(np.array, 0, copy=copy)
    copy = None if copy is np._CopyMode.IF_NEEDED else copy
    if copy or not shows:
        found: Any = None if copy is None or copy else numpy_says(np.array, 0, copy=False)  # which raises
        return layouts.made(new(value), order, value)
    found = view(value) if missing > 0 else object
    ordered = _in_order(found, order) if order in ("C", "F") else found
    return ordered if copy is None or ordered is found else numpy_says(np.array, 0, copy=False)


def _asked(thing: Any, dtype: Any, copy: Any) -> tuple[Any, Any]:
    """The array that an object says it is, and whether it has to be copied: not if its method has been asked to."""
    copy = None if copy is np._CopyMode.IF_NEEDED else copy
    said = () if dtype is None else (dtype_argument(dtype).numpy,)
    if copy is None:
        return asked_array(thing, *said), None
    parameters = inspect.signature(thing.__class__.__array__).parameters.values()
    if any(each.name == "copy" or each.kind is each.VAR_KEYWORD for each in parameters):
        return asked_array(thing, *said, copy=bool(copy)), None if copy else copy
    return asked_array(thing, *said) if copy else numpy_says(np.array, 0, copy=False), copy


def fromiter(iter: Any, dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    number = static_int(count, "count")
    items = list(iter) if number < 0 else list(islice(iter, number))
    if len(items) < number:
        raise UserValueError(f"iterator too short: Expected {number} but iterator had only {len(items)} items.")
    kind = dtype_argument(dtype).numpy
    return array(items, kind) if items else full(0, 0, kind)


def asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None,
            like: Any = None) -> Any:  # fmt: skip
    if isinstance(a, tracers.VariableTracer) and not copy:
        a = a.numpy()  # an array of its own, as outside
    return array(a, dtype, copy=copy, order=order)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    if unknown := [each for each in requirements or () if each.upper() not in _FLAGS]:
        raise UserKeyError(unknown[0].upper())
    wanted = {_FLAGS[each.upper()] for each in requirements or ()}
    if wanted >= {"C", "F"}:
        raise UserValueError('Cannot specify both "C" and "F" order')
    order = wanted & {"C", "F"}
    found = asarray(a, dtype, *order or ("A" if wanted else None,))
    if wanted & {"O", "W"} and not current_trace().storage.is_new_array(found.value):
        raise refuse("np.require of memory of its own, or that may be written to,", "copy it: np.array(x)")
    return found


_FLAGS = {name: letter for letter, names in (
    ("C", ("C", "C_CONTIGUOUS", "CONTIGUOUS")), ("F", ("F", "F_CONTIGUOUS", "FORTRAN")), ("A", ("A", "ALIGNED")),
    ("W", ("W", "WRITEABLE")), ("O", ("O", "OWNDATA")), ("E", ("E", "ENSUREARRAY")),
) for name in names}  # fmt: skip
"""What memory is required to be, by the names that NumPy knows it by."""


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    found = asarray(a, dtype, order)
    if found.dtype.kind in "fc":
        finite = values.as_scalar(as_value(np.all(np.isfinite(found))))
        values.check(finite, ValueError, "array must not contain infs or NaNs")
    return found


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    if not isinstance(x, tracers.ArrayTracer):
        raise UserAttributeError(f"'{x.__class__.__name__}' object has no attribute '__dlpack__'")
    return copied(x) if copy else view(x._value)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _in_order(asarray(a, dtype), "C")


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return _in_order(asarray(a, dtype), "F")


def _in_order(array: Any, order: str) -> Any:
    """The array if it lies like that, else a copy; there is an axis, as NumPy's have."""
    value = as_value(array)
    if not values.rank(value):
        return np.reshape(array, (1,))
    axes = range(values.rank(value))[:: -1 if order == "F" else 1]
    turned = values.transpose(value, axes)
    if layouts.is_contiguous(turned) is False:
        return layouts.made(new(value), order, value)
    found = layouts.in_order(turned, "a contiguous array")
    return array if found is turned else view(values.transpose(found, axes))


def copied(a: Any, order: Any = "K", subok: Any = False) -> Any:
    return array(a, order=order)


def array_object(item: Any, dtype: DType) -> Value:
    """What ``np.asarray(item, dtype)`` holds; of rank 0 for a number."""
    if isinstance(item, list | tuple):
        return array_from_sequence(item, dtype)
    return _nothing(dtype) if item is None else as_object(operand(item, dtype), dtype)


def object_or_number(item: Any, dtype: DType) -> Operand:
    """The same, but a number as itself."""
    return array_object(item, dtype) if item is None or isinstance(item, list | tuple) else operand(item, dtype)


def _nothing(dtype: DType) -> Value:
    """What NumPy puts into an array of numbers for None: nan, or False."""
    return tracers.lift(numpy_says(np.asarray, None, dtype.numpy)[()])


def array_from_sequence(items: Sequence[Any], dtype: DType | None = None) -> Value:
    """What ``np.array`` makes of nested lists in which tracers stand: strong dtypes, promoted, stacked."""
    if not any(isinstance(item, tracers.Tracer | ArraySource | list | tuple) or is_array_like(item) for item in items):
        return tracers.lift(numpy_says(np.asarray, items, None if dtype is None else dtype.numpy))
    rows = [array_operand(item) if dtype is None else values.as_array(list_item(item, dtype)) for item in items]
    require_one_shape([values.dims(row) for row in rows])
    return as_value(new(stack_values(rows, 0)))  # a single row is no view


def list_item(item: Any, dtype: DType) -> Value:
    """An item of a list that becomes an array of ``dtype``."""
    if isinstance(item, list | tuple):
        return array_from_sequence(item, dtype)
    if item is None:
        return _nothing(dtype)
    given = operand(item, dtype)
    listed = isinstance(given, Value) and values.rank(given)
    return as_object(given, dtype) if listed else as_element(given, dtype)


def converter(kind: type[np.generic]) -> Callable[..., Any]:
    """What calling a scalar type does: ``np.float32(x)`` converts numbers and arrays."""

    def convert_to(value: Any = 0, /) -> Any:
        if type(value) is int and issubclass(kind, np.integer):  # it may be too large for a Python int of the program
            return new(values.constant(int(numpy_says(kind, value)), dtype_argument(kind)))
        if isinstance(value, tracers.ArrayTracer) and value.ndim and value.dtype == kind:
            return value  # the very array, as NumPy has it
        return new(values.as_scalar(array_object(value, dtype_argument(kind))))

    convert_to.__name__ = kind.__name__
    return convert_to


def _bfloat16(value: Any = 0, /) -> Any:
    return converter(BF16.numpy.type)(value)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.zeros_like: _filled_like(0),
        np.ones_like: _filled_like(1),
        np.empty_like: _filled_like(0),
        np.full_like: full_like,
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
        np.ndarray: ndarray,
        np.full: full,
        np.eye: eye,
        np.identity: identity,
        np.tri: tri,
        np.indices: indices,
        np.fromfunction: fromfunction,
        np.array: array,
        np.fromiter: fromiter,
        np.asarray: asarray,
        np.asanyarray: asarray,
        np.require: require,
        np.asarray_chkfinite: asarray_chkfinite,
        np.from_dlpack: from_dlpack,
        np.ascontiguousarray: ascontiguousarray,
        np.asfortranarray: asfortranarray,
        **{dtype.numpy.type: converter(dtype.numpy.type) for dtype in DTYPES.values() if dtype != BF16},
    }
)
"""What does not dispatch: sizes and nested lists are no arrays. Runs in place of the function while tracing."""

BY_PATH: Mapping[str, Any] = MappingProxyType({"ml_dtypes.bfloat16": _bfloat16})
"""What runs in place of something of a package that may be imported at any time, and takes long to be."""
