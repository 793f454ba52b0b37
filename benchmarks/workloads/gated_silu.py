"""The gated activation of recent transformers, `silu(gate) * up`, whose two halves lie side by side in one table."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload

ROWS, COLUMNS = 4096, 1024


def gated_silu(x):
    """Return silu of the left half of the columns times the right half."""
    half = x.shape[1] // 2
    gate, up = x[:, :half], x[:, half:]
    return gate / (1.0 + np.exp(-gate)) * up


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal activations."""
    shape = (7, 2 * 67) if small else (ROWS, 2 * COLUMNS)
    return (random.standard_normal(shape, np.float32),)


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64."""
    import numba

    one = np.float32(1)

    @numba.njit(error_model="numpy")
    def form(x):
        half = x.shape[1] // 2
        gate, up = x[:, :half], x[:, half:]
        return gate / (one + np.exp(-gate)) * up

    return form


def numba_loops() -> Form:
    """One nest of two loops."""
    import numba

    one = np.float32(1)

    @numba.njit(error_model="numpy")
    def form(x):
        rows, half = x.shape[0], x.shape[1] // 2
        result = np.empty((rows, half), x.dtype)
        for row in numba.prange(rows):
            for column in range(half):
                gate = x[row, column]
                result[row, column] = gate / (one + np.exp(-gate)) * x[row, half + column]
        return result

    return form


def jax() -> Form:
    """The library's own silu."""
    import jax

    def form(x):
        half = x.shape[1] // 2
        return jax.nn.silu(x[:, :half]) * x[:, half:]

    return form


def torch() -> Form:
    """The library's own silu, which torch.compile fuses."""
    from torch.nn import functional

    def form(x):
        half = x.shape[1] // 2
        return functional.silu(x[:, :half]) * x[:, half:]

    return form


def cupy() -> Form:
    """One fused kernel over views."""
    import cupy

    one = np.float32(1)

    @cupy.fuse
    def gated(gate, up):
        return gate / (cupy.exp(-gate) + one) * up

    def form(x):
        half = x.shape[1] // 2
        return gated(x[:, :half], x[:, half:])

    return form


WORKLOAD = Workload(
    name="gated_silu",
    description="silu(gate) * up, 4096x2048 to 4096x1024 f32",
    function=gated_silu,
    make_inputs=make_inputs,
    necessary_bytes=ROWS * COLUMNS * 4 * 3,
    flops=ROWS * COLUMNS * 5,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
