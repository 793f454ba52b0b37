"""Scale, clip and normalise the channels of a photograph: bytes to floats, with a broadcast dimension of only 3."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

HEIGHT, WIDTH = 2160, 3840


def normalise_image(image, mean, deviation):
    """Return the image in f32, clipped to its useful range, each channel normalised."""
    scaled = np.clip(image.astype(np.float32) / 255.0, 0.05, 0.95)
    return (scaled - mean) / deviation


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Random bytes."""
    height, width = (13, 17) if small else (HEIGHT, WIDTH)
    image = random.integers(0, 256, (height, width, 3), np.uint8)
    mean = np.array([0.485, 0.456, 0.406], np.float32)
    deviation = np.array([0.229, 0.224, 0.225], np.float32)
    return image, mean, deviation


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64."""
    import numba

    full, low, high = np.float32(255), np.float32(0.05), np.float32(0.95)

    @numba.njit(error_model="numpy")
    def form(image, mean, deviation):
        scaled = np.minimum(np.maximum(image.astype(np.float32) / full, low), high)
        return (scaled - mean) / deviation

    return form


def numba_loops() -> Form:
    """One nest of three loops."""
    import numba

    full, low, high = np.float32(255), np.float32(0.05), np.float32(0.95)

    @numba.njit(error_model="numpy")
    def form(image, mean, deviation):
        result = np.empty(image.shape, np.float32)
        for row in numba.prange(image.shape[0]):
            for column in range(image.shape[1]):
                for channel in range(3):
                    scaled = min(max(np.float32(image[row, column, channel]) / full, low), high)
                    result[row, column, channel] = (scaled - mean[channel]) / deviation[channel]
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(normalise_image, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    def form(image, mean, deviation):
        scaled = torch.clamp(image.to(torch.float32) / 255.0, 0.05, 0.95)
        return (scaled - mean) / deviation

    return form


def cupy() -> Form:
    """One fused kernel; constants in f32."""
    import cupy

    full, low, high = np.float32(255), np.float32(0.05), np.float32(0.95)

    @cupy.fuse
    def form(image, mean, deviation):
        scaled = cupy.minimum(cupy.maximum(image.astype(np.float32) / full, low), high)
        return (scaled - mean) / deviation

    return form


WORKLOAD = Workload(
    name="normalise_image",
    description="scale, clip and normalise a 2160x3840x3 image, u8 to f32",
    function=normalise_image,
    make_inputs=make_inputs,
    necessary_bytes=HEIGHT * WIDTH * 3 * (1 + 4),
    flops=HEIGHT * WIDTH * 3 * 5,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
