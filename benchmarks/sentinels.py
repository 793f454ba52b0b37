"""Loops that begin with a number of another type, beside the same loops without: `python -m benchmarks.sentinels`.

A running largest from `m = -1`, over integers and floats, beside one from `m = a[0]`; a sum from `s = 0` beside one
from `s = 0.0`. Both run in turns on the same million elements; the ratio of their medians is what the sentinel costs.
"""

from __future__ import annotations

import json as json_format
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import jitflow

from .machine import describe_machine, versions

SIZE = 1_000_000
ROUNDS = 41


def largest(a: Any) -> Any:
    m = -1
    for v in a:
        if v > m:
            m = v
    return m


def largest_from_first(a: Any) -> Any:
    m = a[0]
    for v in a:
        if v > m:
            m = v
    return m


def total(a: Any) -> Any:
    s = 0
    for v in a:
        s += v
    return s


def total_from_float(a: Any) -> Any:
    s = 0.0
    for v in a:
        s += v
    return s


CASES: tuple[tuple[Callable[..., Any], Callable[..., Any], tuple[str, ...]], ...] = (
    (largest, largest_from_first, ("uint8", "int16", "float32", "float64", "int64")),
    (total, total_from_float, ("float32", "float64")),
)


def _medians(functions: list[Callable[..., Any]], array: Any) -> list[float]:
    """The medians of the times of functions that run in turns, in microseconds."""
    times: list[list[float]] = [[] for _ in functions]
    for function in functions:
        function(array)
    for _ in range(ROUNDS):
        for function, found in zip(functions, times, strict=True):
            start = time.perf_counter()
            function(array)
            found.append((time.perf_counter() - start) * 1e6)
    return [statistics.median(found) for found in times]


def main(json: Annotated[Path | None, typer.Option(help="Write the results to this file.")] = None) -> None:
    """Measure what a sentinel costs."""
    results = []
    for program, plain, dtypes in CASES:
        for dtype in dtypes:
            array = (np.random.default_rng(0).random(SIZE) * 100).astype(dtype)
            ours, other = _medians([jitflow.function(program), jitflow.function(plain)], array)
            results.append({"program": program.__name__, "dtype": dtype, "microseconds": ours, "plain": other})
            print(f"{program.__name__:8} {dtype:8} {ours:8.0f} us, plain {other:8.0f} us, ratio {ours / other:.2f}")
    if json is not None:
        record = {
            "kind": "sentinels", "date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": describe_machine(),
            "versions": versions(), "elements": SIZE, "results": results,
        }  # fmt: skip
        json.write_text(json_format.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
