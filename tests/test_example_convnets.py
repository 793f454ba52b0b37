"""The example of networks for pictures: all derivatives are right, and a step makes the loss smaller."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jitflow

EXAMPLE = Path(__file__).parents[1] / "examples" / "convnets.py"
SIDES = {"alexnet": 67, "overfeat": 99, "vgg": 32, "googlenet": 32}
"""Small pictures, of which something is left behind all poolings."""
TOGETHER = 4
"""Layers whose weights change at the same time."""


@pytest.fixture(scope="module")
def convnets() -> ModuleType:
    specification = importlib.util.spec_from_file_location("example_convnets", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SIDES)
def test_derivatives_in_all_weights(name: str, convnets: ModuleType) -> None:
    layers, _ = convnets.NETWORKS[name]
    network = convnets.Network(layers, SIDES[name], jitflow.random.Generator(1), narrower=32)
    rng = np.random.default_rng(2)
    images, labels = rng.normal(size=(2, 3, SIDES[name], SIDES[name])), rng.integers(0, network.classes, 2)
    # Without the first biases of 0, on which a relu has no derivative.
    weights = [(np.asarray(w, np.float64), rng.normal(size=b.shape)) for w, b in network.weights]

    def loss(weights: Any) -> Any:
        return jitflow.nn.cross_entropy(network.scores(images, weights), labels)

    gradients = jitflow.function(jitflow.grad(loss))(weights)
    for start in range(0, len(weights), TOGETHER):
        layers = range(start, min(start + TOGETHER, len(weights)))
        changes = {layer: [rng.normal(size=one.shape) for one in weights[layer]] for layer in layers}

        def moved(by: float, changes: dict[int, list[Any]] = changes) -> float:
            given = list(weights)
            for layer, change in changes.items():
                given[layer] = tuple(one + by * part for one, part in zip(weights[layer], change, strict=True))
            return float(loss(given))

        expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
        found = sum(
            float(np.vdot(*both)) for layer in layers for both in zip(gradients[layer], changes[layer], strict=True)
        )
        assert np.isclose(found, expected, rtol=1e-4, atol=1e-6), layers


def test_it_runs_as_a_script() -> None:
    command = [sys.executable, "-W", "error", EXAMPLE, "--network", "vgg", "--batch", "1", "--steps", "2"]
    done = subprocess.run([*command, "--narrower", "32"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "step 1: loss" in done.stdout
