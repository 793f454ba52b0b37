"""What is trained: the paper's classifier and an LSTM, with their data, first weights, and NumPy's answers.

The oracle has its derivatives written out by hand, so that it owes nothing to any of those who are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["BATCHES", "CASES", "EPSILON", "LEARNING_RATE", "STEPS", "Case"]

BATCHES = (32, 128, 1024)
LEARNING_RATE = 0.01
FIRST_SUM = 0.1
EPSILON = 1e-10
STEPS = 5
"""So many steps of the classifier are compared before the clock starts."""

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """One training step: of the ``classifier`` with Adagrad, or an ``lstm`` forward and backward."""

    name: str
    model: str
    batch: int
    description: str

    def answers(self) -> list[Any]:
        """What NumPy finds: the losses of the classifier's first steps, or the LSTM's loss and gradients."""
        return _classifier(self) if self.model == "classifier" else _lstm(self)

    @cached_property
    def inputs(self) -> np.ndarray:
        """Pictures ``(batch, 784)``, or sequences ``(steps, batch, 128)``."""
        shape = (self.batch, 784) if self.model == "classifier" else (64, self.batch, 128)
        return _random(0).standard_normal(shape, np.float32)

    @cached_property
    def targets(self) -> np.ndarray:
        """Labels ``(batch,)``, or what the last state should be, ``(batch, 128)``."""
        if self.model == "classifier":
            return _random(1).integers(0, 10, self.batch).astype(np.int32)
        return _random(1).standard_normal((self.batch, 128), np.float32)

    def first_weights(self) -> Arrays:
        """Weights and biases of two layers, or the weights of inputs, of states, and the biases of an LSTM."""
        shapes = (
            [(784, 100), (100,), (100, 10), (10,)] if self.model == "classifier" else [(128, 512), (128, 512), (512,)]
        )
        random = _random(2)
        return [random.standard_normal(shape, np.float32) * np.float32(0.05) for shape in shapes]

    def first_sums(self) -> Arrays:
        """Adagrad's sums of squares before the first step."""
        return [np.full_like(weight, FIRST_SUM) for weight in self.first_weights()]


CASES = {
    case.name: case
    for case in (
        *(Case(f"classifier_{batch}", "classifier", batch, f"784-100-10, Adagrad, batch {batch}") for batch in BATCHES),
        Case("lstm", "lstm", 16, "LSTM of 128 units, 64 steps, batch 16, forward and backward"),
    )
}


def _random(stream: int) -> np.random.Generator:
    return np.random.default_rng((2016, stream))


def _classifier(case: Case) -> list[Any]:
    x, labels, weights, sums = case.inputs, case.targets, case.first_weights(), case.first_sums()
    losses = []
    for _ in range(STEPS):
        w1, b1, w2, b2 = weights
        hidden = np.maximum(x @ w1 + b1, 0)
        logits = hidden @ w2 + b2
        powers = np.exp(logits - logits.max(1, keepdims=True))
        shares = powers / powers.sum(1, keepdims=True)
        rows = np.arange(case.batch)
        losses.append(-np.log(shares[rows, labels]).mean())
        shares[rows, labels] -= 1
        by_logits = shares / case.batch
        by_hidden = by_logits @ w2.T * (hidden > 0)
        gradients = [x.T @ by_hidden, by_hidden.sum(0), hidden.T @ by_logits, by_logits.sum(0)]
        for weight, total, gradient in zip(weights, sums, gradients, strict=True):
            total += gradient * gradient
            weight -= LEARNING_RATE * gradient / (np.sqrt(total) + EPSILON)
    return losses


def _lstm(case: Case) -> list[Any]:
    x, target, (w, u, b) = case.inputs, case.targets, case.first_weights()
    steps = len(x)
    h = c = np.zeros_like(target)
    kept = []
    for t in range(steps):
        z = x[t] @ w + h @ u + b
        gates = 1 / (1 + np.exp(-z))
        gates[:, 256:384] = np.tanh(z[:, 256:384])
        i, f, g, o = np.split(gates, 4, 1)
        kept.append((h, c, gates))
        c = f * c + i * g
        h = o * np.tanh(c)
    loss = ((h - target) ** 2).mean()
    by_h, by_c = 2 * (h - target) / target.size, np.zeros_like(c)
    by_w, by_u, by_b = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    for t in reversed(range(steps)):
        before, c_before, gates = kept[t]
        i, f, g, o = np.split(gates, 4, 1)
        tanh_c = np.tanh(f * c_before + i * g)
        by_c = by_c + by_h * o * (1 - tanh_c * tanh_c)
        by_gates = [by_c * g, by_c * c_before, by_c * i, by_h * tanh_c]
        slopes = [i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)]
        by_z = np.concatenate([gradient * slope for gradient, slope in zip(by_gates, slopes, strict=True)], 1)
        by_w += x[t].T @ by_z
        by_u += before.T @ by_z
        by_b += by_z.sum(0)
        by_h, by_c = by_z @ u.T, by_c * f
    return [loss, by_w, by_u, by_b]
