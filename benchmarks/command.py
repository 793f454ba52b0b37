"""The command `jitflow bench`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["bench"]


def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Workloads; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the result into this file.", metavar="FILE.png")] = None,
    peer: Annotated[list[str] | None, typer.Option(help="Run only these (and NumPy); may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(help="Time for the rounds of each workload.", min=0.0)] = 2.5,
    first_call: Annotated[bool, typer.Option("--first-call", help="Time first calls, on small input.")] = False,
    small: Annotated[bool, typer.Option("--small", help="Small input: checks results, times mean little.")] = False,
    keep_memory: Annotated[
        bool,
        typer.Option("--keep-memory", help="Let malloc recycle large blocks, so that no peer pays for fresh pages."),
    ] = False,
    all_threads: Annotated[
        bool, typer.Option("--all-threads", help="Let everybody use all cores, numba with parallel=True.")
    ] = False,
    device: Annotated[
        str, typer.Option(help="cpu, or cuda: on the first GPU, with training steps and what launching costs.")
    ] = "cpu",
    show_list: Annotated[bool, typer.Option("--list", help="Name the workloads and stop.")] = False,
    model: Annotated[
        bool, typer.Option("--model", help="Show what the model of schedules predicts, beside what is measured.")
    ] = False,
) -> None:
    """Run the fusion benchmarks on one thread, on all cores or on a GPU, beside NumPy and the peers that are installed.

    The exit status is 1 if jitflow failed or was wrong on a workload.
    """
    from .peers import PEERS
    from .workloads import WORKLOADS

    if device != "cpu":
        _check_names([device], {"cpu", "cuda"}, "device")
        if plot or first_call or keep_memory or all_threads:
            raise typer.BadParameter(
                "takes none of --plot, --first-call, --keep-memory and --all-threads", param_hint=f"--device {device}"
            )
        raise typer.Exit(_on_gpu(names or [], peer or [], show_list, json=json, seconds=seconds, small=small))
    if show_list:
        _list(WORKLOADS)
        return
    _check_names(names or [], set(WORKLOADS), "workload")
    _check_names(peer or [], {known for entry in PEERS.values() for known in (entry.name, entry.package)}, "peer")
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise typer.BadParameter("needs matplotlib: pip install 'jitflow[bench]'", param_hint="--plot")
    if model:
        from .model import run as run_model

        run_model(names or (), small=small)
        return
    from .harness import run

    all_right = run(
        names or (),
        peers=peer or (),
        json=json,
        plot=plot,
        seconds=seconds,
        first_call=first_call,
        small=small,
        keep_memory=keep_memory,
        all_threads=all_threads,
    )
    raise typer.Exit(0 if all_right else 1)


def _on_gpu(names: list[str], peers: list[str], show_list: bool, **options: Any) -> int:
    """The exit status of the benchmarks on a GPU."""
    from . import gpu
    from .gpu_peers import PEERS
    from .gpu_session import SUBJECTS

    if show_list:
        _list(SUBJECTS)
        return 0
    _check_names(names, set(SUBJECTS), "workload")
    _check_names(peers, {known for entry in PEERS.values() for known in (entry.name, entry.package)}, "peer")
    missing = gpu.why_not()
    if missing:
        raise typer.BadParameter(missing, param_hint="--device cuda")
    return 0 if gpu.run(names, peers=peers, **options) else 1


def _list(subjects: Mapping[str, Any]) -> None:
    for subject in subjects.values():
        typer.echo(f"{subject.name:20} {subject.description}")


def _check_names(names: list[str], known: set[str], kind: str) -> None:
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"unknown {kind} {name!r}, expected one of {', '.join(sorted(known))}")
