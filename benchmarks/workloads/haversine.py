"""Great-circle distances from one place: sin, cos and arcsin in f64."""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

PLACES = 2_000_000


def haversine(latitude, longitude, home_latitude, home_longitude):
    """Return the distances in kilometres; angles in radians."""
    half_latitude = np.sin(0.5 * (latitude - home_latitude))
    half_longitude = np.sin(0.5 * (longitude - home_longitude))
    chord = half_latitude * half_latitude + np.cos(home_latitude) * np.cos(latitude) * half_longitude * half_longitude
    return 12742.0 * np.arcsin(np.sqrt(chord))


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Places all over the sphere, but for the antipodes, where the formula is ill-conditioned."""
    count = 1_003 if small else PLACES
    latitude = random.uniform(-0.4, 1.5, count)
    longitude = random.uniform(-2.0, 2.2, count)
    return latitude, longitude, np.float64(0.8), np.float64(0.1)


def numba_array() -> Form:
    """The NumPy program."""
    import numba

    return numba.njit(error_model="numpy")(haversine)


def numba_loops() -> Form:
    """One loop."""
    import numba

    @numba.njit(error_model="numpy")
    def form(latitude, longitude, home_latitude, home_longitude):
        result = np.empty_like(latitude)
        home_cosine = np.cos(home_latitude)
        for i in numba.prange(latitude.size):
            half_latitude = np.sin(0.5 * (latitude[i] - home_latitude))
            half_longitude = np.sin(0.5 * (longitude[i] - home_longitude))
            chord = half_latitude * half_latitude
            chord += home_cosine * np.cos(latitude[i]) * half_longitude * half_longitude
            result[i] = 12742.0 * np.arcsin(np.sqrt(chord))
        return result

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(haversine, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(haversine, np=torch)


def cupy() -> Form:
    """One fused kernel; what is made of numbers alone is computed before."""
    import cupy

    @cupy.fuse
    def distances(latitude, longitude, home_latitude, home_longitude, home_cosine):
        half_latitude = cupy.sin(0.5 * (latitude - home_latitude))
        half_longitude = cupy.sin(0.5 * (longitude - home_longitude))
        chord = half_latitude * half_latitude + home_cosine * cupy.cos(latitude) * half_longitude * half_longitude
        return 12742.0 * cupy.arcsin(cupy.sqrt(chord))

    def form(latitude, longitude, home_latitude, home_longitude):
        return distances(latitude, longitude, home_latitude, home_longitude, np.cos(home_latitude))

    return form


WORKLOAD = Workload(
    name="haversine",
    description="great-circle distances of 2 M places, f64",
    function=haversine,
    make_inputs=make_inputs,
    necessary_bytes=PLACES * 8 * 3,
    flops=PLACES * 16,
    relative_tolerance=1e-13,
    itemsize=8,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
