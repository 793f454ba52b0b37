"""Arrays of positions: of diagonals and triangles, of open grids, and of many axes as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserTypeError, UserValueError
from jitflow.frontend.arrays.broadcasting import total_size
from jitflow.frontend.arrays.operands import ArraySource, array_operand, sequence_of, static_int
from jitflow.frontend.numpy.as_written import as_written
from jitflow.frontend.numpy.creation import tri
from jitflow.frontend.numpy.elementwise import as_tracer, astype
from jitflow.frontend.numpy.introspection import ndim
from jitflow.frontend.numpy.ranges import arange
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import emit
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, product

__all__ = ["FUNCTIONS"]


# -- diagonals and triangles ------------------------------------------------------------------------------


def diag_indices(n: Any, ndim: Any = 2) -> tuple[Any, ...]:
    return (arange(n),) * static_int(ndim, "ndim")


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    if not arr.ndim >= 2:
        raise UserValueError("input array must be at least 2-d")
    if not all(size == arr.shape[0] for size in arr.shape):
        raise UserValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
    inside: tuple[Any, ...] = np.nonzero(tri(n, m, k=k, dtype=bool))
    return inside


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple[Any, ...]:
    outside: tuple[Any, ...] = np.nonzero(np.logical_not(tri(n, m, k=k - 1, dtype=bool)))
    return outside


def _of(indices: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The indices for the sizes of a matrix."""

    def handler(arr: Any, k: Any = 0) -> tuple[Any, ...]:
        if arr.ndim != 2:
            raise UserValueError("input array must be 2-d")
        return indices(arr.shape[0], k=k, m=arr.shape[1])

    return handler


def ix_(*args: Any) -> tuple[Any, ...]:
    """NumPy's, which asks whether a list is empty: one of the running program is an array of positions first."""
    return tuple(_open_grid(*(item.as_index() if isinstance(item, ArraySource) else item for item in args)))


_open_grid = as_written(np.ix_)


# -- many axes --------------------------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    positions = as_tracer(indices) if ndim(indices) else indices
    dims = [tracers.dim_of(item) for item in sequence_of(shape)]
    if positions.dtype.kind not in "iu" if hasattr(positions, "dtype") else not isinstance(positions, int):
        raise UserTypeError("only int indices permitted")
    total = product(dims)
    if isinstance(total, int) and total > _MOST:
        raise UserValueError("dimensions are too large; arrays and shapes with a total size greater than 'intp' are "
                             "not supported.")  # fmt: skip
    number = positions if isinstance(positions, tracers.Tracer) else np.asarray(positions)
    given = values.as_array(values.as_strong(array_operand(number)))
    _check_inside(given, total)
    axes = list(range(len(dims)))
    found: dict[int, Any] = {}
    inner: Dim = 1
    wide = astype(tracers.wrap(given, owned=False), np.int64)
    for axis in reversed(axes) if order == "C" else axes:
        found[axis] = np.remainder(np.floor_divide(wide, tracers.size_of(inner)), tracers.size_of(dims[axis]))
        inner = inner * dims[axis]
    return tuple(found[axis] for axis in axes)


_MOST = np.iinfo(np.intp).max
"""How many elements an array may have."""

_NO_PLACES = "cannot unravel if shape has zero entries (is empty)."


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    sizes = [tracers.dim_of(item) for item in sequence_of(dims)]
    modes = mode if isinstance(mode, tuple | list) else [mode] * len(sizes)
    indices = list(multi_index)
    if len(indices) != len(sizes):
        raise UserValueError("parameter multi_index must be a sequence of length " + str(len(sizes)))
    if (elements := product(sizes)) == 0:
        given = sum((total_size(array_operand(index)) for index in indices), 0)
        values.check(emit("equal", values.size(given), values.size(0)), ValueError, _NO_PLACES)
    if isinstance(elements, int) and elements > _MOST:
        raise UserValueError("invalid dims: array size defined by dims is larger than the maximum possible size.")
    total: Any = 0
    inner: Dim = 1
    places = list(zip(indices, sizes, modes, strict=True))
    for index, size, how in reversed(places) if order == "C" else places:
        found = as_tracer(index)
        if found.dtype.kind not in "iu":
            raise UserTypeError("only int indices permitted")
        inside = _brought_inside(astype(found, np.int64), tracers.size_of(size), how)
        total = inside * tracers.size_of(inner) + total
        inner = inner * size
    return total


def _brought_inside(index: Any, size: Any, mode: str) -> Any:
    if mode == "clip":
        return np.clip(index, 0, size - 1)
    if mode == "wrap":
        return np.remainder(index, size)
    if mode != "raise":
        raise UserValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    fits = np.all(np.logical_and(np.greater_equal(index, 0), np.less(index, size)))
    values.check(values.as_scalar(array_operand(fits)), ValueError, "invalid entry in coordinates array")
    return index


def _check_inside(positions: Value, total: Dim) -> None:
    array = tracers.wrap(positions, owned=False)
    fits = np.logical_and(np.greater_equal(array, 0), np.less(array, tracers.size_of(total)))
    wrong = np.max(np.where(fits, 0, astype(array, np.int64)), initial=np.iinfo(np.int64).min)
    operands = (values.as_scalar(array_operand(wrong)), values.size(total))
    message = "index {} is out of bounds for array with size {}"
    values.check(values.as_scalar(array_operand(np.all(fits))), ValueError, message, *operands)


FUNCTIONS: Mapping[Any, Any] = MappingProxyType(
    {
        np.diag_indices: diag_indices,
        np.diag_indices_from: diag_indices_from,
        np.tril_indices: tril_indices,
        np.tril_indices_from: _of(tril_indices),
        np.triu_indices: triu_indices,
        np.triu_indices_from: _of(triu_indices),
        np.mask_indices: as_written(np.mask_indices),
        np.ix_: ix_,
        np.unravel_index: unravel_index,
        np.ravel_multi_index: ravel_multi_index,
    }
)
