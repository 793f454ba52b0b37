"""The networks in TensorFlow: `tf.function`, with channels last, which its convolutions on a CPU require."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from examples import convnets

from . import LEARNING_RATE, MOMENTUM, Given


def prepare(given: Given, mode: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    layers = given.network.layers
    weights = [
        (tf.Variable(np.moveaxis(weight, (0, 1), (3, 2)) if weight.ndim == 4 else weight), tf.Variable(bias))
        for weight, bias in given.weights
    ]
    images, labels = tf.constant(np.moveaxis(given.images, 1, -1)), tf.constant(given.labels)
    variables = [variable for pair in weights for variable in pair]
    momenta = [tf.Variable(tf.zeros_like(variable)) for variable in variables]

    @tf.function
    def scores() -> Any:
        return _through(layers, images, iter(weights))

    @tf.function
    def stepped() -> Any:
        with tf.GradientTape() as tape:
            found = _through(layers, images, iter(weights))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, found))
        gradients = tape.gradient(loss, variables)
        for variable, momentum, gradient in zip(variables, momenta, gradients, strict=True):
            tf.raw_ops.ResourceApplyMomentum(
                var=variable.handle, accum=momentum.handle, lr=LEARNING_RATE, grad=gradient, momentum=MOMENTUM
            )
        return loss

    return lambda: scores().numpy(), lambda: float(stepped())


def _through(layers: Sequence[Any], x: Any, weights: Iterator[Any]) -> Any:
    for layer in layers:
        if isinstance(layer, convnets.Conv):
            weight, bias = next(weights)
            around = [[0, 0], *([layer.padding] * 2,) * 2, [0, 0]]
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weight, layer.stride, around), bias))
        elif isinstance(layer, convnets.Pool):
            around = [[0, 0], *([layer.padding] * 2,) * 2, [0, 0]]
            x = tf.nn.max_pool2d(x, layer.size, layer.stride, around if layer.padding else "VALID")
        elif isinstance(layer, convnets.Inception):
            x = tf.concat([_through(way, x, weights) for way in layer.ways], -1)
        elif isinstance(layer, convnets.Mean):
            x = tf.reduce_mean(x, (1, 2))
        else:
            weight, bias = next(weights)
            x = tf.transpose(x, (0, 3, 1, 2)) if len(x.shape) == 4 else x
            x = tf.nn.bias_add(tf.reshape(x, (x.shape[0], -1)) @ weight, bias)
            x = tf.nn.relu(x) if layer.relu else x
    return x
