"""Writes the function of each partition: its ops in the order of the program, with messages in between.

Values are the same objects in all partitions: what is received is the very value, so nothing is renamed. In a gap
between two ops everything is sent before anything is awaited, and the meeting comes behind both.

With ``transfer``, a shorter dtype, arrays of f32 are cast to it in order to be sent, and back where they arrive: the
lossy compression of section 5.5 of Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed
Systems", 2016.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from jitflow.config import CONFIG
from jitflow.ir.core import Builder, Fact, Function, Op, Region, Value
from jitflow.ir.dims import symbol, symbols
from jitflow.ir.dtypes import F32, DType
from jitflow.ir.effects import Effects
from jitflow.ir.types import Index, Tensor, dims_of
from jitflow.passes.analyses.order import named_sizes
from jitflow.passes.partition.blocks import Block, Blocks, Size, carried_by, is_control
from jitflow.passes.partition.crossing import Crossing, Message, is_plain
from jitflow.passes.partition.homes import Homes
from jitflow.passes.partition.records import Partition, Partitioned, verify_partitioned
from jitflow.passes.partition.waiting import Note, Waiting, meetings_of, notes_of

__all__ = ["partition"]


def partition(function: Function, transfer: DType | None = None) -> Partitioned:
    """The partitions of a placed function, whose arrays of f32 are sent as ``transfer`` if that is given.

    Raises `CompilerBug` for a placement that cannot be: storage on several devices, calls of Python away from home.
    """
    blocks, effects = Blocks(function), Effects(function)
    homes = Homes(function, blocks, effects)
    meetings = meetings_of(function, effects)
    crossing = Crossing(function, blocks, homes, meetings)
    messages = list(crossing.messages.values())
    notes: list[Note] = []
    if len(crossing.devices) > 1:
        waiting = Waiting(blocks, homes, effects, crossing.devices, messages, meetings)
        messages += waiting.tokens()
        notes = notes_of(blocks, homes, crossing.devices)
    messages.sort(key=lambda message: (message.block.number, message.sent, message.awaited, _kind(message)))
    channels = {message: number for number, message in enumerate(messages)}
    cut = [
        _Cut(device, function, blocks, crossing, channels, notes, meetings, transfer).partition()
        for device in crossing.devices
    ]
    partitioned = Partitioned(function, tuple(cut))
    if CONFIG.verify:
        verify_partitioned(partitioned)
    return partitioned


def _kind(message: Message) -> int:
    """The order of what arrives in one gap: sizes, arrays that tell sizes, other values, tokens."""
    if isinstance(message.what, Size):
        return 0
    if message.what is None:
        return 3
    return 1 if is_plain(message.what) else 2


class _Cut:
    """One partition."""

    def __init__(
        self,
        device: str,
        function: Function,
        blocks: Blocks,
        crossing: Crossing,
        channels: dict[Message, int],
        notes: Sequence[Note],
        meetings: Sequence[int],
        transfer: DType | None,
    ) -> None:
        self.device = device
        self.transfer = transfer
        self.function = function
        self.blocks = blocks
        self.crossing = crossing
        self.channels = channels
        self.ops = crossing.ops.get(device, set())
        self.sent: dict[tuple[Block, int], list[Message]] = {}
        self.awaited: dict[tuple[Block, int], list[Message]] = {}
        for message in channels:
            if message.source == device:
                self.sent.setdefault((message.block, message.sent), []).append(message)
            if message.target == device:
                self.awaited.setdefault((message.block, message.awaited), []).append(message)
        self.notes: dict[tuple[Block, int], list[Note]] = {}
        for note in notes:
            if note.device == device:
                self.notes.setdefault((note.block, note.index), []).append(note)
        self.late = crossing.late.get(device, {})
        last = len(blocks.root.region.ops) - 1
        self.meetings = {(blocks.root, index) for index in (*meetings, last) if len(crossing.devices) > 1}
        self.gaps = {*self.sent, *self.awaited, *self.late, *self.meetings, *self.notes}
        """Where anything stands between the ops of the whole function."""

    def partition(self) -> Partition:
        function, homes = self.function, self.crossing.homes
        parameters = self.parameters()
        results = [
            number for number, value in enumerate(function.results) if homes.result_home(value) == self.device
        ]  # fmt: skip
        region = self.region(self.blocks.root, [function.parameters[position] for position in parameters], results)
        name = f"{function.name}.{self.device.replace(':', '').replace('/', '.')}"
        cut = Function(name, region, self.facts(region), function.layer, self.attributes(parameters))
        return Partition(self.device, cut, tuple(parameters), tuple(results))

    def parameters(self) -> list[int]:
        """Positions of what it takes: what it uses, and what tells the sizes of that."""
        has = self.crossing.has
        taken = {number for number, value in enumerate(self.function.parameters) if has(self.device, value)}
        while True:
            known = {name for number in taken for name in named_sizes(self.function.parameters[number].type)}
            missing = [
                size
                for number in taken
                for size in self.blocks.sizes_of_value[self.function.parameters[number]]
                if size.name not in known
            ]
            if not missing:
                return sorted(taken)
            taken.update(self.function.parameters.index(size.binders[0]) for size in missing)

    def facts(self, region: Region) -> tuple[Fact, ...]:
        """Those about sizes that are known when it is called."""
        known = {name for value in region.parameters for name in named_sizes(value.type)}
        return tuple(
            fact for fact in self.function.facts if known.issuperset((*symbols(fact.left), *symbols(fact.right)))
        )

    def attributes(self, parameters: Sequence[int]) -> MappingProxyType[str, Any]:
        """Those of the whole function, with positions among the parameters of this one."""
        found: dict[str, Any] = {}
        for key, value in self.function.attributes.items():
            if key == "variables":
                value = tuple(parameters.index(position) for position in value if position in parameters)
                if not value:
                    continue
            elif key == "layouts":
                value = tuple(value[position] for position in parameters)
            if key != "devices":
                found[key] = value
        return MappingProxyType(found)

    # Regions

    def region(self, block: Block, parameters: Sequence[Value], yielded: Sequence[int]) -> Region:
        builder = Builder()
        for index, op in enumerate(block.region.ops):
            if (block, index) in self.gaps:
                builder.loc = op.loc
                self.gap(builder, block, index)
            if op.name == "yield":
                kept = tuple(op.operands[number] for number in yielded)
                builder.ops.append(replace(op, operands=kept, attributes=_without_device(op)))
            elif op in self.ops and (self.device, op) not in self.crossing.needed:
                builder.ops.append(self.control(op) if is_control(op) else _unplaced(op))
        return Region(tuple(parameters), tuple(builder.ops))

    def gap(self, builder: Builder, block: Block, index: int) -> None:
        """What stands in front of an op of the whole function."""
        loc = builder.loc
        messages, late = self.sent.get((block, index), ()), self.late.get((block, index), ())
        sent_views = _with_sources({message.what for message in messages}, late)
        builder.ops += [_unplaced(op) for op in late if op in sent_views]
        for message in messages:
            if message.sent > 0:
                builder.loc = block.region.ops[message.sent - 1].loc
            sent = message.what
            what: tuple[Value, ...] = (sent,) if isinstance(sent, Value) else ()
            if isinstance(sent, Size):
                what = builder.add("size", dim=symbol(sent.name))
            elif self.transfer is not None and _is_compressed(message):
                what = builder.add("cast", *what, dtype=self.transfer)
            builder.add("send", *what, channel=self.channels[message], to=message.target)
        builder.loc = loc
        for message in self.awaited.get((block, index), ()):
            builder.add("recv", types=(), channel=self.channels[message], source=message.source)
            arriving = _arriving(message)
            if self.transfer is not None and _is_compressed(message):
                (whole,) = arriving
                short = Value(Tensor(self.transfer, dims_of(whole.type)), whole.name)
                builder.ops[-1] = replace(builder.ops[-1], results=(short,))
                builder.add("cast", short, dtype=F32)
            builder.ops[-1] = replace(builder.ops[-1], results=arriving)
        builder.ops += [_unplaced(op) for op in late if op not in sent_views]
        if (block, index) in self.meetings:
            builder.add("meet")
        for note in self.notes.get((block, index), ()):
            if note.order is None:
                builder.add("progress", level=note.level)
            else:
                builder.add("progress", level=note.level, order=note.order)

    def control(self, op: Op) -> Op:
        """A branch or loop with what this partition has of it."""
        slots = self.crossing.carried.get(self.device, set())
        kept = [number for number in range(len(op.results)) if (op, number) in slots]
        first = {"if": 1, "for": 3, "while": 0}[op.name]
        operands = op.operands if op.name == "if" else (
            *op.operands[:first], *(op.operands[first + number] for number in kept)
        )  # fmt: skip
        regions = []
        for block in self.blocks.of_op[op]:
            own = carried_by(op, block.region)
            position = block.region.parameters[: len(block.region.parameters) - len(own)]
            parameters = [] if op.name == "if" else [*position, *(own[number] for number in kept)]
            is_test = op.name == "while" and block.region is op.regions[0]
            regions.append(self.region(block, parameters, [0] if is_test else kept))
        results = tuple(op.results[number] for number in kept)
        attributes = _without_device(op)
        if "counts" in attributes:
            attributes = MappingProxyType({key: value for key, value in attributes.items() if key != "counts"})
        return replace(op, operands=operands, results=results, regions=tuple(regions), attributes=attributes)


def _with_sources(values: Collection[object], views: Sequence[Op]) -> set[Op]:
    """Those of some views, in program order, that give one of the values, or show it to another of them."""
    found: set[Op] = set()
    wanted = set(values)
    for view in reversed(views):
        if view.result in wanted:
            found.add(view)
            wanted.update(view.operands)
    return found


def _is_compressed(message: Message) -> bool:
    kind = message.what.type if isinstance(message.what, Value) else None
    return isinstance(kind, Tensor) and kind.dtype == F32 and bool(kind.dims)


def _arriving(message: Message) -> tuple[Value, ...]:
    if isinstance(message.what, Size):
        return (Value(Index(symbol(message.what.name)), message.what.name),)
    return () if message.what is None else (message.what,)


def _without_device(op: Op) -> MappingProxyType[str, Any]:
    return MappingProxyType({key: value for key, value in op.attributes.items() if key != "device"})


def _unplaced(op: Op) -> Op:
    """An op, and those inside of it, without its device, which is that of its partition."""
    if "device" not in op.attributes and not op.regions:
        return op
    regions = tuple(Region(region.parameters, tuple(map(_unplaced, region.ops))) for region in op.regions)
    return Op(op.definition, op.operands, op.results, _without_device(op), regions, op.loc)
