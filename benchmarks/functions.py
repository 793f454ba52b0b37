"""NumPy's functions one by one, beside NumPy, on one thread: `python -m benchmarks.functions [NAME]...`.

Each row of `function_rows.py` is one function that does nothing but that call, compiled and plain, on small
arguments, where the figure is the cost of a call, and on large ones. Both are called in turns on the processor's own
clock, and the ratio of their medians counts: above one jitflow is faster. Results are compared. A NAME is part of an
expression, as `repeat`, or a group. What stays below `ENOUGH` needs a written reason.
"""

from __future__ import annotations

import copy
import json as json_format
import re
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

from .function_rows import REASONS, ROWS, arguments
from .machine import describe_machine, versions
from .measure import disagreement, message_of
from .program_session import flatten
from .report import geometric_mean
from .worker import Worker

__all__ = ["ENOUGH", "FunctionSession", "Line", "as_record", "names_of", "print_table", "run"]

ENOUGH = 0.9
"""A ratio below this wants a reason."""
SIZES = {"small": 100, "large": 1_000_000}
"""Elements of a vector."""
SAMPLE = 2e-4
"""Seconds that a sample takes at least: so many calls are timed together."""
ROUNDS = 31


@dataclass(frozen=True)
class _Tolerance:
    relative_tolerance: float
    mismatches: float = 0.0


@dataclass
class Line:
    """One call: seconds of NumPy and of jitflow by size, and what went wrong."""

    expression: str
    group: str
    theirs: dict[str, float] = field(default_factory=dict)
    ours: dict[str, float] = field(default_factory=dict)
    error: str = ""

    def ratio(self, size: str) -> float | None:
        """How many times faster jitflow is."""
        return self.theirs[size] / self.ours[size] if size in self.ours and not self.error else None

    @property
    def lowest(self) -> float:
        """The worse of the two ratios."""
        return min((found for size in SIZES if (found := self.ratio(size)) is not None), default=0.0)


class FunctionSession:
    """What happens inside of the process, where both are measured."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def warm_up(self) -> None:
        """Compile something, so that no first call pays for the compiler's own start."""
        self.measure("x + y", "small", 1)

    def measure(self, expression: str, size: str, rounds: int) -> tuple[float, float, str]:
        """Seconds of a call of NumPy's and of jitflow's, and how the results differ."""
        import jitflow

        names = names_of(expression)
        function = eval(f"lambda {', '.join(names)}: {expression}", {"np": np})
        try:
            given = [copy.deepcopy(_arguments(SIZES[size])[name]) for name in names]
            compiled, others = jitflow.function(function), copy.deepcopy(given)
            outcome, expected = flatten((compiled(*given), given)), flatten((function(*others), others))
            single = any(getattr(leaf, "dtype", None) == np.float32 for leaf in expected)
            error = disagreement(_Tolerance(1e-5 if single else 1e-9), outcome, expected)
            del outcome, expected
            theirs, ours = _in_turns(lambda: function(*others), lambda: compiled(*given), rounds)
        except Exception as problem:
            return 0.0, 0.0, message_of(problem)
        return theirs, ours, error


@cache
def _arguments(size: int) -> dict[str, Any]:
    return arguments(size)


def names_of(expression: str) -> list[str]:
    """The arguments that an expression reads."""
    words = re.findall(r"(?<![\w.'])[A-Za-z]\w*\b(?!\s*=[^=])", re.sub(r"'[^']*'", "", expression))
    return [name for name in dict.fromkeys(words) if name != "np" and name in _arguments(SIZES["small"])]


def _in_turns(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """The median seconds of a call of each."""
    calls = []
    for call in (first, second):
        begun = time.thread_time()
        call()
        once = max(time.thread_time() - begun, 1e-7)
        if once < SAMPLE:  # the first call finds caches cold
            begun = time.thread_time()
            for _ in range(10):
                call()
            once = max(time.thread_time() - begun, 1e-6) / 10
        calls.append((call, max(1, int(SAMPLE / once))))
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for taken, (call, count) in zip(samples, calls, strict=True):
            begun = time.thread_time()
            for _ in range(count):
                call()
            taken.append((time.thread_time() - begun) / count)
    return statistics.median(samples[0]), statistics.median(samples[1])


def run(rows: list[tuple[str, str]], *, json: Path | None, rounds: int, console: Console) -> list[Line]:
    """Measure the rows, print the table, store it if asked for."""
    lines = []
    with closing(Worker("jitflow", make_session=FunctionSession)) as worker:
        for group, expression in track(rows, description="measuring", console=console, transient=True):
            line = Line(expression, group)
            for size in SIZES:
                try:
                    theirs, ours, line.error = worker.ask("measure", expression, size, rounds)
                except RuntimeError as error:
                    line.error = str(error)
                if line.error:
                    break
                line.theirs[size], line.ours[size] = theirs, ours
            lines.append(line)
            if json is not None:  # a long run leaves what it has
                json.write_text(json_format.dumps(as_record(lines), indent=2, allow_nan=False) + "\n")
    print_table(lines, console)
    return lines


def as_record(lines: list[Line]) -> dict[str, Any]:
    """Everything about a run as JSON can hold it."""
    return {
        "kind": "functions",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "threads": 1,
        "elements": SIZES,
        "summaries": summaries(lines),
        "functions": [
            {
                "expression": line.expression,
                "group": line.group,
                "numpy": line.theirs,
                "jitflow": line.ours,
                "error": line.error,
                "against_numpy": {size: line.ratio(size) for size in SIZES},
                "reason": REASONS.get(line.expression, ""),
            }
            for line in lines
        ],
    }


def summaries(lines: list[Line]) -> dict[str, dict[str, float]]:
    """By size: the geometric mean, and how many of the rows are as fast as they should be."""
    found = {}
    for size in SIZES:
        ratios = [ratio for line in lines if (ratio := line.ratio(size)) is not None]
        if ratios:
            enough = sum(ratio >= ENOUGH for ratio in ratios)
            found[size] = {"geometric_mean": geometric_mean(ratios), "lowest": min(ratios), "enough": enough,
                           "rows": len(ratios)}  # fmt: skip
    return found


def print_table(lines: list[Line], console: Console) -> None:
    """Print microseconds and ratios, the slowest first, and why."""
    table = Table(title="medians of calls in turns, one thread (µs)", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("call", overflow="fold")
    for size, elements in SIZES.items():
        for column in ("NumPy", "jitflow", "ratio"):
            table.add_column(f"{column}\n{elements:,}" if size else column, justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for line in sorted(lines, key=lambda line: line.lowest):
        cells = []
        for size in SIZES:
            ratio = line.ratio(size)
            cells += ["-"] * 3 if ratio is None else [
                f"{line.theirs[size] * 1e6:.4g}", f"{line.ours[size] * 1e6:.4g}", f"{ratio:.2f}"
            ]  # fmt: skip
        table.add_row(line.expression, *cells, line.error or REASONS.get(line.expression, ""))
    console.print(table)
    for size, summary in summaries(lines).items():
        console.print(f"{size}: geometric mean {summary['geometric_mean']:.2f}, lowest {summary['lowest']:.2f}, "
                      f"{summary['enough']} of {summary['rows']} at {ENOUGH} or more")  # fmt: skip


def main(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Parts of calls; all if none.")] = None,
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    rounds: Annotated[int, typer.Option(help="Turns that each gets.", min=1)] = ROUNDS,
) -> None:
    """Run NumPy's functions one by one, compiled and plain."""
    rows = [(group, expression) for group, expressions in ROWS.items() for expression in expressions
            if not names or any(name in expression or name == group for name in names)]  # fmt: skip
    if not rows:
        raise typer.BadParameter(f"nothing of that name, expected part of a call or one of {', '.join(ROWS)}")
    run(rows, json=json, rounds=rounds, console=Console())


if __name__ == "__main__":
    typer.run(main)
