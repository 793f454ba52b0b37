"""The command `jitflow bench`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

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
    show_list: Annotated[bool, typer.Option("--list", help="Name the workloads and stop.")] = False,
) -> None:
    """Run the fusion benchmarks on one thread, beside NumPy and the peers that are installed.

    The exit status is 1 if jitflow failed or was wrong on a workload.
    """
    from .peers import PEERS
    from .workloads import WORKLOADS

    if show_list:
        for workload in WORKLOADS.values():
            typer.echo(f"{workload.name:20} {workload.description}")
        return
    _check_names(names or [], set(WORKLOADS), "workload")
    _check_names(peer or [], {known for entry in PEERS.values() for known in (entry.name, entry.package)}, "peer")
    if plot is not None and importlib.util.find_spec("matplotlib") is None:
        raise typer.BadParameter("needs matplotlib: pip install 'jitflow[bench]'", param_hint="--plot")
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
    )
    raise typer.Exit(0 if all_right else 1)


def _check_names(names: list[str], known: set[str], kind: str) -> None:
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"unknown {kind} {name!r}, expected one of {', '.join(sorted(known))}")
