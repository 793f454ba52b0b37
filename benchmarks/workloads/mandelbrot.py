"""One step of the Mandelbrot iteration: complex arithmetic, a mask and a count."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

SIDE = 2000


def mandelbrot(z, c, count):
    """Return the next `z` where it has not escaped, and the count of steps inside."""
    inside = z.real * z.real + z.imag * z.imag <= 4.0
    return np.where(inside, z * z + c, z), count + inside


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """A plane of points, a few of them escaped."""
    shape = (29, 37) if small else (SIDE, SIDE)
    c = (random.uniform(-2, 1, shape) + 1j * random.uniform(-1.5, 1.5, shape)).astype(np.complex64)
    z = (c * c + c).astype(np.complex64)
    count = random.integers(0, 20, shape).astype(np.int32)
    return z, c, count


def numba_array() -> Form:
    """The NumPy program, with the constant in f32."""
    import numba

    four = np.float32(4)

    @numba.njit(error_model="numpy")
    def form(z, c, count):
        inside = z.real * z.real + z.imag * z.imag <= four
        return np.where(inside, z * z + c, z), count + inside.astype(np.int32)

    return form


def numba_loops() -> Form:
    """One nest of two loops on real and imaginary parts, which numba vectorises better than complex numbers."""
    import numba

    four = np.float32(4)

    @numba.njit(error_model="numpy")
    def form(z, c, count):
        rows, columns = z.shape
        new_z = np.empty_like(z)
        new_count = np.empty_like(count)
        for row in numba.prange(rows):
            for column in range(columns):
                value = z[row, column]
                real, imaginary = value.real, value.imag
                if real * real + imaginary * imaginary <= four:
                    offset = c[row, column]
                    new_z[row, column] = complex(
                        real * real - imaginary * imaginary + offset.real,
                        real * imaginary + imaginary * real + offset.imag,
                    )
                    new_count[row, column] = count[row, column] + np.int32(1)
                else:
                    new_z[row, column] = value
                    new_count[row, column] = count[row, column]
        return new_z, new_count

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(mandelbrot, np=jax.numpy)


def torch() -> Form:
    """On real and imaginary parts, because torch.compile does not fuse complex arithmetic."""
    import torch

    def form(z, c, count):
        parts, offset = torch.view_as_real(z), torch.view_as_real(c)
        real, imaginary = parts[..., 0], parts[..., 1]
        inside = real * real + imaginary * imaginary <= 4.0
        new_real = torch.where(inside, real * real - imaginary * imaginary + offset[..., 0], real)
        new_imaginary = torch.where(inside, real * imaginary + imaginary * real + offset[..., 1], imaginary)
        return torch.view_as_complex(torch.stack([new_real, new_imaginary], dim=-1)), count + inside

    return form


def cupy() -> Form:
    """One fused kernel, in which complex numbers have no parts."""
    import cupy

    @cupy.fuse
    def form(z, c, count):
        inside = cupy.abs(z) <= 2.0
        return cupy.where(inside, z * z + c, z), count + inside

    return form


WORKLOAD = Workload(
    name="mandelbrot",
    description="one complex step with mask and count, 4 M complex64",
    function=mandelbrot,
    make_inputs=make_inputs,
    necessary_bytes=SIDE * SIDE * (3 * 8 + 2 * 4),
    flops=SIDE * SIDE * 13,
    relative_tolerance=2e-6,
    mismatches=1e-5,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
    carried={0: 0, 2: 1},
)
