"""What is trained: the paper's classifier, an LSTM, a table of embeddings; on GPUs a deep network; and NumPy's answers.

The oracle has its derivatives written out by hand, so that it owes nothing to any of those who are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["ALL_CASES", "BATCHES", "CASES", "COLUMNS", "EPSILON", "GPU_CASES", "LEARNING_RATE", "ROWS", "STEPS", "Case"]

BATCHES = (32, 128, 1024)
LEARNING_RATE = 0.01
FIRST_SUM = 0.1
EPSILON = 1e-10
STEPS = 5
"""So many steps of the classifier and of the table are compared before the clock starts."""

ROWS, COLUMNS = 1_000_000, 64
"""The size of the table, of which a step reads and writes a few rows."""

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """One training step: the ``classifier`` with Adagrad, an ``lstm`` there and back, an ``embedding`` with SGD.

    A ``network`` is a classifier of any depth; ``widths`` are those of the input and the layers of both.
    """

    name: str
    model: str
    batch: int
    description: str
    widths: tuple[int, ...] = (784, 100, 10)

    def small(self) -> Case:
        """The same with few numbers, for a classifier or network: checks results, times mean little."""
        return replace(self, batch=3, widths=(5, *(4 for _ in self.widths[1:])))

    def answers(self) -> list[Any]:
        """What NumPy finds: the losses of the first steps, or the LSTM's loss and gradients."""
        return {"lstm": _lstm, "embedding": _embedding}.get(self.model, _classifier)(self)

    @cached_property
    def inputs(self) -> np.ndarray:
        """Rows ``(batch, width)``, sequences ``(steps, batch, 128)``, or ids ``(batch,)``, of which two are equal."""
        if self.model == "embedding":
            ids = _random(0).integers(0, ROWS, self.batch)
            ids[-1] = ids[0]
            return ids
        shape = (64, self.batch, 128) if self.model == "lstm" else (self.batch, self.widths[0])
        return _random(0).standard_normal(shape, np.float32)

    @cached_property
    def targets(self) -> np.ndarray:
        """Labels ``(batch,)``, what the last state should be, ``(batch, 128)``, or products, ``(batch,)``."""
        if self.model == "embedding":
            return _random(1).standard_normal(self.batch, np.float32)
        if self.model == "lstm":
            return _random(1).standard_normal((self.batch, 128), np.float32)
        return _random(1).integers(0, self.widths[-1], self.batch).astype(np.int32)

    def first_weights(self) -> Arrays:
        """Weights and biases of layers; the weights of inputs, of states, and the biases of an LSTM; or a table."""
        layers = [shape for ends in zip(self.widths, self.widths[1:], strict=False) for shape in (ends, ends[1:])]
        shapes = {
            "lstm": [(128, 512), (128, 512), (512,)],
            "embedding": [(ROWS, COLUMNS), (COLUMNS,)],
        }.get(self.model, layers)
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
        Case("embedding", "embedding", 32, "32 rows of a table of 1,000,000 by 64, a product with each, SGD"),
    )
}

_NETWORK = Case("network_128", "network", 128, "8 layers of 1024, Adagrad, batch 128", widths=(1024,) * 9)
GPU_CASES = {case.name: case for case in (*CASES.values(), _NETWORK) if case.model in ("classifier", "network")}
ALL_CASES = {**CASES, **GPU_CASES}


def _random(stream: int) -> np.random.Generator:
    return np.random.default_rng((2016, stream))


def _classifier(case: Case) -> list[Any]:
    x, labels, weights, sums = case.inputs, case.targets, case.first_weights(), case.first_sums()
    losses = []
    for _ in range(STEPS):
        entering = [x]
        for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
            entering.append(np.maximum(entering[-1] @ w + b, 0))
        logits = entering[-1] @ weights[-2] + weights[-1]
        powers = np.exp(logits - logits.max(1, keepdims=True))
        shares = powers / powers.sum(1, keepdims=True)
        rows = np.arange(case.batch)
        losses.append(-np.log(shares[rows, labels]).mean())
        shares[rows, labels] -= 1
        by_result, gradients = shares / case.batch, []
        for w, entered in zip(weights[-2::-2], entering[::-1], strict=True):
            gradients = [entered.T @ by_result, by_result.sum(0), *gradients]
            by_result = by_result @ w.T * (entered > 0)
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


def _embedding(case: Case) -> list[Any]:
    ids, target, (table, w) = case.inputs, case.targets, case.first_weights()
    losses = []
    for _ in range(STEPS):
        rows = table[ids]
        missed = rows @ w - target
        losses.append((missed * missed).mean())
        by_product = 2 * missed / case.batch
        np.add.at(table, ids, -LEARNING_RATE * by_product[:, None] * w)
        w = w - LEARNING_RATE * by_product @ rows
    return losses
