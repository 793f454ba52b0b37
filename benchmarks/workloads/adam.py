"""Adam's update of parameters and moments: several results from one sweep, bound by memory.

A form that writes over its arguments would be another program: here the caller keeps the old arrays. Only JAX is given
them up, because donation is how its users write such a step.

Source: Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.
"""

from __future__ import annotations

import numpy as np

from ..workload import Form, Inputs, Workload, same_source

PARAMETERS = 10_000_000


def adam(parameter, moment, velocity, gradient, rate, step):
    """Return the new parameters, first moments and second moments."""
    moment = 0.9 * moment + 0.1 * gradient
    velocity = 0.999 * velocity + 0.001 * gradient * gradient
    corrected_moment = moment / (1.0 - 0.9**step)
    corrected_velocity = velocity / (1.0 - 0.999**step)
    parameter = parameter - rate * corrected_moment / (np.sqrt(corrected_velocity) + 1e-8)
    return parameter, moment, velocity


def make_inputs(random: np.random.Generator, small: bool) -> Inputs:
    """The tenth step of a training."""
    count = 1_003 if small else PARAMETERS
    parameter = random.standard_normal(count, np.float32)
    moment = random.standard_normal(count, np.float32) * np.float32(0.1)
    velocity = random.random(count, np.float32) * np.float32(0.01)
    gradient = random.standard_normal(count, np.float32)
    return parameter, moment, velocity, gradient, 1e-3, 10.0


def numba_array() -> Form:
    """Array expressions; constants in f32, because numba would widen to f64."""
    import numba

    keep1, add1 = np.float32(0.9), np.float32(0.1)
    keep2, add2 = np.float32(0.999), np.float32(0.001)
    epsilon = np.float32(1e-8)

    @numba.njit(error_model="numpy")
    def form(parameter, moment, velocity, gradient, rate, step):
        moment = keep1 * moment + add1 * gradient
        velocity = keep2 * velocity + add2 * gradient * gradient
        corrected_moment = moment / np.float32(1.0 - 0.9**step)
        corrected_velocity = velocity / np.float32(1.0 - 0.999**step)
        parameter = parameter - np.float32(rate) * corrected_moment / (np.sqrt(corrected_velocity) + epsilon)
        return parameter, moment, velocity

    return form


def numba_loops() -> Form:
    """One loop."""
    import numba

    keep1, add1 = np.float32(0.9), np.float32(0.1)
    keep2, add2 = np.float32(0.999), np.float32(0.001)
    epsilon = np.float32(1e-8)

    @numba.njit(error_model="numpy")
    def form(parameter, moment, velocity, gradient, rate, step):
        rate = np.float32(rate)
        correction1 = np.float32(1.0 - 0.9**step)
        correction2 = np.float32(1.0 - 0.999**step)
        new_parameter = np.empty_like(parameter)
        new_moment = np.empty_like(moment)
        new_velocity = np.empty_like(velocity)
        for i in numba.prange(parameter.size):
            m = keep1 * moment[i] + add1 * gradient[i]
            v = keep2 * velocity[i] + add2 * gradient[i] * gradient[i]
            new_moment[i] = m
            new_velocity[i] = v
            new_parameter[i] = parameter[i] - rate * (m / correction1) / (np.sqrt(v / correction2) + epsilon)
        return new_parameter, new_moment, new_velocity

    return form


def jax() -> Form:
    """The NumPy program on jax.numpy."""
    import jax.numpy

    return same_source(adam, np=jax.numpy)


def torch() -> Form:
    """The NumPy program on torch."""
    import torch

    return same_source(adam, np=torch)


def cupy() -> Form:
    """One fused kernel; constants, and what is made of numbers alone, in f32."""
    import cupy

    keep1, add1 = np.float32(0.9), np.float32(0.1)
    keep2, add2 = np.float32(0.999), np.float32(0.001)
    epsilon = np.float32(1e-8)

    @cupy.fuse
    def update(parameter, moment, velocity, gradient, rate, correction1, correction2):
        moment = moment * keep1 + gradient * add1
        velocity = velocity * keep2 + gradient * add2 * gradient
        parameter = parameter - rate * (moment / correction1) / (cupy.sqrt(velocity / correction2) + epsilon)
        return parameter, moment, velocity

    def form(parameter, moment, velocity, gradient, rate, step):
        numbers = (np.float32(number) for number in (rate, 1.0 - 0.9**step, 1.0 - 0.999**step))
        return update(parameter, moment, velocity, gradient, *numbers)

    return form


WORKLOAD = Workload(
    name="adam",
    description="Adam's update of 10 M parameters, f32",
    function=adam,
    make_inputs=make_inputs,
    necessary_bytes=PARAMETERS * 4 * (4 + 3),
    flops=PARAMETERS * 14,
    relative_tolerance=2e-6,
    numba_array=numba_array,
    numba_loops=numba_loops,
    jax=jax,
    torch=torch,
    cupy=cupy,
    carried={0: 0, 1: 1, 2: 2},
)
