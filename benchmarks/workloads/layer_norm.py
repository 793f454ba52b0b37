"""Layer normalisation over rows: mean and variance of a row, then a scale and a shift by broadcast rows."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload

ROWS, COLUMNS = 4096, 1024


def layer_norm(x, scale, shift):
    """Return each row with mean 0 and variance 1, scaled and shifted."""
    mean = x.mean(axis=1, keepdims=True)
    variance = x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal activations with a mean that is not zero."""
    rows, columns = (7, 131) if small else (ROWS, COLUMNS)
    x = random.standard_normal((rows, columns), np.float32) * np.float32(2) + np.float32(1)
    scale = random.standard_normal(columns, np.float32)
    shift = random.standard_normal(columns, np.float32)
    return x, scale, shift


def numba_array() -> Form:
    """A loop over rows with array expressions inside: numba has no `keepdims`."""
    import numba

    epsilon = np.float32(1e-5)

    @numba.njit(error_model="numpy")
    def form(x, scale, shift):
        result = np.empty_like(x)
        for row in numba.prange(x.shape[0]):
            values = x[row]
            mean = np.float32(values.mean())
            variance = np.float32(values.var())
            result[row] = (values - mean) / np.sqrt(variance + epsilon) * scale + shift
        return result

    return form


def numba_loops() -> Form:
    """Three sweeps over each row, which stays in the cache."""
    import numba

    epsilon = np.float32(1e-5)

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(x, scale, shift):
        rows, columns = x.shape
        result = np.empty_like(x)
        count = np.float32(columns)
        for row in numba.prange(rows):
            total = np.float32(0)
            for column in range(columns):
                total += x[row, column]
            mean = total / count
            squares = np.float32(0)
            for column in range(columns):
                centred = x[row, column] - mean
                squares += centred * centred
            inverse = np.float32(1) / np.sqrt(squares / count + epsilon)
            for column in range(columns):
                result[row, column] = (x[row, column] - mean) * inverse * scale[column] + shift[column]
        return result

    return form


def jax() -> Form:
    """The NumPy program, with one reciprocal square root for each row."""
    import jax
    import jax.numpy as jnp

    def form(x, scale, shift):
        mean = jnp.mean(x, axis=1, keepdims=True)
        variance = jnp.var(x, axis=1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + shift

    return form


def torch() -> Form:
    """The library's own layer norm, which torch.compile fuses."""
    from torch.nn import functional

    def form(x, scale, shift):
        return functional.layer_norm(x, (x.shape[1],), scale, shift, 1e-5)

    return form


def cupy() -> Form:
    """Cupy's moments, and a fused kernel for what follows."""
    import cupy

    epsilon = np.float32(1e-5)

    @cupy.fuse
    def normalised(x, mean, variance, scale, shift):
        return (x - mean) / cupy.sqrt(variance + epsilon) * scale + shift

    def form(x, scale, shift):
        return normalised(x, x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True), scale, shift)

    return form


WORKLOAD = Workload(
    name="layer_norm",
    description="layer norm of rows, 4096x1024 f32",
    function=layer_norm,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 2 + COLUMNS * 4 * 2,
    flops=ROWS * COLUMNS * 8,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
