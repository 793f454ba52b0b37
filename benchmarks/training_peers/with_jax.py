"""The models in JAX: weights and sums are donated to the step; time is a scan.

Steps of classifiers and networks are waited for unless the mode is ``queued``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..training_cases import EPSILON, LEARNING_RATE, Case


def classifier(case: Case, mode: str) -> Callable[[], Any]:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        w1, b1, w2, b2 = weights
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        return _cross_entropy(logits, labels)

    return _trained(case, mode, loss)


def network(case: Case, mode: str) -> Callable[[], Any]:
    def loss(weights: Any, x: Any, labels: Any) -> Any:
        for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            x = jax.nn.relu(x @ w + b)
        return _cross_entropy(x @ weights[-2] + weights[-1], labels)

    return _trained(case, mode, loss)


def _cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def _trained(case: Case, mode: str, loss: Callable[..., Any]) -> Callable[[], Any]:
    def step(weights: Any, sums: Any, x: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x, labels)
        sums = [total + g * g for total, g in zip(sums, gradients, strict=True)]
        updates = [LEARNING_RATE * g / (jnp.sqrt(s) + EPSILON) for g, s in zip(gradients, sums, strict=True)]
        return value, [weight - update for weight, update in zip(weights, updates, strict=True)], sums

    compiled = jax.jit(step, donate_argnums=(0, 1))
    weights = [jnp.array(weight) for weight in case.first_weights()]
    sums = [jnp.array(total) for total in case.first_sums()]
    x, labels = jnp.array(case.inputs), jnp.array(case.targets)

    def run() -> Any:
        nonlocal weights, sums
        value, weights, sums = results = compiled(weights, sums, x, labels)
        if mode != "queued":
            jax.block_until_ready(results)
        return value

    return run


def lstm(case: Case, mode: str) -> Callable[[], Any]:
    def loss(weights: Any, x: Any, target: Any) -> Any:
        w, u, b = weights

        def turn(carried: Any, projected: Any) -> Any:
            h, c = carried
            i, f, g, o = jnp.split(projected + h @ u, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = (jnp.zeros_like(target), jnp.zeros_like(target))
        (h, _), _ = jax.lax.scan(turn, start, x @ w + b)
        return ((h - target) ** 2).mean()

    compiled = jax.jit(jax.value_and_grad(loss))
    weights = [jnp.array(weight) for weight in case.first_weights()]
    x, target = jnp.array(case.inputs), jnp.array(case.targets)

    def run() -> Any:
        value, gradients = jax.block_until_ready(compiled(weights, x, target))
        return (value, *gradients)

    return run


def embedding(case: Case, mode: str) -> Callable[[], Any]:
    """By rows by hand: JAX has no sparse gradients, and that of the table would be as large as the table."""

    def loss(rows: Any, w: Any, target: Any) -> Any:
        return ((rows @ w - target) ** 2).mean()

    def step(table: Any, w: Any, ids: Any, target: Any) -> Any:
        value, (by_rows, by_w) = jax.value_and_grad(loss, argnums=(0, 1))(table[ids], w, target)
        return value, table.at[ids].add(-LEARNING_RATE * by_rows), w - LEARNING_RATE * by_w

    compiled = jax.jit(step, donate_argnums=(0, 1))
    table, w = [jnp.array(weight) for weight in case.first_weights()]
    ids, target = jnp.array(case.inputs), jnp.array(case.targets)

    def run() -> Any:
        nonlocal table, w
        value, table, w = jax.block_until_ready(compiled(table, w, ids, target))
        return value

    return run
