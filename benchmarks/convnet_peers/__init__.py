"""How each peer runs the networks of `examples/convnets.py`: a file for each library.

Each has ``prepare(name, mode)``, which gives two functions without arguments: the scores of a batch of pictures, as an
array, and a training step by stochastic gradients with momentum, which gives the loss. All begin with the same weights
and see the same pictures (`Given`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import jitflow
from examples import convnets

__all__ = ["LEARNING_RATE", "MOMENTUM", "PEERS", "Given", "prepared"]

LEARNING_RATE, MOMENTUM = 1e-5, 0.9
"""So small that losses of a second step still agree: pools send gradients of near ties to either number."""

PEERS = {
    "jitflow": ("with_jitflow", ""),
    "torch": ("with_torch", ""),
    "torch, channels last": ("with_torch", "last"),
    "torch.compile": ("with_torch", "compile"),
    "torch.compile, channels last": ("with_torch", "compile last"),
    "jax": ("with_jax", ""),
    "tensorflow": ("with_tensorflow", ""),
}
"""The file of each peer, and the mode in which it runs."""


@dataclass(frozen=True)
class Given:
    """What a network is measured with."""

    name: str

    @cached_property
    def network(self) -> Any:
        """The network, which holds its weights: a kernel and a bias of each layer that has them."""
        layers, side = convnets.NETWORKS[self.name]
        return convnets.Network(layers, side, jitflow.random.Generator(1))

    @cached_property
    def images(self) -> Any:
        """Noise, with the channels before the pixels."""
        side = convnets.NETWORKS[self.name][1]
        rng = np.random.default_rng(0)
        return rng.normal(size=(convnets.BATCHES[self.name], 3, side, side)).astype(np.float32)

    @cached_property
    def labels(self) -> Any:
        """A class for each picture."""
        return np.random.default_rng(1).integers(0, self.network.classes, len(self.images))

    @property
    def weights(self) -> list[tuple[Any, Any]]:
        """The weights as arrays."""
        return [(np.array(weight), np.array(bias)) for weight, bias in self.network.weights]


def prepared(peer: str, name: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """The scores and the training step of a network by a peer."""
    file, mode = PEERS[peer]
    prepare: Callable[..., tuple[Callable[[], Any], Callable[[], Any]]]
    prepare = importlib.import_module(f"{__name__}.{file}").prepare
    return prepare(Given(name), mode)
