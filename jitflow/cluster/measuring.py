"""Measures what the simulator has to know of the machines of a cluster: messages of Ray, copies and sums of arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from jitflow.cluster.connection import connect, ray
from jitflow.cluster.costs import Costs, fit
from jitflow.cores import usable_cores

__all__ = ["measure", "seconds_of"]

_SIZES = (0, 1_000_000, 30_000_000)
_BURSTS = (1, 10, 100)
_REPEATS = 15


def measure(step_times: Iterable[float], *, work: float | None = None) -> Costs:
    """Fit costs to messages that are measured now, in some seconds, between processes of the cluster (`connect`).

    ``step_times`` are the seconds that a worker computes for each of some steps, and ``work`` how much of a step needs
    a core (`StepTimes`): for a run of `Replicas`, what its steps took without their waiting for others.

    In a cluster of one machine, arrays go through memory that processes share, and these share its cores. Of several
    machines, the messages go to another one, if it has room. Raises RuntimeError if Ray is not installed, and
    ConnectionError if there is no cluster at the address that ``RAY_ADDRESS`` says.
    """
    with connect() as cluster:
        alone = len(cluster.nodes()) == 1
        library = ray()
        echo = library.remote(num_cpus=0, max_concurrency=16, scheduling_strategy="SPREAD")(_Echo).remote()

        def ask(given: Any, count: int = 1) -> None:
            library.get([echo.take.remote(given) for _ in range(count)])

        try:
            seconds_of(partial(ask, None), 3 * _REPEATS)  # at first nothing is warm
            trips = list(_trips(ask, alone))
            bursts = [(count, one) for count in _BURSTS for one in seconds_of(partial(ask, None, count), 5)]
        finally:
            library.kill(echo)
    total = np.zeros(_SIZES[-1] // 4, np.float32)
    sums = [(4 * length, one) for length in (total.size // 10, total.size) for one in _sums(total[:length])]
    return fit(trips, step_times, bursts=bursts, applied=sums, work=work, cores=usable_cores() if alone else None)


def _trips(ask: Callable[[Any], None], alone: bool) -> Iterator[tuple[float, float]]:
    empty = seconds_of(partial(ask, None), _REPEATS)
    for size in _SIZES:
        array = np.zeros(size, np.uint8)
        if alone:  # the same messages for all sizes, so that copies tell them apart
            copies = seconds_of(partial(np.copyto, np.empty_like(array), array), _REPEATS)
            yield from ((size, one + other) for one, other in zip(empty, copies, strict=True))
        else:
            yield from ((size, one) for one in seconds_of(partial(ask, array), _REPEATS))


def _sums(total: np.ndarray[Any, Any]) -> list[float]:
    part = np.ones_like(total)
    return seconds_of(partial(np.add, total, part, total), _REPEATS)


def seconds_of(call: Callable[[], Any], count: int) -> list[float]:
    """How long each of so many calls takes."""
    found = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return found


class _Echo:
    """An actor that answers with nothing."""

    def take(self, given: Any) -> None:
        """Take an array, or nothing."""
