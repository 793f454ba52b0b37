"""The mean cross entropy of a sigmoid, from its logits: exp and log1p in a chain reduced to one number."""

from __future__ import annotations

import numpy as np

from ..workload import REORDERED, Form, Inputs, Workload, same_source

COUNT = 4_000_000


def cross_entropy(logits, labels):
    """Return the mean loss, in the form that does not overflow."""
    return (np.maximum(logits, 0.0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))).mean()


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Normal logits, labels 0 and 1."""
    count = 1_003 if small else COUNT
    logits = random.standard_normal(count, np.float32) * np.float32(3)
    return logits, random.integers(0, 2, count).astype(np.float32)


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64, and the sum in f64, to keep its digits."""
    import numba

    zero = np.float32(0)

    @numba.njit(error_model="numpy")
    def form(logits, labels):
        loss = np.maximum(logits, zero) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
        return np.float32(loss.sum(dtype=np.float64) / loss.size)

    return form


def numba_loops() -> Form:
    """One sweep; a block's sum in f32 and the total in f64, because a plain sum in f32 would lose most digits."""
    import numba

    zero = np.float32(0)
    block = 4096

    @numba.njit(error_model="numpy", fastmath=REORDERED)
    def form(logits, labels):
        total = 0.0
        for number in numba.prange(-(-logits.size // block)):
            start = number * block
            part = np.float32(0)
            for i in range(start, min(start + block, logits.size)):
                logit = logits[i]
                part += max(logit, zero) - logit * labels[i] + np.log1p(np.exp(-abs(logit)))
            total += part
        return np.float32(total / logits.size)

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(cross_entropy, np=jax.numpy)


def torch() -> Form:
    """The library's own loss, which torch.compile fuses."""
    from torch.nn import functional

    return functional.binary_cross_entropy_with_logits


def cupy() -> Form:
    """One fused kernel with a sum inside."""
    import cupy

    zero = np.float32(0)

    @cupy.fuse
    def total(logits, labels):
        return cupy.sum(cupy.maximum(logits, zero) - logits * labels + cupy.log1p(cupy.exp(-cupy.abs(logits))))

    def form(logits, labels):
        return total(logits, labels) * np.float32(1 / logits.size)

    return form


WORKLOAD = Workload(
    name="cross_entropy",
    description="mean sigmoid cross entropy of 4 M logits, f32",
    function=cross_entropy,
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
