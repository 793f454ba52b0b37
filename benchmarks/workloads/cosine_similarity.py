"""Cosine similarity of the rows of two tables: three reductions from one sweep."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload, same_source

ROWS, COLUMNS = 4096, 1024


def cosine_similarity(a, b):
    """Return the cosine of the angle between each row of `a` and the same row of `b`."""
    return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Rows that point in similar directions."""
    shape = (7, 131) if small else (ROWS, COLUMNS)
    a = random.standard_normal(shape, np.float32)
    return a, a + random.standard_normal(shape, np.float32)


def numba_array() -> Form:
    """Array expressions."""
    import numba

    return numba.njit(error_model="numpy")(cosine_similarity)


def numba_loops() -> Form:
    """One sweep."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(a, b):
        rows, columns = a.shape
        result = np.empty(rows, a.dtype)
        for row in numba.prange(rows):
            product, a_squares, b_squares = np.float32(0), np.float32(0), np.float32(0)
            for column in range(columns):
                product += a[row, column] * b[row, column]
                a_squares += a[row, column] * a[row, column]
                b_squares += b[row, column] * b[row, column]
            result[row] = product / np.sqrt(a_squares * b_squares)
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(cosine_similarity, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(cosine_similarity, np=torch)


def cupy() -> Form:
    """A fused kernel for each sum of products."""
    import cupy

    @cupy.fuse
    def products(a, b):
        return cupy.sum(a * b, axis=1)

    def form(a, b):
        return products(a, b) / cupy.sqrt(products(a, a) * products(b, b))

    return form


WORKLOAD = Workload(
    name="cosine_similarity",
    description="cosine similarity of rows, 4096x1024 f32",
    function=cosine_similarity,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 2 + ROWS * 4,
    flops=ROWS * COLUMNS * 6,
    relative_tolerance=1e-5,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
