"""What each partition has, and what crosses from one to another.

A partition has the ops that were placed on its device. From there on it asks for what they take: a value that is on
its device is there; a free one it computes for itself; of a view it takes what is shown, unless nothing but one narrow
view is needed here, which then crosses instead; everything else is sent from its home, once, in the region that makes
it. Sizes that a partition mentions it knows from what it takes and makes, else from the first array that arrives, else
they are sent as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Expression
from jitflow.ir.effects import is_view, may_fail
from jitflow.ir.types import Index, dims_of
from jitflow.machines.hardware import HOME
from jitflow.passes.analyses.order import named_sizes, reads_of
from jitflow.passes.partition.blocks import Block, Blocks, Place, Size, carried_by, is_control
from jitflow.passes.partition.homes import Homes, device_order
from jitflow.records import dataclass

__all__ = ["Crossing", "Message", "is_plain"]

_NARROWING = frozenset({"slice", "diagonal", "window"})
"""Views that may show less than there is; the others show all of it."""

Slot = tuple[Op, int]
"""A result of a loop or branch, and what the loop carries for it."""


@dataclass(eq=False)
class Message:
    """What crosses from ``source`` to ``target``: a value, a size, or nothing.

    Sent and awaited in gaps of ``block``: in front of its ops with the numbers ``sent`` and ``awaited``.
    """

    what: Value | Size | None
    source: str
    target: str
    block: Block
    sent: int
    awaited: int


class Crossing:
    """What is where, once everything that is asked for is known. ``meetings``: the ops in front of which all meet."""

    def __init__(self, function: Function, blocks: Blocks, homes: Homes, meetings: Sequence[int]) -> None:
        self.function = function
        self.blocks = blocks
        self.homes = homes
        self.meetings = meetings
        self.ops: dict[str, set[Op]] = {HOME: set()}
        """For each device the ops that it has."""
        self.carried: dict[str, set[Slot]] = {}
        """For each device the results of branches and loops that it has."""
        self.messages: dict[tuple[Value | Size, str], Message] = {}
        self.needed: dict[tuple[str, Op], int] = {}
        """For each device the views that it takes late: the gap of their block where they are needed first."""
        self.late: dict[str, dict[Place, list[Op]]] = {}
        self._asked: set[tuple[str, Value]] = set()
        self._waiting: list[tuple[str, Value]] = []
        self._narrow: list[tuple[str, Value]] = []
        self._roots()
        self._ask_all()
        self._check_everywhere()
        for device in self.devices:
            self._await_values(device)
        for device in self.devices:
            self._await_sizes(device)

    @property
    def devices(self) -> list[str]:
        return sorted(self.ops, key=device_order)

    def has(self, device: str, value: Value) -> bool:
        """Whether a partition takes, makes or carries a value; otherwise it is sent to it, if it needs it."""
        if value in self.homes.parameters:
            return (device, value) in self._asked and (value in self.homes.free or self.homes.is_at(device, value))
        maker = self.blocks.maker.get(value)
        if maker is not None and is_control(maker):
            return (maker, maker.results.index(value)) in self.carried.get(device, ())
        if maker is not None:
            return maker in self.ops.get(device, ())
        block, _ = self.blocks.defined[value]
        assert block.owner is not None
        carried = list(carried_by(block.owner, block.region))
        if value not in carried:  # the position
            return self.homes.takes_part(device, block)
        return (block.owner, carried.index(value)) in self.carried.get(device, ())

    # Asking

    def _roots(self) -> None:
        for block in self.blocks.all:
            for op in block.region.ops:
                if op.name == "yield":
                    continue
                if not is_control(op):
                    if not self.homes.on_demand(op):
                        self._have(self.homes.at(op), op)
                    continue
                for device in self.homes.participants(op):
                    self._have(device, op)
                for number, value in enumerate(op.results):
                    self._carry(self.homes.home(value), op, number)
        for value in self.function.results:
            self._ask(self.homes.result_home(value), value)

    def _check_everywhere(self) -> None:
        """What a partition does may trust any check before it, so it makes those that it can make."""
        for block in self.blocks.all:
            for op in block.region.body:
                if self.homes.is_everywhere(op):
                    for device in self.devices:
                        if self.homes.takes_part(device, block):
                            self._have(device, op)
        self._ask_all()

    def _have(self, device: str, op: Op) -> None:
        """A partition has an op, for which it needs the operands."""
        self.ops.setdefault(device, set()).add(op)
        taken = op.operands
        if op.name == "for":
            taken = op.operands[:3]
        elif op.name == "while":
            taken = op.regions[0].yielded
        elif not is_control(op):
            taken = tuple(reads_of(op))
        for value in taken:
            if value in self.blocks.defined:
                self._ask(device, value)

    def _carry(self, device: str, op: Op, number: int) -> None:
        slots = self.carried.setdefault(device, set())
        if (op, number) in slots:
            return
        slots.add((op, number))
        regions = op.regions if op.name == "if" else op.regions[-1:]
        for region in regions:
            self._ask(device, region.yielded[number])
        if op.name != "if":
            self._ask(device, op.operands[number + (3 if op.name == "for" else 0)])

    def _ask(self, device: str, value: Value) -> None:
        if (device, value) not in self._asked:
            self._asked.add((device, value))
            self.ops.setdefault(device, set())
            self._waiting.append((device, value))

    def _ask_all(self) -> None:
        while self._waiting or self._narrow:
            while self._waiting:
                self._answer(*self._waiting.pop())
            self._choose()

    def _answer(self, device: str, value: Value) -> None:
        maker = self.blocks.maker.get(value)
        home = self.homes.home(value)
        if maker is not None and not is_control(maker) and self.homes.on_demand(maker):
            if value in self.homes.free or self.homes.is_at(device, value) or maker.name not in _NARROWING:
                self._have(device, maker)
            else:
                self._narrow.append((device, value))
        elif value in self.homes.free:
            self._answer_free(device, value)
        elif not self.homes.is_at(device, value):
            self._answer_result(device, value, home)

    def _answer_free(self, device: str, value: Value) -> None:
        """A number of a loop or an argument, which every partition has that needs it."""
        block, _ = self.blocks.defined[value]
        if block.owner is not None:
            carried = list(carried_by(block.owner, block.region))
            if value in carried:
                self._carry(device, block.owner, carried.index(value))

    def _answer_result(self, device: str, value: Value, home: str) -> None:
        maker = self.blocks.maker.get(value)
        if maker is not None and is_control(maker) and maker.name != "if" and device in self.homes.participants(maker):
            number = maker.results.index(value)
            if carried_by(maker, maker.regions[-1])[number] in self.homes.free:
                self._carry(device, maker, number)
                return
        self._send(device, value, home)

    def _send(self, device: str, value: Value, home: str) -> None:
        block, index = self.blocks.defined[value]
        maker = self.blocks.maker.get(value)
        sent = index + 1 if maker is None or not is_view(maker) else self._earliest(maker)
        self.messages[value, device] = Message(value, home, device, block, sent, -1)
        self._ask(home, value)

    def _earliest(self, view: Op) -> int:
        """The gap of its block in which a view can be taken: what it shows is there, and what it trusts was checked."""
        block, index = self.blocks.place[view]
        known = [self.blocks.defined[value] for value in view.operands]
        known += [(size.block, size.index) for size in self.blocks.sizes[view]]
        first = max((number + 1 for where, number in known if where is block), default=0)
        return next((gap for gap in range(index, first, -1) if may_fail(block.region.ops[gap - 1])), first)

    def _choose(self) -> None:
        """Of narrow views of values that are elsewhere: what they show crosses, if it is here anyway or of several."""
        waiting, self._narrow = self._narrow, []
        shown = [(device, self.blocks.maker[value].operands[0]) for device, value in waiting]
        for (device, value), source in zip(waiting, shown, strict=True):
            maker, home = self.blocks.maker[value], self.homes.home(value)
            block, _ = self.blocks.defined[value]
            if self._is_here(*source) or shown.count(source) > 1 or not self.homes.takes_part(home, block):
                self._have(device, maker)
            else:
                self._send(device, value, home)

    def _is_here(self, device: str, value: Value) -> bool:
        maker = self.blocks.maker.get(value)
        return (device, value) in self._asked or (
            maker is not None and is_view(maker) and self._is_here(device, maker.operands[0])
        )

    # When it is needed

    def _await_values(self, device: str) -> None:
        """When each value has to be there; views of what arrives are taken where they are needed first."""
        views = {op for op in self.ops.get(device, ()) if is_view(op) and op.result not in self.homes.free}
        for value, place in self._uses(device, views):
            self._used(device, value, place, views)
        for message in self.messages.values():
            if message.source == device and isinstance(message.what, Value):
                maker = self.blocks.maker.get(message.what)
                gap = message.sent - (maker not in views)
                self._used(device, message.what, (message.block, gap), views)
        for op in sorted(views, key=self.blocks.order.__getitem__, reverse=True):
            block, _ = self.blocks.place[op]
            gap = self.needed[device, op]
            self._used(device, op.operands[0], (block, gap), views)
        for op in sorted(views, key=self.blocks.order.__getitem__):
            place = (self.blocks.place[op][0], self.needed[device, op])
            self.late.setdefault(device, {}).setdefault(place, []).append(op)

    def _used(self, device: str, value: Value, place: Place, views: set[Op]) -> None:
        message = self.messages.get((value, device))
        if message is not None:
            self._needed_at(message, place)
            return
        maker = self.blocks.maker.get(value)
        if maker in views:
            gap = self.blocks.gap(place, self.blocks.place[maker][0])
            self.needed[device, maker] = min(gap, self.needed.get((device, maker), gap))

    def _needed_at(self, message: Message, place: Place) -> None:
        gap = self.blocks.gap(place, message.block)
        if message.block is self.blocks.root:  # nothing is awaited behind a meeting that can be here before
            gap = next((meeting for meeting in self.meetings if message.sent <= meeting < gap), gap)
        if message.awaited < 0 or gap < message.awaited:
            message.awaited = gap

    def _uses(self, device: str, views: set[Op]) -> Iterator[tuple[Value, Place]]:
        """Which values a partition needs, and where, but for views of others."""
        carried = self.carried.get(device, set())
        for op in self.ops.get(device, set()) - views:
            place = self.blocks.place[op]
            if not is_control(op):
                yield from ((value, place) for value in reads_of(op) if value in self.blocks.defined)
                continue
            yield from ((value, place) for value in op.operands[: {"if": 1, "for": 3, "while": 0}[op.name]])
            if op.name == "while":
                test = self.blocks.of_op[op][0]
                yield test.region.yielded[0], (test, len(test.region.ops) - 1)
        for op, number in carried:
            if op.name != "if":
                yield op.operands[number + (3 if op.name == "for" else 0)], self.blocks.place[op]
            for block in self.blocks.of_op[op] if op.name == "if" else self.blocks.of_op[op][-1:]:
                yield block.region.yielded[number], (block, len(block.region.ops) - 1)
        for value in self.function.results:
            if self.homes.result_home(value) == device:
                yield value, (self.blocks.root, len(self.blocks.root.region.ops) - 1)

    def _await_sizes(self, device: str) -> None:
        """Send the sizes that a partition mentions and does not know."""
        first = self._unknown(device)
        while at_hand := [value for size in first for value in size.binders if self._is_at_hand(device, value)]:
            self._ask(device, at_hand[0])
            self._ask_all()
            first = self._unknown(device)
        arriving = [message for message in self.messages.values() if message.target == device]
        for size, place in first.items():
            if any((m.block, m.awaited) == place and self._binds(m, size) for m in arriving):
                continue
            home = self.homes.home(size.binders[0])
            self._ask(home, next((value for value in size.binders if self.has(home, value)), size.binders[0]))
            self._ask_all()
            message = self.messages[size, device] = Message(size, home, device, size.block, size.index + 1, -1)
            self._needed_at(message, place)

    def _is_at_hand(self, device: str, value: Value) -> bool:
        """Whether a partition has a value as soon as it asks for it."""
        is_argument = value in self.homes.parameters and self.homes.is_at(device, value)
        return is_argument or value in self.homes.free

    def _unknown(self, device: str) -> dict[Size, Place]:
        """The sizes that a partition mentions and nothing binds that it has, each with the first place."""
        first: dict[Size, Place] = {}
        for size, place in self._mentions(device):
            if not any(self.has(device, value) for value in size.binders):
                gap = self.blocks.gap(place, size.block)
                if size not in first or gap < first[size][1]:
                    first[size] = (size.block, gap)
        return first

    def _binds(self, message: Message, size: Size) -> bool:
        """Whether what arrives tells a size."""
        value = message.what
        return isinstance(value, Value) and size.name in set(named_sizes(value.type)) and is_plain(value)

    def _mentions(self, device: str) -> Iterator[tuple[Size, Place]]:
        for op in self.ops.get(device, ()):
            block, index = self.blocks.place[op]
            place = (block, self.needed.get((device, op), index))
            if not is_control(op):
                yield from ((size, place) for size in self.blocks.sizes[op])
        for op, number in self.carried.get(device, ()):
            yield from ((size, self._behind(op, size)) for size in self.blocks.sizes_of_value[op.results[number]])
            if op.name != "if":
                for block in self.blocks.of_op[op]:
                    value = carried_by(op, block.region)[number]
                    yield from ((size, (block, 0)) for size in self.blocks.sizes_of_value[value])
        for message in list(self.messages.values()):
            if message.target == device and isinstance(message.what, Value):
                place = (message.block, message.awaited)
                yield from ((size, place) for size in self.blocks.sizes_of_value[message.what])

    def _behind(self, op: Op, size: Size) -> Place:
        """Where a size is mentioned in a result: the op must know it, unless it is bound by another result of it."""
        block, index = self.blocks.place[op]
        return block, index + (size.block is block and size.index == index)


def is_plain(value: Value) -> bool:
    """Whether all sizes in the type of a value are numbers or stand by their names."""
    dims = (value.type.dim,) if isinstance(value.type, Index) else dims_of(value.type)
    return all(not isinstance(dim, Expression) or dim.is_symbol for dim in dims)
