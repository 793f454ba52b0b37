"""Softmax over rows: a maximum, an exponential, a sum and a division, all along the same row."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED_WITHOUT_NAN, Form, Inputs, Workload

ROWS, COLUMNS = 4096, 1024


def softmax(x):
    """Return the softmax of each row."""
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal logits."""
    shape = (7, 131) if small else (ROWS, COLUMNS)
    return (random.standard_normal(shape, np.float32) * np.float32(4),)


def numba_array() -> Form:
    """A loop over rows with array expressions inside: numba has no `keepdims`."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        result = np.empty_like(x)
        for row in numba.prange(x.shape[0]):
            shifted = np.exp(x[row] - x[row].max())
            result[row] = shifted / np.float32(shifted.sum(dtype=np.float64))
        return result

    return form


def numba_loops() -> Form:
    """Three sweeps over each row, which stays in the cache."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED_WITHOUT_NAN)
    def form(x):
        rows, columns = x.shape
        result = np.empty_like(x)
        for row in numba.prange(rows):
            largest = x[row, 0]
            for column in range(1, columns):
                largest = max(largest, x[row, column])
            total = np.float32(0)
            for column in range(columns):
                exponential = np.exp(x[row, column] - largest)
                result[row, column] = exponential
                total += exponential
            scale = np.float32(1) / total
            for column in range(columns):
                result[row, column] *= scale
        return result

    return form


def jax() -> Form:
    """The library's own softmax."""
    import jax

    def form(x):
        return jax.nn.softmax(x, axis=1)

    return form


def torch() -> Form:
    """The library's own softmax, which torch.compile fuses."""
    import torch

    def form(x):
        return torch.softmax(x, dim=1)

    return form


def cupy() -> Form:
    """Two of cupy's reductions with a fused kernel between them; fused, several reductions wait for the whole grid."""
    import cupy

    @cupy.fuse
    def powers(x, largest):
        return cupy.exp(x - largest)

    def form(x):
        shifted = powers(x, x.max(axis=1, keepdims=True))
        return shifted / shifted.sum(axis=1, keepdims=True)

    return form


WORKLOAD = Workload(
    name="softmax",
    description="softmax of rows, 4096x1024 f32",
    function=softmax,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 2,
    flops=ROWS * COLUMNS * 5,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
