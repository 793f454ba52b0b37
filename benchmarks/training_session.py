"""One process's side of the training benchmark: prepare a case, compare it with NumPy, make timed steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .measure import Measurement, disagreement, message_of, on_host
from .training_cases import ALL_CASES, STEPS, Case
from .training_peers import PEERS, TrainingPeer
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

    def __init__(self, peer: str, peers: Mapping[str, TrainingPeer] = PEERS) -> None:
        self._peer = peers[peer]
        self.run: Callable[[], Any] = lambda: None
        """One step of what was prepared."""

    def warm_up(self) -> None:
        """Nothing: first calls are not compared here."""

    def prepare(self, name: str, small: bool) -> Measurement:
        """Make the first steps of a case and compare what they find. Whatever a peer raises is its measurement."""
        case, measurement = ALL_CASES[name], Measurement()
        try:
            case = case.small() if small else case
            start = time.perf_counter()
            self.run = self._peer.prepare(case)
            first = self.run()
            self._peer.finish(first)
            measurement.first_call = time.perf_counter() - start
            measurement.error = disagreement(Tolerance(), self._found(case, first), case.answers())
            for _ in range(WARM_UP_STEPS):
                self.run()
        except Exception as error:
            measurement.error = message_of(error)
        return measurement

    def _found(self, case: Case, first: Any) -> list[Any]:
        """What NumPy's answers are compared with. A step may use the memory of the results of the step before."""
        if case.model == "lstm":
            return [np.asarray(one) for one in first]
        return [np.asarray(on_host(first)), *(np.asarray(on_host(self.run())) for _ in range(STEPS - 1))]

    def turn(self) -> float:
        """Return the seconds of a step: the least of a few, since whatever disturbs one makes it longer."""
        least, end = float("inf"), time.perf_counter() + TURN
        while True:
            start = time.perf_counter()
            self.run()
            now = time.perf_counter()
            least = min(least, now - start)
            if now > end:
                return least

    def prepare_sweep(self, name: str, gradient: bool) -> None:
        """Make `turn` run a loop of numbers, or its gradient."""
        self.run = SWEEPS[name].prepare(gradient)
        self.run()
