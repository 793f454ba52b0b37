"""RMS normalisation over rows: one reduction, then a scale by a broadcast row."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload

ROWS, COLUMNS = 4096, 1024


def rms_norm(x, scale):
    """Return each row divided by the root of its mean square, scaled."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * scale


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal activations."""
    rows, columns = (7, 131) if small else (ROWS, COLUMNS)
    return random.standard_normal((rows, columns), np.float32), random.standard_normal(columns, np.float32)


def numba_array() -> Form:
    """A loop over rows with array expressions inside: numba has no `keepdims`."""
    import numba

    epsilon = np.float32(1e-6)

    @numba.njit(error_model="numpy")
    def form(x, scale):
        result = np.empty_like(x)
        count = np.float32(x.shape[1])
        for row in numba.prange(x.shape[0]):
            values = x[row]
            result[row] = values / np.sqrt((values * values).sum() / count + epsilon) * scale
        return result

    return form


def numba_loops() -> Form:
    """Two sweeps over each row, which stays in the cache."""
    import numba

    epsilon = np.float32(1e-6)

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(x, scale):
        rows, columns = x.shape
        result = np.empty_like(x)
        for row in numba.prange(rows):
            squares = np.float32(0)
            for column in range(columns):
                squares += x[row, column] * x[row, column]
            inverse = np.float32(1) / np.sqrt(squares / np.float32(columns) + epsilon)
            for column in range(columns):
                result[row, column] = x[row, column] * inverse * scale[column]
        return result

    return form


def jax() -> Form:
    """The NumPy program, with one reciprocal square root for each row."""
    import jax
    import jax.numpy as jnp

    def form(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale

    return form


def torch() -> Form:
    """The library's own function, which torch.compile fuses."""
    from torch.nn import functional

    def form(x, scale):
        return functional.rms_norm(x, (x.shape[1],), scale, 1e-6)

    return form


def cupy() -> Form:
    """A fused kernel for the sums of squares, and one for what follows."""
    import cupy

    epsilon = np.float32(1e-6)

    @cupy.fuse
    def squares(x):
        return cupy.sum(x * x, axis=1)

    @cupy.fuse
    def normalised(x, total, part, scale):
        return x / cupy.sqrt(total * part + epsilon) * scale

    def form(x, scale):
        return normalised(x, squares(x)[:, None], np.float32(1 / x.shape[1]), scale)

    return form


WORKLOAD = Workload(
    name="rms_norm",
    description="RMS norm of rows, 4096x1024 f32",
    function=rms_norm,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 2 + COLUMNS * 4,
    flops=ROWS * COLUMNS * 4,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
