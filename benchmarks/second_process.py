"""How soon a process has its first result where an earlier one has compiled: `python -m benchmarks.second_process`.

A process imports NumPy and jitflow, makes small inputs, and is timed from decorating the function to its result: first
with an empty cache on disk, then with what that has left there. Importing llvmlite is a part of both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .gallery import PROGRAMS
from .workloads import WORKLOADS

__all__ = ["main", "seconds"]

_SESSION = """\
import json, sys, time
import numpy as np
import jitflow
kind, name = sys.argv[1:]
if kind == "workload":
    from importlib import import_module
    workload = import_module("benchmarks.workloads." + name).WORKLOAD
    function, arguments = workload.function, workload.make_inputs(np.random.default_rng(0), True)
else:
    from benchmarks.gallery import load
    module = load(name, lambda fn: fn)
    function, arguments = getattr(module, name), module.example("small", 0)
start = time.perf_counter()
compiled = jitflow.function(function)
compiled(*arguments)
print(json.dumps([time.perf_counter() - start, compiled.cache_info().misses]))
"""
_TIMES = 5
"""Processes that find the code; the fastest counts, since others disturb it only by taking time."""


def seconds(kind: str, name: str) -> tuple[float, float, bool]:
    """The time to the first result in a process that compiles, and in later ones; and whether those compile too."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "JITFLOW_CACHE": "1", "JITFLOW_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-c", _SESSION, kind, name]
        found = [json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
                 for _ in range(1 + _TIMES)]  # fmt: skip
    return found[0][0], min(time for time, _ in found[1:]), bool(found[-1][1])


def main() -> None:
    """Print a line for each program: those named, or all workloads and some of the gallery."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    some = ["black_scholes", "heat_2d", "kalman", "kmeans", "lenet", "lu", "mlp", "nbody", "quicksort", "sobel"]
    parser.add_argument("names", nargs="*", help="programs of the gallery, or workloads")
    named = parser.parse_args().names
    modules = {workload.function.__module__.rpartition(".")[2]: name for name, workload in WORKLOADS.items()}
    cases = [("workload", module) for module in modules if not named or module in named]
    cases += [("program", name) for name in (named or some) if name in PROGRAMS]
    print(f"{'':10}{'':24}{'compiled':>12}{'found':>12}")
    for kind, name in cases:
        first, later, compiles = seconds(kind, name)
        print(f"{kind:10}{name:24}{first * 1e3:9.1f} ms{later * 1e3:9.1f} ms{'  not kept' if compiles else ''}")


if __name__ == "__main__":
    main()
