"""Figures 6 to 9 of the paper on TensorFlow, simulated up to 200 workers: ``python -m benchmarks.cluster_simulated``.

The paper is Abadi and others, TensorFlow: A system for large-scale machine learning (OSDI 2016; the numbers of figures
are those of arXiv:1605.08695). What stands here of its results is what its text says in numbers; curves that it only
draws are not read off. Its machines are not here, and so their costs are assumed, as `ASSUMED` says; the protocol is
that of `jitflow.cluster`, in which messages wait for what is computed; the paper's system overlaps the two. Some of its
results take part in the assumptions: the bandwidth is that at which one worker of figure 6 fetches a gigabyte, latency
and messages are those of its scalar steps, and the distribution of step times is chosen so that figure 8 has about the
paper's step time with four backups, and its speed with three. Everything else is a prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from jitflow.cluster import Costs, Setup, Simulated, StepTimes, simulate
from jitflow.machines.machine import Link

from .machine import describe_machine, versions
from .report import write_json

__all__ = ["ASSUMED", "FIGURES", "PAPER", "draw", "plot_curves", "run"]

ASSUMED = {
    "bandwidth": "1 GB/s for each process and direction: one worker fetches 1 GB in 1.01 s (figure 6)",
    "latency and message": "200 us, and 14.5 us of either end: scalar null steps take 1.8 ms, those of 100 workers 8.8",
    "apply": "0.15 ns a byte: three ways through a memory of 20 GB/s",
    "null steps": "the whole model is fetched, and nothing but the message goes back; sparse ones read 32 rows of 2 KB",
    "Inception-v3": "23.8 million weights of 4 bytes, 32 images in a step, on 17 servers",
    "step of a K40": "1.29 s, 20 ms of jitter, and in 12 % of the steps 260 ms more, both exponential (figure 8)",
    "language model": "LSTM-512-512, 640 words in a step, asynchronous; 40,000 words of vocabulary; workers compute at "
    "40 and servers at 100 GFLOP/s; each server gets all activations for a full softmax, whose share it computes",
}
"""What is not known of the paper's machines."""

LINK, MESSAGE = Link(200e-6, 1e9), 14.5e-6
NULL = Costs(StepTimes((0.0,)), LINK, message=MESSAGE)
INCEPTION = Costs(StepTimes((1.29,), jitter=0.02, stragglers=0.12, delay=0.26), LINK, message=MESSAGE, apply=0.15e-9)
TRAINING = Setup(50, 17, gradient_bytes=23.8e6 * 4, examples=32)
ROW, ROWS = 2048, 32

PAPER: dict[str, dict[str, dict[float, float]]] = {
    "6": {
        "scalar": {1: 1.8e-3, 100: 8.8e-3},
        "sparse": {1: 5e-3, 100: 20e-3},
        "dense 100 MB": {1: 0.147, 100: 0.613},
        "dense 1 GB": {1: 1.01, 100: 7.16},
    },
    "7": {"asynchronous": {200: 2300.0}},
    "8": {"step time": {4: 1.93}, "normalised speed": {0: 1.0, 3: 1.095}},
    "9": {},
}
"""What the text says: step times in seconds by workers (of sparse ones, their range), images a second by workers, the
step time by backups and how much faster that is for each worker. Of figure 9 it gives no figure."""

Curves = dict[str, dict[float, float]]


def figure_6(few: bool = False) -> Curves:
    """Seconds of null steps on 16 servers, by workers."""
    setups = {
        "scalar": Setup(1, 16, value_bytes=16 * 4.0),
        "sparse": Setup(1, 16, row_bytes=ROWS * ROW),
        "dense 100 MB": Setup(1, 16, value_bytes=1e8),
        "dense 1 GB": Setup(1, 16, value_bytes=1e9),
    }
    counts = (1, 100) if few else (1, 2, 5, 10, 25, 50, 100, 200)
    return {
        name: {count: simulate(replace(setup, workers=count), NULL, steps=6).percentile(50) for count in counts}
        for name, setup in setups.items()
    }


def figure_7(few: bool = False) -> Curves:
    """Images a second and percentiles of step times, by workers."""
    found: Curves = {}
    for mode, name in (("async", "asynchronous"), ("sync", "synchronous")):
        for count in (25, 50) if few else (25, 50, 75, 100, 150, 200):
            predicted = _inception(replace(TRAINING, workers=count, mode=mode), 10 if few else 40)
            found.setdefault(name, {})[count] = predicted.examples_per_second
            for percent in (10, 50, 90):
                found.setdefault(f"{name}, p{percent}", {})[count] = predicted.percentile(percent)
    return found


def figure_8(few: bool = False) -> Curves:
    """Seconds of a step of 50 workers by backups, and how much faster that is for each worker."""
    steps = {
        backup: _inception(replace(TRAINING, backup=backup), 20 if few else 400).percentile(50)
        for backup in ((0, 4) if few else range(6))
    }
    speeds = {backup: steps[0] / seconds * 50 / (50 + backup) for backup, seconds in steps.items()}
    return {"step time": steps, "normalised speed": speeds}


def figure_9(few: bool = False) -> Curves:
    """Words a second by servers, for three numbers of workers, with a full and a sampled softmax."""
    words, width, vocabulary, sampled = 640, 512, 40_000, 512
    weights = 4 * (2 * width) * width + width * width
    activations = words * width * 4.0
    found: Curves = {}
    for workers in (4,) if few else (4, 32, 200):
        for servers in (1, 2) if few else (1, 2, 4, 8, 16, 32):
            setup = Setup(workers, servers, "async", gradient_bytes=4.0 * weights, examples=words)
            full = replace(setup, row_bytes=activations * (1 + servers), served=6e-11 * words * width * vocabulary)
            of_samples = replace(setup, row_bytes=activations * 2 + sampled * width * 4.0)
            for name, one, products in (
                ("full softmax", full, weights),
                ("sampled softmax", of_samples, weights + width * sampled),
            ):
                step = StepTimes((6 * words * products / 40e9,), jitter=0.01)
                predicted = simulate(one, Costs(step, LINK, message=MESSAGE, apply=0.15e-9), steps=8)
                found.setdefault(f"{name}, {workers} workers", {})[servers] = predicted.examples_per_second
    return found


FIGURES: dict[str, Callable[[bool], Curves]] = {"6": figure_6, "7": figure_7, "8": figure_8, "9": figure_9}


def _inception(setup: Setup, steps: int) -> Simulated:
    return simulate(setup, INCEPTION, steps=steps)


def run(few: bool = False) -> dict[str, Any]:
    """All figures, as JSON can hold them: for each curve pairs of numbers."""
    began = time.perf_counter()
    figures = {number: figure(few) for number, figure in FIGURES.items()}
    return {
        "kind": "cluster_simulated",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": {name: version for name, version in versions().items() if name in ("python", "jitflow", "numpy")},
        "assumed": ASSUMED,
        "seconds": round(time.perf_counter() - began, 1),
        "figures": {
            number: {
                name: {"predicted": _pairs(curve), "paper": _pairs(PAPER[number].get(name, {}))}
                for name, curve in curves.items()
            }
            for number, curves in figures.items()
        },
    }  # fmt: skip


def _pairs(curve: dict[float, float]) -> list[list[float]]:
    return [[x, float(f"{y:.5g}")] for x, y in curve.items()]


# -- for people ------------------------------------------------------------------------------------------


def show(record: dict[str, Any], console: Console) -> None:
    """Print what the paper says, beside what is predicted."""
    table = Table("figure", "curve", "at", "predicted", "paper", title="the figures that the paper gives in numbers")
    for number, curves in record["figures"].items():
        for name, curve in curves.items():
            predicted = dict(map(tuple, curve["predicted"]))
            for x, y in curve["paper"]:
                table.add_row(number, name, f"{x:g}", f"{predicted.get(x, float('nan')):.4g}", f"{y:.4g}")
    console.print(table)


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw all figures; what the paper's text says are crosses."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    six, seven, times, backups, speeds, nine = figure.subplots(2, 3).flat
    figures = record["figures"]
    plot_curves(six, figures["6"], "6: null steps on 16 servers", "workers", "seconds", scale="log")
    throughput = {name: curve for name, curve in figures["7"].items() if ", p" not in name}
    plot_curves(seven, throughput, "7a: Inception-v3", "workers", "images a second")
    percentiles = {name: curve for name, curve in figures["7"].items() if ", p" in name}
    plot_curves(times, percentiles, "7b, c: its step times", "workers", "seconds")
    plot_curves(backups, {"step time": figures["8"]["step time"]}, "8: 50 workers", "backups", "seconds (median)")
    plot_curves(speeds, {"normalised speed": figures["8"]["normalised speed"]}, "8: for each worker", "backups",
          "speed without backups = 1")  # fmt: skip
    plot_curves(nine, figures["9"], "9: language model", "servers", "words a second", scale="log")
    figure.suptitle("Simulated with assumed costs (lines), and what the paper's text says of its runs (crosses)")
    figure.savefig(path, dpi=110)


def plot_curves(axes: Any, curves: dict[str, Any], title: str, x: str, y: str, scale: str = "linear") -> None:
    """Draw curves: points of ``predicted`` are joined by lines, those of ``paper`` are crosses of the same colour."""
    for name, curve in curves.items():
        dashed = "synchronous" in name.split(",")[0].split() or name.startswith("full")
        (line,) = axes.plot(*_columns(curve["predicted"]), "--" if dashed else "-", marker=".", label=name)
        if curve["paper"]:
            axes.plot(*_columns(curve["paper"]), "x", markersize=9, markeredgewidth=2, color=line.get_color())
    axes.set(title=title, xlabel=x, ylabel=y, xscale=scale, yscale=scale)
    if scale == "log":
        axes.xaxis.set_minor_formatter("")
    if scale == "linear":
        axes.set_ylim(bottom=0.9 if "= 1" in y else 0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)


def _columns(pairs: Iterable[Sequence[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*pairs, strict=True)]


def main(
    json: Annotated[Path | None, typer.Option(help="Store the result in this file.", metavar="FILE.json")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the result into this file.", metavar="FILE.png")] = None,
    few: Annotated[bool, typer.Option("--few", help="Few points and steps.")] = False,
) -> None:
    """Simulate the paper's figures, in some minutes."""
    record = run(few)
    show(record, Console())
    if json is not None:
        write_json(record, json)
    if plot is not None:
        draw(record, plot)


if __name__ == "__main__":
    typer.run(main)
