"""Measuring one workload: interleaved rounds over all peers, and the comparison of results with NumPy's."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

__all__ = [
    "Closeness",
    "Measurement",
    "Runner",
    "disagreement",
    "measure_first_calls",
    "measure_rounds",
    "measure_workload",
    "message_of",
    "on_host",
    "right_seconds",
]

OPENING_ROUNDS = 3
"""In the first rounds everybody takes part."""
MINIMUM_ROUNDS = 9
MAXIMUM_ROUNDS = 40
LEFT_BEHIND = 4.0
"""A peer this many times slower than the best gives up its turns after the opening."""


@dataclass
class Measurement:
    """What one peer did on one workload. `error` says why there are no samples, or how the result was wrong."""

    first_call: float = float("nan")
    samples: list[float] = field(default_factory=list)
    error: str = ""

    @property
    def seconds(self) -> float:
        """The median of the samples."""
        return statistics.median(self.samples) if self.samples else float("nan")

    @property
    def counts(self) -> bool:
        """Whether the peer ran and gave NumPy's result."""
        return bool(self.samples) and not self.error

    def record(self) -> dict[str, Any]:
        """What is stored of it: JSON, which has no nan."""
        return {
            "seconds": self.seconds if self.samples else None,
            "least_seconds": min(self.samples, default=None),
            "first_call_seconds": None if math.isnan(self.first_call) else self.first_call,
            "samples": len(self.samples),
            "error": self.error,
        }


def right_seconds(measurement: Measurement | None) -> float | None:
    """The median time of a peer, if it ran and was right."""
    return measurement.seconds if measurement is not None and measurement.counts else None


class Closeness(Protocol):
    """What says how far results may lie from NumPy's: a workload, for one."""

    @property
    def relative_tolerance(self) -> float:
        """Largest accepted difference, relative to the largest magnitude of the result."""

    @property
    def mismatches(self) -> float:
        """Accepted fraction of elements beyond it."""


class Runner(Protocol):
    """Something that runs workloads for one peer; `worker.Worker` does so in a process of its own."""

    def prepare(self, name: str, small: bool) -> Measurement | None:
        """Make the first call, compare the result; None where the peer has no form of the workload."""

    def turn(self) -> float:
        """Make one timed call. Raises RuntimeError if the process ends."""


def measure_workload(
    name: str, runners: Mapping[str, Runner], *, budget: float, small: bool = False
) -> dict[str, Measurement]:
    """Return the measurements of the peers that have a form of the workload.

    `budget` is that of the rounds.
    """
    measurements = measure_first_calls(name, runners, small=small)
    taking_part = [peer for peer, measurement in measurements.items() if not measurement.error]
    measure_rounds(measurements, taking_part, runners, budget=budget)
    return measurements


def measure_rounds(
    measurements: Mapping[str, Measurement], taking_part: list[str], runners: Mapping[str, Runner], *, budget: float
) -> None:
    """Add samples to the measurements of the peers that take part, for `budget` seconds.

    Every round gives each peer one turn, so that a change in the machine's speed meets them all.
    """
    deadline = time.perf_counter() + budget
    for round_number in range(MAXIMUM_ROUNDS):
        if round_number >= MINIMUM_ROUNDS and time.perf_counter() > deadline:
            break
        if round_number == OPENING_ROUNDS:
            taking_part = _without_those_left_behind(taking_part, measurements)
        for peer in _rotated(taking_part, round_number):
            measurement = measurements[peer]
            try:
                measurement.samples.append(runners[peer].turn())
            except RuntimeError as error:
                measurement.error = str(error)
                taking_part = [other for other in taking_part if other != peer]


def measure_first_calls(name: str, runners: Mapping[str, Runner], *, small: bool) -> dict[str, Measurement]:
    """Return each peer's first call of the workload; on small input nearly all of it is compiling."""
    answers = {peer: runner.prepare(name, small) for peer, runner in runners.items()}
    return {peer: measurement for peer, measurement in answers.items() if measurement is not None}


def _without_those_left_behind(peers: list[str], measurements: Mapping[str, Measurement]) -> list[str]:
    best = min((measurements[peer].seconds for peer in peers), default=0.0)
    return [peer for peer in peers if measurements[peer].seconds <= LEFT_BEHIND * best]


def _rotated(peers: list[str], round_number: int) -> list[str]:
    """Return the peers in an order that begins with another one each round."""
    shift = round_number % len(peers) if peers else 0
    return peers[shift:] + peers[:shift]


def disagreement(closeness: Closeness, results: Any, expected: Any) -> str:
    """Return how `results` differ from NumPy's beyond the tolerance, or an empty string."""
    found, wanted = _as_tuple(results), _as_tuple(expected)
    if len(found) != len(wanted):
        return f"expected {len(wanted)} results, got {len(found)}"
    for position, (result, expectation) in enumerate(zip(found, wanted, strict=True)):
        want, result = np.asarray(expectation), on_host(result)
        # numba makes a Python number of every scalar
        got = np.asarray(result, want.dtype if type(result) in (float, int, bool, complex) else None)
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"result {position}: expected {want.dtype}{want.shape}, got {got.dtype}{got.shape}"
        if want.dtype.kind not in "biufc":  # texts, and integers of more than 64 bits
            if not np.array_equal(got, want):
                return f"result {position}: expected {want}, got {got}"
            continue
        wide = np.result_type(want.dtype, np.float64)
        want, got = want.astype(wide), got.astype(wide)
        magnitude = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
        differs = (got != want) & ~(np.isnan(got) & np.isnan(want))
        difference = np.abs(np.subtract(got, want, where=differs, out=np.zeros(want.shape, wide)))
        beyond = np.count_nonzero(~(difference <= closeness.relative_tolerance * magnitude))
        if beyond > closeness.mismatches * want.size:
            worst = float(np.max(difference)) / (magnitude or 1.0)
            return f"result {position}: {beyond} of {want.size} elements differ, by up to {worst:.1e}"
    return ""


def on_host(result: Any) -> Any:
    """A result that NumPy can read: an array of cupy's or torch's is copied from its device."""
    if hasattr(result, "get"):
        return result.get()
    return result.cpu().numpy() if hasattr(result, "cpu") else result


def message_of(error: Exception) -> str:
    """What is told of an exception: its class and the first line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple | list) else (results,)
