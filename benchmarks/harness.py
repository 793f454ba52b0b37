"""A run of the benchmarks: in a process of its own, which is pinned to one thread before any library is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Request", "run_here", "run_pinned"]

_HEADLINE_FOOTPRINT = 1 << 28


@dataclass(frozen=True)
class Request:
    """What to measure and where to leave the result. No names mean all workloads, no peers all that are installed."""

    names: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    json: str = ""
    plot: str = ""
    seconds: float = 2.5
    first_call: bool = False
    small: bool = False


def run_pinned(request: Request) -> int:
    """Run the request in a new process with one thread, and return its exit status.

    The libraries read their thread counts when they are loaded, and here they may be loaded already. `-P` keeps the
    current folder off the path: in a checkout it would hide the installed jitflow.
    """
    from .machine import ONE_THREAD

    assert __package__ is not None
    root = str(Path(__file__).resolve().parents[len(__package__.split("."))])
    search_path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": search_path}
    command = [sys.executable, "-P", "-m", f"{__package__}.harness", json.dumps(asdict(request))]
    return subprocess.run(command, env=environment, check=False).returncode


def run_here(request: Request) -> int:
    """Run the request in this process, print the table, store what was asked for; return the exit status.

    The status is 1 if jitflow failed or was wrong on a workload.
    """
    from rich.console import Console
    from rich.progress import Progress

    from . import report
    from .machine import copy_bandwidth, describe_machine
    from .measure import measure_first_calls, measure_workload, warm_up
    from .peers import installed_peers
    from .workloads import WORKLOADS

    console = Console()
    workloads = [WORKLOADS[name] for name in request.names or WORKLOADS]
    peers = installed_peers(request.peers)
    bandwidth = copy_bandwidth(_HEADLINE_FOOTPRINT)
    console.print(f"{describe_machine()['cpu']}, copy bandwidth {bandwidth / 1e9:.1f} GB/s (read and written)")
    warm_up(peers)
    rows = []
    with Progress(console=console, transient=True) as progress:
        for workload in progress.track(workloads, description="measuring"):
            if request.first_call:
                measurements = measure_first_calls(workload, peers)
            else:
                measurements = measure_workload(workload, peers, budget=request.seconds, small=request.small)
            copy_seconds = workload.necessary_bytes / copy_bandwidth(workload.necessary_bytes)
            rows.append(report.Row(workload, measurements, 0.0 if request.small else copy_seconds))
    report.print_table(rows, console, first_calls=request.first_call)
    if request.json:
        kind = "first call" if request.first_call else "fusion"
        record = report.as_record(rows, kind=kind, copy_bandwidth=bandwidth)
        report.write_json(record, Path(request.json))
    if request.plot:
        report.draw_picture(rows, Path(request.plot))
    return int(any(row.measurements["jitflow"].error for row in rows if "jitflow" in row.measurements))


if __name__ == "__main__":
    from .machine import pin_to_one_core

    pin_to_one_core()
    fields = json.loads(sys.argv[1])
    fields["names"], fields["peers"] = tuple(fields["names"]), tuple(fields["peers"])
    raise SystemExit(run_here(Request(**fields)))
