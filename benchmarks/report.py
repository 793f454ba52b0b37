"""The result of a run: a table for people, JSON for machines, a picture for the README."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .machine import describe_machine, versions
from .measure import Measurement
from .workload import Workload

__all__ = ["Row", "as_record", "draw_picture", "geometric_mean", "print_table", "write_json"]

_OURS = "jitflow"
_ORACLE = "numpy"
_COLUMNS = {
    "NumPy": ("numpy",),
    "jitflow": ("jitflow",),
    "numba": ("numba-array", "numba-loops"),
    "JAX": ("jax",),
    "torch": ("torch",),
}
_COLOURS = {"jitflow": "#d9480f", "numba": "#4dabf7", "JAX": "#9775fa", "torch": "#94a3b8"}


class Row:
    """One workload's measurements, and the questions that the table asks of them."""

    def __init__(self, workload: Workload, measurements: dict[str, Measurement], copy_seconds: float) -> None:
        self.workload = workload
        self.measurements = measurements
        self.copy_seconds = copy_seconds

    def seconds(self, column: str) -> float | None:
        """The time of the column's peer; of numba, the better of its two forms."""
        times = [self.measurements[name].seconds for name in _COLUMNS[column] if self._counts(name)]
        return min(times, default=None)

    def best_peer(self) -> float | None:
        """The time of the best peer; NumPy is the oracle, not a peer, unless nobody else is there."""
        peers = [self.seconds(column) for column in ("numba", "JAX", "torch")]
        return min((time for time in peers if time is not None), default=self.seconds("NumPy"))

    def ratio(self) -> float | None:
        """How many times faster than the best peer jitflow is."""
        ours, best = self.seconds("jitflow"), self.best_peer()
        return best / ours if ours and best else None

    def share_of_copy(self) -> float | None:
        """The share of the copy bandwidth that jitflow reaches, or the best peer where jitflow did not run."""
        seconds = self.seconds("jitflow") or self.best_peer()
        return self.copy_seconds / seconds if seconds and self.copy_seconds else None

    def _counts(self, name: str) -> bool:
        return name in self.measurements and self.measurements[name].counts


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean, NaN of nothing."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def print_table(rows: list[Row], console: Console, *, first_calls: bool = False) -> None:
    """Print times in milliseconds, the ratio to the best peer, and the share of the copy bandwidth."""
    present = [column for column in _COLUMNS if any(row.seconds(column) is not None for row in rows)]
    title = "first call, small input (ms)" if first_calls else "median of interleaved rounds, one thread (ms)"
    table = Table(title=title, title_justify="left")
    table.add_column("workload", no_wrap=True)
    for column in present:
        table.add_column(column, justify="right", style="bold" if column == "jitflow" else "")
    table.add_column("vs best peer", justify="right")
    if not first_calls:
        table.add_column("of copy speed", justify="right")
    for row in rows:
        cells = [_milliseconds(row.seconds(column)) for column in present]
        ratio, share = row.ratio(), row.share_of_copy()
        cells.append("-" if ratio is None else f"{ratio:.2f}×")
        if not first_calls:
            cells.append("-" if share is None else f"{share:.0%}")
        table.add_row(row.workload.name, *cells)
    console.print(table)
    ratios = [ratio for row in rows if (ratio := row.ratio()) is not None]
    if ratios:
        console.print(
            f"jitflow against the best peer: geometric mean {geometric_mean(ratios):.2f}×, lowest {min(ratios):.2f}×"
        )
    for row in rows:
        for name, measurement in row.measurements.items():
            if measurement.error:
                console.print(f"[yellow]{row.workload.name}, {name}: {measurement.error}[/]", highlight=False)


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.2f}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def as_record(rows: list[Row], *, kind: str, copy_bandwidth: float) -> dict[str, Any]:
    """Return everything about a run as JSON can hold it."""
    ratios = [ratio for row in rows if (ratio := row.ratio()) is not None]
    return {
        "kind": kind,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": versions(),
        "threads": 1,
        "copy_bandwidth_bytes_per_second": round(copy_bandwidth),
        "geometric_mean_against_best_peer": geometric_mean(ratios) if ratios else None,
        "lowest_against_best_peer": min(ratios, default=None),
        "workloads": [_row_record(row) for row in rows],
    }


def _row_record(row: Row) -> dict[str, Any]:
    return {
        "name": row.workload.name,
        "description": row.workload.description,
        "necessary_bytes": row.workload.necessary_bytes,
        "flops": row.workload.flops,
        "copy_seconds": row.copy_seconds,
        "against_best_peer": row.ratio(),
        "share_of_copy_bandwidth": row.share_of_copy(),
        "peers": {
            name: {
                "seconds": measurement.seconds if measurement.samples else None,
                "first_call_seconds": None if math.isnan(measurement.first_call) else measurement.first_call,
                "samples": len(measurement.samples),
                "error": measurement.error,
            }
            for name, measurement in row.measurements.items()
        },
    }


def write_json(record: dict[str, Any], path: Path) -> None:
    """Store the record of a run."""
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n")


def draw_picture(rows: list[Row], path: Path) -> None:
    """Draw, for each workload, how many times faster than NumPy each peer is."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    columns = [column for column in _COLOURS if any(row.seconds(column) for row in rows)]
    thickness = 0.8 / max(len(columns), 1)
    figure, axes = pyplot.subplots(figsize=(8, 0.9 + 0.42 * len(rows)), layout="constrained")
    for position, column in enumerate(columns):
        offsets = [index + (position - (len(columns) - 1) / 2) * thickness for index in range(len(rows))]
        lengths = [_speed_up(row, column) for row in rows]
        axes.barh(offsets, lengths, thickness * 0.92, label=column, color=_COLOURS[column])
    axes.set_yticks(range(len(rows)), [row.workload.name for row in rows])
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axes.minorticks_off()
    axes.set_xlabel("times faster than NumPy, one thread")
    axes.spines[["top", "right"]].set_visible(False)
    if columns:
        axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=160)
    pyplot.close(figure)


def _speed_up(row: Row, column: str) -> float:
    seconds, oracle = row.seconds(column), row.seconds("NumPy")
    return oracle / seconds if seconds and oracle else math.nan
