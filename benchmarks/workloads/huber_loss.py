"""The mean Huber loss: an elementwise chain with a choice, reduced to one number."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload

COUNT = 10_000_000


def huber_loss(prediction, target, delta):
    """Return the mean of the loss, quadratic up to `delta` and linear beyond."""
    distance = np.abs(prediction - target)
    return np.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta)).mean()


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal errors, a third of them beyond delta."""
    count = 1_003 if small else COUNT
    target = random.standard_normal(count, np.float32)
    return target + random.standard_normal(count, np.float32), target, 1.0


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64, and the sum in f64, to keep its digits."""
    import numba

    half = np.float32(0.5)

    @numba.njit(error_model="numpy")
    def form(prediction, target, delta):
        delta = np.float32(delta)
        distance = np.abs(prediction - target)
        loss = np.where(distance <= delta, half * distance * distance, delta * (distance - half * delta))
        return np.float32(loss.sum(dtype=np.float64) / loss.size)

    return form


def numba_loops() -> Form:
    """One sweep; a block's sum in f32 and the total in f64, because a plain sum in f32 would lose most digits."""
    import numba

    half = np.float32(0.5)
    block = 4096

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(prediction, target, delta):
        delta = np.float32(delta)
        total = 0.0
        for number in numba.prange(-(-prediction.size // block)):
            start = number * block
            part = np.float32(0)
            for i in range(start, min(start + block, prediction.size)):
                distance = abs(prediction[i] - target[i])
                quadratic = half * distance * distance
                linear = delta * (distance - half * delta)
                part += quadratic if distance <= delta else linear
            total += part
        return np.float32(total / prediction.size)

    return form


def jax() -> Form:
    """Without a choice, which XLA vectorises better: quadratic up to the smaller of distance and delta."""
    import jax.numpy as jnp

    def form(prediction, target, delta):
        distance = jnp.abs(prediction - target)
        quadratic = jnp.minimum(distance, delta)
        return (0.5 * quadratic * quadratic + delta * (distance - quadratic)).mean()

    return form


def torch() -> Form:
    """The library's own loss, which torch.compile fuses."""
    from torch.nn import functional

    def form(prediction, target, delta):
        return functional.huber_loss(prediction, target, delta=delta)

    return form


def cupy() -> Form:
    """One fused kernel with a sum inside."""
    import cupy

    half = np.float32(0.5)

    @cupy.fuse
    def total(prediction, target, delta):
        distance = cupy.abs(prediction - target)
        loss = cupy.where(distance <= delta, distance * half * distance, delta * (distance - delta * half))
        return cupy.sum(loss)

    def form(prediction, target, delta):
        return total(prediction, target, np.float32(delta)) * np.float32(1 / prediction.size)

    return form


WORKLOAD = Workload(
    name="huber_loss",
    description="mean Huber loss of 10 M predictions, f32",
    function=huber_loss,
    make_inputs=make_inputs,
    necessary_bytes=COUNT * 4 * 2,
    flops=COUNT * 8,
    relative_tolerance=2e-5,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
