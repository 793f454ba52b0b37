"""A small classifier for the tests of replicas, and what one process makes of the same parts of the data."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow
from jitflow import nn
from jitflow.data import Dataset, arrays

RNG = np.random.default_rng(0)
IMAGES, LABELS = RNG.standard_normal((256, 20)).astype(np.float32), RNG.integers(0, 5, 256)


DECAY = jitflow.optim.ExponentialDecay(1e-2, 0.9, 10)


class Classifier:
    """Two layers. The step is compiled for each instance, since replicas in one process would wait for each other."""

    def __init__(self, optimiser: Callable[[], Any] = lambda: jitflow.optim.Adam(DECAY)) -> None:
        draw = np.random.default_rng(1)
        self.w1 = jitflow.Variable(draw.standard_normal((20, 32)).astype(np.float32) * 0.1)
        self.b1 = jitflow.Variable(np.zeros(32, np.float32))
        self.w2 = jitflow.Variable(draw.standard_normal((32, 5)).astype(np.float32) * 0.1)
        self.optimiser = optimiser()
        self.step = jitflow.function(self._step)

    @property
    def weights(self) -> list[Any]:
        return [self.w1, self.b1, self.w2]

    def loss(self, images: Any, labels: Any) -> Any:
        return nn.cross_entropy(nn.relu(images @ self.w1 + self.b1) @ self.w2, labels)

    def _step(self, images: Any, labels: Any) -> Any:
        return self.optimiser.minimize(self.loss, [self.w1, self.b1, self.w2], images, labels)


def slowly(step: int) -> None:
    """In front of a step, so that there is time for a fault."""
    time.sleep(0.005)


def now_and_then(step: int) -> None:
    """In front of a step: a straggler at times."""
    time.sleep(0.5 if (step * 7 + os.getpid()) % 23 == 0 else 0.005)


def batches(size: int = 16) -> Dataset:
    return arrays(IMAGES, LABELS).batch(size).repeat()


def trained_alone(steps: int, parts: int, make: Callable[[], Any] = Classifier) -> tuple[Any, list[list[float]]]:
    """The model that one process makes which sums the gradients of the same parts in the same order, and the losses."""
    model = make()
    data = [iter(batches().shard(part, parts)) for part in range(parts)]

    @jitflow.function
    def gradients(images: Any, labels: Any) -> Any:
        return jitflow.value_and_grad(model.loss, variables=model.weights)(images, labels)

    losses = []
    for _ in range(steps):
        found = [gradients(*next(one)) for one in data]
        totals = [sum((grads[place] for _, grads in found[1:]), found[0][1][place]) for place in range(3)]
        model.optimiser.apply(totals, model.weights)
        losses.append([float(loss) for loss, _ in found])
    return model, losses


def same(model: Any, other: Any) -> bool:
    return all(np.array_equal(one.numpy(), two.numpy()) for one, two in zip(model.weights, other.weights, strict=True))


def wait_for_step(replicas: Any, step: int) -> None:
    """Until the leader of a run is at a step, or the replicas have been closed."""
    import ray

    while not replicas._closed:
        time.sleep(0.02)
        if not replicas._hosts or replicas._hosts[0] is None:
            continue
        try:
            went_through, answer = ray.get(replicas._hosts[0].call.remote("leader", "status"))
        except ray.exceptions.RayActorError:  # the run has begun anew
            continue
        if went_through and max(one.step for one in answer[0]) >= step:
            return
