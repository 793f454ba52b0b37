"""Standardise the columns of a table: reductions along the outer axis, then a sweep with broadcast rows."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload

ROWS, COLUMNS = 100_000, 64


def standardise(x):
    """Return the table with mean 0 and standard deviation 1 in each column."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal columns of different scales."""
    rows, columns = (101, 17) if small else (ROWS, COLUMNS)
    scales = random.uniform(0.5, 5, columns).astype(np.float32)
    return (random.standard_normal((rows, columns), np.float32) * scales + np.float32(1),)


def numba_array() -> Form:
    """Array expressions; numba's `mean` and `std` have no `axis`."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        count = np.float32(x.shape[0])
        centred = x - x.sum(axis=0) / count
        return centred / np.sqrt((centred * centred).sum(axis=0) / count)

    return form


def numba_loops() -> Form:
    """Two sweeps for the moments, one for the result, all along the rows."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(x):
        rows, columns = x.shape
        mean = np.zeros(columns, x.dtype)
        inverse = np.zeros(columns, x.dtype)
        result = np.empty_like(x)
        for row in range(rows):
            for column in range(columns):
                mean[column] += x[row, column]
        for column in range(columns):
            mean[column] /= np.float32(rows)
        for row in range(rows):
            for column in range(columns):
                centred = x[row, column] - mean[column]
                inverse[column] += centred * centred
        for column in range(columns):
            inverse[column] = np.float32(1) / np.sqrt(inverse[column] / np.float32(rows))
        for row in numba.prange(rows):
            for column in range(columns):
                result[row, column] = (x[row, column] - mean[column]) * inverse[column]
        return result

    return form


def jax() -> Form:
    """The NumPy program, with one reciprocal for each column."""
    import jax
    import jax.numpy as jnp

    def form(x):
        return (x - jnp.mean(x, axis=0)) * jax.lax.rsqrt(jnp.var(x, axis=0))

    return form


def torch() -> Form:
    """The library's function for both moments, with one reciprocal for each column."""
    import torch

    def form(x):
        variance, mean = torch.var_mean(x, dim=0, correction=0)
        return (x - mean) * torch.rsqrt(variance)

    return form


def cupy() -> Form:
    """Cupy's moments, and a fused kernel for what follows."""
    import cupy

    @cupy.fuse
    def standardised(x, mean, deviation):
        return (x - mean) / deviation

    def form(x):
        return standardised(x, x.mean(axis=0), x.std(axis=0))

    return form


WORKLOAD = Workload(
    name="standardise",
    description="standardise the columns of 100000x64, f32",
    function=standardise,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 2,
    flops=ROWS * COLUMNS * 6,
    relative_tolerance=1e-4,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
