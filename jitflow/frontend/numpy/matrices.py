"""Diagonals, triangles, and what is made of them; norms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserLinAlgError, UserValueError
from jitflow.frontend.arrays import broadcasting
from jitflow.frontend.arrays.operands import (
    array_operand,
    as_int,
    converted_axes,
    new,
    normalized_axis,
    read_only_view,
    sizes_of,
    static_int,
)
from jitflow.frontend.numpy.creation import eye, tri
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import emit
from jitflow.frontend.tracers.scalar import pinned
from jitflow.ir.core import Value
from jitflow.ir.dims import minimum
from jitflow.ir.dtypes import I64

__all__ = ["FUNCTIONS", "diagonal", "diagonal_value", "norm", "trace"]


def diagonal_value(value: Value, offset: int, first: int, second: int) -> Value:
    """The elements ``(i, i + offset)`` of two axes, as a new last axis."""
    dims = values.dims(value)
    rows, columns = dims[first], dims[second]
    trimmed = minimum(rows, columns - offset) if offset >= 0 else minimum(rows + offset, columns)
    size = current_trace().not_negative(trimmed)
    return emit("diagonal", value, axes=(first, second), offset=offset, size=size)


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    value = array_operand(a)
    rank = values.rank(value)
    if rank < 2:
        raise UserValueError("diag requires an array of at least two dimensions")
    first, second = normalized_axis(axis1, rank, "axis1"), normalized_axis(axis2, rank, "axis2")
    if first == second:
        raise UserValueError("axis1 and axis2 cannot be the same")
    return read_only_view(diagonal_value(value, static_int(offset, "offset"), first, second))


def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    return diagonal(x, offset, -2, -1)


def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


def diag(v: Any, k: Any = 0) -> Any:
    value, offset = array_operand(v), static_int(k, "k")
    if values.rank(value) == 2:
        return diagonal(v, offset)
    if values.rank(value) != 1:
        raise UserValueError("Input must be 1- or 2-d.")
    (length,) = values.dims(value)
    size = length + abs(offset)
    zero = values.constant_like(0, value)
    line = value
    if offset:
        line = emit("concatenate", value, values.fill(zero, (abs(offset),)), axis=0)
    # Above the main diagonal an element's row is its position in v, below it is its column.
    square = values.broadcast_in(line, (size, size), (0,) if offset >= 0 else (1,))
    row, column = values.iota(I64, (size, size), 0), values.iota(I64, (size, size), 1)
    on_diagonal = emit("equal", emit("add", row, values.constant(offset, I64)), column)
    return new(values.select(on_diagonal, square, zero))


def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(np.ravel(as_tracer(v)), k)


def tril(m: Any, k: Any = 0) -> Any:
    array = as_tracer(m)
    return np.where(_triangle(array, k), array, _zero(array))


def triu(m: Any, k: Any = 0) -> Any:
    array = as_tracer(m)
    return np.where(_triangle(array, k - 1), _zero(array), array)


def _zero(array: Any) -> Any:
    return new(values.constant_like(0, array.value))


def _triangle(array: Any, k: Any) -> Any:
    shape = array.shape[-2:]
    return tri(shape[-2] if len(shape) == 2 else shape[0], shape[-1], k, bool)


def kron(a: Any, b: Any) -> Any:
    left, right = as_tracer(a), as_tracer(b)
    if not left.ndim or not right.ndim:
        return np.multiply(left, right)
    rank = max(left.ndim, right.ndim)
    left_shape = (1,) * (rank - left.ndim) + left.shape
    right_shape = (1,) * (rank - right.ndim) + right.shape
    spread = np.reshape(left, tuple(size for pair in left_shape for size in (pair, 1)))
    woven = np.reshape(right, tuple(size for pair in right_shape for size in (1, pair)))
    return np.reshape(np.multiply(spread, woven), tuple(a * b for a, b in zip(left_shape, right_shape, strict=True)))


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:  # noqa: N803
    array = as_tracer(x)
    if array.ndim != 1:
        raise UserValueError("x must be a one-dimensional array or sequence.")
    (number,) = (array.shape[0],) if N is None else sizes_of((N,))
    count = static_int(tracers.as_size(pinned(number)), "N")
    dtype = np.promote_types(array.dtype, int)
    base = astype(array, dtype)
    if count < 1:
        return np.empty((array.shape[0], count), dtype)
    columns = [np.ones_like(base)]
    for _ in range(count - 1):
        columns.append(columns[-1] * base if len(columns) > 1 else base)
    chosen = columns[:count] if increasing else columns[:count][::-1]
    return np.stack(chosen, axis=1)


def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = as_tracer(a), as_tracer(b)
    if not left.ndim or not right.ndim:
        raise UserValueError("At least one array has zero dimension")
    left = np.moveaxis(left, normalized_axis(axisa, left.ndim), -1)
    right = np.moveaxis(right, normalized_axis(axisb, right.ndim), -1)
    dtype = np.promote_types(left.dtype, right.dtype)
    x, y = _components(astype(left, dtype)), _components(astype(right, dtype))
    if len(x) == len(y) == 2:
        return new(array_operand(x[0] * y[1] - x[1] * y[0]))  # an array even of two vectors
    x, y = ([*part, np.zeros_like(part[0])][:3] for part in (x, y))
    parts = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    result = np.stack(parts, axis=-1)
    return np.moveaxis(result, -1, axisc) if axisc != -1 else result


def _components(vectors: Any) -> list[Any]:
    size = vectors.shape[-1]
    if size not in (2, 3):
        raise UserValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    return [vectors[..., place] for place in range(size)]


def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    left, right = as_tracer(x1), as_tracer(x2)
    sizes = [static_int(operand.shape[axis], "the size") for operand in (left, right)]
    if sizes != [3, 3]:
        raise UserValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{sizes[0]} and {sizes[1]} dimensional instead."
        )
    return cross(left, right, axis=axis)


def matrix_power(a: Any, n: Any) -> Any:
    """Products of a square matrix with itself, by squaring."""
    array = as_tracer(a)
    if array.ndim < 2:
        raise UserLinAlgError(f"{array.ndim}-dimensional array given. Array must be at least two-dimensional")
    rows, columns = values.dims(array.value)[-2:]
    message = "Last 2 dimensions of the array must be square"
    broadcasting.require_equal(rows, columns, message, error=LinAlgError)
    power = static_int(n, "n")
    if power < 0:
        array, power = np.linalg.inv(array), -power
    if power == 0:
        return np.broadcast_to(eye(array.shape[-1], dtype=array.dtype), array.shape).copy()
    result, square = None, array
    while power:
        if power % 2:
            result = square if result is None else np.matmul(result, square)
        power //= 2
        square = np.matmul(square, square) if power else square
    return result


# -- norms -----------------------------------------------------------------------------------------------------


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Norms of vectors, and those of matrices that need no decomposition."""
    array = as_tracer(x)
    if array.dtype.kind not in "fc":
        array = astype(array, np.float64)
    if axis is None:
        if ord is None or (ord == 2 and array.ndim == 1) or (ord in ("f", "fro") and array.ndim == 2):
            result = np.sqrt(np.sum(_squares(np.ravel(array))))
            return np.reshape(result, (1,) * array.ndim) if keepdims else result
        axis = tuple(range(array.ndim))
    axes = _axes(axis, array.ndim)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keepdims)
    if len(axes) != 2:
        raise UserValueError("Improper number of dimensions to norm.")
    return _matrix_norm(array, ord, axes, keepdims)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes of a norm, which NumPy reads by `int` if they are no tuple."""
    return converted_axes(axis, rank) if isinstance(axis, tuple | list) else (normalized_axis(as_int(axis), rank),)


def _squares(array: Any) -> Any:
    if array.dtype.kind == "c":
        return np.real(array) * np.real(array) + np.imag(array) * np.imag(array)
    return array * array


def _vector_norm(array: Any, ord: Any, axis: int, keepdims: Any) -> Any:
    if ord is None or ord == 2:
        return np.sqrt(np.sum(_squares(array), axis=axis, keepdims=keepdims))
    magnitude = np.abs(array)
    if ord == np.inf:
        return _largest(magnitude, axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(magnitude, axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(astype(np.not_equal(array, 0), np.real(array).dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(magnitude, axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise UserValueError(f"Invalid norm order '{ord}' for vectors")
    return np.power(np.sum(np.power(magnitude, ord), axis=axis, keepdims=keepdims), 1.0 / ord)


_largest = partial(np.max, initial=0)
"""The largest magnitude: of none it is 0."""


def _matrix_norm(array: Any, ord: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    if ord in (None, "f", "fro"):
        return np.sqrt(np.sum(_squares(array), axis=axes, keepdims=keepdims))
    rows, columns = axes
    if ord in (2, -2, "nuc"):
        return _spectral_norm(array, ord, rows, columns, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise UserValueError("Invalid norm order for matrices.")
    summed, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = np.sum(np.abs(array), axis=summed, keepdims=True)
    result = _largest(sums, axis=over, keepdims=True) if ord > 0 else np.min(sums, axis=over, keepdims=True)
    return result if keepdims else np.squeeze(result, axis=axes)[()]


def _spectral_norm(array: Any, ord: Any, rows: int, columns: int, keepdims: Any) -> Any:
    """The norms that are made of the singular values."""
    found = np.linalg.svd(np.moveaxis(array, (rows, columns), (-2, -1)), compute_uv=False)
    fold: Any = {2: _largest, -2: np.min, "nuc": np.sum}[ord]
    result = fold(found, axis=-1)
    if not keepdims:
        return result
    return np.reshape(result, tuple(1 if place in (rows, columns) else size for place, size in enumerate(array.shape)))


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    array = as_tracer(x)
    if array.dtype.kind not in "fc":
        array = astype(array, np.float64)
    if axis is None:
        result = _vector_norm(np.ravel(array), ord, 0, False)
        return np.reshape(result, (1,) * array.ndim) if keepdims else result
    axes = _axes(axis, array.ndim)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keepdims)
    rest = [place for place in range(array.ndim) if place not in axes]
    moved = np.transpose(array, rest + list(axes))
    flat = np.reshape(moved, (*(array.shape[place] for place in rest), -1))
    result = _vector_norm(flat, ord, len(rest), False)
    return np.reshape(result, tuple(1 if p in axes else s for p, s in enumerate(array.shape))) if keepdims else result


def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.diagonal: diagonal,
        np.trace: trace,
        np.diag: diag,
        np.diagflat: diagflat,
        np.tril: tril,
        np.triu: triu,
        np.kron: kron,
        np.vander: vander,
        np.cross: cross,
        np.linalg.diagonal: linalg_diagonal,
        np.linalg.trace: linalg_trace,
        np.linalg.cross: linalg_cross,
        np.linalg.matrix_power: matrix_power,
        np.linalg.norm: norm,
        np.linalg.vector_norm: vector_norm,
        np.linalg.matrix_norm: matrix_norm,
    }
)
