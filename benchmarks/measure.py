"""Measuring: first calls, comparison with NumPy, and interleaved rounds over all peers."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .peers import Peer, Run
from .workload import Workload

__all__ = ["Measurement", "disagreement", "measure_first_calls", "measure_workload", "warm_up"]

SEED = 2016
MINIMUM_ROUNDS = 5
MAXIMUM_ROUNDS = 40
LEFT_BEHIND = 4.0
"""A peer this many times slower than the best gives up its turns after the first rounds."""
WARM_CALL_LIMIT = 0.05
"""Calls that are shorter than this many seconds are timed with caches warm: an untimed call goes before."""


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


def measure_workload(
    workload: Workload, peers: Iterable[Peer], *, budget: float, small: bool = False
) -> dict[str, Measurement]:
    """Return the measurements of the peers that have a form of the workload, by name.

    Rounds go on for `budget` seconds. Every round gives each peer one turn, so that a change in the machine's speed
    meets them all.
    """
    inputs = workload.make_inputs(np.random.default_rng(SEED), small)
    expected = workload.function(*inputs)
    measurements: dict[str, Measurement] = {}
    runs: dict[str, Run] = {}
    for peer in peers:
        measurement = Measurement()
        run = _first_call(peer, workload, inputs, expected, measurement)
        if run is not None or measurement.error:
            measurements[peer.name] = measurement
        if run is not None:
            runs[peer.name] = run
    del expected
    _rounds(runs, measurements, budget)
    return measurements


def _first_call(peer: Peer, workload: Workload, inputs: Any, expected: Any, measurement: Measurement) -> Run | None:
    """Prepare the peer, time its first call and check the result; an error of any peer must not end the run."""
    try:
        run = peer.prepare(workload, inputs)
        if run is None:
            return None
        start = time.perf_counter()
        results = run()
        measurement.first_call = time.perf_counter() - start
        measurement.error = disagreement(workload, results, expected)
    except Exception as error:
        measurement.error = f"{type(error).__name__}: {error}".splitlines()[0]
        return None
    return run


def _rounds(runs: dict[str, Run], measurements: dict[str, Measurement], budget: float) -> None:
    collected = gc.isenabled()
    gc.disable()
    try:
        deadline = time.perf_counter() + budget
        for round_number in range(MAXIMUM_ROUNDS):
            if round_number >= MINIMUM_ROUNDS and time.perf_counter() > deadline:
                break
            for name in _order_of_round(runs, measurements, round_number):
                measurements[name].samples.append(_turn(runs[name], measurements[name].samples))
    finally:
        if collected:
            gc.enable()


def _order_of_round(runs: dict[str, Run], measurements: dict[str, Measurement], round_number: int) -> list[str]:
    """Return who takes part, each round beginning with another peer."""
    names = list(runs)
    if round_number >= MINIMUM_ROUNDS:
        best = min(measurements[name].seconds for name in names)
        names = [name for name in names if measurements[name].seconds <= LEFT_BEHIND * best]
    shift = round_number % len(names) if names else 0
    return names[shift:] + names[:shift]


def _turn(run: Run, samples: list[float]) -> float:
    if not samples or samples[-1] < WARM_CALL_LIMIT:
        run()
    start = time.perf_counter()
    results = run()
    seconds = time.perf_counter() - start
    del results  # its memory goes back before the next peer's turn
    return seconds


def warm_up(peers: Iterable[Peer]) -> None:
    """Let every peer compile something, so that no first call pays for a compiler's own start."""
    workload = Workload(
        name="warm_up",
        description="one addition",
        function=_add,
        make_inputs=lambda random, small: (),
        necessary_bytes=0,
        flops=0,
        relative_tolerance=0.0,
        numba_array=_numba_add,
        numba_loops=_numba_add,
        jax=lambda: _add,
        torch=lambda: _add,
    )
    inputs = (np.ones(8, np.float32), np.ones(8, np.float32))
    for peer in peers:
        _first_call(peer, workload, inputs, _add(*inputs), Measurement())


def _add(a: Any, b: Any) -> Any:
    return a + b


def _numba_add() -> Any:
    import numba

    return numba.njit(_add)


def measure_first_calls(workload: Workload, peers: Iterable[Peer]) -> dict[str, Measurement]:
    """Return the time of each peer's first call on small input: nearly all of it is compiling."""
    inputs = workload.make_inputs(np.random.default_rng(SEED), True)
    expected = workload.function(*inputs)
    measurements = {}
    for peer in peers:
        measurement = Measurement()
        run = _first_call(peer, workload, inputs, expected, measurement)
        if run is not None or measurement.error:
            measurements[peer.name] = measurement
    return measurements


def disagreement(workload: Workload, results: Any, expected: Any) -> str:
    """Return how `results` differ from NumPy's beyond the workload's tolerance, or an empty string."""
    found, wanted = _as_tuple(results), _as_tuple(expected)
    if len(found) != len(wanted):
        return f"expected {len(wanted)} results, got {len(found)}"
    for position, (result, expectation) in enumerate(zip(found, wanted, strict=True)):
        want = np.asarray(expectation)
        # numba makes a Python float of every real scalar
        got = np.asarray(result, want.dtype if type(result) is float else None)
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"result {position}: expected {want.dtype}{want.shape}, got {got.dtype}{got.shape}"
        wide = np.result_type(want.dtype, np.float64)
        magnitude = float(np.max(np.abs(want.astype(wide)), initial=0.0))
        difference = np.abs(got.astype(wide) - want.astype(wide))
        limit = workload.relative_tolerance * magnitude
        beyond = np.count_nonzero(~(difference <= limit))
        if beyond > workload.mismatches * want.size:
            worst = float(np.max(difference)) / (magnitude or 1.0)
            return f"result {position}: {beyond} of {want.size} elements differ, by up to {worst:.1e}"
    return ""


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple | list) else (results,)
