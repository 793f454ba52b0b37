"""A program of fifty kernels, which nobody can fuse: on small matrices it costs what launching costs.

Each product needs all of the result before it, and the function of its elements needs all of the product.
"""

from __future__ import annotations

import numpy as np

from .workload import Form, Inputs, Workload, same_source

__all__ = ["KERNELS", "LAUNCHES"]

SIDE = 64
TURNS = 25
KERNELS = 2 * TURNS


def fifty_kernels(x, w):
    """Return `x` after so many products with `w`, each followed by a function of its elements."""
    for _ in range(TURNS):
        x = np.tanh(x @ w)
    return x


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Matrices of such size that numbers neither vanish nor feel each rounding."""
    side = 5 if small else SIDE
    x = random.standard_normal((side, side), np.float32)
    return x, random.standard_normal((side, side), np.float32) * np.float32(1 / side**0.5)


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(fifty_kernels, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(fifty_kernels, np=torch)


def cupy() -> Form:
    """The NumPy program on cupy, which fuses no products."""
    import cupy

    return same_source(fifty_kernels, np=cupy)


LAUNCHES = Workload(
    name="fifty_kernels",
    description=f"{TURNS} products of {SIDE}x{SIDE} matrices, each with tanh, f32",
    function=fifty_kernels,
    make_inputs=make_inputs,
    necessary_bytes=SIDE * SIDE * 4 * 3,
    flops=TURNS * SIDE * SIDE * (2 * SIDE + 1),
    relative_tolerance=1e-4,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
