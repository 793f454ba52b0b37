"""Mean and variance of many numbers: two results, ideally from one sweep."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload, same_source

COUNT = 10_000_000


def mean_variance(x):
    """Return the mean and the variance."""
    return x.mean(), x.var()


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal numbers with a mean that is not zero."""
    count = 1_003 if small else COUNT
    return (random.standard_normal(count, np.float32) + np.float32(3),)


def numba_array() -> Form:
    """Array expressions, with sums in f64: numba's own `mean` and `var` lose most digits in f32."""
    import numba

    @numba.njit(error_model="numpy")
    def form(x):
        mean = np.float32(x.sum(dtype=np.float64) / x.size)
        centred = x - mean
        return mean, np.float32((centred * centred).sum(dtype=np.float64) / x.size)

    return form


def numba_loops() -> Form:
    """One sweep, with sums in f64 because a plain sum in f32 would lose most digits."""
    import numba

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(x):
        origin = np.float64(x[0])
        total = 0.0
        squares = 0.0
        for i in numba.prange(x.size):
            value = np.float64(x[i]) - origin
            total += value
            squares += value * value
        mean = total / x.size
        return np.float32(mean + origin), np.float32(squares / x.size - mean * mean)

    return form


def jax() -> Form:
    """The NumPy program."""
    return same_source(mean_variance)


def torch() -> Form:
    """The library's function for both."""
    import torch

    def form(x):
        variance, mean = torch.var_mean(x, correction=0)
        return mean, variance

    return form


def cupy() -> Form:
    """Cupy's mean, and a fused kernel for the sum of squares."""
    import cupy

    @cupy.fuse
    def squares(x, mean):
        return cupy.sum((x - mean) * (x - mean))

    def form(x):
        mean = x.mean()
        return mean, squares(x, mean) * np.float32(1 / x.size)

    return form


WORKLOAD = Workload(
    name="mean_variance",
    description="mean and variance of 10 M numbers, f32",
    function=mean_variance,
    make_inputs=make_inputs,
    necessary_bytes=COUNT * 4,
    flops=COUNT * 4,
    relative_tolerance=2e-5,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
