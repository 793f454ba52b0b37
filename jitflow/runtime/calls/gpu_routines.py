"""NumPy's routines on a GPU, made of cupy's: the functions that `jitflow.ir.routine_table` names.

The first argument is cupy, all others are those of NumPy's function. What comes back is NumPy's result, in its dtypes,
or `ValueError` where cupy has no answer, or one that cannot be trusted; then NumPy itself is asked (`device_calls`).
No array has a size of 0. Where cupy's function and NumPy's differ, it says here how:

- cupy sorts by radix, so that a nan whose sign is set, as processors make it of 0 / 0, would come first. All its sorts
  are stable. It compares numbers of two dtypes as C++ does, not in NumPy's common dtype.
- Where LAPACK fails for nan, cuSOLVER gives nan, or fails in its own way. What is not finite is no answer, and those
  of its functions that fail for it are not called.
- NumPy decomposes in double precision whatever the dtype, broadcasts stacks of matrices, and looks at one triangle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

__all__ = [
    "argpartition", "argsort", "bincount", "cholesky", "det", "digitize", "eigh", "eigvalsh", "fft", "fft2", "fftn",
    "hfft", "ifft", "ifft2", "ifftn", "ihfft", "intersect1d", "inv", "irfft", "irfft2", "irfftn", "isin", "lexsort",
    "lstsq", "matrix_rank", "median", "partition", "pinv", "qr", "rfft", "rfft2", "rfftn", "searchsorted", "setdiff1d",
    "setxor1d", "slogdet", "solve", "sort", "sort_complex", "svd", "svdvals", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip

Array = Any


# -- order


def _plain_nan(xp: Any, a: Array) -> Array:
    """The same numbers, with nan without a sign."""
    return xp.where(xp.isnan(a), a.dtype.type(np.nan), a) if a.dtype.kind == "f" else a


def sort(xp: Any, a: Array, axis: int = -1, kind: Any = None, stable: Any = None) -> Array:
    """`numpy.sort`."""
    return xp.sort(_plain_nan(xp, a), axis)


def argsort(xp: Any, a: Array, axis: int = -1, kind: Any = None, stable: Any = None) -> Array:
    """`numpy.argsort`."""
    return xp.argsort(_plain_nan(xp, a), axis)


def partition(xp: Any, a: Array, kth: Any, axis: int = -1, kind: str = "") -> Array:
    """`numpy.partition`: all in order, since cupy's own loses track of nan."""
    _require_positions(xp, kth, a.shape[axis])
    return sort(xp, a, axis)


def argpartition(xp: Any, a: Array, kth: Any, axis: int = -1, kind: str = "") -> Array:
    """`numpy.argpartition`."""
    _require_positions(xp, kth, a.shape[axis])
    return argsort(xp, a, axis)


def _require_positions(xp: Any, kth: Any, size: int) -> None:
    positions = xp.asarray(kth)
    if ((positions < -size) | (positions >= size)).any():
        raise ValueError("kth out of bounds")


def lexsort(xp: Any, *keys: Array, axis: int = -1) -> Array:
    """`numpy.lexsort`: a stable sort by each key, the most important one last."""
    order = argsort(xp, keys[0], axis)
    for key in keys[1:]:
        step = argsort(xp, xp.take_along_axis(key, order, axis), axis)
        order = xp.take_along_axis(order, step, axis)
    return order


def sort_complex(xp: Any, a: Array) -> Array:
    """`numpy.sort_complex`."""
    return xp.sort(a.astype("F" if a.dtype.char in "bhBHF" else "D"), -1)


def median(xp: Any, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """`numpy.median`: the middle elements, of which two are added in the precision of `numpy.mean`."""
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    folded = sorted(place % a.ndim for place in axes)
    kept = [place for place in range(a.ndim) if place not in folded]
    lines = a.transpose(*kept, *folded).reshape(*(a.shape[place] for place in kept), -1)
    ordered = sort(xp, lines)
    size, dtype = ordered.shape[-1], a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    low, high = (ordered[..., place].astype(np.result_type(dtype, "f4")) for place in ((size - 1) // 2, size // 2))
    middle, last = (0 + low if size % 2 else (0 + low + high) / 2).astype(dtype), ordered[..., -1].astype(dtype)
    found = xp.where(last != last, last, middle)  # nan is sorted to the end
    return found.reshape([1 if place in folded else size for place, size in enumerate(a.shape)]) if keepdims else found


def searchsorted(xp: Any, a: Array, v: Any, side: str = "left", sorter: Array | None = None) -> Array:
    """`numpy.searchsorted`."""
    sought = xp.asarray(v)
    if sorter is not None:
        if ((sorter < 0) | (sorter >= a.size)).any():
            raise ValueError("sorter out of bounds")
        a = xp.take(a, sorter)
    dtype = np.result_type(a.dtype, sought.dtype)
    return xp.searchsorted(a.astype(dtype), sought.astype(dtype), side)


def digitize(xp: Any, x: Array, bins: Array, right: bool = False) -> Array:
    """`numpy.digitize`."""
    side = "left" if right else "right"
    if (bins[:-1] <= bins[1:]).all():
        return searchsorted(xp, bins, x, side)
    if (bins[:-1] >= bins[1:]).all():
        return bins.size - searchsorted(xp, bins[::-1], x, side)
    raise ValueError("bins in no order")


def bincount(xp: Any, x: Array, minlength: int = 0) -> Array:
    """`numpy.bincount` without weights."""
    return xp.bincount(x.astype(np.int64), None, minlength)


# -- sets


def unique(
    xp: Any, ar: Array, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: None = None, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """`numpy.unique` of elements."""
    found = xp.unique(
        _plain_nan(xp, ar), return_index=return_index, return_inverse=return_inverse, return_counts=return_counts,
        equal_nan=equal_nan,
    )  # fmt: skip
    if not return_inverse:
        return found
    sample = np.unique(np.zeros((1,) * ar.ndim), return_inverse=True)[1]  # its rank is another one in each NumPy
    results, place = [*found], 1 + return_index
    results[place] = results[place].reshape(ar.shape if sample.ndim == ar.ndim else (-1,))
    return tuple(results)


def unique_all(xp: Any, x: Array) -> Any:
    """`numpy.unique_all`."""
    values, indices, inverse, counts = xp.unique(_plain_nan(xp, x), True, True, True, equal_nan=False)
    return values, indices, inverse.reshape(x.shape), counts


def unique_counts(xp: Any, x: Array) -> Any:
    """`numpy.unique_counts`."""
    return xp.unique(_plain_nan(xp, x), return_counts=True, equal_nan=False)


def unique_inverse(xp: Any, x: Array) -> Any:
    """`numpy.unique_inverse`."""
    values, inverse = xp.unique(_plain_nan(xp, x), return_inverse=True, equal_nan=False)
    return values, inverse.reshape(x.shape)


def unique_values(xp: Any, x: Array) -> Array:
    """`numpy.unique_values`."""
    return xp.unique(_plain_nan(xp, x), equal_nan=False)


def isin(
    xp: Any, element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False, kind: Any = None
) -> Array:
    """`numpy.isin`."""
    return xp.isin(element, _plain_nan(xp, test_elements), invert=invert)


def union1d(xp: Any, ar1: Array, ar2: Array) -> Array:
    """`numpy.union1d`."""
    return unique(xp, xp.concatenate((ar1.ravel(), ar2.ravel())))


def setdiff1d(xp: Any, ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    """`numpy.setdiff1d`."""
    first = ar1.ravel() if assume_unique else unique(xp, ar1)
    return first[isin(xp, first, ar2, invert=True)]


def intersect1d(xp: Any, ar1: Array, ar2: Array, assume_unique: bool = False, return_indices: bool = False) -> Array:
    """`numpy.intersect1d` of what may stand there more than once."""
    first = unique(xp, ar1)
    return first[isin(xp, first, ar2)]


def setxor1d(xp: Any, ar1: Array, ar2: Array, assume_unique: bool = False) -> Array:
    """`numpy.setxor1d` of what may stand there more than once."""
    both = xp.sort(xp.concatenate((unique(xp, ar1), unique(xp, ar2))))
    new = xp.ones(both.size + 1, np.bool_)
    new[1:-1] = both[1:] != both[:-1]
    return both[new[1:] & new[:-1]]


# -- Fourier transforms


def _along_axis(name: str) -> Callable[..., Array]:
    half = name in ("irfft", "hfft")

    def transform(xp: Any, a: Array, n: Any = None, axis: int = -1, norm: Any = None) -> Array:
        points = 2 * (a.shape[axis] - 1) if n is None and half else n
        if points is not None and points < 1:
            raise ValueError("no data points")
        return getattr(xp.fft, name)(a, None if n is None else int(n), axis, norm)

    transform.__name__, transform.__doc__ = name, f"`numpy.fft.{name}`."
    return transform


def _along_axes(name: str) -> Callable[..., Array]:
    def transform(xp: Any, a: Array, axes: Any = None, norm: Any = None) -> Array:
        return getattr(xp.fft, name)(a, None, axes, norm)

    transform.__name__, transform.__doc__ = name, f"`numpy.fft.{name}`."
    return transform


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_axis, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2 = map(_along_axes, ("fft2", "ifft2", "rfft2"))
fftn, ifftn, rfftn = map(_along_axes, ("fftn", "ifftn", "rfftn"))


def irfftn(xp: Any, a: Array, axes: Any = None, norm: Any = None) -> Array:
    """`numpy.fft.irfftn`, one axis after the other: cuFFT's own takes the input for the transform of real numbers."""
    *rest, last = range(-a.ndim, 0) if axes is None else axes
    for axis in rest:
        a = ifft(xp, a, None, axis, norm)
    return irfft(xp, a, None, last, norm)


irfft2 = irfftn


# -- matrices


def _in_double(routine: Callable[..., Any]) -> Callable[..., Any]:
    """A routine of matrices in double precision, whose results are rounded to the precision of single ones."""

    @wraps(routine)
    def computed(xp: Any, *matrices: Array, **options: Any) -> Any:
        double = (matrix.astype("D" if matrix.dtype.kind == "c" else "d", copy=False) for matrix in matrices)
        found = routine(xp, *double, **options)
        if any(matrix.dtype.char not in "fF" for matrix in matrices):
            return found
        return tuple(map(_single, found)) if isinstance(found, tuple) else _single(found)

    return computed


def _single(a: Array) -> Array:
    return a.astype({"d": "f", "D": "F"}.get(a.dtype.char, a.dtype.char))


def _known(xp: Any, *results: Array) -> Any:
    if not all(xp.isfinite(result).all() for result in results):
        raise ValueError("not finite")
    return results if len(results) > 1 else results[0]


@_in_double
def solve(xp: Any, a: Array, b: Array) -> Array:
    """`numpy.linalg.solve`."""
    if b.ndim > 1:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (xp.broadcast_to(matrix, stack + matrix.shape[-2:]) for matrix in (a, b))
    return _known(xp, xp.linalg.solve(a, b))


@_in_double
def inv(xp: Any, a: Array) -> Array:
    """`numpy.linalg.inv`."""
    return _known(xp, xp.linalg.inv(a))


@_in_double
def det(xp: Any, a: Array) -> Array:
    """`numpy.linalg.det`."""
    return xp.linalg.det(_known(xp, a))


@_in_double
def slogdet(xp: Any, a: Array) -> Any:
    """`numpy.linalg.slogdet`."""
    return xp.linalg.slogdet(_known(xp, a))


@_in_double
def cholesky(xp: Any, a: Array, upper: bool = False) -> Array:
    """`numpy.linalg.cholesky`: cupy takes the lower triangle, which the adjoint has of the upper one."""
    if not upper:
        return _known(xp, xp.linalg.cholesky(a))
    return _known(xp, xp.linalg.cholesky(a.swapaxes(-2, -1).conj())).swapaxes(-2, -1).conj()


@_in_double
def qr(xp: Any, a: Array, mode: str = "reduced") -> Any:
    """`numpy.linalg.qr`."""
    found = xp.linalg.qr(a, mode)
    return _known(xp, *((found,) if mode == "r" else found))


@_in_double
def svd(xp: Any, a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """`numpy.linalg.svd`."""
    found = xp.linalg.svd(_known(xp, a), full_matrices, compute_uv)
    return _known(xp, *(found if compute_uv else (found,)))


def svdvals(xp: Any, x: Array) -> Array:
    """`numpy.linalg.svdvals`."""
    return svd(xp, x, compute_uv=False)


@_in_double
def eigh(xp: Any, a: Array, UPLO: str = "L") -> Any:  # noqa: N803
    """`numpy.linalg.eigh`."""
    return _known(xp, *xp.linalg.eigh(_known(xp, a), UPLO.upper()))


@_in_double
def eigvalsh(xp: Any, a: Array, UPLO: str = "L") -> Array:  # noqa: N803
    """`numpy.linalg.eigvalsh`."""
    return _known(xp, xp.linalg.eigvalsh(_known(xp, a), UPLO.upper()))


@_in_double
def lstsq(xp: Any, a: Array, b: Array, rcond: float | None = None) -> Any:
    """`numpy.linalg.lstsq`."""
    if rcond is not None and not 0 < rcond < 1:
        raise ValueError("rcond out of bounds")
    found = xp.linalg.lstsq(_known(xp, a), b, rcond)
    _known(xp, found[0])
    return found


def pinv(xp: Any, a: Array, rcond: Any = None, hermitian: bool = False, **rtol: Any) -> Array:
    """`numpy.linalg.pinv`."""
    if rcond is None:
        rcond = rtol.get("rtol", 1e-15)
    return _inverted(xp, a, rcond=max(a.shape[-2:]) * np.finfo(a.dtype).eps if rcond is None else rcond)


@_in_double
def _inverted(xp: Any, a: Array, rcond: Any) -> Array:
    return _known(xp, xp.linalg.pinv(_known(xp, a), rcond))


def matrix_rank(xp: Any, A: Array, tol: Any = None, hermitian: bool = False, rtol: Any = None) -> Array:  # noqa: N803
    """`numpy.linalg.matrix_rank`."""
    sizes = svdvals(xp, A)
    if tol is None:
        least = max(A.shape[-2:]) * np.finfo(sizes.dtype).eps if rtol is None else xp.asarray(rtol)[..., None]
        limit = sizes.max(axis=-1, keepdims=True) * least
    else:
        limit = xp.asarray(tol)[..., None]
    return (sizes > limit).sum(axis=-1)
