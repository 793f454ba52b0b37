"""The gallery of whole programs beside NumPy and numba: `python -m benchmarks.programs [--all-threads] [NAME]...`.

Every peer runs the same source on the program's large arguments: NumPy without the decorator, numba with its own in
place of jitflow's. Results and mutated arguments are compared with NumPy's; a peer that is wrong does not count. What a
peer cannot compile is in the JSON file with its message. First calls are those on small arguments, on all cores,
as a user makes them.
"""

from __future__ import annotations

import importlib.util
import json as json_format
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from .gallery import PROGRAMS
from .machine import describe_machine, versions
from .measure import Measurement, disagreement, measure_rounds, right_seconds
from .program_session import PEERS, Prepared, ProgramSession
from .report import geometric_mean
from .worker import Worker

__all__ = ["Line", "measure_program", "run"]

CALL_LIMIT = 120.0
"""A peer whose first calls of a program take more seconds than this is ended."""
SLOW_CALL = 1.0
"""A peer whose call takes more seconds than this is timed once."""


@dataclass(frozen=True)
class Tolerance:
    """How far results may lie from NumPy's. A rounding may decide a comparison, on which an element depends."""

    relative_tolerance: float
    mismatches: float = 1e-3


@dataclass
class Line:
    """One program's measurements, by peer."""

    name: str
    measurements: dict[str, Measurement]

    def seconds(self, peer: str) -> float | None:
        """The median time of a peer that ran and was right."""
        return right_seconds(self.measurements.get(peer))

    def first_call(self, peer: str) -> float | None:
        """The time of the first call of a peer that ran and was right."""
        measurement = self.measurements.get(peer)
        return measurement.first_call if measurement is not None and measurement.counts else None

    def ratio(self, peer: str) -> float | None:
        """How many times faster than the peer jitflow is."""
        ours, theirs = self.seconds("jitflow"), self.seconds(peer)
        return theirs / ours if ours and theirs else None

    def first_call_ratio(self) -> float | None:
        """How many times longer numba's first call takes."""
        ours, theirs = self.first_call("jitflow"), self.first_call("numba")
        return theirs / ours if ours and theirs else None


def measure_program(name: str, workers: dict[str, Any], *, seconds: float, small: bool) -> Line:
    """Compare every peer's first large call with NumPy's, then measure in rounds for so many seconds."""
    measurements: dict[str, Measurement] = {}
    expected: tuple[Any, ...] | None = None
    taking_part = []
    for peer, worker in workers.items():  # NumPy is the first
        prepared = _prepare(worker, name, small)
        measurement = measurements[peer] = Measurement(prepared.first_call, error=prepared.error)
        if peer == "numpy" and not prepared.error:
            expected = prepared.outcome
        elif not prepared.error:
            measurement.error = "NumPy did not run" if expected is None else _difference(prepared.outcome, expected)
        if prepared.seconds > SLOW_CALL:
            measurement.samples.append(prepared.seconds)
        elif not measurement.error:
            taking_part.append(peer)
    measure_rounds(measurements, taking_part, workers, budget=seconds)
    return Line(name, measurements)


_CHECKOUT = f"{Path(__file__).resolve().parents[1]}/"
"""Where the files are that errors name: results that are stored say it by the checkout."""


def _prepare(worker: Any, name: str, small: bool) -> Prepared:
    try:
        prepared: Prepared = worker.ask("prepare_program", name, small, limit=CALL_LIMIT)
    except RuntimeError as error:
        return Prepared(error=str(error).replace(_CHECKOUT, ""))
    return prepared


def _difference(outcome: tuple[Any, ...], expected: tuple[Any, ...]) -> str:
    single = any(getattr(leaf, "dtype", None) == np.float32 for leaf in expected)
    return disagreement(Tolerance(1e-3 if single else 1e-8), outcome, expected)


def run(
    names: list[str], *, peers: list[str], json: Path | None, seconds: float, small: bool, console: Console,
    all_threads: bool = False,
) -> list[Line]:  # fmt: skip
    """Measure the named programs, print the table, store it if asked for."""
    lines = []
    with ExitStack() as stack:
        workers = {
            peer: stack.enter_context(closing(Worker(peer, all_threads=all_threads, make_session=ProgramSession)))
            for peer in PEERS
            if peer == "numpy" or (peer in peers and importlib.util.find_spec(peer))
        }
        for name in track(names, description="measuring", console=console, transient=True):
            lines.append(measure_program(name, workers, seconds=seconds, small=small))
            if json is not None:  # a long run leaves what it has
                json.write_text(json_format.dumps(as_record(lines, all_threads), indent=2, allow_nan=False) + "\n")
    print_table(lines, console, "all cores" if all_threads else "one thread")
    return lines


def print_table(lines: list[Line], console: Console, threads: str = "one thread") -> None:
    """Print times and first calls in milliseconds, ratios, and the means of the ratios."""
    table = Table(
        title=f"median of interleaved rounds, ratios, and first calls, {threads} (ms)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("program", no_wrap=True)
    for column in ("NumPy", "numba", "jitflow", "/NumPy", "/numba", "first", "numba's"):
        table.add_column(column, no_wrap=True, justify="right", style="bold" if column == "jitflow" else "")
    for line in lines:
        times = [_milliseconds(line.seconds(peer)) for peer in ("numpy", "numba", "jitflow")]
        ratios = [_times(line.ratio(peer)) for peer in ("numpy", "numba")]
        first = [_milliseconds(line.first_call(peer)) for peer in ("jitflow", "numba")]
        table.add_row(line.name, *times, *ratios, *first)
    console.print(table)
    for name, summary in summaries(lines).items():
        console.print(f"{name}: geometric mean {summary['geometric_mean']:.2f}, lowest {summary['lowest']:.2f}")
    for line in lines:
        error = line.measurements["jitflow"].error if "jitflow" in line.measurements else ""
        if error:
            console.print(f"{line.name}: {error}", style="yellow", highlight=False, markup=False)


def summaries(lines: list[Line]) -> dict[str, dict[str, float]]:
    """Geometric means and extremes over the programs that have the ratio."""
    columns = {
        "jitflow against NumPy": [line.ratio("numpy") for line in lines],
        "jitflow against numba": [line.ratio("numba") for line in lines],
        "numba's first call against jitflow's": [line.first_call_ratio() for line in lines],
        "first call (s)": [line.first_call("jitflow") for line in lines],
    }
    found = {}
    for name, column in columns.items():
        values = [value for value in column if value is not None]
        if values:
            extremes = {"geometric_mean": geometric_mean(values), "lowest": min(values), "highest": max(values)}
            found[name] = {**extremes, "programs": len(values)}
    return found


def as_record(lines: list[Line], all_threads: bool = False) -> dict[str, Any]:
    """Everything about a run as JSON can hold it."""
    return {
        "kind": "programs",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "threads": "all" if all_threads else 1,
        "summaries": summaries(lines),
        "programs": [
            {
                "name": line.name,
                "against_numpy": line.ratio("numpy"),
                "against_numba": line.ratio("numba"),
                "peers": {peer: measurement.record() for peer, measurement in line.measurements.items()},
            }
            for line in lines
        ],
    }


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.{2 if seconds < 0.1 else 0}f}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}×"


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Programs; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Run only these (and NumPy); may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(help="Time for the rounds of each program.", min=0.0)] = 1.5,
    small: Annotated[bool, typer.Option("--small", help="Small input: checks results, times mean little.")] = False,
    all_threads: Annotated[
        bool, typer.Option("--all-threads", help="Let everybody use all cores, numba with parallel=True.")
    ] = False,
) -> None:
    """Run the gallery's programs beside NumPy and numba, on one thread or on all cores."""
    if not PROGRAMS:
        raise typer.BadParameter("expected a checkout, which has examples/programs/")
    for name in names or []:
        if name not in PROGRAMS:
            raise typer.BadParameter(f"unknown program {name!r}, expected one of {', '.join(PROGRAMS)}")
    console = Console()
    run(
        names or PROGRAMS, peers=peer or list(PEERS), json=json, seconds=seconds, small=small, console=console,
        all_threads=all_threads,
    )  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
