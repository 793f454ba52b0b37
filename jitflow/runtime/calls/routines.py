"""Routines of our own that compiled code calls: NumPy's, with arrays and numbers as their only arguments.

Where a function of NumPy takes its arrays in a list, or its numbers in a tuple, a function here takes them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.errors import exception_class
from jitflow.ir.inner_loops import find_ufunc
from jitflow.ir.routines import prepared, without_warnings

__all__ = ["accumulate", "cho_factor", "cho_solve", "eig", "eigvals", "finite_eig", "finite_eigvals", "histogram",
           "histogram2d", "inverse", "least_squares", "lexsort", "median", "over_stretches", "qr_basis", "qr_factors",
           "reduce", "reduceat", "succeeds"]  # fmt: skip

Array = Any


def succeeds(
    *arguments: Any, routine: str, keywords: Sequence[str], options: Sequence[tuple[str, Any]], errors: Sequence[str]
) -> np.bool_:
    """Whether a routine raises none of ``errors``, names of classes."""
    try:
        prepared(routine, keywords, options)(arguments)
    except tuple(map(exception_class, errors)):
        return np.False_
    except Exception:  # the call itself will raise it
        return np.True_
    return np.True_


def lexsort(*keys: Array, axis: int = -1) -> Array:
    """`numpy.lexsort` of keys."""
    return np.lexsort(keys, axis)


def median(a: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """`numpy.median` without warnings. Few numbers take a third of the time: NumPy looks at much else first."""
    if not a.size:
        return without_warnings(lambda arguments: np.median(*arguments), [a, axis, None, False, keepdims])
    if axis is not None or keepdims or a.dtype.char not in "bBhHiIlLqQfd":
        return np.median(a, axis, None, False, keepdims)
    middle, odd = divmod(a.size, 2)
    parted = np.partition(a.ravel(), [middle, -1] if odd else [middle - 1, middle, -1])
    if parted[-1] != parted[-1]:  # nan is sorted to the end
        return parted[-1]
    exact = parted if a.dtype.kind == "f" else parted.astype(np.float64)
    zero, two = exact.dtype.type(0), exact.dtype.type(2)  # NumPy adds to 0, which is not to -0
    return zero + exact[middle] if odd else (zero + exact[middle - 1] + exact[middle]) / two


def cho_factor(a: Array, lower: bool) -> Array:
    """The matrix of `scipy.linalg.cho_factor`."""
    from scipy.linalg import cho_factor

    return cho_factor(a, lower)[0]


def cho_solve(c: Array, b: Array, lower: bool) -> Array:
    """`scipy.linalg.cho_solve`."""
    from scipy.linalg import cho_solve

    return cho_solve((c, lower), b)


def lu_solve(lu: Array, piv: Array, b: Array, trans: int) -> Array:
    """`scipy.linalg.lu_solve`."""
    from scipy.linalg import lu_solve

    return lu_solve((lu, piv), b, trans)


def histogram(
    a: Array, low: float | None = None, high: float | None = None, *, bins: Any = 10, density: Any = None,
    weights: Array | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """`numpy.histogram` over ``low`` to ``high``."""
    limits = None if low is None or high is None else (low, high)
    return np.histogram(a, bins, limits, density, weights)


def histogram2d(
    x: Array, y: Array, low_x: Any = None, high_x: Any = None, low_y: Any = None, high_y: Any = None, *,
    bins_x: Any = 10, bins_y: Any = 10, density: Any = None, weights: Array | None = None,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """`numpy.histogram2d` with bins and limits for each axis."""
    limits = None if low_x is None else [[low_x, high_x], [low_y, high_y]]
    return np.histogram2d(x, y, [bins_x, bins_y], limits, density, weights)


def inverse(matrices: Array) -> Array:
    """`numpy.linalg.inv`, and nan for what has no inverse."""
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        if matrices.ndim == 2 and matrices.shape[0] == matrices.shape[1]:
            return np.full_like(matrices, np.nan)
        if matrices.ndim < 3:
            raise
        return np.stack([inverse(one) for one in matrices])


def eig(a: Array) -> tuple[Array, Array]:
    """`numpy.linalg.eig` of matrices in double precision, complex also where NumPy gives real numbers."""
    values, vectors = np.linalg.eig(a)
    return values.astype(np.complex128, copy=False), vectors.astype(np.complex128, copy=False)


def eigvals(a: Array) -> Array:
    """`numpy.linalg.eigvals`, likewise."""
    return np.linalg.eigvals(a).astype(np.complex128, copy=False)


def finite_eig(a: Array) -> tuple[Array, Array]:
    """`eig` of matrices that are known to be finite."""
    return eig(a)


def finite_eigvals(a: Array) -> Array:
    """`eigvals` of matrices that are known to be finite."""
    return eigvals(a)


def least_squares(a: Array, b: Array, rcond: float) -> tuple[Array, Array, Any, Array]:
    """`numpy.linalg.lstsq` of columns, with a number for each as residuals, whatever it is where there are none."""
    found, residuals, rank, sizes = np.linalg.lstsq(a, b, rcond)
    return found, residuals if residuals.size else np.zeros(b.shape[1]), rank, sizes


def qr_factors(a: Array) -> tuple[Array, Array]:
    """What `numpy.linalg.qr` finds first, in double precision: R, Householder's vectors below it, and their factors."""
    vectors, factors = np.linalg.qr(a, "raw")
    return vectors.mT, factors


def qr_basis(vectors: Array, factors: Array, *, complete: bool) -> Array:
    """Q of what `qr_factors` has found; ``complete``: with as many columns as rows."""
    rows, columns = vectors.shape[-2:]
    ufunc = find_ufunc("qr_complete" if complete and rows > columns else "qr_reduced")
    with np.errstate(call=_no_basis, invalid="call"):
        return ufunc(vectors, factors)


def _no_basis(*error: Any) -> None:
    raise np.linalg.LinAlgError("Incorrect argument found while performing QR factorization")


def reduceat(array: Array, indices: Array, *, ufunc: str, axis: int, dtype: Any) -> Array:
    """``ufunc.reduceat``."""
    return getattr(np, ufunc).reduceat(array, indices, axis, dtype)


def over_stretches(sums: Array, indices: Array, like: Array, *, axis: int) -> Array:
    """An array like ``like``, to whose elements the sums that ``np.add.reduceat`` put them into are added."""
    size = like.shape[axis]
    lengths = np.maximum(np.append(indices[1:], size) - indices, 1)
    numbers = np.repeat(np.arange(len(indices)), lengths)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = np.zeros_like(like)
    np.add.at(np.moveaxis(found, axis, 0), indices[numbers] + within, np.moveaxis(sums, axis, 0)[numbers])
    return found


def accumulate(array: Array, *, ufunc: str, axis: int, dtype: Any) -> Array:
    """``ufunc.accumulate``."""
    return getattr(np, ufunc).accumulate(array, axis, dtype)


def reduce(array: Array, *, ufunc: str, axis: Any, dtype: Any, keepdims: bool) -> Array:
    """``ufunc.reduce``."""
    return getattr(np, ufunc).reduce(array, axis, dtype, keepdims=keepdims)
