"""Two long branches on two CPU devices beside the same on one: ``python -m benchmarks.fork_join``.

Both programs are called in turns, by the clock on the wall, since that is what two devices are for; the median of the
rounds' ratios counts. Two idle cores could do it in half of the time.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("JITFLOW_CPU_DEVICES", "2")  # read when jitflow first needs to know

import numpy as np

import jitflow

from .machine import describe_machine, versions

__all__ = ["main"]

SIZES = ((30_000, 60), (100_000, 20), (300_000, 8), (1_000_000, 3))
"""Elements, and turns of each branch."""
ROUNDS = 21


def branch(x: Any, turns: int) -> Any:
    """One branch: elementary functions over an array, again and again."""
    for _ in range(turns):
        x = np.tanh(x) + 0.1 * np.sin(3.0 * x)
    return x


@jitflow.function
def split(x: Any, turns: int) -> Any:
    """The branches on two devices."""
    with jitflow.device("cpu:0"):
        left = branch(x, turns)
    with jitflow.device("cpu:1"):
        right = branch(-x, turns)
    with jitflow.device("cpu:0"):
        return left - right


@jitflow.function(device="cpu:0")
def whole(x: Any, turns: int) -> Any:
    """The branches on one device."""
    return branch(x, turns) - branch(-x, turns)


def measured(size: int, turns: int) -> dict[str, Any]:
    """The seconds of both, and how much faster two devices are."""
    x = np.linspace(-2.0, 2.0, size)
    np.testing.assert_array_equal(split(x, turns), whole(x, turns))
    seconds: dict[str, list[float]] = {"whole": [], "split": []}
    for _ in range(ROUNDS):
        for name, function in (("whole", whole), ("split", split)):
            start = time.perf_counter()
            function(x, turns)
            seconds[name].append(time.perf_counter() - start)
    ratios = [one / other for one, other in zip(seconds["whole"], seconds["split"], strict=True)]
    return {
        "elements": size, "turns": turns, "one": statistics.median(seconds["whole"]),
        "two": statistics.median(seconds["split"]), "ratio": statistics.median(ratios),
        "of the fastest calls": min(seconds["whole"]) / min(seconds["split"]),
    }  # fmt: skip


def main() -> None:
    """The command."""
    rows = [measured(*size) for size in SIZES]
    for row in rows:
        print(f"{row['elements']:9} elements, {row['turns']:3} turns: {row['one'] * 1e3:6.2f} ms on one device, "
              f"{row['two'] * 1e3:6.2f} on two, {row['ratio']:.2f} times as fast "
              f"({row['of the fastest calls']:.2f} of the fastest calls)")  # fmt: skip
    record = {"machine": describe_machine(), "versions": versions(), "sizes": rows}
    (Path(__file__).parent / "results" / "fork_join.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
