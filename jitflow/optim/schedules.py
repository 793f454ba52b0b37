"""Learning rates that change from step to step: functions of the number of steps done, as `Optimiser` takes them.

They run in the compiled step, on its count of steps, so that nothing is compiled when the rate changes. Any function of
a number will do as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitflow.errors import UserValueError

__all__ = ["CosineDecay", "ExponentialDecay", "PiecewiseConstant", "PolynomialDecay", "StepDecay", "WarmUp"]


class ExponentialDecay:
    """``rate * factor ** (step / every)``. Raises ValueError where ``every`` is not positive."""

    def __init__(self, rate: float, factor: float, every: float = 1) -> None:
        self.rate, self.factor, self.every = rate, factor, _positive(every)

    def __call__(self, step: Any) -> Any:
        return self.rate * self.factor ** (step / self.every)


class StepDecay:
    """``rate * factor ** (step // every)``: it falls once in so many steps. Raises ValueError where these are none."""

    def __init__(self, rate: float, every: int, factor: float = 0.1) -> None:
        self.rate, self.factor, self.every = rate, factor, _positive(every)

    def __call__(self, step: Any) -> Any:
        return self.rate * self.factor ** (step // self.every)


class PiecewiseConstant:
    """``rates[0]`` before the step ``boundaries[0]``, ``rates[1]`` from there on, and so on.

    Raises ValueError for boundaries out of order, and where there is not one rate more than boundaries.
    """

    def __init__(self, boundaries: Sequence[int], rates: Sequence[float]) -> None:
        if len(rates) != len(boundaries) + 1 or sorted(boundaries) != list(boundaries):
            raise UserValueError(
                "steps and rates do not fit together",
                found=f"{boundaries}, {rates}",
                expected="steps in order, and one rate more than steps",
            )
        self.boundaries, self.rates = tuple(boundaries), tuple(map(float, rates))

    def __call__(self, step: Any) -> Any:
        rate: Any = self.rates[0]
        for boundary, after in zip(self.boundaries, self.rates[1:], strict=True):
            rate = np.where(step >= boundary, after, rate)
        return rate


class PolynomialDecay:
    """From ``rate`` to ``end`` in so many steps, as a power of what is left of them; linear by default.

    Raises ValueError where ``steps`` is not positive.
    """

    def __init__(self, rate: float, steps: float, end: float = 0.0, power: float = 1.0) -> None:
        self.rate, self.steps, self.end, self.power = rate, _positive(steps), end, power

    def __call__(self, step: Any) -> Any:
        left = 1 - np.minimum(step / self.steps, 1.0)
        return self.end + (self.rate - self.end) * left**self.power


class CosineDecay:
    """From ``rate`` to ``end`` in so many steps, along half a wave of a cosine.

    Raises ValueError where ``steps`` is not positive. Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with
    Warm Restarts, 2016.
    """

    def __init__(self, rate: float, steps: float, end: float = 0.0) -> None:
        self.rate, self.steps, self.end = rate, _positive(steps), end

    def __call__(self, step: Any) -> Any:
        done = np.minimum(step / self.steps, 1.0)
        return self.end + (self.rate - self.end) * 0.5 * (1 + np.cos(math.pi * done))


class WarmUp:
    """A schedule, or a constant rate, times ``(step + 1) / steps`` in the first steps."""

    def __init__(self, schedule: Callable[[Any], Any] | float, steps: float) -> None:
        if callable(schedule):
            self.schedule = schedule
        else:
            self.schedule = PiecewiseConstant((), (schedule,))
        self.steps = _positive(steps)

    def __call__(self, step: Any) -> Any:
        return self.schedule(step) * np.minimum((step + 1) / self.steps, 1.0)


def _positive(number: Any) -> Any:
    if not number > 0:
        raise UserValueError(f"expected a positive number of steps, got {number}")
    return number
