"""On which device each value of a placed function is, and which branches and loops a device takes part in.

The result of an op is where the op is computed. What a loop carries is where its turns compute it, the result of a
branch where the branch computes it, storage where its variables lie: ops on one variable, whatever shows it, are on one
device, or the placement is wrong. Two kinds of values have no home:

- *Free* ones, which every partition computes for itself: constants, numbers made of sizes, positions and number
  arguments, what is spread from them, and what loops carry that is made of nothing else (so the loop that counts to a
  number counts on both sides, and no condition is sent).
- Views of values, which cost nothing where the value is.

Arguments that nobody writes to lie in memory that all devices of the CPU share: each of them takes them as they lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Value, walk_inside
from jitflow.ir.effects import ANYTHING, Effects, is_pure, is_storage, is_view, may_fail
from jitflow.ir.printer import print_op
from jitflow.ir.types import Index, Scalar, Tensor, Type
from jitflow.machines.hardware import HOME, is_elsewhere, is_gpu, kind_of, node_of
from jitflow.passes.analyses.homebound import calls_python
from jitflow.passes.partition.blocks import Block, Blocks, carried_by, is_control

__all__ = ["Homes", "device_order"]


class Homes:
    """Answers about the values and ops of one function."""

    def __init__(self, function: Function, blocks: Blocks, effects: Effects) -> None:
        self.function = function
        self.blocks = blocks
        self.effects = effects
        given = function.attributes.get("devices", ("",) * len(function.parameters))
        self.parameters = {
            value: device or HOME for value, device in zip(function.parameters, given, strict=True)
        }  # fmt: skip
        self.free = _free_values(function, blocks)
        self._shared = {
            value for value, device in self.parameters.items() if isinstance(value.type, Tensor) and not is_gpu(device)
        }
        for block in blocks.all:
            views = (op for op in block.region.body if is_view(op) and op.operands[0] in self._shared)
            self._shared.update(op.result for op in views)
        self._homes: dict[Value, str | None] = {}
        self._at: dict[Op, str] = {}
        self._asked: set[Value] = set()
        self._participants: dict[Op, frozenset[str]] = {}
        self._verify()

    def device(self, op: Op) -> str:
        """Where an op is computed."""
        return str(op.attributes.get("device") or HOME)

    def at(self, op: Op) -> str:
        """The device of an op that one partition has: a view of storage is where the storage is."""
        known = self._at.get(op)
        if known is None:
            storage = op.results and is_storage(op.results[0])
            known = self._at[op] = self._of_storage(op.results[0]) if storage else self.device(op)
        return known

    def on_demand(self, op: Op) -> bool:
        """Whether an op stands in those partitions that need its result, wherever it was placed."""
        return not is_control(op) and bool(op.results) and (op.results[0] in self.free or is_view(op))

    def is_everywhere(self, op: Op) -> bool:
        """Whether an op is a check that each partition makes for itself: of sizes, positions and number arguments."""
        return op.name == "check" and all(value in self.free for value in op.operands)

    def failing(self, op: Op, devices: Iterable[str]) -> frozenset[str]:
        """Where an op fails, if it does; ``devices`` are all."""
        if self.is_everywhere(op):
            block, _ = self.blocks.place[op]
            return frozenset(device for device in devices if self.takes_part(device, block))
        return frozenset((self.at(op),)) if may_fail(op) else frozenset()

    def home(self, value: Value) -> str:
        """The device from which a value is sent to others."""
        known = self._home(value)
        if known is not None:
            return known
        maker = self.blocks.maker.get(value) or self.blocks.defined[value][0].owner
        return self.any_of(maker) if maker is not None and is_control(maker) else HOME

    def result_home(self, value: Value) -> str:
        """The device that gives a result of the function: home for what is computed in another process."""
        home = self.home(value)
        return HOME if is_elsewhere(home) else home

    def is_at(self, device: str, value: Value) -> bool:
        """Whether a device has a value without being sent it: since it computes it, or it is an argument's."""
        return (value in self._shared and not is_gpu(device)) or self.home(value) == device

    def any_of(self, op: Op) -> str:
        """A device that takes part in a branch or loop."""
        taking, wanted = self.participants(op), self.device(op)
        return wanted if wanted in taking else min(taking, key=device_order)

    def takes_part(self, device: str, block: Block) -> bool:
        return block.owner is None or device in self.participants(block.owner)

    def participants(self, op: Op) -> frozenset[str]:
        """The devices that have something to do in a branch or loop, or keep what it gives."""
        known = self._participants.get(op)
        if known is None:
            found: set[str] = set()
            for block in self.blocks.of_op[op]:
                for inner in block.region.body:
                    if is_control(inner):
                        found |= self.participants(inner)
                    elif not self.on_demand(inner):
                        found.add(self.at(inner))
            kept = [*op.results, *(value for region in op.regions for value in carried_by(op, region))]
            found.update(home for value in kept if (home := self._home(value)) is not None)
            known = self._participants[op] = frozenset(found or {self.device(op)})
        return known

    # Homes

    def _home(self, value: Value) -> str | None:
        """The home of a value, None if it is free or nothing tells."""
        if value in self._homes:
            return self._homes[value]
        if value in self._asked:  # what goes round in a circle says nothing
            return None
        self._asked.add(value)
        found = self._find(value)
        self._asked.remove(value)
        if found is not None or not self._asked:
            self._homes[value] = found
        return found

    def _find(self, value: Value) -> str | None:
        if value in self.parameters and value not in self.free:
            return self.parameters[value]
        if is_storage(value):
            return self._of_storage(value)
        if value in self.free:
            return None
        maker = self.blocks.maker.get(value)
        if maker is None:
            loop, own = self._slot(value)
            body = loop.regions[-1]
            same = carried_by(loop, body)[own]
            return self._home(same) if same is not value else self._first((body.yielded[own], _starting(loop)[own]))
        if maker.name == "if":
            return self._first(region.yielded[maker.results.index(value)] for region in maker.regions)
        if is_control(maker):
            return self._home(carried_by(maker, maker.regions[-1])[maker.results.index(value)])
        return self._home(maker.operands[0]) if is_view(maker) else self.device(maker)

    def _first(self, values: Iterable[Value]) -> str | None:
        return next((home for value in values if (home := self._home(value)) is not None), None)

    def _slot(self, parameter: Value) -> tuple[Op, int]:
        """The loop that has a parameter in one of its regions, and which of the values it carries this is."""
        block, _ = self.blocks.defined[parameter]
        assert block.owner is not None
        return block.owner, list(carried_by(block.owner, block.region)).index(parameter)

    def _of_storage(self, value: Value) -> str:
        """The one device of all that a place, a variable or a tape may show."""
        shown: set[Value] = set()
        for place in self.effects.places(value):
            if place is ANYTHING:
                shown.update(parameter for parameter in self.parameters if is_storage(parameter))
            else:
                shown.add(place)
        found = {
            self.parameters[place] if place in self.parameters else self.device(self.blocks.maker[place])
            for place in shown
            if place in self.parameters or place in self.blocks.maker
        }
        if len(found) > 1:
            raise CompilerBug(f"expected storage on one device, got {', '.join(sorted(found))}", pass_name="partition")
        return next(iter(found), HOME)

    # Verifying the placement

    def _verify(self) -> None:
        for block in self.blocks.all:
            for op in block.region.body:
                if is_control(op):
                    for value in (*op.results, *(value for region in op.regions for value in region.parameters)):
                        if is_storage(value):
                            self._of_storage(value)
                    continue
                device = self.at(op)
                for inner in (op, *walk_inside(op)):
                    if calls_python(inner):
                        self._require(op, device, HOME, "calls of Python")
                for value in op.operands:
                    if is_storage(value):
                        self._require(op, device, self._of_storage(value), "ops on storage")
                for inner in walk_inside(op):
                    self._require(op, self.device(inner), device, "the ops of a region that is not split")

    def _require(self, op: Op, found: str, expected: str, what: str) -> None:
        if found != expected:
            self._fail(op, f"expected {what} on {expected}, got {found}")

    def _fail(self, op: Op, message: str) -> NoReturn:
        raise CompilerBug(message, pass_name="partition", operation=print_op(op), location=op.loc)


def device_order(device: str) -> tuple[bool, int, str, int]:
    """The order of devices: home, then by node, kind and number."""
    return device != HOME, node_of(device), kind_of(device), int(device.rpartition(":")[2] or 0)


def _starting(loop: Op) -> Sequence[Value]:
    return loop.operands[3:] if loop.name == "for" else loop.operands


def _free_values(function: Function, blocks: Blocks) -> set[Value]:
    """The values that every partition computes for itself."""
    slots = {
        (op, number)
        for op in blocks.of_op
        if op.name != "if"
        for number, value in enumerate(op.results)
        if _is_number(value.type)
    }
    while True:
        free = {value for value in function.parameters if _is_number(value.type)}
        for block in blocks.all:
            loop = block.owner
            if loop is not None and loop.name != "if":
                carried = carried_by(loop, block.region)
                free.update(value for number, value in enumerate(carried) if (loop, number) in slots)
                free.update(block.region.parameters[: len(block.region.parameters) - len(carried)])
        for block in blocks.all:
            for op in block.region.body:
                if _is_free(op, free):
                    free.update(op.results)
        refuted = {
            (loop, number)
            for loop, number in slots
            if _starting(loop)[number] not in free or loop.regions[-1].yielded[number] not in free
        }
        if not refuted:
            return free
        slots -= refuted


def _is_free(op: Op, free: set[Value]) -> bool:
    if op.name in ("constant", "size", "empty", "iota"):
        return True
    if op.regions or len(op.results) != 1 or not op.operands or not all(value in free for value in op.operands):
        return False
    return is_view(op) or (is_pure(op) and all(_is_number(value.type) for value in (*op.operands, op.result)))


def _is_number(kind: Type) -> bool:
    return isinstance(kind, Scalar | Index)
