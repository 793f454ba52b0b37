"""What stands for a partition that another process runs: a party of the call's frame like the others.

Its code is a function of Python's on the thread of a worker. It begins the partition over there, and does to the frame
what the partition does: it sends what that sends, waits for what that waits for, meets when that meets, and ends as
that ends, with the record of how far it has come. To the other parties it is a partition that runs here. What it needs
of the arguments goes along with the call.
"""

from __future__ import annotations

import ctypes
import pickle
import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from jitflow.cluster.arguments import argument
from jitflow.cluster.memory import Block
from jitflow.cluster.nodes import Died, NodeHandle, node
from jitflow.cluster.parcels import FORGOTTEN, MAPPINGS, ROOMS, Parcel
from jitflow.cluster.partitions import SIGNATURES, PartitionText, as_text
from jitflow.errors import UserError, UserNotImplementedError, UserRuntimeError
from jitflow.ir.core import Function, walk
from jitflow.ir.location import Loc
from jitflow.ir.status import INTERRUPTED, OF_ANOTHER_PROCESS, ROUTINE_FAILED, ROUTINE_FAILED_ELSEWHERE
from jitflow.ir.together import MEET, PARTITION_PREFIX, RECEIVE, SEND
from jitflow.ir.types import Variable
from jitflow.machines.hardware import is_elsewhere, node_of
from jitflow.runtime.parallel.channels_text import ERROR_WORDS
from jitflow.runtime.parallel.frames_text import party_offset
from jitflow.user_lines import with_user_frames

if TYPE_CHECKING:
    from jitflow.compilation.compiler import Compilation

__all__ = ["StandIn", "stand_ins"]

_PATIENCE = 5.0
"""Seconds for which a node may go on after Ctrl-C before its process is ended."""

_POINTER, _NUMBER = ctypes.c_void_p, ctypes.c_int64
_PARTY = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, _POINTER, _POINTER)


def stand_ins(compilation: Compilation) -> dict[str, StandIn]:
    """Those of a program that is lowered, by name; their partitions are compiled by now.

    Raises `UserError` for what another process cannot run.
    """
    from jitflow.passes.lower import meets_at_end
    from jitflow.passes.lower.parts import argument_slots

    assert compilation.partitioned is not None
    whole, parts = compilation.partitioned.function, compilation.partitioned.partitions
    meets, slots = meets_at_end(compilation.fused), tuple(argument_slots(whole))
    levels = max(
        (op.attributes["level"] + 1 for part in parts for op in walk(part.function.region) if op.name == "progress"),
        default=0,
    )
    found = {}
    for part in parts:
        if not is_elsewhere(part.device):
            continue
        try:
            text, locations = as_text(part.function)
        except TypeError as error:
            raise UserNotImplementedError(
                f"this part of the program cannot be sent to {part.device}: {error}", location=_line_of(part.function)
            ) from None
        sent = PartitionText(
            text, locations, part.device, compilation.devices, meets,
            any(isinstance(value.type, Variable) for value in part.function.parameters), compilation.fastmath, levels,
        )  # fmt: skip
        one = StandIn(sent, part.function, [slots[position] for position in part.parameters])
        one.prepare()
        found[PARTITION_PREFIX + part.device] = one
    return found


class StandIn:
    """Of one partition of a program. ``address``: what a frame calls in the place of the partition's code."""

    def __init__(self, partition: PartitionText, function: Function, slots: Sequence[int]) -> None:
        self.partition, self.location = partition, _line_of(function)
        self.node = node_of(partition.device)
        self.key = secrets.randbits(62)
        self._arguments = [argument(value.type, slot) for value, slot in zip(function.parameters, slots, strict=True)]
        self._callback = _PARTY(self._run)
        self.address = ctypes.cast(self._callback, _POINTER).value or 0

    def __del__(self) -> None:
        FORGOTTEN.append(self.key)

    def prepare(self) -> NodeHandle:
        """The node, which has compiled the partition. Raises what that raises, and `UserRuntimeError` if it dies."""
        try:
            there = node(self.node)
            packed = there.need(self.key, self.partition)
        except UserError as error:
            raise error.at(self.location) from None
        except Died as death:
            raise self._death(death) from None
        if packed is not None:
            raised = pickle.loads(packed)
            raise raised.at(self.location) if isinstance(raised, UserError) else raised
        return there

    def _death(self, error: Died, *, has_met: bool = False) -> UserRuntimeError:
        again = "call again, and it is started anew"
        if has_met and self.partition.writes:
            again += "; it died while variables were written, so restore them from a checkpoint"
        return UserRuntimeError(f"node:{self.node} has died: {error}", mend=again, location=self.location)

    def _run(self, context: int, arguments: int, results: int, error: int) -> int:
        party = _Party(error, self.partition.levels)
        try:
            there = self.prepare()
            try:
                return self._converse(there, party, arguments)
            except Died as death:
                raise self._death(death, has_met=party.has_met) from None
        except BaseException as raised:
            located = with_user_frames(raised, self.location if isinstance(raised, UserError) else None)
            return party.fail(located, ())

    def _converse(self, there: NodeHandle, party: _Party, arguments: int) -> int:
        lent: list[Block] = []
        call = secrets.randbits(62)

        def look(waited: float) -> None:
            if not party.has_failed():
                return
            first = party.first_failure()
            there.tell("stop", call, first)
            if first is None and waited > _PATIENCE:
                there.kill()

        given = [one.packed(arguments, there.shares, lent) for one in self._arguments]
        answered: list[Block] = []
        end: tuple[Any, ...] | None = None
        talk = there.talk(call, self.key, given, look)
        try:
            while end is None:
                for event in talk.events():
                    ROOMS.give_back(answered)  # whatever comes next, the partition has had the last answer
                    match event:
                        case ("send", channel, receiver, parcel, size, words):
                            party.send(channel, receiver, parcel, size, words)
                        case ("receive", channel, sender, count):
                            talk.answer(party.receive(channel, sender, count, there.shares, answered))
                        case ("meet",):
                            talk.answer(party.meet())
                        case ("come",):
                            party.meet()
                        case ("wait",):
                            talk.answer(0)
                        case ("end", *_):
                            end = event
        finally:
            talk.end(end is not None)
            if end is not None:
                ROOMS.give_back(lent)  # otherwise it may still be read
        return self._end(party, arguments, *end[1:])

    def _end(
        self, party: _Party, arguments: int, status: int, record: tuple[int, ...], told: Any,
        written: Sequence[tuple[int, Parcel]],
    ) -> int:  # fmt: skip
        if told is not None:
            error, location = told
            return party.fail(with_user_frames(pickle.loads(error), location or self.location), record)
        for number, parcel in written:
            self._arguments[number].write(arguments, parcel)
        return status


def _line_of(function: Function) -> Loc | None:
    """The first line of the user's that a partition has."""
    own = (op.loc for op in walk(function.region) if op.loc.line > 0 and is_elsewhere(op.loc.device))
    return next(own, None) or next((op.loc for op in walk(function.region) if op.loc.line > 0), None)


class _Party:
    """The party of a call for which something else stands, by the address of its error slots."""

    def __init__(self, error: int, levels: int) -> None:
        self._address, self._levels = error - party_offset("error"), levels
        self.error = (_NUMBER * (ERROR_WORDS + max(levels, 1))).from_address(error)
        self._frame = _NUMBER.from_address(self._address + party_offset("frame")).value
        self.has_met = False
        """Whether all have come to a meeting: from there on variables are written."""

    def fail(self, raised: BaseException, record: Sequence[int]) -> int:
        """Note what the user is to be told if nothing comes before it; the status."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(raised))
        self.error[0], self.error[1], self.error[2] = ROUTINE_FAILED_ELSEWHERE, OF_ANOTHER_PROCESS, id(raised)
        for place in range(self._levels):
            self.error[ERROR_WORDS + place] = record[place] if place < len(record) else 0
        return ROUTINE_FAILED

    def has_failed(self) -> bool:
        """Whether any party has."""
        return bool(_NUMBER.from_address(self._frame).value)

    def first_failure(self) -> tuple[int, ...] | None:
        """How far the party has come that has failed first; None if all are to end."""
        first = _NUMBER.from_address(self._frame).value
        if _NUMBER.from_address(first + party_offset("status")).value == INTERRUPTED:
            return None
        words = (_NUMBER * max(self._levels, 1)).from_address(first + party_offset("error") + 8 * ERROR_WORDS)
        return tuple(words[: self._levels])

    def send(self, channel: int, receiver: int, parcel: Parcel | None, size: int, words: Sequence[int]) -> None:
        """Put a message into a channel."""
        buffer = None if parcel is None else MAPPINGS.copied(parcel, size)
        area = (_NUMBER * max(len(words), 1))(*words)
        _functions()[SEND](self._frame, channel, receiver, buffer, size, area, len(words))

    def receive(self, channel: int, sender: int, count: int, shares: bool, lent: list[Block]) -> Any:
        """The next message: its bytes, their number, and its words; or the status."""
        area = (_NUMBER * (2 + count))()
        status = _functions()[RECEIVE](self._frame, channel, sender, area, count, False)
        if status:
            return status
        parcel = ROOMS.take(area[0], area[1], shares, lent) if area[0] else None
        return parcel, area[1], tuple(area[2:])

    def meet(self) -> int:
        """Wait for all others; the status."""
        status: int = _functions()[MEET](self._frame, False)
        self.has_met = not status
        return status


@cache
def _functions() -> Mapping[str, Any]:
    from jitflow.runtime.parallel.devices import device_function

    return {name: SIGNATURES[name](device_function(name)) for name in (SEND, RECEIVE, MEET)}
