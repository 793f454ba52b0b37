"""The logarithm of the sum of exponentials of each row: two reductions along the same row."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED_WITHOUT_NAN, Form, Inputs, Workload

ROWS, COLUMNS = 4096, 1024


def log_sum_exp(x):
    """Return log(sum(exp(row))) of each row."""
    largest = x.max(axis=1)
    return largest + np.log(np.exp(x - largest[:, None]).sum(axis=1))


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal logits."""
    shape = (7, 131) if small else (ROWS, COLUMNS)
    return (random.standard_normal(shape, np.float32) * np.float32(4),)


def numba_array() -> Form:
    """A loop over rows with array expressions inside: numba's `max` has no `axis`."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        result = np.empty(x.shape[0], x.dtype)
        for row in numba.prange(x.shape[0]):
            largest = x[row].max()
            result[row] = largest + np.log(np.exp(x[row] - largest).sum())
        return result

    return form


def numba_loops() -> Form:
    """Two sweeps over each row, which stays in the cache."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED_WITHOUT_NAN)
    def form(x):
        rows, columns = x.shape
        result = np.empty(rows, x.dtype)
        for row in numba.prange(rows):
            largest = x[row, 0]
            for column in range(1, columns):
                largest = max(largest, x[row, column])
            total = np.float32(0)
            for column in range(columns):
                total += np.exp(x[row, column] - largest)
            result[row] = largest + np.log(total)
        return result

    return form


def jax() -> Form:
    """The library's own function."""
    import jax

    def form(x):
        return jax.nn.logsumexp(x, axis=1)

    return form


def torch() -> Form:
    """The library's own function, which torch.compile fuses."""
    import torch

    def form(x):
        return torch.logsumexp(x, dim=1)

    return form


def cupy() -> Form:
    """Cupy's maximum, and a fused kernel for the exponentials and their sum."""
    import cupy

    @cupy.fuse
    def logarithms(x, largest):
        return cupy.log(cupy.sum(cupy.exp(x - largest), axis=1))

    def form(x):
        largest = x.max(axis=1)
        return largest + logarithms(x, largest[:, None])

    return form


WORKLOAD = Workload(
    name="log_sum_exp",
    description="log-sum-exp of rows, 4096x1024 f32",
    function=log_sum_exp,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 + ROWS * 4,
    flops=ROWS * COLUMNS * 4,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
