"""What the simulator of replicas predicts, beside real runs here: ``python -m benchmarks.cluster_validated``.

A small classifier is trained by three workers and two servers, synchronously with up to three backups, asynchronously
and by an all-reduce. A step sleeps, and some steps long, so that backups are worth having; processes share the cores.
The costs are fitted to messages between processes and to a run of one worker; what the others take is predicted. The
backups that the simulator chooses should be within 5 % of the best that was measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import jitflow
from jitflow import nn
from jitflow.cluster import Costs, Replicas, Setup, best_backup, connect, fit, replica, simulate
from jitflow.cluster.connection import ray
from jitflow.data import arrays

from .machine import describe_machine, usable_cores, versions
from .report import write_json

__all__ = ["Classifier", "choice", "delay", "measure_messages", "run"]

WORKERS, SERVERS, MOST = 3, 2, 3
SHORTEST, SHARE, MEAN = 0.03, 0.15, 0.15
"""Seconds that each step sleeps, and in which share of the steps how long it sleeps on average besides."""
SIZES = (0, 1_000, 100_000, 1_000_000, 10_000_000)
BURSTS = (1, 10, 100, 300)


class Classifier:
    """A layer of weights, trained on noise."""

    def __init__(self) -> None:
        self.weights = jitflow.Variable(np.zeros((20, 5), np.float32))
        self.optimiser = jitflow.optim.Adam(1e-2)

    @jitflow.function
    def step(self, images: Any, labels: Any) -> Any:
        return self.optimiser.minimize(lambda: nn.cross_entropy(images @ self.weights, labels), [self.weights])


def delay(index: int, step: int) -> float:
    """How long a replica sleeps in front of a step: always the same of the same replica and step."""
    is_late, how_late = np.random.default_rng((2016, index, step)).random(2)
    return SHORTEST - (MEAN * float(np.log(1 - how_late)) if is_late < SHARE else 0.0)


def _sleep(step: int) -> None:
    time.sleep(delay(replica().index, step))


class _Echo:
    def take(self, given: Any) -> None:
        """Answer with nothing."""


def measure_messages(repeats: int = 15) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """Round trips to another process by bytes, and bursts by the number of messages."""
    library = ray()
    echo = library.remote(num_cpus=0, max_concurrency=16)(_Echo).remote()
    trips, bursts = [], []
    try:
        for size in (*SIZES[:1] * 3, *SIZES):  # at first nothing is warm
            array = np.zeros(size, np.uint8)
            trips += [
                (size, _seconds(lambda array=array: library.get(echo.take.remote(array)))) for _ in range(repeats)
            ]
        for count in BURSTS:
            bursts += [
                (count, _seconds(lambda count=count: library.get([echo.take.remote(None) for _ in range(count)])))
                for _ in range(max(3, repeats // 3))
            ]
    finally:
        library.kill(echo)
    return trips[3 * repeats :], bursts


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _train(setup: Setup, steps: int) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    data = arrays(draw.standard_normal((256, 20)).astype(np.float32), draw.integers(0, 5, 256)).batch(16).repeat()
    with Replicas(Classifier, setup.workers, setup.servers, setup.mode, backup=setup.backup, delay=_sleep,
                  progress=False) as replicas:  # fmt: skip
        replicas.run(5, data)  # which starts processes
        few = _seconds(lambda: replicas.run(5, data))
        began = time.perf_counter()
        found = replicas.run(steps + 5, data)
        seconds = time.perf_counter() - began - few
    return {"seconds": seconds / steps, "one": median(found.seconds), "dropped": sum(found.dropped)}


def _fitted(trips: Any, bursts: Any, alone: float, steps: int) -> Costs:
    """The costs; of a step of one worker what is neither sleep nor exchange needs a core."""
    sleeps = [delay(index, step) for index in range(WORKERS + MOST) for step in range(steps + 15)]
    known = fit(trips, sleeps, bursts=bursts, work=0.0, cores=usable_cores())
    work = max(0.0, alone - simulate(Setup(1, SERVERS), known).percentile(50))
    return fit(trips, [work + slept for slept in sleeps], bursts=bursts, work=work, cores=usable_cores())


def choice(measured: dict[int, float], chosen: int) -> float:
    """How much longer a step takes with the chosen number of backups than with the best one, as a share."""
    return measured[chosen] / min(measured.values()) - 1


def run(steps: int = 300) -> dict[str, Any]:
    """Measure, fit and predict, in some minutes. Times are seconds for each step of all workers."""
    setups = [Setup(WORKERS, SERVERS, backup=backup) for backup in range(MOST + 1)]
    setups += [Setup(WORKERS, SERVERS, mode) for mode in ("async", "allreduce")]
    with connect():
        trips, bursts = measure_messages()
        alone = _train(Setup(1, SERVERS), steps)["one"]
        found = [_train(setup, steps) for setup in setups]
    costs = _fitted(trips, bursts, alone, steps)
    rows = []
    for setup, one in zip(setups, found, strict=True):
        predicted = simulate(setup, costs, steps=2000)
        each = WORKERS if setup.mode == "async" else 1
        rows.append({
            "run": str(setup), "backup": setup.backup if setup.mode == "sync" else None,
            "measured": one["seconds"], "predicted": each / predicted.steps_per_second,
            "measured_dropped": one["dropped"] / (steps + 5) / (WORKERS + setup.backup),
            "predicted_dropped": predicted.dropped,
        })  # fmt: skip
    measured = {row["backup"]: row["measured"] for row in rows if row["backup"] is not None}
    chosen = best_backup(setups[0], costs, most=MOST, steps=2000)
    return {
        "kind": "cluster_validated",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": {**versions(), "ray": ray().__version__},
        "steps": steps,
        "costs": {
            "latency": costs.link.latency, "bandwidth": costs.link.bandwidth, "message": costs.message,
            "work": costs.step.work, "cores": costs.cores,
        },
        "runs": rows,
        "chosen_backups": chosen,
        "slower_than_the_best": choice(measured, chosen),
    }  # fmt: skip


def show(record: dict[str, Any], console: Console) -> None:
    """Print a row for each run."""
    table = Table("run", "measured", "predicted", "error", "late", "predicted", title="milliseconds of a step")
    for row in record["runs"]:
        table.add_row(
            row["run"], f"{row['measured'] * 1e3:.1f}", f"{row['predicted'] * 1e3:.1f}",
            f"{row['predicted'] / row['measured'] - 1:+.1%}", f"{row['measured_dropped']:.1%}",
            f"{row['predicted_dropped']:.1%}",
        )  # fmt: skip
    console.print(table)
    console.print(
        f"the simulator chooses {record['chosen_backups']} backups; steps take {record['slower_than_the_best']:.1%} "
        "longer than with the best number that was measured"
    )


def main(
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    steps: Annotated[int, typer.Option(help="Steps of each run.", min=10)] = 300,
) -> None:
    """Run replicas, and predict what they take."""
    record = run(steps)
    show(record, Console())
    if json is not None:
        write_json(record, json)


if __name__ == "__main__":
    from benchmarks.cluster_validated import main as by_name  # so that workers find the model's module

    typer.run(by_name)
