"""One program on two devices: where its parts are placed, what is predicted, and what it takes.

Two CPU devices are asked for below, so it runs on any machine:

    python examples/two_devices.py
    jitflow explain examples/two_devices.py:both --arg f64[n] --arg int
    jitflow profile examples/two_devices.py --out trace.json
"""

from __future__ import annotations

import os

os.environ.setdefault("JITFLOW_CPU_DEVICES", "2")  # read when jitflow first needs to know

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jitflow


@jitflow.function
def both(x: Any, steps: int) -> Any:
    with jitflow.device("cpu:0"):
        left = x.copy()
        for _ in range(steps):
            left = np.tanh(left) + 0.1 * np.sin(3.0 * left)
    with jitflow.device("cpu:1"):
        right = x[::-1].copy()
        for _ in range(steps):
            right = np.exp(-right * right) - 0.5 * np.cos(right)
    return left - right


@jitflow.function(device="cpu:0")
def alone(x: Any, steps: int) -> Any:
    left, right = x.copy(), x[::-1].copy()
    for _ in range(steps):
        left = np.tanh(left) + 0.1 * np.sin(3.0 * left)
    for _ in range(steps):
        right = np.exp(-right * right) - 0.5 * np.cos(right)
    return left - right


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """The best time of some calls."""
    found = []
    for _ in range(5):
        start = time.perf_counter()
        function(*arguments)
        found.append(time.perf_counter() - start)
    return min(found)


if __name__ == "__main__":
    x, steps = np.linspace(-2.0, 2.0, 100_000), 40
    print(both.placement(x, steps), end="\n\n")
    print(jitflow.simulate(both, (x, steps)), end="\n\n")
    print(f"the same bits: {np.array_equal(both(x, steps), alone(x, steps))}")
    one, two = seconds(alone, x, steps), seconds(both, x, steps)
    print(f"on one device {one * 1e3:.1f} ms, on two {two * 1e3:.1f} ms: {one / two:.2f} times as fast")
