"""The networks in torch: modules, eager or compiled, with pictures in either layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from examples import convnets

from . import LEARNING_RATE, MOMENTUM, Given


def prepare(given: Given, mode: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    layout = torch.channels_last if "last" in mode else torch.contiguous_format
    model = module(given.network.layers, iter(given.weights)).to(memory_format=layout)
    images = torch.from_numpy(given.images).to(memory_format=layout)
    targets = torch.from_numpy(given.labels)
    optimiser = torch.optim.SGD(model.parameters(), LEARNING_RATE, momentum=MOMENTUM)
    called: Any = torch.compile(model) if "compile" in mode else model

    @torch.no_grad()
    def scores() -> Any:
        return called(images).numpy()

    def step() -> float:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(called(images), targets)
        loss.backward()
        optimiser.step()
        return float(loss.item())

    return scores, step


class _Ways(torch.nn.ModuleList):
    def forward(self, x: Any) -> Any:
        return torch.cat([way(x) for way in self], 1)


class _Mean(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.mean((2, 3))


def module(layers: Sequence[Any], weights: Iterator[Any]) -> Any:
    """Layers as torch's modules, with copies of the weights."""
    modules: list[Any] = []
    for layer in layers:
        if isinstance(layer, convnets.Pool):
            modules.append(torch.nn.MaxPool2d(*layer))
        elif isinstance(layer, convnets.Inception):
            modules.append(_Ways([module(way, weights) for way in layer.ways]))
        elif isinstance(layer, convnets.Mean):
            modules.append(_Mean())
        else:
            weight, bias = map(torch.from_numpy, next(weights))
            is_conv = isinstance(layer, convnets.Conv)
            if is_conv:
                made: Any = torch.nn.Conv2d(weight.shape[1], weight.shape[0], *layer[1:])
            else:
                made, weight = torch.nn.Linear(*weight.shape), weight.T
                modules.append(torch.nn.Flatten())
            made.weight.data, made.bias.data = weight.contiguous(), bias
            modules += [made, torch.nn.ReLU(inplace=True)] if is_conv or layer.relu else [made]
    return torch.nn.Sequential(*modules)
