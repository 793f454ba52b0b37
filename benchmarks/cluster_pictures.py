"""Draw what was measured of replicas and of tables: ``python -m benchmarks.cluster_pictures FILE.png``.

From the stored results of `benchmarks.replicas` and `benchmarks.tables`; the paper's figures 6 to 9 in small.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .cluster_simulated import plot_curves

__all__ = ["draw", "main"]

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]


def curves(rows: Sequence[Row], name: Callable[[Row], str], x: str, y: str) -> dict[str, Any]:
    """A curve for each name, through what was measured."""
    found: dict[str, Any] = {}
    for row in rows:
        found.setdefault(name(row), {"predicted": [], "paper": []})["predicted"].append((row[x], row[y]))
    return found


def backups(rows: Sequence[Row]) -> dict[str, Any]:
    """Synchronous steps by the number of backups: as simulated, and, as crosses, as measured."""
    found: dict[str, Any] = {}
    for row in rows:
        if row.get("mode") == "sync":
            curve = found.setdefault(f"{row['workers']} workers", {"predicted": [], "paper": []})
            curve["predicted"].append((row["backup"], row["predicted"]))
            curve["paper"].append((row["backup"], row["ms a step"]))
    return found


def draw(replicas: Row, tables: Row, path: Path) -> None:
    """Draw both records into a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    null, rows, peers, late, words, nothing = figure.subplots(2, 3).flat
    plot_curves(null, curves(replicas["null"], lambda row: row["variables"], "workers", "ms"),
                "steps that compute nothing", "workers", "ms", scale="log")  # fmt: skip
    plot_curves(rows, curves(tables["rows"], lambda row: f"32 rows of {row['table']}", "workers", "ms"),
                "steps of a table on two servers", "workers", "ms")  # fmt: skip
    names = [row["way"].replace(" (", "\n(") for row in replicas["peers"]]
    peers.barh(names, [row["ms"] for row in replicas["peers"]])
    peers.invert_yaxis()
    peers.set(title="5 million parameters, two workers", xlabel="ms")
    plot_curves(late, backups(replicas["stragglers"] + replicas["stragglers of two"]),
                "stragglers: simulated, measured (crosses)", "backups", "ms a step")  # fmt: skip
    plot_curves(words, curves(tables["words"], lambda row: f"{row['softmax']} softmax", "shards", "words per second"),
                "language model", "servers (0: one process)", "words a second")  # fmt: skip
    words.set(yscale="log", ylim=(1e3, 2e5))
    nothing.axis("off")
    machine = replicas["machine"]
    figure.suptitle(f"Replicas and tables: all processes share {machine['cores']} cores of one {machine['cpu']}")
    figure.savefig(path, dpi=110)


def main(path: Annotated[Path, typer.Argument(help="the picture", metavar="FILE.png")]) -> None:
    """Draw the stored results of replicas and tables."""
    draw(*(json.loads((RESULTS / f"{name}.json").read_text()) for name in ("replicas", "tables")), path)


if __name__ == "__main__":
    typer.run(main)
