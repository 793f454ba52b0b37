"""The models in TensorFlow: a `tf.function` over variables, with its own kernels for updates; time is unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..training_cases import LEARNING_RATE, Case


def classifier(case: Case, mode: str) -> Callable[[], Any]:
    weights = [tf.Variable(weight) for weight in case.first_weights()]
    sums = [tf.Variable(total) for total in case.first_sums()]
    w1, b1, w2, b2 = weights

    @tf.function(jit_compile=mode == "xla")
    def step(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.nn.relu(x @ w1 + b1) @ w2 + b2
            value = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for weight, total, gradient in zip(weights, sums, tape.gradient(value, weights), strict=True):
            tf.raw_ops.ResourceApplyAdagrad(var=weight.handle, accum=total.handle, lr=LEARNING_RATE, grad=gradient)
        return value

    x, labels = tf.constant(case.inputs), tf.constant(case.targets)
    return lambda: step(x, labels).numpy()


def lstm(case: Case, mode: str) -> Callable[[], Any]:
    w, u, b = weights = [tf.Variable(weight) for weight in case.first_weights()]

    @tf.function(jit_compile=mode == "xla")
    def step(x: Any, target: Any) -> Any:
        with tf.GradientTape() as tape:
            h = c = tf.zeros_like(target)
            rows = tf.unstack(tf.reshape(tf.reshape(x, (-1, 128)) @ w + b, (*x.shape[:2], -1)))
            for projected in rows:
                i, f, g, o = tf.split(projected + h @ u, 4, 1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(c)
            value = tf.reduce_mean((h - target) ** 2)
        return value, *tape.gradient(value, weights)

    x, target = tf.constant(case.inputs), tf.constant(case.targets)

    def run() -> Any:
        results = step(x, target)
        results[0].numpy()
        return results

    return run


def embedding(case: Case, mode: str) -> Callable[[], Any]:
    table, w = [tf.Variable(weight) for weight in case.first_weights()]

    @tf.function(jit_compile=mode == "xla")
    def step(ids: Any, target: Any) -> Any:
        with tf.GradientTape() as tape:
            value = tf.reduce_mean((tf.linalg.matvec(tf.gather(table, ids), w) - target) ** 2)
        rows, by_w = tape.gradient(value, [table, w])  # of the table as `tf.IndexedSlices`
        table.scatter_sub(tf.IndexedSlices(LEARNING_RATE * rows.values, rows.indices))
        w.assign_sub(LEARNING_RATE * by_w)
        return value

    ids, target = tf.constant(case.inputs), tf.constant(case.targets)
    return lambda: step(ids, target).numpy()
