"""What happens when in a simulated cluster: a clock, what is shared, processes, and messages between them.

Placement's simulator walks over a program, whose order it knows; here the order is what is to be found out, and so this
is a queue of events. What goes through a port at the same time shares it evenly, as streams of a network do, and a
message goes through its receiver's port while it leaves its sender's. Networks between ports are taken to have no
limits. Rejected: ports that serve one message after the other, as placement's links do. Early receivers of values would
begin their next step while others still wait for theirs, which lets sends and answers overlap.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

from jitflow.cluster.costs import Costs

__all__ = ["Clock", "Network", "Process", "Serve", "Then"]

Then = Callable[[], None]
"""What follows."""

Serve = Callable[["Process", Then], None]
"""What a process does with a message before it calls the second argument, which answers."""


class Clock:
    """Calls what was put off, by its time; of one time, what was put off first."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stopped = False
        self._calls: list[tuple[float, int, Then]] = []
        self._count = 0

    def at(self, time: float, call: Then) -> None:
        """Put a call off until then."""
        self._count += 1
        heappush(self._calls, (time, self._count, call))

    def run(self) -> None:
        """Go on until nothing is left, or somebody stops the clock."""
        while self._calls and not self.stopped:
            self.now, _, call = heappop(self._calls)
            call()


class Shared:
    """What jobs share evenly, a port or the cores of a machine: of more jobs than it serves each goes on slower."""

    def __init__(self, clock: Clock, count: int = 1) -> None:
        self.busy = 0.0
        """The seconds of all jobs."""
        self._clock = clock
        self._count = count
        self._jobs: list[tuple[float, int, Then]] = []
        self._number = 0
        self._given = 0.0
        """The seconds that a job would have been served which was there from the beginning."""
        self._since = 0.0
        self._plan = 0

    def run(self, seconds: float, then: Then) -> None:
        """Do a job that takes so long where it is alone."""
        self.busy += seconds
        self._catch_up()
        self._number += 1
        heappush(self._jobs, (self._given + seconds, self._number, then))
        if self._jobs[0][1] == self._number:
            self._wait_for_the_first()  # otherwise whoever waits comes too early, and waits again

    def _share(self) -> float:
        return min(1.0, self._count / len(self._jobs))

    def _catch_up(self) -> None:
        if self._jobs:
            self._given += (self._clock.now - self._since) * self._share()
        self._since = self._clock.now

    def _wait_for_the_first(self) -> None:
        self._plan += 1
        left = max(0.0, self._jobs[0][0] - self._given) / self._share()
        self._clock.at(self._clock.now + left, partial(self._finish, self._plan, len(self._jobs)))

    def _finish(self, plan: int, jobs: int) -> None:
        if plan != self._plan:  # another job has become the first
            return
        self._catch_up()
        if jobs != len(self._jobs):  # more have come, and it took longer
            self._wait_for_the_first()
            return
        end, _, then = heappop(self._jobs)
        self._given = max(self._given, end)
        if self._jobs:
            self._wait_for_the_first()
        then()


class Process:
    """A worker or a server: it does one thing after the other, and has a port out and one in."""

    __slots__ = ("busy", "free", "incoming", "jobs", "outgoing")

    def __init__(self, clock: Clock) -> None:
        self.outgoing = Shared(clock)
        self.incoming = Shared(clock)
        self.busy = 0.0
        """For how many seconds it has something to do."""
        self.free = 0.0
        """When it has done all of it."""
        self.jobs: deque[tuple[float, Then]] = deque()
        """What it has to do, where cores are shared and nobody knows when it is done."""


class Network:
    """Processes compute and send each other messages, at what that costs."""

    def __init__(self, clock: Clock, costs: Costs) -> None:
        self.clock = clock
        self._message = costs.message
        self._latency, self._bandwidth = costs.link.latency, costs.link.bandwidth
        self._cores = None if costs.cores is None else Shared(clock, costs.cores)

    def step(self, seconds: float, work: float, then: Then) -> None:
        """Compute for a step, beside the messages that a process handles, with a core for ``work`` seconds of it."""
        if self._cores is None:
            self.clock.at(self.clock.now + seconds, then)
        else:
            self._cores.run(work, lambda: self.clock.at(self.clock.now + seconds - work, then))

    def compute(self, process: Process, seconds: float, then: Then) -> None:
        """Let a process do something when it has done all that it was given before."""
        process.busy += seconds
        if self._cores is None:
            process.free = max(self.clock.now, process.free) + seconds
            self.clock.at(process.free, then)
            return
        process.jobs.append((seconds, then))
        if len(process.jobs) == 1:
            self._cores.run(seconds, partial(self._done, process))

    def _done(self, process: Process) -> None:
        assert self._cores is not None
        _, then = process.jobs.popleft()
        if process.jobs:
            self._cores.run(process.jobs[0][0], partial(self._done, process))
        then()

    def lay_down(self, source: Process, targets: Sequence[Process], size: float, then: Then) -> None:
        """Give each of some processes so many bytes: in messages, or in memory that a machine's processes share."""
        if self._cores is None:
            self.ask(source, targets, size, 0.0, None, then)
        else:
            self.compute(source, len(targets) * size / self._bandwidth, then)

    def send(self, source: Process, target: Process, size: float, then: Then) -> None:
        """Send a message of so many bytes; ``then`` comes when its receiver has read it."""
        seconds = size / self._bandwidth
        read = partial(self.compute, target, self._message, then)
        if self._cores is None:
            self.compute(source, self._message, partial(self._carry, source, target, seconds, read))
        else:  # one machine: whoever sends copies
            self.compute(source, self._message + seconds, lambda: self._arrive(read))

    def _carry(self, source: Process, target: Process, seconds: float, read: Then) -> None:
        if not seconds:
            self._arrive(read)
            return
        passed = 0

        def done() -> None:
            nonlocal passed
            passed += 1
            if passed == 2:
                self._arrive(read)

        source.outgoing.run(seconds, done)
        target.incoming.run(seconds, done)

    def _arrive(self, read: Then) -> None:
        self.clock.at(self.clock.now + self._latency, read)

    def ask(
        self, source: Process, targets: Sequence[Process], size: float, answer: float, serve: Serve | None, then: Then
    ) -> None:
        """Send each of some processes a message of so many bytes, and wait for all answers."""
        left = len(targets)

        def answered() -> None:
            nonlocal left
            left -= 1
            if not left:
                then()

        for target in targets:
            reply = partial(self.send, target, source, answer, answered)
            self.send(source, target, size, reply if serve is None else partial(serve, target, reply))
