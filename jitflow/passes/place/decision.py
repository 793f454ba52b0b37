"""Decides on which device each op is computed.

    %0: f32[n] = exp %x          ->   %0: f32[n] = exp %x {device="cpu:0"}
    %1: f32[n] = log %y               %1: f32[n] = log %y {device="cpu:1"}

Every op has the attribute ``device`` afterwards, those inside of regions as well, and the function ``devices``, one for
each parameter. What has to be somewhere says `colocation`; the rest is placed by what it costs. A program that is
shorter than a message to another device and back is on one device, and no graph is made for it.

Relies on the tensor pipeline; runs before the program is partitioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from jitflow.errors import UserValueError
from jitflow.ir.core import Function, Op, Region, Value, walk, walk_inside
from jitflow.ir.effects import is_storage
from jitflow.machines.hardware import HOME, is_gpu
from jitflow.machines.machine import Machine
from jitflow.passes.analyses.homebound import calls_python, reason_to_stay
from jitflow.passes.place.colocation import Colocation
from jitflow.passes.place.gpus import common_gpu, homes_of_arguments
from jitflow.passes.place.graph import build_graph
from jitflow.passes.place.grouping import worth_splitting
from jitflow.passes.place.placement import PlacedOp, Placement, wishes_of
from jitflow.passes.place.schedule import anneal, schedule
from jitflow.passes.place.simulator import Outcome, simulate_graph
from jitflow.passes.place.sizes import NO_TURNS, Sizes, Turns
from jitflow.passes.place.tasks import Graph
from jitflow.passes.place.work import seconds, work_of
from jitflow.records import dataclass

__all__ = ["Decision", "decide", "is_small", "place", "placed"]


def place(
    function: Function, machine: Machine, plan: Placement | None = None, *, search: bool = False, seed: int = 0
) -> Function:
    """The function with a device for each op.

    ``plan`` is followed where it says something. ``search`` spends some seconds on a better plan than the usual one.
    Raises ValueError, at the user's lines, where constraints contradict each other or name a device that there is not,
    and for a plan of another program.
    """
    if len(machine.devices) == 1 and plan is None and not _is_constrained(function, machine.names[0]):
        return _placed_at(function, machine.names[0])
    if plan is None and is_small(function, machine):
        return _placed_at(function, machine.names[0])
    common = common_gpu(function)
    if plan is None and common in machine.names and _may_all_be_on(common, function):
        return _placed_at(function, common)
    return placed(decide(function, machine, plan, search=search, seed=seed))


@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """A graph with a plan for it: for each task the number of its device."""

    graph: Graph
    plan: tuple[int, ...]
    colocation: Colocation
    small: bool = False

    def simulate(self) -> Outcome:
        """What is predicted of it, with all that happens on the way."""
        return simulate_graph(self.graph, self.plan, record=True)

    def placement(self) -> Placement:
        """The plan as people read it."""
        outcome, graph = self.simulate(), self.graph
        names, numbers = graph.machine.names, {op: number for number, op in enumerate(walk(graph.function.region))}
        spans: dict[int, tuple[float, float]] = {}
        for busy in outcome.work:
            if busy.task is not None:
                spans.setdefault(busy.task.number, (busy.start, busy.end))
        maker = {value: self.plan[task.number] for task in graph.tasks for value in task.outputs} | graph.homes
        rows: list[PlacedOp] = []
        sent: set[tuple[int, int]] = set()
        for task in graph.tasks:
            device = self.plan[task.number]
            needed = {(value, device) for value in task.inputs if maker.get(value, device) != device} - sent
            sent |= needed
            moved = sum(graph.bytes[value] for value, _ in needed)
            start, end = spans.get(task.number, (0.0, 0.0))
            why = task.why or ("storage" if task.device else "small" if self.small else "cost")
            rows += [PlacedOp(numbers[op], op.name, str(op.loc), names[device], why, moved, start, end)
                     for op in task.ops]  # fmt: skip
        rows.sort(key=lambda row: row.number)
        return Placement(graph.function.name, names, tuple(rows), outcome.seconds, outcome.moved)


def decide(
    function: Function, machine: Machine, plan: Placement | None = None, *, search: bool = False, seed: int = 0,
    turns: Turns = NO_TURNS,
) -> Decision:  # fmt: skip
    """Where each task of a function is to be; ``turns`` tells how often loops go round. Raises what `place` raises."""
    _check_parameters(function, machine)
    wishes = {} if plan is None else dict(wishes_of(function, plan))
    colocation = Colocation(function, wishes)
    graph = build_graph(function, machine, colocation, turns)
    if plan is None and is_small(function, machine, turns):
        return Decision(graph, (0,) * len(graph.tasks), colocation, small=True)
    chosen = schedule(graph)
    if search:
        chosen = anneal(graph, chosen, seed)
    return Decision(graph, tuple(chosen), colocation)


def is_small(function: Function, machine: Machine, turns: Turns = NO_TURNS) -> bool:
    """Whether nothing has to be elsewhere, and all is done on the first device before another one could help."""
    if _is_constrained(function, machine.names[0]):
        return False
    worth, total = worth_splitting(machine), 0.0
    sizes, processor = Sizes(function, turns), machine.processors[0]
    for op in function.region.body:
        total += seconds(work_of(op, sizes), processor)
        if total > worth:
            return False
    return True


def _may_all_be_on(gpu: str, function: Function) -> bool:
    """Whether nothing has to be elsewhere than on the GPU that has all arguments."""
    ops = walk(function.region)
    return all(op.loc.device in ("", gpu) and not calls_python(op) and not reason_to_stay(op) for op in ops)


def _is_constrained(function: Function, home: str) -> bool:
    if any(device not in ("", home) for device in function.attributes.get("devices", ())):
        return True
    return any(op.loc.device not in ("", home) for op in walk(function.region))


def _check_parameters(function: Function, machine: Machine) -> None:
    for device in function.attributes.get("devices", ()):
        if device and device not in machine.names:
            raise UserValueError(f"a variable lives on {device}", expected=f"one of {', '.join(machine.names)}")


# -- writing it down


def placed(decision: Decision) -> Function:
    """The function as it was decided."""
    names, function = decision.graph.machine.names, decision.graph.function
    devices: dict[Op, str] = {}
    groups: dict[Value, str] = {}
    for task in decision.graph.tasks:
        device = names[decision.plan[task.number]]
        for op in task.ops:
            devices[op] = device
            devices.update(dict.fromkeys(walk_inside(op), device))
        if task.group is not None:
            groups[decision.colocation.find(task.group)] = device
    find, used = decision.colocation.find, set(devices.values())
    storage = {value: groups.get(find(value), HOME) for value in function.parameters if is_storage(value)}
    given = zip(function.parameters, function.attributes.get("devices", ()), strict=False)
    where = {value: device for value, device in given if device} | storage
    around = min(used) if len(used) == 1 and is_gpu(min(used)) else HOME
    region = _Writer(devices, groups, where, decision.colocation).region(function.region, around)
    return _with_homes(replace(function, region=region), storage)


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The devices of ops in tasks, of groups of storage, and of values; the others follow what they read."""

    devices: Mapping[Op, str]
    groups: Mapping[Value, str]
    where: dict[Value, str]
    colocation: Colocation

    def region(self, region: Region, around: str) -> Region:
        return Region(region.parameters, tuple(self.op(op, around) for op in region.ops))

    def op(self, op: Op, around: str) -> Op:
        device = self.devices.get(op) or self.following(op, around)
        self.where.update(dict.fromkeys(op.results, device))
        regions = tuple(self.region(region, device) for region in op.regions)
        attributes = MappingProxyType({**op.attributes, "device": device})
        return Op(op.definition, op.operands, op.results, attributes, regions, op.loc)

    def following(self, op: Op, around: str) -> str:
        """The device of a view, of a number that each device computes, of a branch or loop that spans several."""
        if "view" in op.definition.traits:
            return self.groups.get(self.colocation.find(op.result)) or self.where.get(op.operands[0], around)
        for inner in walk_inside(op):
            if inner in self.devices:
                return self.devices[inner]
        return around


def _with_homes(function: Function, storage: Mapping[Value, str]) -> Function:
    homes = homes_of_arguments(function, storage)
    return replace(function, attributes=MappingProxyType({**function.attributes, "devices": homes}))


def _placed_at(function: Function, device: str) -> Function:
    """Everything on one device."""

    def region(old: Region) -> Region:
        return Region(old.parameters, tuple(map(moved, old.ops)))

    def moved(op: Op) -> Op:
        attributes = MappingProxyType({**op.attributes, "device": device})
        return Op(op.definition, op.operands, op.results, attributes, tuple(map(region, op.regions)), op.loc)

    return _with_homes(replace(function, region=region(function.region)), {})
