"""Products of matrices and vectors."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import (
    array_operand,
    converted_int,
    dtype_argument,
    new,
    normalized_axes,
    normalized_axis,
    operand,
    refuse,
    static_int,
)
from jitflow.frontend.arrays.promotion import convert, result_dtype, ufunc_dtypes
from jitflow.frontend.numpy.calling import require_shape, store_out
from jitflow.frontend.numpy.contraction import contract
from jitflow.frontend.numpy.reductions import ABSENT
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim

__all__ = ["FUNCTIONS", "UFUNCS", "dot", "inner", "matmul", "outer", "tensordot", "vdot"]


def _finish(result: Value, out: Any, name: str, casting: str = "same_kind") -> Any:
    if isinstance(out, tuple):
        (out,) = out
    result = values.as_scalar(result)
    return new(result) if out is None else store_out(result, out, casting, name)


def _same_dtype(*items: Any) -> list[Value]:
    """Arrays in their common dtype. Products of arrays take Python numbers as arrays: strong."""
    found = [array_operand(item) for item in items]
    dtype = result_dtype(*found)
    return [values.as_array(values.cast(item, dtype)) for item in found]


# -- generalised ufuncs -------------------------------------------------------------------------------------

_CORES: Mapping[np.ufunc, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        np.matmul: (("m", "k"), ("k", "n"), ("m", "n")),
        np.vecdot: (("k",), ("k",), ()),
        np.matvec: (("m", "k"), ("k",), ("m",)),
        np.vecmat: (("k",), ("k", "n"), ("n",)),
    }
)
"""The core axes of both operands and of the result. The others broadcast."""


def _generalised(ufunc: np.ufunc) -> Any:
    signature = ufunc.signature
    assert signature is not None

    def handler(x1: Any, x2: Any, /, out: Any = None, *, casting: str = "same_kind", order: str = "K",
                dtype: Any = None, subok: bool = True, axes: Any = None, axis: Any = ABSENT,
                keepdims: Any = False) -> Any:  # fmt: skip
        if keepdims and ufunc is not np.vecdot:
            raise UserTypeError(f"{ufunc.__name__} does not support keepdims: its signature is {signature}")
        if axes is not None and ufunc is np.matmul and out is None and _are_pairs(axes, operand(x1), operand(x2)):
            return _moved_product(axes, x1, x2, casting=casting, dtype=dtype)
        if axes is not None or (axis is not ABSENT and ufunc is not np.vecdot):
            raise refuse(f"{ufunc.__name__} with axes=", "move the axes with np.moveaxis")
        given = operand(x1), operand(x2)
        wanted = None if dtype is None else (None, None, dtype_argument(dtype).numpy)
        dtypes = ufunc_dtypes(ufunc, given, wanted, casting)
        left, right = (values.as_array(convert(item, kind)) for item, kind in zip(given, dtypes, strict=False))
        if axis is not ABSENT:
            left, right = (_last(item, axis) for item in (left, right))
        if ufunc in (np.vecdot, np.vecmat) and dtypes[0].is_complex:
            left = values.as_array(emit("conjugate", left))
        result = _with_cores(ufunc, signature, left, right)
        if keepdims:
            dims = list(values.dims(result))
            dims.insert(normalized_axis(-1 if axis is ABSENT else axis, len(dims) + 1), 1)
            result = values.reshape(values.as_array(result), tuple(dims))
        out = out[0] if isinstance(out, tuple) else out
        if isinstance(out, tracers.ArrayTracer):
            missing = sum(ufunc is np.matmul and values.rank(item) == 1 for item in (left, right))
            _require_core(ufunc, values.dims(result), values.dims(out.value), len(_CORES[ufunc][2]) - missing)
        return _finish(result, out, ufunc.__name__, casting)

    handler.__name__ = ufunc.__name__
    return handler


def _are_pairs(axes: Any, *items: Any) -> bool:
    """Whether ``axes=`` says of two matrices or stacks of them, and of their product, which two axes are theirs."""
    is_pair = [isinstance(pair, tuple) and len(pair) == 2 and all(type(one) is int for one in pair) for pair in axes]
    return is_pair == [True] * 3 and all(values.rank(item) >= 2 for item in items)


def _moved_product(axes: Any, *items: Any, **options: Any) -> Any:
    """`np.matmul` with ``axes=``: the product of operands whose axes have been moved to the end, moved back."""
    last = (-2, -1)
    moved = [np.moveaxis(item, pair, last) for item, pair in zip(items, axes, strict=False)]
    return np.moveaxis(np.matmul(*moved, **options), last, axes[2])


def _require_core(ufunc: np.ufunc, found: tuple[Dim, ...], given: tuple[Dim, ...], count: int) -> None:
    """The last axes of an output are not broadcast."""
    for axis in range(min(count, len(given))):
        own, other = found[len(found) - count + axis], given[len(given) - count + axis]
        _require_size(ufunc, f"Output operand 0 has a mismatch in its core dimension {axis}", own, other)


def _require_size(ufunc: np.ufunc, what: str, own: Dim, other: Dim) -> None:
    texts = [broadcasting.message_shapes("{shapes}", [(dim,)]) for dim in (other, own)]
    message = (
        f"{ufunc.__name__}: {what}, with gufunc signature {ufunc.signature} "
        f"(size {texts[0][0][1:-2]} is different from {texts[1][0][1:-2]})"
    )
    broadcasting.require_equal_sizes(own, other, message, [*texts[0][1], *texts[1][1]])


def _last(value: Value, axis: Any) -> Value:
    place = normalized_axis(converted_int(axis), values.rank(value))
    order = [other for other in range(values.rank(value)) if other != place]
    return values.transpose(value, [*order, place])


def _with_cores(ufunc: np.ufunc, signature: str, left: Value, right: Value) -> Value:
    """The product over the core axes, broadcast over the others."""
    cores = list(_CORES[ufunc])
    for place, value in enumerate((left, right)):
        least = 1 if ufunc is np.matmul else len(cores[place])
        if values.rank(value) < least:
            raise UserValueError(
                f"{ufunc.__name__}: Input operand {place} does not have enough dimensions (has {values.rank(value)}, "
                f"gufunc core with signature {signature} requires {least})"
            )
        if values.rank(value) < len(cores[place]):  # a vector in matmul lacks its m or n
            cores[place], gone = ("k",), next(label for label in cores[place] if label != "k")
            cores[2] = tuple(label for label in cores[2] if label != gone)
    loops = [
        values.dims(value)[: values.rank(value) - len(core)] for value, core in zip((left, right), cores, strict=False)
    ]
    axis = cores[1].index("k")
    own, other = (
        values.dims(value)[core.index("k") - len(core)] for value, core in ((left, cores[0]), (right, cores[1]))
    )
    _require_size(ufunc, f"Input operand 1 has a mismatch in its core dimension {axis}", own, other)
    batch = broadcasting.common_dims(loops, _remapped(left, right, loops))
    labels = tuple(range(len(batch)))
    operands = []
    for value, core, loop in zip((left, right), cores, loops, strict=False):
        dims = list(values.dims(value))
        dims[len(loop) + core.index("k")] = own
        value = values.reshape(value, tuple(dims), assumed=True)
        if loop and loop != batch:
            value = broadcasting.broadcast_to(value, (*batch, *dims[len(loop) :]))
        operands.append((value, (labels if loop else ()) + core))
    (first, first_labels), (second, second_labels) = operands
    kept = labels + cores[2]
    result, order = contract(first, first_labels, second, second_labels, kept)
    return values.transpose(result, [order.index(label) for label in kept]) if kept else result


def _remapped(left: Value, right: Value, loops: list[tuple[Any, ...]]) -> str:
    shapes = []
    for value, loop in zip((left, right), loops, strict=True):
        core = ",".join(["newaxis"] * (values.rank(value) - len(loop)))
        target = ",".join([str(broadcasting.shown(dim)) for dim in loop] + [core])
        shapes.append(f"{broadcasting.shape_text(values.dims(value))}->({target})")
    return "operands could not be broadcast together with remapped shapes [original->remapped]: " + " ".join(shapes)


matmul = _generalised(np.matmul)

UFUNCS: Mapping[np.ufunc, Any] = MappingProxyType(
    {
        np.matmul: matmul,
        np.vecdot: _generalised(np.vecdot),
        np.matvec: _generalised(np.matvec),
        np.vecmat: _generalised(np.vecmat),
    }
)
"""Ufuncs with core axes, which are called like functions."""

# -- functions ----------------------------------------------------------------------------------------------


def _contracted(left: Value, right: Value, left_axes: tuple[int, ...], right_axes: tuple[int, ...]) -> Value:
    """The sum of products over pairs of axes; the other axes of the left operand, then those of the right."""
    names = [("sum", place) for place in range(len(left_axes))]
    left_labels: list[object] = [("left", axis) for axis in range(values.rank(left))]
    right_labels: list[object] = [("right", axis) for axis in range(values.rank(right))]
    dims = list(values.dims(right))
    for name, one, other in zip(names, left_axes, right_axes, strict=True):
        left_labels[one] = right_labels[other] = name
        dims[other] = values.dims(left)[one]
    right = values.reshape(right, tuple(dims), assumed=True)
    kept = tuple(label for label in left_labels + right_labels if label not in names)
    result, order = contract(left, tuple(left_labels), right, tuple(right_labels), kept)
    return values.transpose(result, [order.index(label) for label in kept]) if kept else result


def dot(a: Any, b: Any, out: Any = None) -> Any:
    left, right = _same_dtype(a, b)
    if not values.rank(left) or not values.rank(right):
        return _finish_dot(_scaled(left, right), out)
    return _finish_dot(_aligned_product(left, right, max(values.rank(right) - 2, 0)), out)


def _finish_dot(result: Value, out: Any) -> Any:
    """The product, or an output that has to be of its dtype and shape."""
    if isinstance(out, tracers.ArrayTracer):
        misfit = "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        if out.dtype != values.dtype_of_value(result).numpy:
            raise UserValueError(misfit)
        require_shape(result, out, misfit, "output array has wrong dimensions")
    found = _finish(result, out, "dot")
    return found if values.rank(result) else found[()]


_BLAS = ("f32", "f64", "c64", "c128")


def _scaled(left: Value, right: Value) -> Value:
    """A product with an array of rank 0.

    NumPy leaves that of a vector or matrix to BLAS, which adds the multiple to zeros: none of it is -0.0, and a
    multiple by 0 is 0 whatever the elements are. One element, more axes and other dtypes are plainly multiplied.
    """
    pair = [values.as_scalar(item) for item in (left, right)]
    product = emit("logical_and" if values.dtype_of_value(left).kind == "b" else "multiply", *pair)
    dims = values.dims(product)
    alone = all(broadcasting.is_one(dim) for dim in dims)
    if values.dtype_of_value(left).name not in _BLAS or alone or len(dims) > 2:
        return product
    factor = pair[0] if values.rank(right) else pair[1]
    zero = values.constant_like(0, factor)
    return values.select(emit("equal", factor, zero), zero, emit("add", product, zero))


def _aligned_product(left: Value, right: Value, axis: int) -> Value:
    """The product over the last axis of the left operand and ``axis`` of the right one."""
    last = values.rank(left) - 1
    one, other = values.dims(left)[last], values.dims(right)[axis]
    shapes, sizes = broadcasting.message_shapes("{shapes}", [values.dims(left), values.dims(right)])
    first, second = (broadcasting.message_shapes("{shapes}", [(dim,)]) for dim in (one, other))
    joined = shapes.replace(") (", ") and (")
    message = f"shapes {joined} not aligned: {first[0][1:-2]} (dim {last}) != {second[0][1:-2]} (dim {axis})"
    broadcasting.require_equal_sizes(one, other, message, [*sizes, *first[1], *second[1]])
    return _contracted(left, right, (last,), (axis,))


def inner(a: Any, b: Any, /) -> Any:
    left, right = _same_dtype(a, b)
    if not values.rank(left) or not values.rank(right):
        return _finish(_scaled(left, right), None, "inner")
    if values.rank(right) > 1:  # NumPy's error is that of the product with the transpose
        order = list(range(values.rank(right)))
        right = values.transpose(right, [*order[:-2], order[-1], order[-2]])
    return _finish(_aligned_product(left, right, max(values.rank(right) - 2, 0)), None, "inner")


def vdot(a: Any, b: Any, /) -> Any:
    left, right = (values.reshape(item, (broadcasting.total_size(item),)) for item in _same_dtype(a, b))
    if values.dtype_of_value(left).is_complex:
        left = emit("conjugate", left)
    (size,), (other,) = values.dims(left), values.dims(right)
    shape, sizes = broadcasting.message_shapes("{shapes}", [(size,)])
    message = f"cannot reshape array of size {{}} into shape {shape}"
    broadcasting.require_equal_sizes(size, other, message, [values.size(other), *sizes])
    return _finish(_aligned_product(left, right, 0), None, "vdot")


def outer(a: Any, b: Any, out: Any = None) -> Any:
    left, right = (values.reshape(item, (broadcasting.total_size(item),)) for item in map(array_operand, (a, b)))
    result = np.multiply(new(values.reshape(left, (*values.dims(left), 1))), new(right))
    return result if out is None else store_out(array_operand(result), out, name="multiply")


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    left, right = _same_dtype(a, b)
    if isinstance(axes, tuple | list):
        first, second = axes
    else:
        count = static_int(axes, "axes")
        first, second = list(range(-count, 0)), list(range(count))
    firsts = first if isinstance(first, tuple | list) else [first]
    seconds = second if isinstance(second, tuple | list) else [second]
    if len(firsts) != len(seconds) or len(firsts) > min(values.rank(left), values.rank(right)):
        raise UserValueError("shape-mismatch for sum")
    left_axes, right_axes = (normalized_axes([*map(converted_int, axes)], values.rank(value))
                             for axes, value in ((firsts, left), (seconds, right)))  # fmt: skip
    for one, other in zip(left_axes, right_axes, strict=True):
        broadcasting.require_equal(values.dims(left)[one], values.dims(right)[other], "shape-mismatch for sum")
    return new(values.as_array(_contracted(left, right, left_axes, right_axes)))


def linalg_outer(x1: Any, x2: Any, /) -> Any:
    if any(values.rank(array_operand(item)) != 1 for item in (x1, x2)):
        ranks = " and ".join(f"x{place + 1}.ndim={values.rank(array_operand(x))}" for place, x in enumerate((x1, x2)))
        raise UserValueError(f"Input arrays must be one-dimensional, but they are {ranks}.")
    return outer(x1, x2)


def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


def linalg_vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    return np.vecdot(x1, x2, axis=axis)  # type: ignore[call-overload]


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Products in the order that takes the fewest multiplications, as NumPy chooses it, for the sizes seen first."""
    if len(arrays) < 2:
        raise UserValueError("Expecting at least two arrays.")
    shapes = [values.dims(array_operand(array)) for array in arrays]
    lengths = [shapes[0][0] if len(shapes[0]) > 1 else 1, *(shape[-1] if len(shape) > 1 else 1 for shape in shapes)]
    if len(shapes[0]) == 1:
        lengths[1] = shapes[0][0]
    sizes = [broadcasting.hint(length) or 1 for length in lengths]

    @functools.cache
    def cheapest(first: int, last: int) -> tuple[int, int]:
        """The multiplications for these arrays, and the last one of the left factor."""
        if first == last:
            return 0, first
        ways = []
        for middle in range(first, last):
            parts = cheapest(first, middle)[0] + cheapest(middle + 1, last)[0]
            ways.append((parts + sizes[first] * sizes[middle + 1] * sizes[last + 1], middle))
        return min(ways)

    def multiplied(first: int, last: int) -> Any:
        if first == last:
            return arrays[first]
        _, middle = cheapest(first, last)
        return dot(multiplied(first, middle), multiplied(middle + 1, last))

    result = multiplied(0, len(arrays) - 1)
    return result if out is None else _finish_dot(array_operand(result), out)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        **UFUNCS,
        np.dot: dot,
        np.inner: inner,
        np.vdot: vdot,
        np.outer: outer,
        np.tensordot: tensordot,
        np.linalg.matmul: matmul,
        np.linalg.outer: linalg_outer,
        np.linalg.tensordot: linalg_tensordot,
        np.linalg.vecdot: linalg_vecdot,
        np.linalg.multi_dot: multi_dot,
    }
)
