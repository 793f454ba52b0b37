"""Steps of replicas: ``python -m benchmarks.replicas [peers|null|stragglers|stragglers of two]... [--json FILE]``.

``peers``: a step of a model of 5 million parameters by two workers, beside torch's DistributedDataParallel (gloo), and
beside the same step alone. ``null``: steps that compute nothing, of one number, 10 MB and 100 MB, by 1 to 8 workers.
``stragglers``: a convolutional classifier by synchronous steps with 0 to 3 backup workers, and by asynchronous ones,
where some steps are made to take longer. All processes share the cores of one machine; rounds of the ways that are
compared take turns, and medians count.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow
from jitflow import Variable, cluster, nn
from jitflow.cluster.measuring import seconds_of

from .machine import COMPILED_NOW, describe_machine, ensure_environment, usable_cores, versions

__all__ = ["Null", "Perceptron", "main", "measure_parts"]

WIDTHS = (784, 2048, 1600, 10)
BATCH, WORKERS, STEPS = 64, 2, 40
RATE = 1e-3


def numbers(seed: int = 0) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """First weights, inputs and labels."""
    rng = np.random.default_rng(seed)
    weights: list[np.ndarray[Any, Any]] = []
    for width, after in pairwise(WIDTHS):
        weights += [(rng.standard_normal((width, after)) / width**0.5).astype(np.float32), np.zeros(after, np.float32)]
    inputs = rng.standard_normal((WORKERS * BATCH, WIDTHS[0])).astype(np.float32)
    return weights, inputs, rng.integers(0, WIDTHS[-1], WORKERS * BATCH)


class Perceptron:
    """Three layers, 5 million parameters, with momentum."""

    def __init__(self) -> None:
        self.weights = [Variable(array) for array in numbers()[0]]
        self.optimiser = jitflow.optim.Momentum(RATE)

    @jitflow.function
    def step(self, inputs: Any, labels: Any) -> Any:
        return self.optimiser.minimize(lambda: _loss(self.weights, inputs, labels), self.weights)


def _loss(weights: Any, x: Any, labels: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = weights
    return nn.cross_entropy(nn.relu(nn.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3, labels)


def _alone(connection: Any) -> None:
    """One process that makes the step of one worker by itself, when it is told to."""
    model, (_, inputs, labels) = Perceptron(), numbers()
    jitflow.set_num_threads(max(1, usable_cores() // WORKERS))
    while count := connection.recv():
        connection.send(seconds_of(lambda: model.step(inputs[:BATCH], labels[:BATCH]), count))


def _in_torch(rank: int, port: int, connection: Any) -> None:
    """One of the processes of DistributedDataParallel."""
    import torch
    from torch import distributed

    torch.set_num_threads(max(1, usable_cores() // WORKERS))
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORKERS)
    weights, inputs, labels = numbers()
    layers: list[Any] = []
    for place in range(0, 6, 2):
        layer = torch.nn.Linear(*weights[place].shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weights[place].T))
            layer.bias.zero_()
        layers += [layer, torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers[:-1]))
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    mine = slice(rank * BATCH, (rank + 1) * BATCH)
    x, y = torch.from_numpy(inputs[mine]), torch.from_numpy(labels[mine])

    def step() -> float:
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimiser.step()
        return float(loss)

    while count := connection.recv():
        connection.send(seconds_of(step, count))
    distributed.destroy_process_group()


class _Processes:
    """Processes that make steps together when they are told to."""

    def __init__(self, run: Any, arguments: list[tuple[Any, ...]]) -> None:
        from multiprocessing import get_context

        context = get_context("spawn")
        self._ends = []
        for given in arguments:
            ours, theirs = context.Pipe()
            context.Process(target=run, args=(*given, theirs), daemon=True).start()
            self._ends.append(ours)

    def steps(self, count: int) -> list[float]:
        """The times of so many steps."""
        for end in self._ends:
            end.send(count)
        return [time for end in self._ends for time in end.recv()]

    def close(self) -> None:
        """Let them end."""
        for end in self._ends:
            end.send(0)


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def peers(rounds: int) -> list[dict[str, Any]]:
    """Two workers beside DistributedDataParallel."""
    _, inputs, labels = numbers()
    data = jitflow.data.Dataset([(inputs[i * BATCH : (i + 1) * BATCH], labels[i * BATCH : (i + 1) * BATCH])
                                 for i in range(WORKERS)]).repeat()  # fmt: skip
    port = _free_port()
    torch = _Processes(_in_torch, [(rank, port) for rank in range(WORKERS)])
    alone = _Processes(_alone, [()])
    options: dict[str, Any] = {"workers": WORKERS, "progress": False}
    with (
        cluster.connect(),
        cluster.Replicas(Perceptron, mode="allreduce", **options) as summed,
        cluster.Replicas(Perceptron, mode="sync", servers=2, **options) as served,
    ):
        ways = {
            "torch DistributedDataParallel (gloo)": torch.steps,
            "all-reduce": lambda count: summed.run(count, data).seconds,
            "two servers": lambda count: served.run(count, data).seconds,
            "one process alone": alone.steps,
        }
        found: dict[str, list[float]] = {name: [] for name in ways}
        for way in ways.values():
            way(5)
        for _ in range(rounds):
            for name, way in ways.items():
                found[name].append(statistics.median(way(STEPS)))
    torch.close()
    alone.close()
    base = found["torch DistributedDataParallel (gloo)"]
    rows = []
    for name, times in found.items():
        ratio = statistics.median(one / other for one, other in zip(base, times, strict=True))
        rows.append({"way": name, "ms": 1e3 * statistics.median(times), "speed beside torch": ratio})
        print(f"{name:40} {rows[-1]['ms']:8.2f} ms {ratio:6.2f}")
    return rows


# -- steps that compute nothing --------------------------------------------------------------------


class Null:
    """Variables of so many bytes, whose gradient is themselves."""

    def __init__(self, size: int) -> None:
        self.value = Variable(np.zeros(max(1, size // 4), np.float32))
        self.optimiser = jitflow.optim.SGD(0.0)

    @jitflow.function
    def step(self, x: Any) -> Any:
        self.optimiser.apply(self.value[...] * x, self.value)
        return x


def null(rounds: int) -> list[dict[str, Any]]:
    """The time of a step by 1 to 8 workers and as many servers as two, without any work."""
    rows = []
    data = jitflow.data.Dataset([np.float32(0.5)]).repeat()
    with cluster.connect():
        for name, size in (("one number", 4), ("10 MB", 10_000_000), ("100 MB", 100_000_000)):
            for workers in (1, 2, 4, 8):
                with cluster.Replicas(
                    _Null(size), workers=workers, servers=2, progress=False
                ) as replicas:  # fmt: skip
                    replicas.run(3, data)
                    count = 100 if size < 1000 else 10
                    seconds = [statistics.median(replicas.run(count, data).seconds) for _ in range(rounds)]
                rows.append({"variables": name, "workers": workers, "ms": 1e3 * statistics.median(seconds)})
                print(f"{name:12} {workers} workers {rows[-1]['ms']:8.2f} ms")
    return rows


class _Null:
    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self) -> Null:
        return Null(self.size)


# -- stragglers ------------------------------------------------------------------------------------


class Pictures:
    """A small convolutional classifier of pictures of 8 by 8 pixels."""

    def __init__(self) -> None:
        draw = np.random.default_rng(0)
        self.kernels = Variable(draw.standard_normal((16, 1, 3, 3)).astype(np.float32) * 0.3)
        self.weights = Variable(draw.standard_normal((16 * 16, 10)).astype(np.float32) * 0.05)
        self.bias = Variable(np.zeros(10, np.float32))
        self.optimiser = jitflow.optim.Momentum(0.01)

    def scores(self, pictures: Any) -> Any:
        """Of each class, for each picture."""
        found = nn.max_pool(nn.relu(nn.conv(pictures, self.kernels, padding=1)), 2)
        return found.reshape(len(pictures), -1) @ self.weights + self.bias

    @jitflow.function
    def step(self, pictures: Any, labels: Any) -> Any:
        variables = [self.kernels, self.weights, self.bias]
        return self.optimiser.minimize(lambda: nn.cross_entropy(self.scores(pictures), labels), variables)


def _delayed(step: int) -> None:
    """A step takes 40 ms elsewhere, and at times, in one of twelve, 120 ms more."""
    import os

    draw = np.random.default_rng([os.getpid(), step])
    time.sleep(0.04 + 0.01 * draw.random() + (0.12 if draw.random() < 1 / 12 else 0.0))


def stragglers(rounds: int, workers: int = 4) -> list[dict[str, Any]]:
    """Percentiles of the time from one step to the next: some workers that count, 0 to 3 backups; asynchronous ones.

    Beside them what the simulator says of the same, from what steps of the first way take a worker alone.
    """
    draw = np.random.default_rng(1)
    pictures, labels = draw.standard_normal((512, 1, 8, 8)).astype(np.float32), draw.integers(0, 10, 512)
    data = jitflow.data.arrays(pictures, labels).batch(16).repeat()
    rows: list[dict[str, Any]] = []
    measured: dict[int, float] = {}
    with cluster.connect():
        for mode, backup in (("sync", 0), ("sync", 1), ("sync", 2), ("sync", 3), ("async", 0)):
            setup = cluster.Setup(workers, 1, mode=mode, backup=backup, gradient_bytes=12_000, examples=16)
            with cluster.Replicas(
                Pictures, workers=workers, mode=mode, backup=backup, delay=_delayed, progress=False
            ) as replicas:
                replicas.run(5, data)
                short = statistics.median(seconds_of(lambda: replicas.run(1, data), 5))
                runs, elapsed = [], []
                for _ in range(rounds):
                    began = time.perf_counter()
                    runs.append(replicas.run(100, data))
                    elapsed.append((time.perf_counter() - began - short) / 99)
            if not rows:
                alone, worked = (list(chain(*(getattr(run, name) for run in runs))) for name in ("alone", "worked"))
                costs = cluster.measure(cluster.StepTimes(tuple(alone), work=statistics.median(worked)))
                print(costs.link, f"message {costs.message:.3g} s, work {costs.step.work:.3g} s")
            rows.append(_beside_the_simulator(setup, runs, statistics.mean(elapsed), costs))
            if mode == "sync":
                measured[backup] = rows[-1]["ms a step"]
            print(", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
                            for name, value in rows[-1].items()), flush=True)  # fmt: skip
    setup = cluster.Setup(workers, 1, gradient_bytes=12_000, examples=16)
    chosen = cluster.best_backup(setup, costs, most=3, steps=1000)
    share = measured[chosen] / min(measured.values())
    rows.append({"workers": workers, "chosen by the simulator": chosen, "of the best measured": share})
    print(f"{workers} workers: the simulator chooses {chosen}, {share:.3f} of the best measured time")
    return rows


def _beside_the_simulator(
    setup: cluster.Setup, runs: list[cluster.Run], elapsed: float, costs: cluster.Costs
) -> dict[str, Any]:
    """Milliseconds of a step: on average, and percentiles of what it takes workers; and what is predicted of them."""
    seconds = np.array([one for run in runs for one in run.seconds])
    found = cluster.simulate(setup, costs, steps=1000)
    each = 1 / found.steps_per_second * (setup.workers if setup.mode == "async" else 1)
    row: dict[str, Any] = {"workers": setup.workers, "mode": setup.mode, "backup": setup.backup}
    row |= {"ms a step": 1e3 * elapsed, "predicted": 1e3 * each}
    for share in (10, 50, 90, 99):
        row[f"p{share}"] = 1e3 * float(np.percentile(seconds, share))
        row[f"predicted p{share}"] = 1e3 * found.percentile(share)
    row["dropped"] = (
        sum(sum(run.dropped) for run in runs) / sum(len(run.results) for run in runs) / len(runs[0].dropped)
    )
    row["predicted dropped"] = found.dropped
    return row


PARTS = {
    "peers": peers,
    "null": null,
    "stragglers": stragglers,
    "stragglers of two": partial(stragglers, workers=2),
}


def measure_parts(
    parts: Mapping[str, Callable[[int], Any]], names: Sequence[str] | None, rounds: int, json_file: Path | None
) -> None:
    """Measure some parts, all if none are named, and store what there is after each: a long run leaves what it has."""
    stored: dict[str, Any] = {"machine": describe_machine(), "versions": versions()}
    if json_file is not None and json_file.exists():  # what was measured before, of the same machine and versions
        before = json.loads(json_file.read_text())
        stored = before if stored.items() <= before.items() else stored
    print(f"{stored['machine']['cpu']}, {stored['versions']}")
    for name in names or [*parts]:
        print(name)
        stored[name] = parts[name](rounds)
        if json_file is not None:
            json_file.write_text(json.dumps(stored, indent=1) + "\n")


def main(
    names: Annotated[list[str] | None, typer.Argument(help="parts; all if none")] = None,
    rounds: Annotated[int, typer.Option(help="turns that are taken", min=1)] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure steps of replicas, in milliseconds."""
    ensure_environment(COMPILED_NOW, "benchmarks.replicas")
    measure_parts(PARTS, names, rounds, json_file)


if __name__ == "__main__":
    typer.run(main)
