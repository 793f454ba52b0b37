"""Four networks for pictures, as the convnet-benchmarks have them: AlexNet, OverFeat, VGG (A) and GoogLeNet.

python examples/convnets.py                        a few training steps of AlexNet on noise
python examples/convnets.py --network googlenet --batch 8 --steps 10

https://github.com/soumith/convnet-benchmarks
"""

from __future__ import annotations

from argparse import ArgumentParser
from time import perf_counter
from typing import NamedTuple

import numpy as np

import jitflow
from jitflow import Variable, nn


class Conv(NamedTuple):
    """A convolution and a relu."""

    outputs: int
    kernel: int
    stride: int = 1
    padding: int = 0


class Pool(NamedTuple):
    """The maximum of windows."""

    size: int
    stride: int = 2
    padding: int = 0


class Inception(NamedTuple):
    """Four ways side by side: 1 x 1, then 3 x 3 and 5 x 5 behind a narrower 1 x 1, and a maximum (Szegedy, 2014)."""

    one: int
    before_three: int
    three: int
    before_five: int
    five: int
    behind_pool: int

    @property
    def ways(self):
        """The layers of each way."""
        three, five = Conv(self.three, 3, padding=1), Conv(self.five, 5, padding=2)
        return (
            [Conv(self.one, 1)],
            [Conv(self.before_three, 1), three],
            [Conv(self.before_five, 1), five],
            [Pool(3, 1, 1), Conv(self.behind_pool, 1)],
        )


class Mean(NamedTuple):
    """The mean of all pixels of a channel."""


class Dense(NamedTuple):
    """A layer of features, each of all that stands before it, and a relu, unless they are scores."""

    features: int
    relu: bool = True


ALEXNET = (
    Conv(64, 11, 4, 2), Pool(3), Conv(192, 5, padding=2), Pool(3),
    Conv(384, 3, padding=1), Conv(256, 3, padding=1), Conv(256, 3, padding=1), Pool(3),
    Dense(4096), Dense(4096), Dense(1000, relu=False),
)  # fmt: skip
OVERFEAT = (
    Conv(96, 11, 4), Pool(2), Conv(256, 5), Pool(2),
    Conv(512, 3, padding=1), Conv(1024, 3, padding=1), Conv(1024, 3, padding=1), Pool(2),
    Dense(3072), Dense(4096), Dense(1000, relu=False),
)  # fmt: skip
VGG = (
    Conv(64, 3, padding=1), Pool(2), Conv(128, 3, padding=1), Pool(2),
    Conv(256, 3, padding=1), Conv(256, 3, padding=1), Pool(2), Conv(512, 3, padding=1), Conv(512, 3, padding=1),
    Pool(2), Conv(512, 3, padding=1), Conv(512, 3, padding=1), Pool(2),
    Dense(4096), Dense(4096), Dense(1000, relu=False),
)  # fmt: skip
GOOGLENET = (
    Conv(64, 7, 2, 3), Pool(3, 2, 1), Conv(64, 1), Conv(192, 3, padding=1), Pool(3, 2, 1),
    Inception(64, 96, 128, 16, 32, 32), Inception(128, 128, 192, 32, 96, 64), Pool(3, 2, 1),
    Inception(192, 96, 208, 16, 48, 64), Inception(160, 112, 224, 24, 64, 64), Inception(128, 128, 256, 24, 64, 64),
    Inception(112, 144, 288, 32, 64, 64), Inception(256, 160, 320, 32, 128, 128), Pool(3, 2, 1),
    Inception(256, 160, 320, 32, 128, 128), Inception(384, 192, 384, 48, 128, 128), Mean(), Dense(1000, relu=False),
)  # fmt: skip
NETWORKS = {"alexnet": (ALEXNET, 224), "overfeat": (OVERFEAT, 231), "vgg": (VGG, 224), "googlenet": (GOOGLENET, 224)}
"""The layers of each network, and the side of its pictures."""
BATCHES = {"alexnet": 16, "overfeat": 8, "vgg": 4, "googlenet": 8}


class Network:
    """Layers with their weights; ``narrower`` divides the width of each but the last."""

    def __init__(self, layers, side, rng, narrower=1):
        self.layers, self.side, self.narrower = layers, side, narrower
        self.weights = []
        with_channels, pixels = self._make(layers, 3, side, rng)
        assert pixels == 0, "expected a network that ends in a layer of features"
        self.classes = with_channels

    def _make(self, layers, channels, side, rng):
        """Draw the weights of layers in their order; the number of channels, and of pixels in a row, behind them."""
        for layer in layers:
            if isinstance(layer, Conv):
                outputs = max(layer.outputs // self.narrower, 1)
                drawn = nn.he_normal((layer.kernel, layer.kernel, channels, outputs), rng)
                self.weights.append((Variable(np.transpose(drawn, (3, 2, 0, 1))), Variable(nn.zeros(outputs))))
                channels, side = outputs, (side + 2 * layer.padding - layer.kernel) // layer.stride + 1
            elif isinstance(layer, Pool):
                side = (side + 2 * layer.padding - layer.size) // layer.stride + 1
            elif isinstance(layer, Inception):
                channels = sum(self._make(way, channels, side, rng)[0] for way in layer.ways)
            elif isinstance(layer, Mean):
                side = 1
            else:
                inputs = channels * max(side, 1) ** 2
                features = max(layer.features // self.narrower, 1) if layer.relu else layer.features
                self.weights.append((Variable(nn.he_normal((inputs, features), rng)), Variable(nn.zeros(features))))
                channels, side = features, 0
        return channels, side

    def __call__(self, images):
        """The scores of the classes."""
        return self.scores(images, self.weights)

    def scores(self, images, weights):
        """The scores that the network would give with other weights."""
        return self._through(self.layers, images, iter(weights))

    def _through(self, layers, x, weights):
        for layer in layers:
            if isinstance(layer, Conv):
                weight, bias = next(weights)
                x = nn.relu(nn.conv(x, weight, bias, layer.stride, layer.padding))
            elif isinstance(layer, Pool):
                x = nn.max_pool(x, layer.size, layer.stride, layer.padding)
            elif isinstance(layer, Inception):
                x = np.concatenate([self._through(way, x, weights) for way in layer.ways], axis=1)
            elif isinstance(layer, Mean):
                x = x.mean(axis=(2, 3))
            else:
                weight, bias = next(weights)
                x = x.reshape(len(x), -1) @ weight + bias
                x = nn.relu(x) if layer.relu else x
        return x


def make_step(network, optimiser):
    """A training step: of images and labels it makes the loss, and the network a little better."""

    @jitflow.function
    def step(images, labels):
        return optimiser.minimize(lambda: nn.cross_entropy(network(images), labels), network.weights)

    return step


def main() -> None:
    parser = ArgumentParser(description="Train a network for pictures on noise.")
    parser.add_argument("--network", choices=NETWORKS, default="alexnet")
    parser.add_argument("--batch", type=int, help="pictures a step, as in the benchmarks by default")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--narrower", type=int, default=1, help="divides the width of all layers but the last")
    options = parser.parse_args()
    layers, side = NETWORKS[options.network]
    network = Network(layers, side, jitflow.random.Generator(1), options.narrower)
    step = make_step(network, jitflow.optim.Momentum(1e-3))
    rng, batch = np.random.default_rng(0), options.batch or BATCHES[options.network]
    images = rng.normal(size=(batch, 3, side, side)).astype(np.float32)
    labels = rng.integers(0, network.classes, batch)
    for number in range(options.steps):
        start = perf_counter()
        loss = step(images, labels)
        print(f"step {number}: loss {loss:.3f}, {1e3 * (perf_counter() - start):.0f} ms")


if __name__ == "__main__":
    main()
