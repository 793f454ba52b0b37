"""What the model of schedules (`passes/schedule/price.py`) predicts of workloads, beside what they take, one thread.

The model is one of kernels: a call and the host program are not in it. Workloads with a kernel that it says nothing of,
as a loop of scalar code, have no prediction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from .worker import Worker
from .workloads import WORKLOADS

__all__ = ["Line", "rank_correlation", "run"]

SEED = 2016
SECONDS = 0.3
"""How long a workload is called."""
STRETCH = 1e-3
"""Seconds that are timed together at least: a processor's clock of one call may stand still, or jump."""


@dataclass(frozen=True)
class Line:
    """A workload's seconds: measured, and predicted, nan if it is not."""

    name: str
    measured: float
    predicted: float


class ModelSession:
    """What happens in jitflow's process."""

    def __init__(self, peer: str) -> None:
        pass

    def warm_up(self) -> None:
        """There is nothing to warm up: only the fastest calls count."""

    def line(self, name: str, small: bool) -> Line:
        """Predict a workload, and measure it."""
        import jitflow

        function = jitflow.function(WORKLOADS[name].function)
        inputs = WORKLOADS[name].make_inputs(np.random.default_rng(SEED), small)
        function(*inputs)
        begun = time.perf_counter()
        function(*inputs)
        turns = 1 + int(STRETCH / (time.perf_counter() - begun))
        fastest, end = inf, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            start = time.thread_time()
            for _ in range(turns):
                function(*inputs)
            fastest = min(fastest, (time.thread_time() - start) / turns)
        return Line(name, fastest, _predicted(function))


def _predicted(function: Any) -> float:
    """What its kernels take, those for short sizes if there are some."""
    from jitflow.compilation.compiler import lower

    compilation = function._compilation()
    compilation.traced = function._last[1]
    host, *_ = lower(compilation)
    scheduled, sizes = compilation.lowered.scheduled, dict(compilation.traced.hints)
    launched = {name.removesuffix("_short") for name in scheduled}
    if len(launched) < len({kernel.name.removesuffix("_short") for kernel in host.functions}):
        return nan
    names = [f"{name}_short" if f"{name}_short" in scheduled else name for name in launched]
    return sum(next(iter(scheduled[name].proposals(sizes))).predicted for name in names) * 1e-9


def rank_correlation(lines: Sequence[Line]) -> float:
    """Spearman's, of what is predicted and measured."""
    pairs = np.array([(line.predicted, line.measured) for line in lines if line.predicted == line.predicted])
    return float(np.corrcoef(np.argsort(np.argsort(pairs, 0), 0).T)[0, 1]) if len(pairs) > 1 else nan


def run(names: Sequence[str], *, small: bool, console: Console | None = None) -> list[Line]:
    """Predict and measure the named workloads, all if none are named, and print the table."""
    console = console or Console()
    with closing(Worker("jitflow", keep_memory=True, make_session=ModelSession)) as worker:
        wanted = track(names or list(WORKLOADS), description="measuring", console=console, transient=True)
        lines = [worker.ask("line", name, small) for name in wanted]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("workload", "measured (us)", "predicted", "ratio"):
        table.add_column(column, no_wrap=True, justify="left" if column == "workload" else "right")
    for line in sorted(lines, key=lambda line: line.measured):
        known = line.predicted == line.predicted
        predicted = [f"{line.predicted * 1e6:.1f}", f"{line.predicted / line.measured:.2f}"] if known else ["", ""]
        table.add_row(line.name, f"{line.measured * 1e6:.1f}", *predicted)
    console.print(table)
    console.print(f"rank correlation {rank_correlation(lines):.2f}")
    return lines
