"""Mistakes with types, each of which mypy and pyright refuse at its line, and nothing else (`tests/test_types.py`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import jitflow
from jitflow import nothing  # refused

Array = NDArray[np.float64]


@jitflow.function
def energy(x: Array, scale: float = 1.0) -> float:
    return float((scale * x).sum())


class Model:
    @jitflow.function
    def forward(self, x: Array) -> Array:
        return x


x = np.ones(3)
jitflow.nope  # refused
energy.nope  # refused
energy(x, "2")  # refused
energy()  # refused
energy(x, factor=2.0)  # refused
energy(x).shape  # refused
Model().forward(x, x)  # refused
jitflow.grad(energy)(x, "2")  # refused
jitflow.value_and_grad(energy)(x)[0].shape  # refused
jitflow.grad(3)  # refused
jitflow.function(energy, statics="x")  # refused
