"""What a plan takes: one walk over the tasks in the order of the program, with a clock for each device.

Each device does its tasks in that order, as its partition will, and waits for what it has not. A value is sent when it
is there, once to each device; what goes over one link goes one after the other, and beside what the devices compute.
A few turns of a loop are gone through, each device at its own pace, and what the last of them took is taken for all the
others, so that the turns of a pipeline overlap. Of a branch each side counts as often as it runs.

Memory follows the program's order, not the clocks: an array is there from the task that makes it to the last one that
reads it, on its device and on each to which it was sent; arguments are there from beginning to end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from jitflow.passes.place.tasks import Block, Graph, Span, Task
from jitflow.records import dataclass

__all__ = ["Busy", "Outcome", "Plan", "Simulation", "Transfer", "peaks", "simulate_graph"]

Plan = Sequence[int]
"""For each task the number of its device."""

_TURNS = 4
"""How many turns of a loop are gone through."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A device computes a task; of a loop that was not gone through to its end, all of its other turns."""

    device: int
    start: float
    end: float
    task: Task | None


@dataclass(frozen=True, slots=True)
class Transfer:
    """A value goes from one device to another."""

    source: int
    target: int
    start: float
    end: float
    bytes: float
    value: int


@dataclass(slots=True)
class Outcome:
    """What is predicted of a plan."""

    seconds: float
    clocks: list[float]
    """When each device is done."""
    busy: list[float]
    """How long each device computes."""
    moved: float
    """Bytes between devices, in all turns."""
    waits: dict[int, int]
    """For each task that waited for a value from another device, the value."""
    work: list[Busy] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)


def simulate_graph(graph: Graph, plan: Plan, record: bool = False) -> Outcome:
    """Predict what a plan takes; ``record`` keeps what each device does when."""
    return Simulation(graph, plan, record).run()


class Simulation:
    """One walk over the tasks; a plan that leaves tasks open (-1) asks `choose` for them."""

    def __init__(self, graph: Graph, plan: Plan, record: bool) -> None:
        names = graph.machine.names
        count = len(names)
        self.graph = graph
        self.plan = plan
        self.record = record
        self.links = [[graph.machine.link(one, other) for other in names] for one in names]
        used = {0, *plan, *graph.homes.values()}
        self.clocks = [self.links[0][device].latency if device and device in used else 0.0 for device in range(count)]
        self.busy = [0.0] * count
        self.free_at = [[0.0] * count for _ in range(count)]
        """When each link has sent what was given to it."""
        size = len(graph.bytes)
        self.home = [0] * size
        self.ready = [0.0] * size
        self.copies: dict[tuple[int, int], tuple[int, float, float]] = {}
        """For a value on a device that it was sent to: where it came from, since when it was there, when it came."""
        self.outcome = Outcome(0.0, self.clocks, self.busy, 0.0, {})
        self.times = 1.0
        """How often what is gone through now stands for."""
        self.within: dict[Span, list[int]] = {}

    def run(self) -> Outcome:
        for value, device in self.graph.homes.items():
            self.home[value] = device
        self.block(self.graph.root)
        outcome, host = self.outcome, self.graph.machine.processors[0].kind
        used = {0, *self.plan}
        for value in self.graph.root.yielded:  # what another kind of device computes comes to the caller
            if value >= 0 and self.graph.machine.processors[self.home[value]].kind != host:
                self.clocks[0] = max(self.clocks[0], self.arrival(value, 0))
        outcome.seconds = self.graph.machine.processors[0].call + max(
            self.clocks[device] + (self.links[device][0].latency if device else 0.0) for device in used
        )
        return outcome

    def block(self, block: Block) -> None:
        plan, clocks, home, ready = self.plan, self.clocks, self.home, self.ready
        for item in block.items:
            if isinstance(item, Span):
                if item.is_loop:
                    self.loop(item)
                else:
                    self.branch(item)
                continue
            device = plan[item.number]
            if device < 0:
                device = self.choose(item)
            start = clocks[device]
            for value in item.inputs:
                there = ready[value] if home[value] == device else self.arrival(value, device)
                if there > start:
                    start = there
                    self.outcome.waits[item.number] = value
            spent = item.seconds[device]
            end = clocks[device] = start + spent
            self.busy[device] += spent
            if self.record:
                self.outcome.work.append(Busy(device, start, end, item))
            for value in item.outputs:
                home[value] = device
                ready[value] = end

    def arrival(self, value: int, device: int) -> float:
        """When a value is on a device, which asks for it."""
        there = self.there(value, device)
        if there is not None:
            return there
        source, since = self.home[value], self.ready[value]
        link, size = self.links[source][device], self.graph.bytes[value]
        start = max(since, self.free_at[source][device])
        self.free_at[source][device] = start + size / link.bandwidth
        there = start + size / link.bandwidth + link.latency
        self.copies[value, device] = (source, since, there)
        self.outcome.moved += size * self.times
        if self.record:
            self.outcome.transfers.append(Transfer(source, device, start, there, size, value))
        return there

    def there(self, value: int, device: int) -> float | None:
        """When a value came to a device that has it, or to which it was sent; None if it is still to be sent."""
        source, since = self.home[value], self.ready[value]
        if source == device:
            return since
        known = self.copies.get((value, device))
        return known[2] if known is not None and known[:2] == (source, since) else None

    def choose(self, task: Task) -> int:
        """Where a task of no device is to be."""
        raise NotImplementedError

    def hand(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """Values come into a region or out of it; what is free is there at once."""
        found = [(self.home[one], self.ready[one], one) if one >= 0 else (0, 0.0, -1) for one in sources]
        devices = range(len(self.clocks))
        for (home, ready, source), target in zip(found, targets, strict=True):
            copies = [(device, self.copies.get((source, device))) for device in devices] if source >= 0 else []
            self.home[target], self.ready[target] = home, ready
            for device, copy in copies:
                if copy is not None:
                    self.copies[target, device] = copy

    def participants(self, span: Span) -> list[int]:
        known = self.within.get(span)
        if known is None:
            known = sorted({device for task in span.tasks if (device := self.plan[task.number]) >= 0} or {0})
            self.within[span] = known
        return known

    def wait(self, value: int, devices: Sequence[int]) -> None:
        """Devices go on when they know a condition."""
        for device in devices if value >= 0 else ():
            self.clocks[device] = max(self.clocks[device], self.arrival(value, device))

    def branch(self, span: Span) -> None:
        self.wait(span.condition, self.participants(span))
        before, times = list(self.clocks), self.times
        after = [0.0] * len(before)
        for block, share in zip(span.blocks, span.times, strict=True):
            self.clocks[:] = before
            kept = list(self.busy)
            self.times = times * share
            self.block(block)
            for device, clock in enumerate(self.clocks):
                after[device] += share * (clock - before[device])
                self.busy[device] = kept[device] + share * (self.busy[device] - kept[device])
            self.hand(block.yielded, span.results)
        self.times = times
        self.clocks[:] = [clock + more for clock, more in zip(before, after, strict=True)]

    def loop(self, span: Span) -> None:
        turns, taking, times = span.times[-1], self.participants(span), self.times
        self.hand(span.initial, span.carried[-1])
        gone = int(min(turns, _TURNS))
        before, spent = list(self.clocks), list(self.busy)
        for turn in range(gone):
            before, spent = list(self.clocks), list(self.busy)
            self.times = times * (1.0 if turn < gone - 1 else turns - gone + 1)
            if len(span.blocks) > 1:  # what a `while` asks
                self.hand(span.carried[-1], span.carried[0])
                self.block(span.blocks[0])
                self.wait(span.blocks[0].yielded[0], taking)
            self.block(span.blocks[-1])
            self.hand(span.blocks[-1].yielded, span.carried[-1])
        self.times = times
        self.skip(turns - gone, before, spent)
        self.hand(span.carried[-1], span.results)

    def skip(self, turns: float, before: Sequence[float], spent: Sequence[float]) -> None:
        """Go on by so many turns like the last, which began at ``before``."""
        if turns <= 0:
            return
        for device, clock in enumerate(self.clocks):
            more = turns * (clock - before[device])
            if more <= 0:
                continue
            if self.record:
                self.outcome.work.append(Busy(device, clock, clock + more, None))
            self.busy[device] += turns * (self.busy[device] - spent[device])
            for value, home in enumerate(self.home):
                if home == device and before[device] < self.ready[value]:
                    self.ready[value] += more
            self.clocks[device] = clock + more


def peaks(graph: Graph, plan: Plan) -> list[float]:
    """The most bytes that each device holds at once."""
    live = [0.0] * len(graph.machine.devices)
    for value, device in graph.homes.items():
        live[device] += graph.memory[value]
    most = list(live)
    ending: dict[int, list[tuple[int, float]]] = {}
    there: set[tuple[int, int]] = {(value, device) for value, device in graph.homes.items()}
    made: dict[int, int] = dict(graph.homes)
    for task in graph.tasks:
        device = plan[task.number]
        news = [(value, graph.memory[value]) for value in task.outputs]
        news += [(value, graph.bytes[value]) for value in task.inputs if made.get(value, device) != device]
        made.update(dict.fromkeys(task.outputs, device))
        for value, size in news:
            if size and (value, device) not in there:
                there.add((value, device))
                live[device] += size
                ending.setdefault(max(graph.last[value], task.number), []).append((device, size))
        most[device] = max(most[device], live[device])
        for where, size in ending.pop(task.number, ()):
            live[where] -= size
    return most
