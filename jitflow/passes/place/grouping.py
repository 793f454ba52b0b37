"""Groups the ops of a function into tasks, which are placed together, as fusion would join them, cheaply, in one walk.

An op joins the task that computes what it reads as long as nothing else has read of that task. So tasks never wait for
each other in a circle, and each runs where its last op stands. An op that costs less than sending what it reads always
joins; one that costs more does if no other reader waits, so that the branches of a fork stay apart, and if the task
stays small beside what is around it, so that long chains can be cut.

Constants, sizes and numbers made of the caller's numbers are no tasks: every device computes them for itself. Views are
what they show. Branches and loops that are short, or compute nothing but numbers, are one task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jitflow.errors import UserValueError
from jitflow.ir.core import Function, Op, Region, Value, walk_inside
from jitflow.ir.effects import is_pure, is_storage, is_view
from jitflow.ir.types import Index, Scalar, Tensor
from jitflow.machines.machine import Machine
from jitflow.passes.analyses.homebound import calls_python
from jitflow.passes.analyses.order import reads_of
from jitflow.passes.place.colocation import Colocation
from jitflow.passes.place.sizes import Sizes, Turns
from jitflow.passes.place.tasks import Block, Span, Task
from jitflow.passes.place.work import (
    NO_WORK,
    Work,
    arithmetic,
    is_fusible,
    is_kernel,
    seconds,
    shares,
    work_of,
)
from jitflow.records import dataclass

__all__ = ["Grouping", "worth_splitting"]

_TASK_SHARE = 1 / 32
"""A task of several kernels is at most this part of what is around it."""

_TURN_SHARE = 1 / 8
"""So is one of elementwise ops in a loop, whose turns may overlap."""

_SHORT = 1e-5
"""A branch or loop that takes no longer, in seconds, is one task."""


def worth_splitting(machine: Machine) -> float:
    """The shortest program, in seconds, that a second device could make shorter: a message there and one back."""
    names = machine.names
    return 2.0 * min((machine.link(names[0], name).latency for name in names[1:]), default=float("inf"))


@dataclass(eq=False, slots=True)
class _Open:
    """What is known of a task while ops join it."""

    block: Block
    position: int = 0
    cost: float = 0.0
    elementwise: bool = True
    pending: int = 0
    """How many readers of what it computes are still to come."""
    closed: bool = False
    """Whether something outside of it has read of it."""


class Grouping:
    """The tasks so far, and what is known of values."""

    def __init__(self, function: Function, machine: Machine, colocation: Colocation, turns: Turns) -> None:
        self.function = function
        self.machine = machine
        self.colocation = colocation
        self.sizes = Sizes(function, turns)
        self.home = machine.processors[0]
        links = [machine.link(machine.names[0], name) for name in machine.names[1:]]
        self.latency = min((link.latency for link in links), default=1.0)
        self.bandwidth = max((link.bandwidth for link in links), default=1.0)
        self.worth = min(worth_splitting(machine), _SHORT)
        self.bytes: list[float] = []
        self.memory: list[float] = []
        self.value: dict[Value, int] = {}
        """The number of each value that is not free; views have the number of what they show."""
        self.free: set[Value] = set()
        """What every device has for itself."""
        self.empty: set[Value] = set()
        self.taken: set[Op] = set()
        """Stores of what was computed where it is stored to."""
        self.base: dict[Value, Value] = {}
        self.moved: set[Value] = set()
        """Views with their elements elsewhere, so that who reads them cannot be fused with who computes them."""
        self.kept: set[int] = set()
        """What is read through such views, or made of parts, and so lies in memory."""
        self.readers: Counter[Value] = Counter()
        """How many operands of ops that are still to come are each value, or show it."""
        self.task_of: dict[int, Task] = {}
        self.loaded: dict[int, Value] = {}
        """For what is loaded the storage: several views of it are read from memory once."""
        self.open: dict[Task, _Open] = {}
        self.costs: dict[Op, float] = {}
        self.amounts: dict[Op, Work] = {}
        """What ops do; of those that may share a kernel the arithmetic."""

    def _new(self, value: Value, memory: float = 0.0) -> int:
        number = self.value[value] = len(self.bytes)
        self.bytes.append(0.0 if is_storage(value) else self.sizes.bytes(value.type))
        self.memory.append(memory)
        return number

    def _numbers(self, op: Op) -> list[int]:
        """What an op reads that is not free, with what is inside of it, each once."""
        read = op.operands if not op.regions else reads_of(op)
        return list(dict.fromkeys(number for value in read if (number := self.value.get(value, -1)) >= 0))

    # Regions

    def _block(self, region: Region, turning: bool) -> Block:
        """The tasks of a region; ``turning``: it runs again and again."""
        block = Block()
        ops = [op for op in region.body if not self._take_free(op)]
        total = sum(map(self._cost, ops))
        entries: list[tuple[int, Task | Span]] = []
        own: dict[Task, None] = {}
        for position, op in enumerate(ops):
            if "view" in op.definition.traits:
                self.value[op.result] = self.value[op.operands[0]]
            elif op.name in ("if", "for", "while") and self._is_span(op):
                entries.append((position, self._span(op, turning)))
            else:
                task = self._enter(op, block, total, turning)
                own[task] = None
                self.open[task].position = position
        entries += [(self.open[task].position, task) for task in own]
        entries.sort(key=lambda entry: entry[0])
        block.items = [item for _, item in entries]
        block.yielded = [self.value.get(value, -1) for value in region.yielded]
        block.tasks = [task for item in block.items for task in (item.tasks if isinstance(item, Span) else (item,))]
        return block

    def _take_free(self, op: Op) -> bool:
        """Whether every device has the result of an op for itself."""
        if op.name in ("constant", "size", "empty", "iota"):
            self.free.update(op.results)
            if op.name == "empty":
                self.empty.update(op.results)
            return True
        if op.regions or len(op.results) != 1 or not op.operands or not self.free.issuperset(op.operands):
            return False
        if is_view(op) or (isinstance(op.result.type, Scalar | Index) and is_pure(op)):
            self.free.update(op.results)
            return True
        return False

    def _cost(self, op: Op) -> float:
        """Seconds for an op alone: those of its arithmetic, if it may share a kernel."""
        known = self.costs.get(op)
        if known is None:
            compute = arithmetic if is_kernel(op) else work_of
            work = self.amounts[op] = compute(op, self.sizes)
            known = self.costs[op] = seconds(work, self.home)
        return known

    def _is_span(self, op: Op) -> bool:
        """Whether a branch or loop may be on several devices."""
        found = {self.colocation.device(group) for group in self.colocation.groups_of(op)}
        found.update(self.colocation.wanted(inner)[0] for inner in walk_inside(op) if not inner.regions)
        if len(found - {""}) > 1:
            return True
        if self._cost(op) <= self.worth:
            return False
        return any(_computes_arrays(inner, self.sizes) for inner in walk_inside(op))

    def _span(self, op: Op, turning: bool) -> Span:
        carried: list[list[int]] = []
        times: Sequence[float]
        initial: list[int] = []
        if op.name == "if":
            times = shares(op, self.sizes)
        else:
            times, turning = (self.sizes.turns(op),) * len(op.regions), True
            bounds = 3 if op.name == "for" else 0
            initial = [self.value.get(value, -1) for value in op.operands[bounds:]]
            for region in op.regions:
                self.free.update(region.parameters[: bounds // 3])
                carried.append([self._new(slot) for slot in region.parameters[bounds // 3 :]])
        condition = self.value.get(op.operands[0], -1) if op.name == "if" else -1
        self._read(op, op.operands)
        blocks = [self._block(region, turning) for region in op.regions]
        for number in (number for block in blocks for number in block.yielded if number >= 0):
            self._close(number)
        tasks = [task for block in blocks for task in block.tasks]
        return Span(op, blocks, times, condition, initial, carried, [self._new(value) for value in op.results], tasks)

    # Tasks

    def _enter(self, op: Op, block: Block, total: float, turning: bool) -> Task:
        """Put an op into a task that computes what it reads, or into one of its own."""
        device, why = self._place_of(op)
        groups = list(self.colocation.groups_of(op))
        self.colocation.join(groups, device)  # of a branch or loop that is no span they are on one device
        group = groups[0] if groups else None
        task = None
        if not op.regions and op.name not in ("variable", "tape") and not calls_python(op):
            sources = sorted(self._numbers(op), key=lambda number: -self.bytes[number])
            joinable = (self._joinable(op, number, block, device, group, total, turning) for number in sources)
            task = next((one for one in joinable if one is not None), None)
        if task is None:
            task = Task(len(self.open), [], device, why)
            self.open[task] = _Open(block)
        if device and not task.device:
            task.device, task.why = device, why
        task.group = task.group or group
        task.ops.append(op)
        state = self.open[task]
        state.cost += self._cost(op)
        state.elementwise = state.elementwise and is_fusible(op)
        self._read(op, op.operands if not op.regions else list(reads_of(op)), task)
        if op.name in ("store", "variable"):
            self._take_over(op, block)
        for result in op.results:
            made = op.name in ("variable", "tape") or not is_storage(result)
            size = self.sizes.bytes(result.type) if made and op.name != "load" else 0.0
            self.task_of[self._new(result, size)] = task
            if op.name in ("concatenate", "gather") or "accumulation" in op.definition.traits:
                self.kept.add(self.value[result])
            if op.name == "load":
                self.loaded[self.value[result]] = self.base.get(op.operands[0], op.operands[0])
            state.pending += self.readers[result]
        return task

    def _take_over(self, op: Op, block: Block) -> None:
        """What is computed to be stored is computed where it is stored to, if that is all in one block."""
        value, place = op.operands[-1], (op.results or op.operands)[0]
        number = self.value.get(value, -1)
        task = self.task_of.get(number)
        if task is None or value in self.base or number in self.loaded or self.open[task].block is not block:
            return
        self.loaded[number] = self.base.get(place, place)
        self.taken.add(op)

    def _read(self, op: Op, read: Sequence[Value], reader: Task | None = None) -> None:
        """Note that an op has come which reads these values."""
        for value in read:
            base = self.base.get(value, value)
            self.readers[base] -= 1
            if value in self.moved:
                self.kept.add(self.value.get(base, -1))
            task = self.task_of.get(self.value.get(base, -1))
            if task is not None:
                self.open[task].pending -= 1
                if task is not reader:
                    self.open[task].closed = True

    def _close(self, number: int) -> None:
        if number in self.task_of:
            self.open[self.task_of[number]].closed = True

    def _place_of(self, op: Op) -> tuple[str, str]:
        for inner in (op, *walk_inside(op)):
            device, why = self.colocation.wanted(inner)
            if inner is op and not device and op.name == "check" and self.free.issuperset(op.operands):
                return self.machine.names[0], "check"  # what is asked of sizes costs nothing
            if device and device not in self.machine.names:
                raise UserValueError(
                    f"there is no device {device!r}", expected=f"one of {', '.join(self.machine.names)}",
                    location=inner.loc,
                )  # fmt: skip
            if device:
                return device, why
        return "", ""

    def _joinable(
        self, op: Op, number: int, block: Block, device: str, group: Value | None, total: float, turning: bool
    ) -> Task | None:
        """The task that computes a value, if an op that reads it may join that."""
        task = self.task_of.get(number)
        if task is None:
            return None
        state = self.open[task]
        if state.closed or state.block is not block or device != task.device:
            return None
        find = self.colocation.find
        if group is not None and task.group is not None and find(task.group) is not find(group):
            return None
        cost, sending = self._cost(op), self.latency + self.bytes[number] / self.bandwidth
        if cost <= sending and state.cost <= sending:
            return task
        ours = sum(self.task_of.get(self.value.get(operand, -1)) is task for operand in op.operands)
        if state.pending > ours or (group is None) is not (task.group is None):
            return None
        elementwise = state.elementwise and is_fusible(op)
        if elementwise and not turning:
            return task
        return task if cost + state.cost <= total * (_TURN_SHARE if elementwise else _TASK_SHARE) else None


def _computes_arrays(op: Op, sizes: Sizes) -> bool:
    if op.name in ("host_call", "fusion") or "contraction" in op.definition.traits:
        return True
    values = (*op.operands, *op.results)
    large = any(isinstance(value.type, Tensor) and sizes.count(value.type) > 16 for value in values)
    return large and is_kernel(op) and arithmetic(op, sizes) != NO_WORK
