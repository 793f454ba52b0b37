"""From tasks to a plan: where each is computed.

Several plans are drawn up and compared in the simulator: all on one device, for each device; the one in which each
task, in the order of the program, is where it is done earliest, transfers included (earliest finish time, as HEFT has
it: Topcuoglu, Hariri, Wu 2002; the order is the program's because partitions keep to it); the largest groups of tasks
that share storage on the device with the least to do, and the same with each branch or loop as a whole; and the tasks
of the program, or of a loop's turn, cut into consecutive parts, which is what makes a pipeline of the turns, or fits a
large model into several memories. The best of these is improved by moving the largest units, one at a time, as long as
that helps. So no single device is ever better than the plan.

`anneal` goes on from there with random moves that may be for the worse (simulated annealing), and gives the best of all
that it saw.

A plan on one device is kept unless another one is better by `_GAIN`: the simulator is no better than that. Memory comes
first: a plan that needs more than a device has is worse than any that does not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence

from jitflow.passes.place.simulator import Plan, Simulation, peaks
from jitflow.passes.place.tasks import Block, Graph, Span, Task

__all__ = ["anneal", "schedule"]

_EFFORT = 40_000
"""How many tasks are simulated to improve a plan."""

_SEARCH_EFFORT = 1_000_000

_GAIN = 0.95
"""How much of the time on one device a plan for several may take."""

Score = tuple[float, float]
"""Bytes too many, and seconds; less is better."""


def schedule(graph: Graph) -> list[int]:
    """The plan for a graph."""
    judge = _Judge(graph)
    plain, plain_score = _best(judge, (_filled(graph, device) for device in range(len(graph.machine.devices))))
    if not graph.units:
        return plain
    best, score = _best(judge, _drafts(graph, judge))
    if _is_better(plain_score, score):
        best, score = plain, plain_score
    best, score = _improved(graph, judge, best, score)
    return plain if plain_score[0] <= score[0] and score[1] > _GAIN * plain_score[1] else best


def anneal(graph: Graph, start: Plan, seed: int = 0) -> list[int]:
    """The best plan found by simulated annealing; never worse than ``start``. Equal seeds give equal plans."""
    judge = _Judge(graph)
    chance = random.Random(seed)
    current, score = list(start), judge.score(start)
    best, best_score = current, score
    units, count = graph.units, len(graph.machine.devices)
    if not units or count < 2:
        return best
    turns = max(50, min(4000, _SEARCH_EFFORT // (len(graph.tasks) + 1)))
    heat = 0.05 * score[1]
    for turn in range(turns):
        first = chance.randrange(len(units))
        stretch = 1 if chance.random() < 0.6 else 1 + chance.randrange(max(1, len(units) // 3))
        device = chance.randrange(count)
        plan = list(current)
        for unit in units[first : first + stretch]:
            _move(plan, unit, device)
        if plan == current:
            continue
        found = judge.score(plan)
        worse = found[1] - score[1]
        warmth = heat * (1 - turn / turns) ** 2 + 1e-12
        if found <= score or (found[0] <= score[0] and chance.random() < math.exp(-max(worse, 0.0) / warmth)):
            current, score = plan, found
        if _is_better(score, best_score):
            best, best_score = current, score
    return best


class _Judge:
    """Scores plans. Memory is looked at only where not everything at once fits everywhere."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.limits = [processor.memory or math.inf for processor in graph.machine.processors]
        self.is_tight = sum(graph.memory) + sum(graph.bytes) > min(self.limits)

    def score(self, plan: Plan) -> Score:
        excess = 0.0
        if self.is_tight:
            excess = sum(max(0.0, most - limit) for most, limit in zip(peaks(self.graph, plan), self.limits,
                                                                       strict=True))  # fmt: skip
        return excess, Simulation(self.graph, plan, False).run().seconds


def _best(judge: _Judge, plans: Iterable[list[int]]) -> tuple[list[int], Score]:
    scored = [(plan, judge.score(plan)) for plan in plans]
    return min(scored, key=lambda pair: pair[1])


def _is_better(one: Score, other: Score) -> bool:
    """By more than what floats lose, so that a plan is not torn for nothing."""
    return one[0] < other[0] or (one[0] == other[0] and one[1] < other[1] * (1 - 1e-9))


def _move(plan: list[int], unit: Sequence[Task], device: int) -> None:
    for task in unit:
        plan[task.number] = device


def _drafts(graph: Graph, judge: _Judge) -> Iterator[list[int]]:
    """Plans for several devices to begin with."""
    count = len(graph.machine.devices)
    yield _Earliest(graph).plan_all()
    yield _levelled(graph, graph.units)
    if any(isinstance(item, Span) for item in graph.root.items):
        yield _levelled(graph, _wholes(graph))
    base = _filled(graph, 0)
    for block in _sequences(graph.root):
        for parts in range(2, count + 1):
            yield _cut(graph, base, block, parts, [min(task.seconds) for task in block.tasks])
    if judge.is_tight:
        yield _cut(graph, base, graph.root, count, [sum(graph.memory[value] for value in task.outputs)
                                                    for task in graph.root.tasks])  # fmt: skip


def _filled(graph: Graph, device: int) -> list[int]:
    """Everything that may be anywhere on one device."""
    names = graph.machine.names
    return [names.index(task.device) if task.device else device for task in graph.tasks]


class _Earliest(Simulation):
    """Puts each task where it is done first."""

    def __init__(self, graph: Graph) -> None:
        self.open = _filled(graph, -1)
        super().__init__(graph, self.open, False)
        self.unit_of = {task: unit for unit in graph.units for task in unit}
        self.clocks[:] = [link.latency if device else 0.0 for device, link in enumerate(self.links[0])]

    def plan_all(self) -> list[int]:
        self.run()
        return [max(device, 0) for device in self.open]

    def choose(self, task: Task) -> int:
        chosen, earliest = 0, math.inf
        for device, clock in enumerate(self.clocks):
            start = max([clock, *(self.foreseen(value, device) for value in task.inputs)])
            if start + task.seconds[device] < earliest * (1 - 1e-9):
                chosen, earliest = device, start + task.seconds[device]
        _move(self.open, self.unit_of[task], chosen)
        return chosen

    def foreseen(self, value: int, device: int) -> float:
        """When a value would be on a device, if it were asked for."""
        there = self.there(value, device)
        if there is not None:
            return there
        source, since = self.home[value], self.ready[value]
        link = self.links[source][device]
        return max(since, self.free_at[source][device]) + self.graph.bytes[value] / link.bandwidth + link.latency


def _levelled(graph: Graph, units: Iterable[Sequence[Task]]) -> list[int]:
    """The largest units first, each to the device that has the least to do with it."""
    plan, often = _filled(graph, 0), dict(_runs(graph.root))
    loads = [0.0] * len(graph.machine.devices)
    for unit in sorted(units, key=lambda unit: -sum(min(task.seconds) * often[task] for task in unit)):
        costs = [load + sum(task.seconds[device] * often[task] for task in unit) for device, load in enumerate(loads)]
        device = min(range(len(costs)), key=lambda number: costs[number])
        loads[device] = costs[device]
        _move(plan, unit, device)
    return plan


def _runs(block: Block, times: float = 1.0) -> Iterator[tuple[Task, float]]:
    """How often each task of a block runs."""
    for item in block.items:
        if isinstance(item, Task):
            yield item, times
        else:
            for inner, share in zip(item.blocks, item.times, strict=True):
                yield from _runs(inner, times * share)


def _wholes(graph: Graph) -> list[list[Task]]:
    """The units, of which those that have tasks in one branch or loop of the program are one."""
    around = {task: item for item in graph.root.items if isinstance(item, Span) for task in item.tasks}
    found: list[list[Task]] = []
    groups: list[tuple[set[Span], list[Task]]] = []
    for unit in graph.units:
        spans, tasks = {around[task] for task in unit if task in around}, list(unit)
        if not spans:
            found.append(tasks)
            continue
        for group in [group for group in groups if group[0] & spans]:
            groups.remove(group)
            spans, tasks = spans | group[0], group[1] + tasks
        groups.append((spans, tasks))
    return [*found, *(tasks for _, tasks in groups)]


def _sequences(block: Block, most: int = 8) -> list[Block]:
    """The program, and the turns of its dearest loops."""
    found = [block]
    waiting = list(block.items)
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, Span):
            found += item.blocks[-1:] if item.is_loop else []
            waiting += [inner for one in item.blocks for inner in one.items]
    found[1:] = sorted(found[1:], key=lambda one: -sum(min(task.seconds) for task in one.tasks))[: most - 1]
    return found


def _cut(graph: Graph, base: Plan, block: Block, parts: int, weights: Sequence[float]) -> list[int]:
    """Consecutive tasks of a block in so many parts of about equal weight; the rest as in another plan."""
    plan = list(base)
    total, before = sum(weights) or 1.0, 0.0
    unit_of = {task: unit for unit in graph.units for task in unit}
    moved: set[int] = set()
    for task, weight in zip(block.tasks, weights, strict=True):
        device = min(parts - 1, int((before + weight / 2) / total * parts))
        before += weight
        if task in unit_of and task.number not in moved:
            _move(plan, unit_of[task], device)
            moved.update(one.number for one in unit_of[task])
    return plan


def _improved(graph: Graph, judge: _Judge, plan: list[int], score: Score) -> tuple[list[int], Score]:
    """Move units, the largest first, while that makes the plan better."""
    count, left = len(graph.machine.devices), max(2, _EFFORT // (len(graph.tasks) + 1))
    units = sorted(graph.units, key=lambda unit: -sum(min(task.seconds) for task in unit))
    changed = True
    while changed and left > 0:
        changed = False
        for unit in units:
            for device in range(count):
                if device == plan[unit[0].number] or left <= 0:
                    continue
                left -= 1
                other = list(plan)
                _move(other, unit, device)
                found = judge.score(other)
                if _is_better(found, score):
                    plan, score, changed = other, found, True
    return plan, score
