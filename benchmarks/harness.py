"""A run of the benchmarks: a process for each peer, turns for all of them, a table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from rich.console import Console
from rich.progress import track

from . import report
from .machine import describe_machine
from .measure import measure_first_calls, measure_workload
from .peers import installed_peers, missing_text
from .worker import Worker
from .workloads import WORKLOADS

__all__ = ["run"]

_HEADLINE_FOOTPRINT = 1 << 28
_ORACLE = "numpy"


def run(
    names: Sequence[str] = (),
    *,
    peers: Sequence[str] = (),
    json: Path | None = None,
    plot: Path | None = None,
    seconds: float = 2.5,
    first_call: bool = False,
    small: bool = False,
    keep_memory: bool = False,
    all_threads: bool = False,
    console: Console | None = None,
) -> bool:
    """Measure the named workloads (all if none), print the table, store what was asked for.

    Without `peers` all that are installed take part. Returns whether jitflow ran every workload and was right.
    """
    console = console or Console()
    rows = []
    with ExitStack() as stack:
        workers = {
            peer.name: stack.enter_context(closing(Worker(peer.name, keep_memory=keep_memory, all_threads=all_threads)))
            for peer in installed_peers(peers)
        }
        bandwidth = workers[_ORACLE].copy_bandwidth(_HEADLINE_FOOTPRINT)
        if missing := missing_text(peers):
            console.print(missing, markup=False)
        console.print(f"{describe_machine()['cpu']}, copy bandwidth {bandwidth / 1e9:.1f} GB/s (read and written)")
        for name in track(names or list(WORKLOADS), description="measuring", console=console, transient=True):
            if first_call:
                measurements = measure_first_calls(name, workers, small=True)
            else:
                measurements = measure_workload(name, workers, budget=seconds, small=small)
            workload = WORKLOADS[name]
            limits = (0.0, 0.0) if small or first_call else workers[_ORACLE].limit_seconds(workload)
            rows.append(report.Row(workload, measurements, *limits))
    if first_call:
        report.print_first_calls(rows, console)
    else:
        report.print_table(rows, console, f"median of interleaved rounds, {_threads_text(all_threads)} (ms)")
    if json is not None:
        kind = "first call" if first_call else "fusion"
        malloc = "keeps freed memory" if keep_memory else "as the system sets it"
        threads = "all" if all_threads else 1
        record = report.as_record(rows, kind=kind, copy_bandwidth=bandwidth, threads=threads, malloc=malloc)
        report.write_json(record, json)
    if plot is not None:
        report.draw_picture(rows, plot, _threads_text(all_threads))
    return not any(row.measurements["jitflow"].error for row in rows if "jitflow" in row.measurements)


def _threads_text(all_threads: bool) -> str:
    return "all cores" if all_threads else "one thread"
