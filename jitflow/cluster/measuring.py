"""Measures what the simulator has to know of the machines of a cluster: messages of Ray, copies and sums of arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from jitflow.api import function
from jitflow.cluster.actors import start
from jitflow.cluster.attempt import Run
from jitflow.cluster.connection import connect, ray
from jitflow.cluster.costs import Costs, StepTimes, fit
from jitflow.cluster.replicas import Replicas
from jitflow.data import Dataset
from jitflow.machines.cores import usable_cores
from jitflow.optim import SGD
from jitflow.runtime.variable import Variable

__all__ = ["measure", "seconds_of"]

Pairs = list[tuple[int, float]]
_SIZES = (0, 1_000_000, 30_000_000)
_BURSTS = (1, 10, 100)
_REPEATS = 15
_NULL_STEPS = 200


def measure(step_times: StepTimes | Iterable[float]) -> Costs:
    """Fit costs to messages that are measured now, in some seconds, between processes of the cluster (`connect`).

    ``step_times`` are the seconds that a worker computes for each of some steps, or what is known of them: for
    `Replicas`, the ``step_times`` of what `run` gives.

    In a cluster of one machine, arrays go through memory that processes share, and these share its cores: there,
    messages are those of replicas that do nothing else, of one and of several times as many as there are cores. Of
    several machines, the messages go to another one, if it has room. Raises RuntimeError if Ray is not installed, and
    ConnectionError if there is no cluster at the address that ``RAY_ADDRESS`` says.
    """
    with connect() as cluster:
        alone = len(cluster.nodes()) == 1
        trips, bursts = (_of_replicas if alone else _of_messages)()
    total = np.zeros(_SIZES[-1] // 4, np.float32)
    sums = [(4 * length, one) for length in (total.size // 10, total.size) for one in _sums(total[:length])]
    return fit(trips, step_times, bursts=bursts, applied=sums, cores=usable_cores() if alone else None)


def _of_replicas() -> tuple[Pairs, Pairs]:
    """Round trips and bursts on one machine, of null steps: each worker of a step asks twice."""
    cores = usable_cores()
    many = 4 * cores
    one, several = _null_steps(1), _null_steps(many)
    empty = float(np.median(one.waited)) / 2
    crowd = (np.median(several.seconds) - many / cores * np.median(one.worked)) / 2
    trips: Pairs = []
    for size in _SIZES:  # the same messages for all sizes, so that copies tell them apart
        array = np.zeros(size, np.uint8)
        copies = seconds_of(partial(np.copyto, np.empty_like(array), array), _REPEATS)
        trips += [(size, empty + copy) for copy in copies]
    return trips, [(1, empty), (many, float(crowd))]


def _null_steps(workers: int) -> Run:
    data = Dataset([np.float32(1.0)]).repeat()
    with Replicas(_Nothing, workers=workers, servers=1, progress=False) as replicas:
        replicas.run(5, data)  # at first nothing is warm
        return replicas.run(_NULL_STEPS, data)


class _Nothing:
    """A model of one number, whose step does nothing."""

    def __init__(self) -> None:
        self.value, self.optimiser = Variable(np.zeros(1, np.float32)), SGD(0.0)

    @function
    def step(self, x: Any) -> Any:
        """One that servers make."""
        self.optimiser.apply(self.value[...] * x, self.value)
        return x


def _of_messages() -> tuple[Pairs, Pairs]:
    """Round trips and bursts of Ray's messages to an actor."""
    library = ray()
    echo = start(_Echo, concurrency=16, where="SPREAD")

    def ask(given: Any, count: int = 1) -> None:
        library.get([echo.take.remote(given) for _ in range(count)])

    try:
        seconds_of(partial(ask, None), 3 * _REPEATS)  # at first nothing is warm
        arrays = [np.zeros(size, np.uint8) for size in _SIZES]
        trips = [(array.size, one) for array in arrays for one in seconds_of(partial(ask, array), _REPEATS)]
        return trips, [(count, one) for count in _BURSTS for one in seconds_of(partial(ask, None, count), 5)]
    finally:
        library.kill(echo)


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
