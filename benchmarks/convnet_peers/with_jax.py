"""The networks in JAX: one function, compiled, with channels last, which is what XLA's convolutions want on a CPU.

Weights and momenta are donated to a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import convnets

from . import LEARNING_RATE, MOMENTUM, Given


def prepare(given: Given, mode: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    layers = given.network.layers
    weights = [
        (jnp.asarray(np.moveaxis(weight, (0, 1), (3, 2)) if weight.ndim == 4 else weight), jnp.asarray(bias))
        for weight, bias in given.weights
    ]
    images, labels = jnp.asarray(np.moveaxis(given.images, 1, -1)), jnp.asarray(given.labels)
    momenta = jax.tree.map(jnp.zeros_like, weights)

    def loss(weights: Any) -> Any:
        found = jax.nn.log_softmax(_through(layers, images, iter(weights)))
        return -jnp.take_along_axis(found, labels[:, None], 1).mean()

    def stepped(weights: Any, momenta: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights)
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m + g, momenta, gradients)
        return value, jax.tree.map(lambda w, m: w - LEARNING_RATE * m, weights, momenta), momenta

    forwards = jax.jit(lambda weights: _through(layers, images, iter(weights)))
    compiled = jax.jit(stepped, donate_argnums=(0, 1))

    def step() -> float:
        nonlocal weights, momenta
        value, weights, momenta = jax.block_until_ready(compiled(weights, momenta))
        return float(value)

    return lambda: np.asarray(forwards(weights)), step


def _through(layers: Sequence[Any], x: Any, weights: Iterator[Any]) -> Any:
    for layer in layers:
        if isinstance(layer, convnets.Conv):
            weight, bias = next(weights)
            around = ((layer.padding, layer.padding),) * 2
            numbers = ("NHWC", "HWIO", "NHWC")
            x = jax.lax.conv_general_dilated(x, weight, (layer.stride,) * 2, around, dimension_numbers=numbers)
            x = jax.nn.relu(x + bias)
        elif isinstance(layer, convnets.Pool):
            size, step = (1, layer.size, layer.size, 1), (1, layer.stride, layer.stride, 1)
            around = ((0, 0), *((layer.padding, layer.padding),) * 2, (0, 0))
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, size, step, around)
        elif isinstance(layer, convnets.Inception):
            x = jnp.concatenate([_through(way, x, weights) for way in layer.ways], axis=-1)
        elif isinstance(layer, convnets.Mean):
            x = x.mean(axis=(1, 2))
        else:
            weight, bias = next(weights)
            x = (jnp.moveaxis(x, -1, 1) if x.ndim == 4 else x).reshape(len(x), -1) @ weight + bias
            x = jax.nn.relu(x) if layer.relu else x
    return x
