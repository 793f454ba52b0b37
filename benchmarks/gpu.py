"""The benchmarks on a GPU: `jitflow bench --device cuda`.

The workloads of the CPU's table, with arrays on the GPU; a program of fifty kernels, which costs what launching does;
and training steps. Each peer has a process of its own, and they take turns. What a copy within the GPU's memory takes
is measured in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from . import report
from .gpu_peers import PEERS
from .gpu_session import ON_GPU, SUBJECTS, GpuSession
from .launches import KERNELS, LAUNCHES
from .measure import measure_workload
from .worker import Worker
from .workloads import WORKLOADS

__all__ = ["COLUMNS", "run", "why_not"]

COLUMNS = {
    "jitflow": ("jitflow",),
    "cupy.fuse": ("cupy",),
    "JAX": ("jax",),
    "torch": ("torch", "torch-graphs"),
}
_HEADLINE_FOOTPRINT = 1 << 31


def why_not() -> str:
    """What is missing on this machine, and what to install; nothing where the benchmarks can run."""
    from jitflow.backends.cuda import nvrtc
    from jitflow.doctor import facts
    from jitflow.runtime.native.cuda import gpu_count, why_no_gpu

    if gpu_count() == 0:
        return f"needs a CUDA device (GPU: {dict(facts())['gpu']}); {why_no_gpu()}"
    return "" if nvrtc.is_available() else "needs NVRTC: pip install 'jitflow[cuda13]', or 'jitflow[cuda12]'"


def run(
    names: Sequence[str] = (),
    *,
    peers: Sequence[str] = (),
    json: Path | None = None,
    seconds: float = 2.5,
    small: bool = False,
    console: Console | None = None,
    make_worker: Callable[[str], Any] | None = None,
) -> bool:
    """Measure what is named (all if nothing is), print the table, store what was asked for.

    Returns whether jitflow ran all of it and was right. Peers that are not installed, or that cannot use the GPU, are
    left out and named. ``make_worker`` makes the process of a peer.
    """
    console, rows = console or Console(), []
    with ExitStack() as stack:
        workers, left_out = _started(peers, make_worker or _worker, stack)
        ours = workers["jitflow"]
        gpu = ours.ask("describe_gpu")
        bandwidth = ours.copy_bandwidth(1 << 20 if small else _HEADLINE_FOOTPRINT)
        console.print(f"{gpu['name']}, copy bandwidth {bandwidth / 1e9:.0f} GB/s (read and written)")
        for name in track(names or list(SUBJECTS), description="measuring", console=console, transient=True):
            measurements = measure_workload(name, workers, budget=seconds, small=small)
            rows.append(_row(name, measurements, None if small else ours))
    for name, reason in left_out.items():
        console.print(f"left out: {name} ({reason})", style="yellow", highlight=False, markup=False)
    report.print_table(rows, console, "median of interleaved rounds of many calls, on the GPU (ms)")
    launches = _launches(rows)
    if launches:
        text = ", ".join(f"{peer} {seconds * 1e6:.2f}" for peer, seconds in launches.items())
        console.print(f"one of {KERNELS} kernels (µs): {text}")
    if json is not None:
        facts = {"gpu": gpu, "left_out": left_out, "launch_seconds": launches}
        report.write_json(report.as_record(rows, kind="gpu", copy_bandwidth=bandwidth, **facts), json)
    return not any(row.measurements["jitflow"].error for row in rows)


def _worker(peer: str) -> Worker:
    return Worker(peer, all_threads=True, variables=ON_GPU, make_session=GpuSession)


def _started(
    peers: Sequence[str], make_worker: Callable[[str], Any], stack: ExitStack
) -> tuple[dict[str, Any], dict[str, str]]:
    """The processes of those that take part, and why others do not."""
    workers, left_out = {}, {}
    for peer in PEERS.values():
        if peers and not {peer.name, peer.package} & {"jitflow", *peers}:
            continue
        if not peer.is_installed:
            left_out[peer.name] = "not installed"
            continue
        try:
            worker = stack.enter_context(closing(make_worker(peer.name)))
        except RuntimeError as error:
            left_out[peer.name] = str(error)
            continue
        if worker.trouble and peer.name != "jitflow":
            left_out[peer.name] = worker.trouble
        else:
            workers[peer.name] = worker
    return workers, left_out


def _row(name: str, measurements: dict[str, Any], copier: Any) -> report.Row:
    """A line of the table; only the workloads are compared with copies."""
    copy = 0.0
    if copier is not None and name in WORKLOADS:
        necessary = WORKLOADS[name].necessary_bytes
        copy = necessary / copier.copy_bandwidth(necessary)
    return report.Row(SUBJECTS[name], measurements, copy, columns=COLUMNS)


def _launches(rows: list[report.Row]) -> dict[str, float]:
    """What one of fifty kernels takes, by column."""
    times = {column: row.seconds(column) for row in rows if row.name == LAUNCHES.name for column in COLUMNS}
    return {column: seconds / KERNELS for column, seconds in times.items() if seconds is not None}
