"""Black-Scholes prices of European calls and puts: a long elementwise chain, bound by log, exp and erf."""

from __future__ import annotations

import numpy as np
from scipy.special import erf

from ..workload import Form, Inputs, Workload, same_source

OPTIONS = 4_000_000


def black_scholes(spot, strike, time, rate, volatility):
    """Return the prices of the calls and of the puts."""
    root_time = np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / (volatility * root_time)
    d2 = d1 - volatility * root_time
    cdf1 = 0.5 + 0.5 * erf(d1 * 0.7071067811865476)
    cdf2 = 0.5 + 0.5 * erf(d2 * 0.7071067811865476)
    discounted = strike * np.exp(-rate * time)
    call = spot * cdf1 - discounted * cdf2
    put = discounted * (1.0 - cdf2) - spot * (1.0 - cdf1)
    return call, put


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """Options around the money, one month to two years."""
    count = 1_003 if small else OPTIONS
    spot = random.uniform(50, 150, count).astype(np.float32)
    strike = random.uniform(50, 150, count).astype(np.float32)
    time = random.uniform(1 / 12, 2, count).astype(np.float32)
    return spot, strike, time, 0.02, 0.3


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64."""
    import math

    import numba

    @numba.vectorize(["float32(float32)"])
    def erf_of(x):
        return math.erf(x)

    half, one, root_half = np.float32(0.5), np.float32(1), np.float32(0.7071067811865476)

    @numba.njit(error_model="numpy")
    def form(spot, strike, time, rate, volatility):
        rate, volatility = np.float32(rate), np.float32(volatility)
        root_time = np.sqrt(time)
        d1 = (np.log(spot / strike) + (rate + half * volatility * volatility) * time) / (volatility * root_time)
        d2 = d1 - volatility * root_time
        cdf1 = half + half * erf_of(d1 * root_half)
        cdf2 = half + half * erf_of(d2 * root_half)
        discounted = strike * np.exp(-rate * time)
        call = spot * cdf1 - discounted * cdf2
        put = discounted * (one - cdf2) - spot * (one - cdf1)
        return call, put

    return form


def numba_loops() -> Form:
    """One loop."""
    import math

    import numba

    half, one, root_half = np.float32(0.5), np.float32(1), np.float32(0.7071067811865476)

    @numba.njit(error_model="numpy")
    def form(spot, strike, time, rate, volatility):
        rate, volatility = np.float32(rate), np.float32(volatility)
        drift = rate + half * volatility * volatility
        call = np.empty_like(spot)
        put = np.empty_like(spot)
        for i in numba.prange(spot.size):
            root_time = np.sqrt(time[i])
            d1 = (np.log(spot[i] / strike[i]) + drift * time[i]) / (volatility * root_time)
            d2 = d1 - volatility * root_time
            cdf1 = half + half * np.float32(math.erf(d1 * root_half))
            cdf2 = half + half * np.float32(math.erf(d2 * root_half))
            discounted = strike[i] * np.exp(-rate * time[i])
            call[i] = spot[i] * cdf1 - discounted * cdf2
            put[i] = discounted * (one - cdf2) - spot[i] * (one - cdf1)
        return call, put

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy
    import jax.scipy.special

    return same_source(black_scholes, np=jax.numpy, erf=jax.scipy.special.erf)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(black_scholes, np=torch, erf=torch.erf)


def cupy() -> Form:
    """One fused kernel; constants, and what is made of numbers alone, in f32."""
    import cupy
    from cupyx.scipy.special import erf

    half, one, root_half = np.float32(0.5), np.float32(1), np.float32(0.7071067811865476)

    @cupy.fuse
    def prices(spot, strike, time, rate, drift, volatility):
        root_time = cupy.sqrt(time)
        d1 = (cupy.log(spot / strike) + drift * time) / (volatility * root_time)
        d2 = d1 - volatility * root_time
        cdf1 = erf(d1 * root_half) * half + half
        cdf2 = erf(d2 * root_half) * half + half
        discounted = strike * cupy.exp(rate * -time)
        return spot * cdf1 - discounted * cdf2, discounted * (-cdf2 + one) - spot * (-cdf1 + one)

    def form(spot, strike, time, rate, volatility):
        drift = np.float32(rate + 0.5 * volatility * volatility)
        return prices(spot, strike, time, np.float32(rate), drift, np.float32(volatility))

    return form


WORKLOAD = Workload(
    name="black_scholes",
    description="prices of 4 M calls and puts, f32",
    function=black_scholes,
    make_inputs=make_inputs,
    necessary_bytes=OPTIONS * 4 * (3 + 2),
    flops=OPTIONS * 32,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
)
