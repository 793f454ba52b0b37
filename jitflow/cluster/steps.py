"""What replicas say to each other in a step, in each mode: the protocol of `Replicas`, with time in place of numbers.

A worker's way is a generator. What it yields begins something, and is given what to do when that is done.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from jitflow.cluster.costs import Costs, StepTimes
from jitflow.cluster.events import Clock, Network, Process, Then
from jitflow.cluster.setup import Setup

__all__ = ["RUNS", "Run"]

Wait = Callable[[Then], None]


class Run(ABC):
    """A run of replicas; ``ends`` and ``durations`` are those of steps, in the order in which they end."""

    def __init__(self, setup: Setup, costs: Costs, steps: int, seed: int) -> None:
        self.setup = setup
        self.steps = steps
        self.apply = costs.apply
        self.clock = Clock()
        self.network = Network(self.clock, costs)
        self.workers = [Process(self.clock) for _ in range(setup.workers + setup.backup)]
        self.servers = [Process(self.clock) for _ in range(setup.servers if setup.mode != "allreduce" else 0)]
        self.draws = [_draws(costs.step, seed, number) for number in range(len(self.workers))]
        self.ends: list[float] = []
        self.durations: list[float] = []
        self.computed = 0.0
        """Seconds of steps of all workers."""
        self.dropped = 0
        self.staleness: list[int] = []

    def run(self) -> None:
        """Let all workers go on until so many steps have ended."""
        for number in range(len(self.workers)):
            self._go(self.way(number))
        self.clock.run()

    def _go(self, way: Iterator[Wait]) -> None:
        next(way)(partial(self._go, way))

    @abstractmethod
    def way(self, number: int) -> Iterator[Wait]:
        """What a worker does, step after step, without end."""

    def compute(self, number: int, then: Then) -> None:
        """Begin a worker's step."""
        seconds, work = next(self.draws[number])
        self.computed += seconds
        self.network.step(seconds, work, then)

    def read_rows(self, number: int) -> Iterator[Wait]:
        """Ask each server for the rows that it holds, and for what it computes of a step."""
        rows, served = self.setup.row_bytes / len(self.servers), self.setup.served / len(self.servers)
        if rows or served:
            yield partial(
                self.network.ask, self.workers[number], self.servers, 0.0, rows,
                lambda server, reply: self.network.compute(server, served, reply),
            )  # fmt: skip

    @property
    def sent(self) -> float:
        """Bytes of a gradient that go to each server: those of rows are as large as the rows."""
        return (self.setup.gradient_bytes + self.setup.row_bytes) / len(self.servers)

    @property
    def values(self) -> float:
        """Bytes of values that come from each server."""
        return self.setup.values / len(self.servers)

    def end_step(self, since: float, last: bool) -> None:
        """A step has ended, that of a worker or of all."""
        self.ends.append(self.clock.now)
        self.durations.append(self.clock.now - since)
        self.clock.stopped = last


class Synchronous(Run):
    """A worker lays its gradient down, waits at the first server until enough have arrived, and asks for values."""

    def __init__(self, setup: Setup, costs: Costs, steps: int, seed: int) -> None:
        super().__init__(setup, costs, steps, seed)
        self.step = 0
        self.since = 0.0
        self.arrived: list[Then] = []
        """How to answer those workers whose gradients count."""
        self.late: set[int] = set()
        """Workers whose gradients came too late."""
        self.applied = dict.fromkeys(self.servers, 0)
        """The step that each server has applied."""

    def way(self, number: int) -> Iterator[Wait]:
        worker, ask = self.workers[number], self.network.ask
        while True:
            step = self.step
            yield from self.read_rows(number)
            yield partial(self.compute, number)
            yield partial(self.network.lay_down, worker, self.servers, self.sent)
            yield partial(ask, worker, self.servers[:1], 0.0, 0.0, partial(self.arrive, number, step))
            if number in self.late:  # it asks where the others are, and begins with what the servers have
                self.late.remove(number)
                yield partial(ask, worker, self.servers[:1], 0.0, 0.0, None)
                yield partial(ask, worker, self.servers, 0.0, self.values, None)
            yield partial(ask, worker, self.servers, 0.0, self.values, self.commit)

    def arrive(self, number: int, step: int, leader: Process, reply: Then) -> None:
        """The first gradients of a step count, as many as there are workers without backups; later ones are dropped."""
        if step < self.step:
            self.dropped += 1
            self.late.add(number)
            reply()
            return
        self.arrived.append(reply)
        if len(self.arrived) == self.setup.workers:
            self.step += 1
            self.end_step(self.since, self.step == self.steps)
            self.since = self.clock.now
            told, self.arrived = self.arrived, []
            for tell in told:
                tell()

    def commit(self, server: Process, reply: Then) -> None:
        """Whoever asks first has the server sum and apply; everybody gets the new values."""
        seconds = 0.0
        if self.applied[server] < self.step:
            self.applied[server] = self.step
            seconds = (self.setup.workers + 1) * self.sent * self.apply
        self.network.compute(server, seconds, reply)


class Asynchronous(Run):
    """Each gradient is applied when it comes, and answered with the new values."""

    def __init__(self, setup: Setup, costs: Costs, steps: int, seed: int) -> None:
        super().__init__(setup, costs, steps, seed)
        self.applied = 0
        self.begun = [0] * len(self.workers)
        """Which step each worker has begun, or wants to."""
        self.waiting: list[tuple[int, Then]] = []
        """The steps of those who are too far ahead of the slowest, and how to answer them."""

    def way(self, number: int) -> Iterator[Wait]:
        worker, ask = self.workers[number], self.network.ask
        while True:
            since, known = self.clock.now, self.applied
            yield partial(ask, worker, self.servers[:1], 0.0, 0.0, partial(self.advance, number))
            yield from self.read_rows(number)
            yield partial(self.compute, number)
            yield partial(self.network.lay_down, worker, self.servers, self.sent)
            yield partial(ask, worker, self.servers, 0.0, self.values, partial(self.take, known))
            self.end_step(since, len(self.ends) + 1 == self.steps * len(self.workers))

    def advance(self, number: int, leader: Process, reply: Then) -> None:
        """Answer when the slowest worker is not too many steps behind."""
        self.begun[number] += 1
        self.waiting.append((self.begun[number], reply))
        last = math.inf if self.setup.staleness is None else min(self.begun) + self.setup.staleness
        ready = [answer for step, answer in self.waiting if step <= last]
        self.waiting = [one for one in self.waiting if one[0] > last]
        for answer in ready:
            answer()

    def take(self, known: int, server: Process, reply: Then) -> None:
        """A server applies what has come."""
        if server is self.servers[0]:
            self.staleness.append(self.applied - known)
            self.applied += 1
        self.network.compute(server, self.sent * self.apply, reply)


class AllReduce(Run):
    """Each worker sums its part of the gradient for all, and sends the sum to all."""

    def __init__(self, setup: Setup, costs: Costs, steps: int, seed: int) -> None:
        super().__init__(setup, costs, steps, seed)
        count = len(self.workers)
        self.part_bytes = setup.gradient_bytes / count
        self.parts, self.sums = [0] * count, [0] * count
        """How many parts each worker has of its own piece, and how many sums of the pieces of all."""
        self.waiting: dict[int, Then] = {}

    def way(self, number: int) -> Iterator[Wait]:
        worker, step = self.workers[number], 0
        while True:
            since, step = self.clock.now, step + 1
            yield partial(self.compute, number)
            yield partial(self.exchange, number)
            yield partial(self.network.compute, worker, self.setup.gradient_bytes * self.apply)
            if number == 0:
                self.end_step(since, step == self.steps)

    def exchange(self, number: int, then: Then) -> None:
        """Send every worker its part; what follows does so when all sums have come."""
        self.waiting[number] = then
        self.to_all(number, self.take_part)

    def to_all(self, number: int, take: Callable[[int], None]) -> None:
        source, count = self.workers[number], len(self.workers)
        for offset in range(1, count):  # each begins with its neighbour, so that no port is asked by all at once
            target = (number + offset) % count
            self.network.send(source, self.workers[target], self.part_bytes, partial(take, target))
        take(number)

    def take_part(self, number: int) -> None:
        self.parts[number] += 1
        if self.parts[number] == len(self.workers):
            self.parts[number] = 0
            seconds = len(self.workers) * self.part_bytes * self.apply
            self.network.compute(self.workers[number], seconds, partial(self.to_all, number, self.take_sum))

    def take_sum(self, number: int) -> None:
        self.sums[number] += 1
        if self.sums[number] == len(self.workers):
            self.sums[number] = 0
            self.waiting.pop(number)()


RUNS: dict[str, type[Run]] = {"sync": Synchronous, "async": Asynchronous, "allreduce": AllReduce}


def _draws(times: StepTimes, seed: int, number: int) -> Iterator[tuple[float, float]]:
    """The steps of a worker, the same ones however many other workers there are."""
    random = np.random.default_rng((seed, number))
    while True:
        yield from zip(*times.draw(random, 256), strict=True)
