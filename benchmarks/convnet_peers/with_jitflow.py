"""The networks in jitflow: as the example has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jitflow
from examples import convnets

from . import LEARNING_RATE, MOMENTUM, Given


def prepare(given: Given, mode: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    network, x, labels = given.network, given.images, given.labels
    scores = jitflow.function(lambda images: network(images))
    step = convnets.make_step(network, jitflow.optim.Momentum(LEARNING_RATE, MOMENTUM))
    return lambda: scores(x), lambda: float(step(x, labels))
