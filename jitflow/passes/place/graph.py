"""Makes the graph of a function: tasks, which are placed together, and what flows between them.

`grouping.py` says which ops are one task. What a task reads, gives and takes is known when all are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.ir.core import Function, Value, walk
from jitflow.ir.effects import is_storage
from jitflow.ir.types import Index, Scalar
from jitflow.machines.machine import Machine
from jitflow.passes.place.colocation import Colocation
from jitflow.passes.place.grouping import Grouping
from jitflow.passes.place.recency import Recency, Touch, Used, footprint
from jitflow.passes.place.sizes import NO_TURNS, Turns
from jitflow.passes.place.tasks import Block, Graph, Span, Task
from jitflow.passes.place.work import (
    NO_WORK,
    Work,
    is_kernel,
    seconds,
    touched,
)

__all__ = ["build_graph"]


def build_graph(function: Function, machine: Machine, colocation: Colocation, turns: Turns = NO_TURNS) -> Graph:
    """The graph of a function; ``colocation`` learns what tasks put together.

    Raises ValueError, at the user's line, for a device that the machine does not have.
    """
    return _Building(function, machine, colocation, turns).graph()


class _Building(Grouping):
    """The graph, whose tasks are grouped, and then told what they come to."""

    def graph(self) -> Graph:
        function, names = self.function, self.machine.names
        given = function.attributes.get("devices") or ("",) * len(function.parameters)
        homes = {}
        for parameter, device in zip(function.parameters, given, strict=True):
            if isinstance(parameter.type, Scalar | Index):
                self.free.add(parameter)
            else:
                number = self._new(parameter, self.sizes.bytes(parameter.type))
                homes[number] = names.index(device) if device in names else 0
        for op in walk(function.region):
            if "view" in op.definition.traits:
                self.base[op.result] = self.base.get(op.operands[0], op.operands[0])
                if op.name not in ("broadcast", "reshape") or op.operands[0] in self.moved:
                    self.moved.add(op.result)
            elif op.name != "yield":
                self.readers.update(self.base.get(operand, operand) for operand in op.operands)
        root = self._block(function.region, False)
        self._finish(root)
        return Graph(function, self.machine, root, root.tasks, self.bytes, self.memory, self._last(root), homes,
                     self._units(root.tasks), tuple(self.sizes.guessed))  # fmt: skip

    def _finish(self, root: Block) -> None:
        """What each task reads and gives, and how long it takes."""
        shown = set(_exchanged(root))
        handed = set(shown)
        readers: dict[int, list[Task]] = {}
        for number, task in enumerate(root.tasks):
            task.number = number
            read = dict.fromkeys(source for op in task.ops for source in self._numbers(op))
            task.inputs = [source for source in read if self.task_of.get(source) is not task]
            shown.update(task.inputs)
            for source in task.inputs:
                readers.setdefault(source, []).append(task)
        passed = {number for number, reading in readers.items()
                  if number not in handed and self._is_passed(number, reading)}  # fmt: skip
        works: dict[Task, Work] = {}
        touches: dict[Task, list[Touch]] = {}
        for task in root.tasks:
            made = [self.value[result] for op in task.ops for result in op.results]
            task.outputs = [number for number in made if number in shown]
            works[task], touches[task] = self._work(task, shown, passed)
            task.device = task.device or (self.colocation.device(task.group) if task.group is not None else "")

        used = footprint(touch for task in root.tasks for touch in touches[task])
        self._reaches(root, Recency(used), touches, works)
        for task in root.tasks:
            task.seconds = tuple(seconds(works[task], processor) for processor in self.machine.processors)

    def _is_passed(self, number: int, readers: Sequence[Task]) -> bool:
        """Whether a value never lies in memory where its maker and its reader are on one device: they are fused."""
        maker = self.task_of.get(number)
        if maker is None or number in self.kept or not self.open[maker].elementwise:
            return False
        block = self.open[maker].block
        return all(self.open[reader].elementwise and self.open[reader].block is block for reader in readers)

    def _work(self, task: Task, shown: set[int], passed: set[int]) -> tuple[Work, list[Touch]]:
        """What a task does, and the memory it uses: ops that may share a kernel move what others compute or need."""
        total = kernel = NO_WORK
        inside: set[int] = set()
        used = Used()
        needed: set[int] = set()
        for op in task.ops:
            if not is_kernel(op):
                work = self.amounts[op]
                needed.update(self._numbers(op))
                if "contraction" in op.definition.traits:
                    work = work._replace(bytes=0.0, reach=0.0)
                    for operand in op.operands:
                        self._use(used.read, operand, self.sizes.bytes(operand.type))
                    self._use(used.written, op.result, self.sizes.bytes(op.result.type))
                total = total.plus(work)
        for op in task.ops:
            if not is_kernel(op) or (op in self.taken and self.value[op.operands[-1]] not in passed):
                continue
            kernel = kernel.plus(self.amounts[op])._replace(kernels=1.0)
            for operand in dict.fromkeys(op.operands):
                number = self.value.get(operand, -1)
                if number >= 0 and number not in passed and (number not in inside or number in self.kept):
                    place = op.name in ("store", "scatter") and operand is op.operands[0]
                    self._use(used.written if place else used.read, operand, touched(op, operand, self.sizes))
            inside.update(self.value[result] for result in op.results)
            for result in op.results:
                first = op.name == "variable" and op.operands[0] not in self.empty
                number = self.value[result]
                kept = number in shown or number in needed or number in self.kept
                if first or (kept and number not in passed and not is_storage(result)):
                    self._use(used.written, result, self.sizes.bytes(result.type))
        total = total.plus(kernel)
        touches = used.touches()
        return total._replace(bytes=total.bytes + sum(touch.bytes for touch in touches)), touches

    def _use(self, used: dict[object, tuple[float, float]], value: Value, size: float) -> None:
        """Note that memory is read or written, of several views the largest."""
        base = self.base.get(value, value)
        base = self.loaded.get(self.value.get(base, -1), base)
        used[base] = (max(size, used.get(base, (0.0, 0.0))[0]), self.sizes.bytes(base.type))

    def _reaches(
        self, block: Block, recency: Recency, touches: dict[Task, list[Touch]], works: dict[Task, Work]
    ) -> None:
        """Note of each task how far away the memory is that it uses."""
        for item in block.items:
            if isinstance(item, Task):
                works[item] = works[item]._replace(reach=works[item].reach + recency.reach(touches[item]))
                continue
            for inner, times in zip(item.blocks, item.times, strict=True):
                turns = times if item.is_loop else 1.0
                found = [touch for task in inner.tasks for touch in touches[task]]
                self._reaches(inner, Recency(footprint(found), turns) if item.is_loop else recency, touches, works)
                if item.is_loop:
                    for key, size in footprint(found, turns).items():
                        recency.use(key, size)

    def _last(self, root: Block) -> list[int]:
        """For each value the last task that may read it."""
        last = [-1] * len(self.bytes)
        defined = {number: task.number for number, task in self.task_of.items()}
        groups: dict[Value, list[int]] = {}
        for value, number in self.value.items():
            if is_storage(value) and self.memory[number]:
                groups.setdefault(self.colocation.find(value), []).append(number)

        def enter(block: Block, loops: list[tuple[int, int]]) -> None:
            for item in block.items:
                if isinstance(item, Span):
                    numbers = [task.number for task in item.tasks] or [0]
                    around = [*loops, (min(numbers), max(numbers))] if item.is_loop else loops
                    for inner in item.blocks:
                        enter(inner, around)
                    continue
                read = list(item.inputs)
                if item.group is not None:
                    read += groups.get(self.colocation.find(item.group), ())
                for number in read:
                    end = next((stop for first, stop in loops if first > defined.get(number, -1)), item.number)
                    last[number] = max(last[number], end)

        enter(root, [])
        for number in _exchanged(root):
            last[number] = len(root.tasks)
        return last

    def _units(self, tasks: Sequence[Task]) -> list[list[Task]]:
        units: dict[object, list[Task]] = {}
        for task in tasks:
            if not task.device:
                key = task if task.group is None else self.colocation.find(task.group)
                units.setdefault(key, []).append(task)
        return list(units.values())


def _exchanged(block: Block) -> Iterator[int]:
    """The values that regions hand to each other."""
    yield from (number for number in block.yielded if number >= 0)
    for item in block.items:
        if isinstance(item, Span):
            yield from (number for number in (item.condition, *item.initial) if number >= 0)
            for inner in item.blocks:
                yield from _exchanged(inner)
