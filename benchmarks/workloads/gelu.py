"""Bias, GELU (tanh form) and residual of a transformer's feed-forward layer: elementwise with a broadcast row."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

ROWS, COLUMNS = 4096, 1024


def gelu(x, bias, residual):
    """Return `residual + gelu(x + bias)`."""
    biased = x + bias
    inner = 0.7978845608028654 * (biased + 0.044715 * biased * biased * biased)
    return residual + 0.5 * biased * (1.0 + np.tanh(inner))


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Standard normal activations."""
    rows, columns = (7, 131) if small else (ROWS, COLUMNS)
    x = random.standard_normal((rows, columns), np.float32)
    bias = random.standard_normal(columns, np.float32)
    residual = random.standard_normal((rows, columns), np.float32)
    return x, bias, residual


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64."""
    import numba

    half, one = np.float32(0.5), np.float32(1)
    scale, cubic = np.float32(0.7978845608028654), np.float32(0.044715)

    @numba.njit(error_model="numpy")
    def form(x, bias, residual):
        biased = x + bias
        inner = scale * (biased + cubic * biased * biased * biased)
        return residual + half * biased * (one + np.tanh(inner))

    return form


def numba_loops() -> Form:
    """One nest of two loops."""
    import numba

    half, one = np.float32(0.5), np.float32(1)
    scale, cubic = np.float32(0.7978845608028654), np.float32(0.044715)

    @numba.njit(error_model="numpy")
    def form(x, bias, residual):
        result = np.empty_like(x)
        for row in numba.prange(x.shape[0]):
            for column in range(x.shape[1]):
                biased = x[row, column] + bias[column]
                inner = scale * (biased + cubic * biased * biased * biased)
                result[row, column] = residual[row, column] + half * biased * (one + np.tanh(inner))
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(gelu, np=jax.numpy)


def torch() -> Form:
    """With (1 + tanh(u)) / 2 written as sigmoid(2u), which torch.compile vectorises better than its own GELU."""
    import torch

    def form(x, bias, residual):
        biased = x + bias
        inner = 0.7978845608028654 * (biased + 0.044715 * biased * biased * biased)
        return residual + biased * torch.sigmoid(2.0 * inner)

    return form


def cupy() -> Form:
    """One fused kernel; constants in f32, since cupy may widen to f64, and on the right, where NumPy leaves them be."""
    import cupy

    half, one = np.float32(0.5), np.float32(1)
    scale, cubic = np.float32(0.7978845608028654), np.float32(0.044715)

    @cupy.fuse
    def form(x, bias, residual):
        biased = x + bias
        inner = (biased * biased * biased * cubic + biased) * scale
        return residual + biased * half * (cupy.tanh(inner) + one)

    return form


WORKLOAD = Workload(
    name="gelu",
    description="bias + GELU + residual, 4096x1024 f32",
    function=gelu,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 3 + COLUMNS * 4,
    flops=ROWS * COLUMNS * 11,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
