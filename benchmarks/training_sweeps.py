"""Loops of numbers and their gradients: what a reverse sweep costs where nothing but the loop costs anything.

The pendulum swings without friction, so that what its gradient carries stays of one magnitude: it would not measure the
processor's way with numbers next to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["SWEEPS", "Sweep"]


def pendulum(angle: float, steps: int) -> Any:
    """The kinetic energy of a pendulum after some steps of a symplectic method."""
    speed = 0.0
    for _ in range(steps):
        speed -= 0.01 * np.sin(angle)
        angle += 0.01 * speed
    return speed * speed / 2


def newton(a: float) -> Any:
    """The square root, by Newton's method, which takes as many turns as it needs."""
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@dataclass(frozen=True)
class Sweep:
    """A function of numbers, and arguments for it."""

    name: str
    description: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def prepare(self, gradient: bool) -> Callable[[], Any]:
        """The function compiled, or its value with its gradient, as a call without arguments."""
        import jitflow

        compiled = (jitflow.value_and_grad if gradient else jitflow.function)(self.function)
        return lambda: compiled(*self.arguments)


SWEEPS = {
    sweep.name: sweep
    for sweep in (
        Sweep("for_numbers", "a `for` loop of 100,000 steps of numbers", pendulum, (0.7, 100_000)),
        Sweep("while_newton", "a Newton `while` for a square root", newton, (2.7,)),
    )
}
