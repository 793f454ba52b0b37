"""Training steps beside TensorFlow, JAX and torch: `python -m benchmarks.training [CASE]...`.

Each peer has a process of its own, and they take turns: first with one thread each, then with all. What a peer finds is
compared with NumPy's answers before it is timed. Gradients of loops of numbers are compared with the loops themselves.
"""

from __future__ import annotations

import importlib.util
import json as json_format
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from .machine import describe_machine, versions
from .measure import Measurement, measure_rounds, right_seconds
from .training_cases import CASES
from .training_peers import PEERS
from .training_session import TrainingSession
from .training_sweeps import SWEEPS
from .worker import Worker

__all__ = ["Line", "SweepLine", "as_record", "run"]

PREPARE_LIMIT = 300.0
"""A peer that needs more seconds than this before it can be timed is ended."""


@dataclass
class Line:
    """One case's measurements by peer, with one thread or all."""

    name: str
    all_threads: bool
    measurements: dict[str, Measurement]

    def seconds(self, peer: str) -> float | None:
        """The median time of a peer that ran and was right."""
        return right_seconds(self.measurements.get(peer))

    def ratio(self) -> float | None:
        """How many times faster than the best peer jitflow is."""
        ours = self.seconds("jitflow")
        theirs = [seconds for peer in PEERS if peer != "jitflow" and (seconds := self.seconds(peer))]
        return min(theirs) / ours if ours and theirs else None


@dataclass
class SweepLine:
    """The seconds of a loop, and of its value with its gradient."""

    name: str
    forward: float
    gradient: float


def run(
    names: list[str],
    *,
    peers: list[str],
    seconds: float,
    console: Console,
    threads: tuple[bool, ...] = (False, True),
    json: Path | None = None,
) -> tuple[list[Line], list[SweepLine]]:
    """Measure the named cases and loops, print tables, store them if asked for."""
    chosen = [name for name, peer in PEERS.items() if name in peers and importlib.util.find_spec(peer.package)]
    lines: list[Line] = []
    sweeps: list[SweepLine] = []
    for all_threads in threads:
        with ExitStack() as stack:
            workers = {
                peer: stack.enter_context(
                    closing(Worker(peer, keep_memory=True, all_threads=all_threads, make_session=TrainingSession))
                )
                for peer in chosen
            }
            for name in track(names, description="measuring", console=console, transient=True):
                if name in CASES:
                    lines.append(Line(name, all_threads, _measure(name, workers, seconds)))
                elif not all_threads and "jitflow" in workers:
                    sweeps.append(_sweep(name, workers["jitflow"]))
                if json is not None:  # a long run leaves what it has
                    json.write_text(json_format.dumps(as_record(lines, sweeps), indent=2, allow_nan=False) + "\n")
    print_tables(lines, sweeps, console)
    return lines, sweeps


def _measure(name: str, workers: dict[str, Any], seconds: float) -> dict[str, Measurement]:
    measurements = {}
    for peer, worker in workers.items():
        try:
            measurements[peer] = worker.ask("prepare", name, False, limit=PREPARE_LIMIT)
        except RuntimeError as error:
            measurements[peer] = Measurement(error=str(error))
    taking_part = [peer for peer, measurement in measurements.items() if not measurement.error]
    measure_rounds(measurements, taking_part, workers, budget=seconds)
    return measurements


def _sweep(name: str, worker: Any) -> SweepLine:
    """The medians of turns that alternate between the loop and its gradient."""
    times: dict[bool, Measurement] = {False: Measurement(), True: Measurement()}
    for _ in range(9):
        for gradient, measurement in times.items():
            worker.ask("prepare_sweep", name, gradient)
            measurement.samples.append(worker.turn())
    return SweepLine(name, times[False].seconds, times[True].seconds)


def print_tables(lines: list[Line], sweeps: list[SweepLine], console: Console) -> None:
    """Print times in milliseconds, and ratios."""
    for all_threads in (False, True):
        chosen = [line for line in lines if line.all_threads == all_threads]
        if not chosen:
            continue
        peers = [peer for peer in PEERS if any(peer in line.measurements for line in chosen)]
        table = _table(f"a training step, {'all threads' if all_threads else 'one thread'} (ms)", [*peers, "vs best"])
        for line in chosen:
            ratio = line.ratio()
            times = [_milliseconds(line.seconds(peer)) for peer in peers]
            table.add_row(line.name, *times, "-" if ratio is None else f"{ratio:.2f}×")
        console.print(table)
        for line in chosen:
            for peer, measurement in line.measurements.items():
                if measurement.error:
                    text = f"{line.name}, {peer}: {measurement.error}"
                    console.print(text, style="yellow", highlight=False, markup=False)
    if sweeps:
        table = _table("value and gradient of a loop of numbers (µs)", ["loop", "gradient", "ratio"])
        for sweep in sweeps:
            times = [f"{time * 1e6:.2f}" for time in (sweep.forward, sweep.gradient)]
            table.add_row(sweep.name, *times, f"{sweep.gradient / sweep.forward:.2f}×")
        console.print(table)


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("case", no_wrap=True)
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right", style="bold" if column == "jitflow" else "")
    return table


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


def as_record(lines: list[Line], sweeps: list[SweepLine]) -> dict[str, Any]:
    """Everything about a run as JSON can hold it."""
    return {
        "kind": "training",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "cases": [
            {
                "name": line.name,
                "description": CASES[line.name].description,
                "threads": "all" if line.all_threads else 1,
                "against_best_peer": line.ratio(),
                "peers": {peer: measurement.record() for peer, measurement in line.measurements.items()},
            }
            for line in lines
        ],
        "loops": [
            {
                "name": sweep.name,
                "description": SWEEPS[sweep.name].description,
                "seconds": sweep.forward,
                "gradient_seconds": sweep.gradient,
                "ratio": sweep.gradient / sweep.forward,
            }
            for sweep in sweeps
        ],
    }


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[CASE]...", help="Cases; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Run only these (and jitflow); may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(help="Time for the rounds of each case.", min=0.0)] = 3.0,
    one_thread: Annotated[bool, typer.Option("--one-thread", help="Leave out the rounds with all threads.")] = False,
) -> None:
    """Run training steps beside TensorFlow, JAX and torch, with one thread and with all."""
    known = [*CASES, *SWEEPS]
    for name in names or []:
        if name not in known:
            raise typer.BadParameter(f"unknown case {name!r}, expected one of {', '.join(known)}")
    threads = (False,) if one_thread else (False, True)
    peers = ["jitflow", *peer] if peer else list(PEERS)
    run(names or known, peers=peers, seconds=seconds, console=Console(), threads=threads, json=json)


if __name__ == "__main__":
    typer.run(main)
