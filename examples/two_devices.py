"""One program on two devices: what it is split into, what is predicted, what it takes, and that it gives the same.

    python examples/two_devices.py

Two CPU devices are asked for below, so it runs on any machine. It prints the placement, the predicted timeline, and how
long the program takes on one device and on two.
"""

from __future__ import annotations

import os

os.environ.setdefault("JITFLOW_CPU_DEVICES", "2")  # read when jitflow is imported

import time
from typing import Any

import numpy as np

import jitflow


def halves(x: Any, steps: int) -> Any:
    """Two long loops that have nothing to do with each other, and what they give together."""
    with jitflow.device("cpu:0"):
        left = x.copy()
        for _ in range(steps):
            left = np.tanh(left) + 0.1 * np.sin(3.0 * left)
    with jitflow.device("cpu:1"):
        right = x[::-1].copy()
        for _ in range(steps):
            right = np.exp(-right * right) - 0.5 * np.cos(right)
    return left.sum() + right.sum(), left - right


def seconds(function: Any, *arguments: Any) -> float:
    """The best time of some calls."""
    function(*arguments)
    found = []
    for _ in range(5):
        start = time.perf_counter()
        function(*arguments)
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    x, steps = np.linspace(-2.0, 2.0, 200_000), 40
    split = jitflow.function(halves)
    print(split.placement(x, steps), end="\n\n")
    print(jitflow.simulate(split, (x, steps)), end="\n\n")

    total, difference = split(x, steps)
    expected, array = halves(x, steps)
    assert np.isclose(total, expected)
    np.testing.assert_allclose(difference, array, rtol=1e-12, atol=1e-12)

    one = seconds(jitflow.function(on_one), x, steps)
    two = seconds(split, x, steps)
    print(f"on one device {one * 1e3:.1f} ms, on two {two * 1e3:.1f} ms: {one / two:.2f} times as fast")


def on_one(x: Any, steps: int) -> Any:
    """The same without devices."""
    left, right = x.copy(), x[::-1].copy()
    for _ in range(steps):
        left = np.tanh(left) + 0.1 * np.sin(3.0 * left)
    for _ in range(steps):
        right = np.exp(-right * right) - 0.5 * np.cos(right)
    return left.sum() + right.sum(), left - right


if __name__ == "__main__":
    main()
