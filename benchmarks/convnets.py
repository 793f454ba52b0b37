"""Networks for pictures beside torch's, one thread: ``python -m benchmarks.convnets [NETWORK]... [--parts]``.

AlexNet, OverFeat, VGG (A) and GoogLeNet as in `examples/convnets.py`, with the batches of the convnet-benchmarks:
scores, and training steps. With ``--parts``, each distinct convolution of a network instead, forwards and both
gradients, beside oneDNN's. Both are called in turns with the same weights; medians count, and losses are compared.

https://github.com/soumith/convnet-benchmarks
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow
from examples import convnets
from jitflow import nn

from .machine import ONE_THREAD, describe_machine, pin_to_one_core, versions

__all__ = ["convolutions", "main", "measured"]

QUANTUM = 2.0
"""Seconds in which both take turns."""
FEWEST = 3
TOLERANCE = 1e-3

Works = dict[str, Callable[[], Any]]


def convolutions(layers: Sequence[Any], channels: int, side: int) -> Iterator[tuple[int, int, Any]]:
    """The inputs, the side of the pictures, and the layer of each convolution."""
    for layer in layers:
        if isinstance(layer, convnets.Conv):
            yield channels, side, layer
            channels, side = layer.outputs, (side + 2 * layer.padding - layer.kernel) // layer.stride + 1
        elif isinstance(layer, convnets.Pool):
            side = (side + 2 * layer.padding - layer.size) // layer.stride + 1
        elif isinstance(layer, convnets.Inception):
            for way in layer.ways:
                yield from convolutions(way, channels, side)
            channels = layer.one + layer.three + layer.five + layer.behind_pool


def measured(works: Works) -> dict[str, float]:
    """The median seconds of each, in turns, behind a first call."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    end = time.perf_counter() + QUANTUM
    while len(times["jitflow"]) < FEWEST or time.perf_counter() < end:
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def _parts(name: str) -> Iterator[tuple[str, Works]]:
    """Each convolution of a network and its gradients."""
    import torch

    layers, side = convnets.NETWORKS[name]
    rng, backward = np.random.default_rng(0), torch.ops.aten.convolution_backward
    for inputs, size, layer in dict.fromkeys(convolutions(layers, 3, side)):
        _, outputs, kernel, stride, padding = inputs, *layer
        x = rng.normal(size=(convnets.BATCHES[name], inputs, size, size)).astype(np.float32)
        weight = (rng.normal(size=(outputs, inputs, kernel, kernel)) / kernel).astype(np.float32)

        def forwards(x: Any, weight: Any, stride: int = stride, padding: int = padding) -> Any:
            return nn.conv(x, weight, None, stride, padding)

        like, heavy = torch.from_numpy(x), torch.from_numpy(weight)
        arriving = np.ones_like(torch.nn.functional.conv2d(like, heavy, None, stride, padding).numpy())
        back = (torch.from_numpy(arriving), like, heavy, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1)
        compiled = jitflow.function(forwards)
        shape = f"{x.shape} to {outputs}, kernel {kernel}, stride {stride}"
        yield (
            f"{shape}: forwards",
            {
                "jitflow": lambda call=compiled, x=x, weight=weight: call(x, weight),
                "torch": lambda x=like, w=heavy, s=stride, p=padding: torch.nn.functional.conv2d(x, w, None, s, p),
            },
        )
        for number, what in enumerate(("inputs", "weights")):
            if number == 0 and inputs == 3:
                continue  # pictures have no gradient in training

            def gradient(x: Any, weight: Any, dy: Any, call: Any = forwards, number: int = number) -> Any:
                return jitflow.vjp(call, x, weight)[1](dy)[number]

            wanted, found = [number == 0, number == 1, False], jitflow.function(gradient)
            yield (
                f"{shape}: gradient of {what}",
                {
                    "jitflow": lambda call=found, given=(x, weight, arriving): call(*given),
                    "torch": lambda back=back, wanted=wanted: backward(*back, wanted),
                },
            )


def _wholes(name: str) -> Iterator[tuple[str, Works]]:
    """The scores of a network, and a training step."""
    import torch

    layers, side = convnets.NETWORKS[name]
    network, rng = convnets.Network(layers, side, jitflow.random.Generator(1)), np.random.default_rng(0)
    x = rng.normal(size=(convnets.BATCHES[name], 3, side, side)).astype(np.float32)
    labels = rng.integers(0, network.classes, len(x))
    model, images, targets = _in_torch(layers, iter(network.weights)), torch.from_numpy(x), torch.from_numpy(labels)
    scores = jitflow.function(lambda images: network(images))

    @torch.no_grad()
    def scores_in_torch() -> Any:
        return model(images)

    np.testing.assert_allclose(scores(x), scores_in_torch().numpy(), atol=TOLERANCE, rtol=TOLERANCE)
    yield f"{name}, scores", {"jitflow": lambda: scores(x), "torch": scores_in_torch}
    step = convnets.make_step(network, jitflow.optim.Momentum(1e-3))
    optimiser = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)

    def step_in_torch() -> float:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), targets)
        loss.backward()
        optimiser.step()
        return float(loss.item())

    for _ in range(2):  # the second shows what gradients did to the weights
        np.testing.assert_allclose(step(x, labels), step_in_torch(), rtol=TOLERANCE)
    yield f"{name}, training step", {"jitflow": lambda: step(x, labels), "torch": step_in_torch}


def _in_torch(layers: Sequence[Any], weights: Iterator[Any]) -> Any:
    """The layers as torch's modules, with copies of the weights."""
    import torch

    class Ways(torch.nn.ModuleList):
        def forward(self, x: Any) -> Any:
            return torch.cat([way(x) for way in self], 1)

    class Mean(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mean((2, 3))

    modules: list[Any] = []
    for layer in layers:
        if isinstance(layer, convnets.Pool):
            modules.append(torch.nn.MaxPool2d(*layer))
        elif isinstance(layer, convnets.Inception):
            modules.append(Ways([_in_torch(way, weights) for way in layer.ways]))
        elif isinstance(layer, convnets.Mean):
            modules.append(Mean())
        else:
            weight, bias = (torch.from_numpy(np.array(variable)) for variable in next(weights))
            is_conv = isinstance(layer, convnets.Conv)
            if is_conv:
                module = torch.nn.Conv2d(weight.shape[1], weight.shape[0], *layer[1:])
            else:
                module, weight = torch.nn.Linear(*weight.shape), weight.T
                modules.append(torch.nn.Flatten())
            module.weight.data, module.bias.data = weight.contiguous(), bias
            modules += [module, torch.nn.ReLU(inplace=True)] if is_conv or layer.relu else [module]
    return torch.nn.Sequential(*modules)


def main(
    names: Annotated[list[str] | None, typer.Argument(help="networks; all if none")] = None,
    parts: Annotated[bool, typer.Option("--parts", help="each convolution, not the networks")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure, and print how many times as fast as torch jitflow is."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):  # read as libraries are imported
        arguments = [sys.executable, "-m", "benchmarks.convnets", *sys.argv[1:]]
        sys.exit(subprocess.run(arguments, env=os.environ | ONE_THREAD).returncode)
    import torch

    torch.set_num_threads(1)
    pin_to_one_core()
    print(f"{describe_machine()['cpu']}, {versions()}")
    rows = list[dict[str, Any]]()
    for name in names or list(convnets.NETWORKS):
        for what, works in (_parts if parts else _wholes)(name):
            seconds = measured(works)
            ratio = seconds["torch"] / seconds["jitflow"]
            rows.append({"network": name, "work": what, "seconds": seconds, "ratio": ratio})
            times = ", ".join(f"{peer} {1e3 * number:.1f}" for peer, number in seconds.items())
            print(f"  {what}: {times} ms; {ratio:.2f} times torch", flush=True)
    ratios = [row["ratio"] for row in rows]
    print(f"mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    if json_file is not None:
        json_file.write_text(json.dumps({"machine": describe_machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
