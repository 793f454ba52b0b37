"""Rotate points in the plane about a centre: columns of a table, read with a stride and put together again."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

POINTS = 4_000_000


def rotate_points(points, centre, angle):
    """Return the points turned by `angle` about `centre`."""
    cosine, sine = np.cos(angle), np.sin(angle)
    x = points[:, 0] - centre[0]
    y = points[:, 1] - centre[1]
    return np.stack([cosine * x - sine * y + centre[0], sine * x + cosine * y + centre[1]], axis=1)


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Points in the unit square; a NumPy scalar as the angle."""
    count = 1_003 if small else POINTS
    return random.random((count, 2), np.float32), np.array([0.5, 0.25], np.float32), np.float32(0.7)


def numba_array() -> Form:
    """Array expressions into the columns of the result."""
    import numba

    @numba.njit(error_model="numpy")
    def form(points, centre, angle):
        cosine, sine = np.cos(angle), np.sin(angle)
        x = points[:, 0] - centre[0]
        y = points[:, 1] - centre[1]
        result = np.empty_like(points)
        result[:, 0] = cosine * x - sine * y + centre[0]
        result[:, 1] = sine * x + cosine * y + centre[1]
        return result

    return form


def numba_loops() -> Form:
    """One loop."""
    import numba

    @numba.njit(error_model="numpy")
    def form(points, centre, angle):
        cosine, sine = np.cos(angle), np.sin(angle)
        centre_x, centre_y = centre[0], centre[1]
        result = np.empty_like(points)
        for i in numba.prange(points.shape[0]):
            x = points[i, 0] - centre_x
            y = points[i, 1] - centre_y
            result[i, 0] = cosine * x - sine * y + centre_x
            result[i, 1] = sine * x + cosine * y + centre_y
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(rotate_points, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    def form(points, centre, angle):
        cosine, sine = torch.cos(angle), torch.sin(angle)
        x = points[:, 0] - centre[0]
        y = points[:, 1] - centre[1]
        return torch.stack([cosine * x - sine * y + centre[0], sine * x + cosine * y + centre[1]], dim=1)

    return form


def cupy() -> Form:
    """A fused kernel for both coordinates, and one that puts them side by side."""
    import cupy

    @cupy.fuse
    def turned(x, y, centre_x, centre_y, cosine, sine):
        x, y = x - centre_x, y - centre_y
        return cosine * x - sine * y + centre_x, sine * x + cosine * y + centre_y

    def form(points, centre, angle):
        ends = turned(points[:, 0], points[:, 1], centre[0], centre[1], np.cos(angle), np.sin(angle))
        return cupy.stack(ends, axis=1)

    return form


WORKLOAD = Workload(
    name="rotate_points",
    description="rotate 4 M points in the plane, f32",
    function=rotate_points,
    make_inputs=make_inputs,
    necessary_bytes=POINTS * 2 * 4 * 2,
    flops=POINTS * 10,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
