"""What NumPy's linear algebra decides on the numbers that it finds, written in Python: traced as a helper is."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["eigenvalues", "eigenvectors", "poly", "roots"]


def eigenvalues(found: Any) -> Any:
    """Complex eigenvalues as real ones, if all of them are."""
    return found.real.copy() if (found.imag == 0).all() else found


def eigenvectors(found: Any, vectors: Any) -> Any:
    """The same with the vectors, which are real where the eigenvalues are."""
    return (found.real.copy(), vectors.real.copy()) if (found.imag == 0).all() else (found, vectors)


def roots(p: Any) -> Any:
    """The zeros of a polynomial by its coefficients: eigenvalues of its companion matrix, then zeros that are 0."""
    places = np.nonzero(p)[0]
    if len(places) == 0:
        return np.array([])
    last = int(places[-1]) + 1
    zeros = len(p) - last
    p = p[int(places[0]) : last]
    if len(p) > 1:
        matrix = np.diag(np.ones((len(p) - 2,), p.dtype), -1)
        matrix[0, :] = -p[1:] / p[0]
        found = np.linalg.eigvals(matrix)
    else:
        found = np.array([])
    return np.hstack((found, np.zeros(zeros, found.dtype)))


def poly(zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, real if the zeros are conjugate in pairs."""
    found = np.zeros_like(zeros, shape=(len(zeros) + 1,))
    found[0] = 1
    for position in range(len(zeros)):
        found[1 : position + 2] = found[1 : position + 2] - zeros[position] * found[: position + 1]
    if zeros.dtype.kind == "c" and (np.sort(zeros) == np.sort(zeros.conjugate())).all():
        return found.real.copy()
    return found
