"""Euclidean distances between two sets of points: the three-dimensional temporary must not be stored."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload, same_source

POINTS, DIMENSIONS = 2000, 16


def pairwise_distances(a, b):
    """Return the distance of every row of `a` from every row of `b`."""
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1))


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal points."""
    a_points, b_points = (23, 37) if small else (POINTS, POINTS)
    a = random.standard_normal((a_points, DIMENSIONS), np.float32)
    b = random.standard_normal((b_points, DIMENSIONS), np.float32)
    return a, b


def numba_array() -> Form:
    """Array expressions; `**` with an integer would widen to f64."""
    import numba

    @numba.njit(error_model="numpy")
    def form(a, b):
        difference = np.expand_dims(a, 1) - np.expand_dims(b, 0)
        return np.sqrt((difference * difference).sum(2))

    return form


def numba_loops() -> Form:
    """Vectorised along the points of `b`, which is transposed once; a row of sums stays in the cache."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(a, b):
        a_points, dimensions = a.shape
        b_points = b.shape[0]
        across = np.ascontiguousarray(b.T)
        result = np.empty((a_points, b_points), a.dtype)
        for i in numba.prange(a_points):
            row = result[i]
            for j in range(b_points):
                row[j] = np.float32(0)
            for k in range(dimensions):
                coordinate = a[i, k]
                for j in range(b_points):
                    difference = coordinate - across[k, j]
                    row[j] += difference * difference
            for j in range(b_points):
                row[j] = np.sqrt(row[j])
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(pairwise_distances, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(pairwise_distances, np=torch)


def cupy() -> Form:
    """One fused kernel with a sum inside."""
    import cupy

    @cupy.fuse
    def distances(a, b):
        difference = a - b
        return cupy.sqrt(cupy.sum(difference * difference, axis=2))

    def form(a, b):
        return distances(a[:, None, :], b[None, :, :])

    return form


WORKLOAD = Workload(
    name="pairwise_distances",
    description="distances of 2000x2000 points in 16 dimensions, f32",
    function=pairwise_distances,
    make_inputs=make_inputs,
    necessary_bytes=POINTS * POINTS * 4 + 2 * POINTS * DIMENSIONS * 4,
    flops=POINTS * POINTS * (3 * DIMENSIONS + 1),
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
