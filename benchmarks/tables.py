"""Tables on servers: ``python -m benchmarks.tables [rows|words]... [--json FILE]``.

``rows``: steps that gather 32 rows and hand back their gradient, of tables of 10 MB to 1 GB on two servers, by 1 to 8
processes at once. ``words``: words per second of the language model of the examples, by the full and by the sampled
softmax, in one process and with its tables on 1 to 4 servers. All processes share the cores of one machine.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow
from jitflow import cluster

from .machine import COMPILED_NOW, ensure_environment
from .replicas import measure_parts

__all__ = ["main"]

COLUMNS, ROWS, SERVERS = 128, 32, 2
EXAMPLE = Path(__file__).parents[1] / "examples" / "language_model.py"


def _zeros(shape: tuple[int, ...], generator: Any) -> Any:
    return np.zeros(shape, np.float32)


class Worker:
    """A process that makes steps of a table."""

    def __init__(self, table: Any, seed: int) -> None:
        self.table, self.rng = table, np.random.default_rng(seed)
        optimiser = jitflow.optim.SGD(0.1)
        self.step = jitflow.function(lambda ids: optimiser.minimize(lambda: table[ids].sum(), [table]))

    def steps(self, count: int) -> list[float]:
        """The seconds of some steps."""
        seconds = []
        for _ in range(count):
            ids = self.rng.integers(0, len(self.table), ROWS)
            start = time.perf_counter()
            self.step(ids)
            seconds.append(time.perf_counter() - start)
        return seconds


def rows(rounds: int) -> list[dict[str, Any]]:
    """The time of a step by rows, whatever the size of the table."""
    import ray

    found = []
    with cluster.connect():
        for name, size in (("10 MB", 10_000_000), ("100 MB", 100_000_000), ("1 GB", 1_000_000_000)):
            table = cluster.ShardedVariable(_zeros, SERVERS, shape=(size // (4 * COLUMNS), COLUMNS))
            for count in (1, 2, 4, 8):
                workers = [ray.remote(num_cpus=0)(Worker).remote(table, seed) for seed in range(count)]
                ray.get([worker.steps.remote(3) for worker in workers])
                seconds = [
                    statistics.median(chain(*ray.get([worker.steps.remote(100 // count) for worker in workers])))
                    for _ in range(rounds)
                ]
                for worker in workers:
                    ray.kill(worker)
                found.append({"table": name, "workers": count, "ms": 1e3 * statistics.median(seconds)})
                print(f"{name:8} {count} workers {found[-1]['ms']:8.2f} ms", flush=True)
    return found


def words(rounds: int) -> list[dict[str, Any]]:
    """Words per second of the language model; the median of so many runs."""
    found = []
    for shards in (0, 1, 2, 4):
        for softmax, steps in (("full", 10), ("sampled", 200)):
            options = ["--softmax", softmax, "--shards", str(shards), "--steps", str(steps)]
            speeds = []
            for _ in range(rounds):
                done = subprocess.run([sys.executable, EXAMPLE, *options], capture_output=True, text=True, check=True)
                speed = re.search(r"([\d,]+) words per second", done.stdout)
                assert speed is not None, done.stdout
                speeds.append(float(speed[1].replace(",", "")))
            found.append({"shards": shards, "softmax": softmax, "words per second": statistics.median(speeds)})
            print(f"{shards} shards, {softmax:8} {statistics.median(speeds):10,.0f} words per second", flush=True)
    return found


PARTS = {"rows": rows, "words": words}


def main(
    names: Annotated[list[str] | None, typer.Argument(help="parts; all if none")] = None,
    rounds: Annotated[int, typer.Option(help="turns that are taken", min=1)] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the results")] = None,
) -> None:
    """Measure steps of tables on servers."""
    ensure_environment(COMPILED_NOW, "benchmarks.tables")
    measure_parts(PARTS, names, rounds, json_file)


if __name__ == "__main__":
    typer.run(main)
