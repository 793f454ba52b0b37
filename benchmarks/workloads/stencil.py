"""One step of the heat equation on a plane: a five-point stencil read by slices, bound by memory."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

SIDE = 4000


def stencil(u, alpha):
    """Return the inner points after one step."""
    centre = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return centre + alpha * (around - 4.0 * centre)


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """A random plane."""
    shape = (29, 37) if small else (SIDE, SIDE)
    return random.random(shape), 0.1


def numba_array() -> Form:
    """The NumPy program."""
    import numba

    return numba.njit(error_model="numpy")(stencil)


def numba_loops() -> Form:
    """One nest of two loops."""
    import numba

    @numba.njit(error_model="numpy")
    def form(u, alpha):
        rows, columns = u.shape
        result = np.empty((rows - 2, columns - 2), u.dtype)
        for row in numba.prange(1, rows - 1):
            for column in range(1, columns - 1):
                centre = u[row, column]
                around = u[row + 1, column] + u[row - 1, column] + u[row, column + 1] + u[row, column - 1]
                result[row - 1, column - 1] = centre + alpha * (around - 4.0 * centre)
        return result

    return form


def jax() -> Form:
    """The NumPy program."""
    return same_source(stencil)


def torch() -> Form:
    """The NumPy program."""
    return same_source(stencil)


def cupy() -> Form:
    """One fused kernel over views."""
    import cupy

    @cupy.fuse
    def stepped(centre, below, above, right, left, alpha):
        return centre + alpha * (below + above + right + left - 4.0 * centre)

    def form(u, alpha):
        return stepped(u[1:-1, 1:-1], u[2:, 1:-1], u[:-2, 1:-1], u[1:-1, 2:], u[1:-1, :-2], alpha)

    return form


WORKLOAD = Workload(
    name="stencil",
    description="five-point stencil by slices, 4000x4000 f64",
    function=stencil,
    make_inputs=make_inputs,
    necessary_bytes=SIDE * SIDE * 8 + (SIDE - 2) * (SIDE - 2) * 8,
    flops=(SIDE - 2) * (SIDE - 2) * 7,
    relative_tolerance=1e-14,
    itemsize=8,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
