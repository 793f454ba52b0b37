"""A polynomial of degree ten by Horner's rule: ten dependent multiplications and additions per element."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

COUNT = 10_000_000
DEGREE = 10


def polynomial(x):
    """Return the value of the polynomial at every `x`."""
    value = 0.03125 * x + 0.0625
    for coefficient in (-0.125, 0.25, 0.5, -0.75, 0.875, 1.5, -1.25, 0.375, 1.0):
        value = value * x + coefficient
    return value


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Numbers between -1 and 1."""
    return (random.uniform(-1, 1, 1_003 if small else COUNT),)


def numba_array() -> Form:
    """The NumPy program as one expression, so that numba makes one loop of it."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        high = ((((0.03125 * x + 0.0625) * x - 0.125) * x + 0.25) * x + 0.5) * x - 0.75
        return ((((high * x + 0.875) * x + 1.5) * x - 1.25) * x + 0.375) * x + 1.0

    return form


def numba_loops() -> Form:
    """One loop over the elements."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        result = np.empty_like(x)
        for i in numba.prange(x.size):
            element = x[i]
            value = 0.03125 * element + 0.0625
            for coefficient in (-0.125, 0.25, 0.5, -0.75, 0.875, 1.5, -1.25, 0.375, 1.0):
                value = value * element + coefficient
            result[i] = value
        return result

    return form


def jax() -> Form:
    """The NumPy program."""
    return same_source(polynomial)


def torch() -> Form:
    """The NumPy program."""
    return same_source(polynomial)


def cupy() -> Form:
    """The NumPy program, all of it fused."""
    import cupy

    return cupy.fuse(same_source(polynomial, np=cupy))


WORKLOAD = Workload(
    name="polynomial",
    description="polynomial of degree 10 of 10 M numbers, f64",
    function=polynomial,
    make_inputs=make_inputs,
    necessary_bytes=COUNT * 8 * 2,
    flops=COUNT * 2 * DEGREE,
    relative_tolerance=1e-14,
    itemsize=8,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
