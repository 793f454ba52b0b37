"""The result of a run: a table for people, JSON for machines, a picture for the documentation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from .machine import describe_machine, versions
from .measure import Measurement
from .training_cases import Case
from .workload import Workload

__all__ = [
    "COLUMNS",
    "Row",
    "as_record",
    "draw_picture",
    "geometric_mean",
    "print_first_calls",
    "print_table",
    "write_json",
]

COLUMNS = {
    "NumPy": ("numpy",),
    "jitflow": ("jitflow",),
    "numba": ("numba-array", "numba-loops"),
    "JAX": ("jax",),
    "torch": ("torch",),
}
NEAR_LIMIT, AT_LIMIT = 0.9, 1.3
"""From this share of what the machine can do on, a workload counts as this many times faster, if it is not more."""
_TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50)
_COLOURS = {"jitflow": "#d9480f", "numba": "#4dabf7", "JAX": "#9775fa", "torch": "#94a3b8"}


class Row:
    """One workload's measurements, or those of a training step, and the questions that the table asks of them.

    ``columns`` are names of peers, and which measurements are theirs.
    """

    def __init__(
        self, workload: Workload | Case, measurements: dict[str, Measurement], copy_seconds: float,
        arithmetic_seconds: float = 0.0, columns: Mapping[str, tuple[str, ...]] = COLUMNS,
    ) -> None:  # fmt: skip
        self.name = workload.name
        self.workload = workload
        self.measurements = measurements
        self.copy_seconds = copy_seconds
        self.arithmetic_seconds = arithmetic_seconds
        self.columns = columns

    def seconds(self, column: str) -> float | None:
        """The time of the column's peer; of one with two forms, the better."""
        times = [self.measurements[name].seconds for name in self.columns[column] if self._counts(name)]
        return min(times, default=None)

    def first_call(self, column: str) -> float | None:
        """The time of the first call; of a peer with two forms, the quicker."""
        measured = [self.measurements[name] for name in self.columns[column] if name in self.measurements]
        return min((entry.first_call for entry in measured if not entry.error), default=None)

    def best_peer(self) -> float | None:
        """The time of the best peer; NumPy is the oracle, not a peer, unless nobody else is there."""
        peers = [self.seconds(column) for column in self.columns if column not in ("NumPy", "jitflow")]
        oracle = self.seconds("NumPy") if "NumPy" in self.columns else None
        return min((time for time in peers if time is not None), default=oracle)

    def ratio(self) -> float | None:
        """How many times faster than the best peer jitflow is."""
        ours, best = self.seconds("jitflow"), self.best_peer()
        return best / ours if ours and best else None

    def share_of_copy(self) -> float | None:
        """The share of the copy bandwidth that jitflow reaches, or the best peer where jitflow did not run."""
        return self._share(self.copy_seconds)

    def share_of_peak(self) -> float | None:
        """The same of the peak of arithmetic."""
        return self._share(self.arithmetic_seconds)

    def score(self) -> float | None:
        """The ratio; at a limit of the machine, where nobody can lead by much, no less than `AT_LIMIT`."""
        ratio = self.ratio()
        share = max(self.share_of_copy() or 0.0, self.share_of_peak() or 0.0)
        return max(ratio, AT_LIMIT) if ratio is not None and share >= NEAR_LIMIT else ratio

    def _share(self, least: float) -> float | None:
        seconds = self.seconds("jitflow") or self.best_peer()
        return least / seconds if seconds and least else None

    def _counts(self, name: str) -> bool:
        return name in self.measurements and self.measurements[name].counts


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def print_table(
    rows: list[Row], console: Console, title: str = "median of interleaved rounds, one thread (ms)"
) -> None:
    """Print times in milliseconds, the ratio to the best peer, and the share of the copy bandwidth."""
    columns = rows[0].columns if rows else COLUMNS
    present = [column for column in columns if any(row.seconds(column) is not None for row in rows)]
    with_peers = bool(set(present) - {"NumPy", "jitflow"}) or "NumPy" not in columns
    table = _table(title, [*present, "vs best" if with_peers else "vs NumPy", "of copy", "of peak"])
    for row in rows:
        times = [_milliseconds(row.seconds(column)) for column in present]
        ratio, share = row.ratio(), row.share_of_copy()
        table.add_row(row.name, *times, _or_dash(ratio, "{:.2f}×"), _or_dash(share, "{:.0%}"),
                      _or_dash(row.share_of_peak(), "{:.0%}"))  # fmt: skip
    console.print(table)
    ratios = [ratio for row in rows if (ratio := row.ratio()) is not None]
    if ratios:
        rival = "the best peer" if with_peers else "NumPy"
        console.print(
            f"jitflow against {rival}: geometric mean {geometric_mean(ratios):.2f}×, lowest {min(ratios):.2f}×"
        )
        scores = [score for row in rows if (score := row.score()) is not None]
        console.print(f"with {AT_LIMIT} for what reaches {NEAR_LIMIT:.0%} of a limit: {geometric_mean(scores):.2f}×")
    _print_errors(rows, console)


def print_first_calls(rows: list[Row], console: Console) -> None:
    """Print each peer's first call in milliseconds; NumPy has nothing to compile."""
    compilers = [column for column in COLUMNS if column != "NumPy"]
    present = [column for column in compilers if any(row.first_call(column) is not None for row in rows)]
    table = _table("first call on small input, in a process that has compiled before (ms)", present)
    for row in rows:
        table.add_row(row.name, *(_milliseconds(row.first_call(column)) for column in present))
    console.print(table)
    _print_errors(rows, console)


def _table(title: str, columns: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("workload", no_wrap=True)  # all peers fit into 80 columns
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right", style="bold" if column == "jitflow" else "")
    return table


def _print_errors(rows: list[Row], console: Console) -> None:
    for row in rows:
        for name, measurement in row.measurements.items():
            if measurement.error:
                text = f"{row.name}, {name}: {measurement.error}"
                console.print(text, style="yellow", highlight=False, markup=False)


def _or_dash(value: float | None, template: str) -> str:
    return "-" if value is None else template.format(value)


def _milliseconds(seconds: float | None) -> str:
    """With more digits the shorter it is: what a GPU does takes microseconds."""
    if seconds is None:
        return "-"
    digits = 4 if seconds < 1e-3 else 2 if seconds < 0.1 else 0
    return f"{seconds * 1e3:.{digits}f}"


def as_record(rows: list[Row], *, kind: str, copy_bandwidth: float, **conditions: Any) -> dict[str, Any]:
    """Return everything about a run as JSON can hold it, with the conditions under which it was."""
    ratios = [ratio for row in rows if (ratio := row.ratio()) is not None]
    return {
        "kind": kind,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        **conditions,
        "copy_bandwidth_bytes_per_second": round(copy_bandwidth),
        "geometric_mean_against_best_peer": geometric_mean(ratios) if ratios else None,
        "lowest_against_best_peer": min(ratios, default=None),
        "workloads": [_row_record(row) for row in rows],
    }


def _row_record(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "description": row.workload.description,
        **_amounts(row.workload),
        "copy_seconds": row.copy_seconds,
        "against_best_peer": row.ratio(),
        "share_of_copy_bandwidth": row.share_of_copy(),
        "arithmetic_seconds": row.arithmetic_seconds,
        "share_of_arithmetic_peak": row.share_of_peak(),
        "peers": {name: measurement.record() for name, measurement in row.measurements.items()},
    }


def _amounts(workload: Workload | Case) -> dict[str, Any]:
    if isinstance(workload, Case):
        return {}
    return {"necessary_bytes": workload.necessary_bytes, "flops": workload.flops}


def write_json(record: dict[str, Any], path: Path) -> None:
    """Store the record of a run."""
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")


def draw_picture(rows: list[Row], path: Path, threads: str = "one thread") -> None:
    """Draw, for each workload, how many times faster than NumPy each peer is."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    columns = [column for column in _COLOURS if any(row.seconds(column) for row in rows)]
    thickness = 0.8 / max(len(columns), 1)
    figure, axes = pyplot.subplots(figsize=(8, 0.9 + 0.34 * len(rows)), layout="constrained")
    for position, column in enumerate(columns):
        offsets = [index + (position - (len(columns) - 1) / 2) * thickness for index in range(len(rows))]
        lengths = [_speed_up(row, column) - 1 for row in rows]
        axes.barh(offsets, lengths, thickness * 0.9, left=1, label=column, color=_COLOURS[column])
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.minorticks_off()
    axes.set_xlabel(f"times faster than NumPy, {threads}")
    axes.spines[["top", "right"]].set_visible(False)
    if columns:
        axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=160)
    pyplot.close(figure)


def _speed_up(row: Row, column: str) -> float:
    seconds, oracle = row.seconds(column), row.seconds("NumPy")
    return oracle / seconds if seconds and oracle else math.nan
