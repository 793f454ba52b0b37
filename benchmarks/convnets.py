"""Networks for pictures beside torch, JAX and TensorFlow: ``python -m benchmarks.convnets [NETWORK]... [--parts]``.

AlexNet, OverFeat, VGG (A) and GoogLeNet as in `examples/convnets.py`, with the batches of the convnet-benchmarks:
scores, and training steps, on one thread or on all cores (``--all``). Each peer has a process of its own, all begin
with the same weights, and scores and losses are compared; they take turns, and medians count. With ``--parts``, each
distinct convolution of a network instead, forwards and both gradients, beside oneDNN's, in one process. With
``--gradients``, the gradients of all parameters beside torch's: how far apart they are, for the largest of each.

https://github.com/soumith/convnet-benchmarks
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow
from examples import convnets
from jitflow import nn

from .convnet_peers import PEERS, Given, prepared
from .limits import arithmetic_peak
from .machine import (
    ALL_THREADS,
    ONE_THREAD,
    describe_machine,
    ensure_environment,
    pin_to_one_core,
    usable_cores,
    versions,
)
from .worker import Worker

__all__ = ["NetworkSession", "convolutions", "main", "measured"]

QUANTUM = 2.0
"""Seconds in which all take turns, for each of them."""
FEWEST = 3
TOLERANCE = 1e-3
EXACT = 1e-10
"""How far gradients in double precision may be apart, beside the largest."""

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


def measured(works: Works, timed: bool = False) -> dict[str, float]:
    """The median seconds of each, in turns, behind a first call; ``timed`` works tell what they took."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    end = time.perf_counter() + QUANTUM * (len(works) if timed else 1)
    while len(times["jitflow"]) < FEWEST or time.perf_counter() < end:
        for name, work in works.items():
            start = time.perf_counter()
            found = work()
            times[name].append(found if timed else time.perf_counter() - start)
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

            def of_inputs(x: Any, weight: Any, dy: Any, call: Any = forwards) -> Any:
                return jitflow.vjp(lambda x: call(x, weight), x)[1](dy)

            def of_weights(x: Any, weight: Any, dy: Any, call: Any = forwards) -> Any:
                return jitflow.vjp(lambda weight: call(x, weight), weight)[1](dy)

            wanted = [number == 0, number == 1, False]
            found = jitflow.function(of_weights if number else of_inputs)
            yield (
                f"{shape}: gradient of {what}",
                {
                    "jitflow": lambda call=found, given=(x, weight, arriving): call(*given),
                    "torch": lambda back=back, wanted=wanted: backward(*back, wanted),
                },
            )


class NetworkSession:
    """What happens inside of a peer's process: one network is prepared at a time."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.works: tuple[Callable[[], Any], Callable[[], Any]] = (lambda: None, lambda: None)
        self.run: Callable[[], Any] = lambda: None

    def warm_up(self) -> None:
        """Nothing: first calls are of networks."""

    def network(self, name: str) -> None:
        """Make the weights of a network."""
        if self.peer == "tensorflow":
            import tensorflow as tf

            count = usable_cores()
            tf.config.threading.set_intra_op_parallelism_threads(count)
            tf.config.threading.set_inter_op_parallelism_threads(count)
        self.works = prepared(self.peer, name)

    def first(self, number: int) -> tuple[float, list[Any]]:
        """Choose the scores or the step; the seconds of the first call, and what that and the second one give."""
        self.run = self.works[number]
        start = time.perf_counter()
        found = self.run()
        return time.perf_counter() - start, [found, self.run()]

    def turn(self) -> float:
        """The seconds of one call."""
        start = time.perf_counter()
        self.run()
        return time.perf_counter() - start


def _wholes(name: str, peers: Sequence[str], all_threads: bool) -> Iterator[dict[str, Any]]:
    """What is measured of the scores of a network, and of a training step."""
    with ExitStack() as stack:
        workers = {
            peer: stack.enter_context(closing(Worker(peer, all_threads=all_threads, make_session=NetworkSession)))
            for peer in peers
        }
        for worker in workers.values():
            worker.ask("network", name)
        for number, what in enumerate(("scores", "training step")):
            first = {peer: worker.ask("first", number) for peer, worker in workers.items()}
            for peer, (_, found) in first.items():  # the second step shows what gradients did to the weights
                for mine, theirs in zip(first["jitflow"][1], found, strict=True):
                    np.testing.assert_allclose(mine, theirs, atol=TOLERANCE, rtol=TOLERANCE, err_msg=peer)
            seconds = measured({peer: worker.turn for peer, worker in workers.items()}, timed=True)
            yield {
                "network": name,
                "work": what,
                "seconds": seconds,
                "first": {p: one for p, (one, _) in first.items()},
            }


def _gradients(name: str) -> Iterator[tuple[str, float]]:
    """How far the gradient of each parameter lies from torch's, for two pictures, in double precision.

    In single precision, two numbers of a window of a pool may be closer to each other than what they are rounded to:
    then its gradient goes to either of them.
    """
    import torch

    from .convnet_peers.with_torch import module

    given = Given(name)
    network, x, labels = given.network, given.images[:2].astype(np.float64), given.labels[:2]
    weights = [tuple(one.astype(np.float64) for one in pair) for pair in given.weights]
    model = module(network.layers, iter(weights)).double()
    torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(labels)).backward()
    loss = jitflow.function(jitflow.grad(lambda weights: nn.cross_entropy(network.scores(x, weights), labels)))
    found = [one for pair in loss(weights) for one in pair]
    for number, (mine, parameter) in enumerate(zip(found, model.parameters(), strict=True)):
        theirs = parameter.grad.numpy()
        theirs = theirs.T if mine.ndim == 2 else theirs
        yield f"{name}, parameter {number} {mine.shape}", float(abs(mine - theirs).max() / abs(theirs).max())


def main(
    names: Annotated[list[str] | None, typer.Argument(help="networks; all if none")] = None,
    parts: Annotated[bool, typer.Option("--parts", help="each convolution, not the networks")] = False,
    gradients: Annotated[bool, typer.Option("--gradients", help="compare gradients, measure nothing")] = False,
    all_threads: Annotated[bool, typer.Option("--all", help="on all cores, not on one thread")] = False,
    peers: Annotated[list[str] | None, typer.Option("--peer", help="which to measure beside jitflow")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure, and print how many times as fast as the best of the others jitflow is."""
    ensure_environment(ALL_THREADS if all_threads else ONE_THREAD, "benchmarks.convnets")
    if not all_threads:
        pin_to_one_core()
    peak = arithmetic_peak(4)
    print(f"{describe_machine()['cpu']}, {usable_cores()} cores, {peak / 1e9:.0f} GFLOP/s, {versions()}")
    rows = list[dict[str, Any]]()
    for name in names or list(convnets.NETWORKS):
        if gradients:
            for what, apart in _gradients(name):
                print(f"  {what}: {apart:.1e}", flush=True)
                assert apart < EXACT, what
            continue
        found = _parts_measured(name) if parts else _wholes(name, ("jitflow", *(peers or list(PEERS)[1:])), all_threads)
        for row in found:
            seconds = row["seconds"]
            best = min((peer for peer in seconds if peer != "jitflow"), key=seconds.__getitem__)
            row |= {"best": best, "ratio": seconds[best] / seconds["jitflow"]}
            rows.append(row)
            times = ", ".join(f"{peer} {1e3 * number:.1f}" for peer, number in seconds.items())
            firsts = ", ".join(f"{peer} {number:.1f}" for peer, number in row.get("first", {}).items())
            print(f"  {row['network']}, {row['work']}: {times} ms; {row['ratio']:.2f} times {best}", flush=True)
            print(f"    first calls: {firsts} s" if firsts else "", end="\n" if firsts else "", flush=True)
    ratios = [row["ratio"] for row in rows]
    if ratios:
        print(f"mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    if json_file is not None:
        stored = json.loads(json_file.read_text()) if json_file.exists() else {}
        setting = ("parts, " if parts else "") + ("all cores" if all_threads else "one thread")
        kept = [row for row in stored.get(setting, []) if row["network"] not in {new["network"] for new in rows}]
        stored |= {"machine": describe_machine(), "versions": versions()}
        # Rows that are kept may be of another machine than the last one.
        stored[setting] = kept + [row | {"peak": peak, "cpu": describe_machine()["cpu"]} for row in rows]
        json_file.write_text(json.dumps(stored, indent=1) + "\n")


def _parts_measured(name: str) -> Iterator[dict[str, Any]]:
    import torch

    torch.set_num_threads(usable_cores())
    for what, works in _parts(name):
        yield {"network": name, "work": what, "seconds": measured(works)}


if __name__ == "__main__":
    typer.run(main)
