"""The order of effects across devices: who waits for whom, where all meet, and who notes how far it has come.

Each partition keeps the order of its own ops. Between two partitions, of what `jitflow.ir.effects` calls a conflict,
three things remain, since storage is on one device, and of several errors the first is chosen afterwards:

- what the caller can see is written behind everything that may fail before it;
- what trusts a check, since its sizes or positions come from data, comes behind everything that may fail before it;
- a call of Python comes behind everything that may fail or touches what the caller can see, and what touches that
  comes behind the call;
- a turn of a ``while`` waits for what may fail before it, since nobody else may end the loop.

So a partition waits for a *token* from each other one that does such things: awaited in front of the op, sent directly
behind the last of them. Values that are sent behind it and arrive before serve as well. Where one of the two takes no
part in a branch or loop, the token crosses in front of it. Checks of sizes, positions and number arguments alone every
partition makes for itself.

All ``meet`` in front of the first store to a variable that outlives the program: `commit` has put it behind the last
op that may fail. They meet once more at the end.

Where several partitions may fail, each notes the number of the op that comes next, if another partition may have
failed since its last note, and the turns of the loops in which several may fail (`jitflow.ir.channels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jitflow.errors import CompilerBug
from jitflow.ir.core import Function, Op, Region, Value
from jitflow.ir.dims import Expression
from jitflow.ir.effects import ANYTHING, Effects, is_view, may_fail
from jitflow.ir.printer import print_op
from jitflow.passes.partition.blocks import Block, Blocks, is_control
from jitflow.passes.partition.crossing import Message
from jitflow.passes.partition.homes import Homes
from jitflow.records import cached, dataclass

__all__ = ["Note", "Waiting", "meetings_of", "notes_of"]

FAILS, CALLS, TOUCHES = "fails", "calls", "touches"

Pending = dict[tuple[str, str, str], int]
"""What a partition has done that another one has not been told of: the two, what it was, and the number of the last
such op in the block at hand, -1 if that was before it."""


def meetings_of(function: Function, effects: Effects) -> tuple[int, ...]:
    """The numbers of the ops in front of which all meet, but for the last one, before variables are stored to.

    The first op that stores to a variable which outlives the program may fail before it does so: then they meet behind
    it as well.
    """
    lasting = {function.parameters[position] for position in function.attributes.get("variables", ())}
    if not lasting:
        return ()
    found: tuple[int, ...] = ()
    for number, op in enumerate(function.region.body):
        if not found and any(
            access.kind == "writes" and (ANYTHING in access.places or not lasting.isdisjoint(access.places))
            for access in effects.of(op)
        ):
            found = (number, number + 1) if may_fail(op) else (number,)
        elif found and may_fail(op):
            message = "expected nothing that may fail behind the first store to a lasting variable"
            raise CompilerBug(message, pass_name="partition", operation=print_op(op), location=op.loc)
    return found


@dataclass(eq=False)
class _Level:
    """A block that is being gone over, at the op with the number ``index``."""

    block: Block
    pending: Pending
    index: int = 0


class Waiting:
    """Finds the tokens of a function."""

    def __init__(
        self,
        blocks: Blocks,
        homes: Homes,
        effects: Effects,
        devices: Iterable[str],
        messages: Iterable[Message],
        meetings: Sequence[int],
    ) -> None:
        self.blocks = blocks
        self.homes = homes
        self.effects = effects
        self.devices = frozenset(devices)
        self.meetings = meetings
        self.arriving: dict[tuple[Block, int], list[Message]] = {}
        self.messages = list(messages)
        for message in self.messages:
            self.arriving.setdefault((message.block, message.awaited), []).append(message)
        self.levels: list[_Level] = []
        self.keeping = True
        self.found: dict[tuple[Block, int, str, str], Message] = {}

    def tokens(self) -> list[Message]:
        """All tokens, each as a message of nothing."""
        self._block(self.blocks.root, {})
        return list(self.found.values())

    @cached
    def relevant(self) -> dict[Block, list[int]]:
        """The numbers of the ops of each block that wait or are waited for, or in front of which something arrives."""
        found: dict[Block, list[int]] = {}
        for block in reversed(self.blocks.all):
            found[block] = [
                index
                for index, op in enumerate(block.region.ops)
                if self.doing.get(op)
                or op in self.needs
                or op in self.views
                or (block, index) in self.arriving
                or (block.outer is None and index in self.meetings)
                or (op.name == "yield" and block.owner is not None and block.region is _test(block.owner))
                or (is_control(op) and any(found[own] for own in self.blocks.of_op[op]))
            ]
        return found

    @cached
    def views(self) -> dict[Op, str]:
        """The views that are sent and trust a check, with the devices that read what they show."""
        sent = [(message.what, message.source) for message in self.messages if isinstance(message.what, Value)]
        makers = [(self.blocks.maker[value], device) for value, device in sent if value in self.blocks.maker]
        return {op: device for op, device in makers if not is_control(op) and is_view(op) and self._trusts(op)}

    @cached
    def needs(self) -> dict[Op, set[str]]:
        """What has to have been done everywhere before an op."""
        ops = (op for block in self.blocks.all for op in block.region.body if not is_control(op))
        return {op: needs for op in ops if not self.homes.on_demand(op) and (needs := self._needs(op))}

    @cached
    def doing(self) -> dict[Op, frozenset[tuple[str, str]]]:
        """What each op does that others may have to wait for, and where; of branches and loops, what is inside."""
        found: dict[Op, frozenset[tuple[str, str]]] = {}
        for block in reversed(self.blocks.all):
            for op in block.region.body:
                if is_control(op):
                    inside = [found[inner] for own in self.blocks.of_op[op] for inner in own.region.body]
                    found[op] = frozenset().union(*inside)
                else:
                    found[op] = frozenset((self.homes.at(op), kind) for kind in self._kinds(op))
        return found

    def _kinds(self, op: Op) -> set[str]:
        kinds = {FAILS} if may_fail(op) else set()
        for access in self.effects.of(op):
            if access.kind == "external":
                kinds.add(CALLS)
            elif access.kind in ("reads", "writes") and self._is_visible(access.places):
                kinds.add(TOUCHES)
        return kinds

    def _is_visible(self, places: frozenset[Value]) -> bool:
        return self.effects.visible is None or not self.effects.visible.isdisjoint(places)

    def _needs(self, op: Op) -> set[str]:
        needs = {FAILS} if self._trusts(op) else set()
        for access in self.effects.of(op):
            if access.kind == "external":
                needs |= {FAILS, TOUCHES}
            elif access.kind in ("reads", "writes") and self._is_visible(access.places):
                needs |= {CALLS, FAILS} if access.kind == "writes" else {CALLS}
        return needs

    def _trusts(self, op: Op) -> bool:
        """Whether an op is right, and stays in its memory, only if checks before it hold."""
        if op.name in ("peek", "poke") or op.attributes.get("assumed"):
            return True
        if op.name == "slice" and any(isinstance(start, Expression) for start in op.attributes["starts"]):
            return True
        if any(size.block is not self.blocks.root or size.index >= 0 for size in self.blocks.sizes[op]):
            return True
        makers = (self.blocks.maker.get(value) for value in op.operands)
        return any(self._trusts(maker) for maker in makers if maker is not None and _is_layout(maker))

    # Going over the program

    def _block(self, block: Block, pending: Pending) -> Pending:
        """Go over a block; what is pending at its end."""
        level = _Level(block, pending)
        self.levels.append(level)
        for index in self.relevant[block]:
            op = block.region.ops[index]
            level.index = index
            self._arrive(level)
            if block.outer is None and index in self.meetings:
                pending.clear()
            if is_control(op):
                self._control(op, level)
            elif op in self.needs:
                self._wait(self.homes.at(op), self.needs[op], self.devices)
            elif op in self.views:
                self._wait(self.views[op], {FAILS}, self.devices)
            elif block.owner is not None and op.name == "yield" and block.region is _test(block.owner):
                taking = self.homes.participants(block.owner)
                for device in sorted(taking):
                    self._wait(device, {FAILS}, taking)
            if op in self.doing and not is_control(op):
                self._done(op, level)
        self.levels.pop()
        return pending

    def _arrive(self, level: _Level) -> None:
        for message in self.arriving.get((level.block, level.index), ()):
            self._told(level.pending, message.source, message.target, message.sent - 1)

    def _told(self, pending: Pending, source: str, target: str, last: int) -> None:
        for kind in (FAILS, CALLS, TOUCHES):
            if pending.get((source, target, kind), last + 1) <= last:
                del pending[source, target, kind]

    def _done(self, op: Op, level: _Level) -> None:
        everywhere = self.homes.is_everywhere(op)
        for device, kind in self.doing[op]:
            for other in self.devices:
                if other != device and not (everywhere and self.homes.takes_part(other, level.block)):
                    level.pending[device, other, kind] = level.index

    def _control(self, op: Op, level: _Level) -> None:
        taking = self.homes.participants(op)
        if op.name == "while":
            for device in sorted(taking):
                self._wait(device, {FAILS}, self.devices - taking)
        before = dict.fromkeys(level.pending, -1)
        own = self.blocks.of_op[op]
        if op.name == "if":
            ends = [self._block(block, dict(before)) for block in own]
        else:
            keeping, self.keeping = self.keeping, False
            known = [dict(around.pending) for around in self.levels]
            while True:
                after = self._turn(own, dict(before))[-1]
                if after.keys() <= before.keys():
                    break
                before.update(dict.fromkeys(after, -1))
            self.keeping = keeping
            for around, pending in zip(self.levels, known, strict=True):
                around.pending.clear()
                around.pending.update(pending)
            ends = [before, *self._turn(own, dict(before))[:1]] if op.name == "for" else self._turn(own, before)[:1]
        left = {key for end in ends for key in end}
        inside = self.doing[op]
        for key in [key for key in level.pending if key not in left]:
            del level.pending[key]
        for key in left:
            if (key[0], key[2]) in inside or key not in level.pending:
                level.pending[key] = level.index

    def _turn(self, own: list[Block], pending: Pending) -> list[Pending]:
        """Go over the blocks of a loop in their order; what is pending behind each."""
        ends: list[Pending] = []
        for block in own:
            pending = dict.fromkeys(self._block(block, pending), -1)
            ends.append(dict(pending))
        return ends

    # Waiting

    def _wait(self, device: str, needs: set[str], others: Iterable[str]) -> None:
        """Let ``device`` wait here until each of the others has done what is needed."""
        for other in sorted(others):
            if other == device:
                continue
            here = self.levels[-1].pending
            if any((other, device, kind) in here for kind in needs):
                self._token(other, device, needs)

    def _token(self, source: str, target: str, needs: set[str]) -> None:
        depth = len(self.levels) - 1
        while not self.homes.takes_part(source, self.levels[depth].block):
            depth -= 1
        level = self.levels[depth]
        last = max(level.pending.get((source, target, kind), -1) for kind in needs)
        for inner in self.levels[depth + 1 :]:
            self._told(inner.pending, source, target, -1)
        self._told(level.pending, source, target, last)
        if self.keeping:
            token = Message(None, source, target, level.block, last + 1, level.index)
            self.found.setdefault((level.block, level.index, source, target), token)


def _is_layout(op: Op) -> bool:
    return "view" in op.definition.traits


def _test(loop: Op) -> Region | None:
    """The region with the condition of a ``while``."""
    return loop.regions[0] if loop.name == "while" else None


# -- notes of progress


@dataclass(frozen=True)
class Note:
    """``progress`` of ``device`` in front of the op of ``block`` with the number ``index``; it counts without order."""

    device: str
    block: Block
    index: int
    level: int
    order: int | None


def notes_of(blocks: Blocks, homes: Homes, devices: Iterable[str]) -> list[Note]:
    """The notes that tell which of several errors is first; none where all that may fail does so in the same places."""
    devices = tuple(devices)
    failing: dict[Op, frozenset[frozenset[str]]] = {}
    for block in reversed(blocks.all):
        for op in block.region.body:
            if is_control(op):
                inside = [failing[inner] for own in blocks.of_op[op] for inner in own.region.body]
                failing[op] = frozenset().union(*inside)
            else:
                found = homes.failing(op, devices)
                failing[op] = frozenset((found,)) if found else frozenset()
    notes: list[Note] = []
    if len(frozenset().union(*(failing[op] for op in blocks.root.region.body))) > 1:
        _note(blocks.root, 0, blocks, failing, notes)
    return notes


def _note(
    block: Block, level: int, blocks: Blocks, failing: Mapping[Op, frozenset[frozenset[str]]], notes: list[Note]
) -> None:
    noted: frozenset[str] = frozenset()
    for index, op in enumerate(block.region.body):
        if not failing[op]:
            continue
        devices: frozenset[str] = frozenset().union(*failing[op])
        several = len(failing[op]) > 1
        if not several or op.name != "if":
            noting = devices if several else devices - noted
            notes.extend(Note(device, block, index, level, blocks.order[op]) for device in sorted(noting))
        noted = frozenset() if several else devices
        if several:
            own = blocks.of_op[op]
            if op.name != "if":
                notes.extend(Note(device, own[0], 0, level + 1, None) for device in sorted(devices))
            for inner in own:
                _note(inner, level if op.name == "if" else level + 2, blocks, failing, notes)
