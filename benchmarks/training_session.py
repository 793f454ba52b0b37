"""One process's side of the training benchmark: prepare a case, compare it with NumPy, make timed steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .measure import Measurement, disagreement
from .training_cases import CASES, STEPS, Case
from .training_peers import PEERS
from .training_sweeps import SWEEPS

__all__ = ["TrainingSession"]

TURN = 0.05
"""A turn makes steps for so many seconds."""
WARM_UP_STEPS = 10


@dataclass(frozen=True)
class Tolerance:
    """How far losses and gradients may lie from NumPy's, after 64 steps in f32."""

    relative_tolerance: float = 1e-3
    mismatches: float = 0.0


class TrainingSession:
    """What happens inside of a peer's process: one case is prepared at a time."""

    def __init__(self, peer: str) -> None:
        self._peer = PEERS[peer]
        self._step: Callable[[], Any] = lambda: None

    def warm_up(self) -> None:
        """Nothing: first calls are not compared here."""

    def prepare(self, name: str, small: bool) -> Measurement:
        """Make the first steps of a case and compare what they find. Whatever a peer raises is its measurement."""
        case, measurement = CASES[name], Measurement()
        try:
            start = time.perf_counter()
            self._step = self._peer.prepare(case)
            first = self._step()
            measurement.first_call = time.perf_counter() - start
            measurement.error = disagreement(Tolerance(), self._found(case, first), case.answers())
            for _ in range(WARM_UP_STEPS):
                self._step()
        except Exception as error:
            measurement.error = f"{type(error).__name__}: {error}".splitlines()[0]
        return measurement

    def _found(self, case: Case, first: Any) -> list[Any]:
        if case.model == "lstm":
            return [np.asarray(one) for one in first]
        return [np.asarray(one) for one in (first, *(self._step() for _ in range(STEPS - 1)))]

    def turn(self) -> float:
        """Return the seconds of a step: the least of a few, since whatever disturbs one makes it longer."""
        least, end = float("inf"), time.perf_counter() + TURN
        while True:
            start = time.perf_counter()
            self._step()
            now = time.perf_counter()
            least = min(least, now - start)
            if now > end:
                return least

    def prepare_sweep(self, name: str, gradient: bool) -> None:
        """Make `turn` run a loop of numbers, or its gradient."""
        self._step = SWEEPS[name].prepare(gradient)
        self._step()
