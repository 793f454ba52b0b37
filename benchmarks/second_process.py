"""How soon a process has its first result where an earlier one has compiled: `python -m benchmarks.second_process`.

A process imports NumPy and jitflow, makes small inputs, and is timed from decorating the function to its result: first
with an empty cache on disk, then with what that has left there. Importing LLVM is a part of the first. Counted as
traced is a process that compiles or imports anything that traces. Programs are the fused workloads, those of the
gallery, and training steps: stacks of layers with Adam, whose variables are made in that time, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from .gallery import PROGRAMS
from .layers import STACKS
from .machine import describe_machine, pin_to_one_core, versions
from .workloads import WORKLOADS

__all__ = ["CASES", "main", "measured"]

_SESSION = """\
import json, sys, time
import numpy as np
import jitflow
kind, name = sys.argv[1:]
if kind == "workload":
    from importlib import import_module
    workload = import_module("benchmarks.workloads." + name).WORKLOAD
    function, arguments = workload.function, workload.make_inputs(np.random.default_rng(0), True)
elif kind == "program":
    from benchmarks.gallery import load
    module = load(name, lambda fn: fn)
    function, arguments = getattr(module, name), module.example("small", 0)
else:
    from benchmarks.layers import stack
    function, arguments = stack, (int(name.split()[0]),)
before = {*sys.modules}
start = time.perf_counter()
if kind == "step":
    compiled, given = function(*arguments)
    compiled(*given)
else:
    compiled = jitflow.function(function)
    compiled(*arguments)
seconds = time.perf_counter() - start
traced = compiled.cache_info().misses > 0 or "jitflow.frontend.recording.trace" in sys.modules
print(json.dumps([seconds, traced, "llvmlite.binding" in sys.modules.keys() - before]))
"""
_TIMES = 5
"""Processes that find the code; the fastest counts, since others disturb it only by taking time."""

CASES = [
    *(("workload", workload.function.__module__.rpartition(".")[2]) for workload in WORKLOADS.values()),
    *(("program", name) for name in PROGRAMS),
    *(("step", name) for name in STACKS),
]
"""What is measured, each by its kind and its name."""


def measured(kind: str, name: str, times: int = _TIMES) -> dict[str, Any]:
    """Seconds to the first result where a process compiles, and in later ones; whether these trace, or import LLVM."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JITFLOW_CACHE": "1", "JITFLOW_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-c", _SESSION, kind, name]
        found = [json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
                 for _ in range(1 + times)]  # fmt: skip
    (first, *_), later = found[0], found[1:]
    return {
        "kind": kind, "name": name, "compiled": first, "found": min(seconds for seconds, *_ in later),
        "traced": any(traced for _, traced, _ in later), "llvm": any(llvm for *_, llvm in later),
    }  # fmt: skip


def _told(row: dict[str, Any]) -> str:
    traced, llvm = ("  traced" if row["traced"] else ""), ("  with LLVM" if row["llvm"] else "")
    return f"{row['kind']:10}{row['name']:28}{row['compiled'] * 1e3:9.1f} ms{row['found'] * 1e3:9.1f} ms{traced}{llvm}"


def main(
    names: Annotated[list[str] | None, typer.Argument(help="kinds, or names of programs; all if none")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="where to store the rows; others there stay")] = None,
) -> None:
    """Print a line for each program: milliseconds to the first result where it compiles, and where it finds code."""
    pin_to_one_core()
    rows: dict[str, Any] = {}
    if json_file is not None and json_file.exists():
        rows = {f"{row['kind']} {row['name']}": row for row in json.loads(json_file.read_text())["rows"]}
    print(f"{'':38}{'compiled':>12}{'found':>12}")
    for kind, name in CASES:
        if names and not {kind, name} & {*names}:
            continue
        row = rows[f"{kind} {name}"] = measured(kind, name)
        print(_told(row), flush=True)
        if json_file is not None:
            stored = {"machine": describe_machine(), "versions": versions(), "rows": [*rows.values()]}
            json_file.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
