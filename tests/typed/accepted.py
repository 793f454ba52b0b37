"""A user's program with types, which mypy and pyright accept as it stands (`tests/test_types.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import jitflow
from jitflow import nn, optim

Array = NDArray[np.float64]


@jitflow.function
def energy(x: Array, scale: float = 1.0, *, power: int = 2) -> float:
    return float((scale * x**power).sum())


@jitflow.function(static=("mode",), fastmath=True)
def reduced(x: Array, mode: str) -> Array:
    return np.cumsum(x) if mode == "sum" else np.sort(x)


class Model:
    def __init__(self, size: int) -> None:
        self.weights = jitflow.Variable(np.ones(size), "weights")

    @jitflow.function
    def forward(self, x: Array) -> Array:
        return np.tanh(x * self.weights.numpy())

    @jitflow.function(device="cpu:0")
    def scaled(self, x: Array, by: int) -> Array:
        return x * by

    @staticmethod
    @jitflow.function
    def squared(x: Array) -> Array:
        return x * x

    @jitflow.function
    @staticmethod
    def doubled(x: Array) -> Array:
        return x + x


def pairs(x: Array) -> tuple[float, dict[str, int]]:
    return energy(x), {"calls": 1}


@jitflow.custom_gradient
def clipped(x: Array) -> tuple[Array, Callable[[Array], Array]]:
    return np.clip(x, -1, 1), lambda dy: dy


@jitflow.checkpoint
def layer(x: Array, depth: int) -> Array:
    return np.sin(x) * depth


x: Array = np.linspace(0.0, 1.0, 3)
model = Model(3)
assert_type(energy(x), float)
assert_type(energy(x, 2.0, power=3), float)
assert_type(reduced(x, mode="sum"), Array)
assert_type(model.forward(x), Array)
assert_type(model.scaled(x, 2), Array)
assert_type(Model.forward(model, x), Array)
assert_type(Model.squared(x), Array)
assert_type(Model.doubled(x), Array)
assert_type(clipped(x), Array)
assert_type(layer(x, depth=2), Array)

assert_type(jitflow.value_and_grad(energy)(x, 2.0), tuple[float, Any])
assert_type(jitflow.value_and_grad(pairs, has_aux=True)(x)[0], tuple[float, dict[str, int]])
assert_type(jitflow.vjp(reduced, x, "sum")[0], Array)
assert_type(jitflow.jvp(reduced, (x, "sum"), (x, None))[0], Array)
assert_type(jitflow.jvp(pairs, (x,), (x,), has_aux=True)[0], float)
assert_type(jitflow.stop_gradient(x), Array)
assert_type(jitflow.function(layer)(x, 3), Array)
assert_type(energy.__wrapped__(x, power=1), float)
slope: Array = jitflow.grad(energy, argnums=0)(x, power=3)
slopes = jitflow.jacobian(reduced)(x, "sum") + jitflow.hessian(energy)(x) + jitflow.hvp(energy, (x,), (x,))[0]
handed_on: Callable[[Array], Array] = jitflow.function(lambda y: y + 1)

optimiser = optim.Adam(1e-3)
optimiser.minimize(lambda: energy(model.weights.numpy()), jitflow.variables(model))
total, stacked = jitflow.scan(lambda carry, item: (carry + item, carry), 0.0, nn.relu(x))
with jitflow.device("cpu:0"), jitflow.profile():
    jitflow.callback(print, None)(jitflow.random.Generator(0).normal())
print(energy.ir(x), energy.explain(jitflow.Spec("f64", ("n",))).kernels, energy.cache_info().misses, slope, slopes)
