"""What stands for a partition that another process runs: a party of the call's frame like the others.

Its code is a function of Python's on the thread of a worker. It begins the partition over there, and does to the frame
what the partition does: it sends what that sends, waits for what that waits for, meets when that meets, and ends as that
ends, with the record of how far it has come. To the other parties it is a partition that runs here. What it needs of
the arguments goes along with the call.
"""

from __future__ import annotations

import ctypes
import pickle
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitflow.cluster.memory import Block
from jitflow.cluster.node import Given, PartitionText, as_text
from jitflow.cluster.nodes import Died, NodeHandle, node
from jitflow.cluster.parcels import FORGOTTEN, Known, Mappings, Parcel, Rooms, address_of
from jitflow.errors import UserError, UserNotImplementedError, UserRuntimeError
from jitflow.hardware import is_elsewhere, node_of
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.location import Loc
from jitflow.ir.status import INTERRUPTED, OF_ANOTHER_PROCESS, ROUTINE_FAILED, ROUTINE_FAILED_ELSEWHERE, STOPPED
from jitflow.ir.together import MEET, PARTITION_PREFIX, RECEIVE, SEND
from jitflow.ir.types import Scalar, Tensor, Variable, dims_of
from jitflow.runtime.channels_text import ERROR_WORDS
from jitflow.runtime.frames_text import party_offset
from jitflow.user_lines import with_user_frames

if TYPE_CHECKING:
    from jitflow.compiler import Compilation

__all__ = ["StandIn", "stand_ins"]

_PATIENCE = 5.0
"""Seconds for which a node may go on after Ctrl-C before its process is ended."""

_ROOMS, _MAPPINGS = Rooms(), Mappings()
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
            text, locations, part.device, compilation.devices, meets, compilation.fastmath, levels
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
        layouts = function.attributes.get("layouts", ())
        self._packers = [
            _packer(value.type, slot, layouts[number] if number < len(layouts) else "C")
            for number, (value, slot) in enumerate(zip(function.parameters, slots, strict=True))
        ]
        self._callback = _PARTY(self._run)
        self.address = ctypes.cast(self._callback, _POINTER).value or 0

    def __del__(self) -> None:
        FORGOTTEN.append(self.key)

    def prepare(self) -> NodeHandle:
        """The node, which has compiled the partition. Raises what that raises, and `UserRuntimeError` if it dies."""
        try:
            there = node(self.node)
            error = there.need(self.key, self.partition)
        except UserError as error:
            raise error.at(self.location)
        except Died as error:
            raise self._death(error) from None
        if error is not None:
            raised = pickle.loads(error)
            raise raised.at(self.location) if isinstance(raised, UserError) else raised
        return there

    def _death(self, error: Died) -> UserRuntimeError:
        return UserRuntimeError(
            f"node:{self.node} has died: {error}",
            mend="call again, and it is started anew; variables that live there lie in this process and are whole",
            location=self.location,
        )

    def _run(self, context: int, arguments: int, results: int, error: int) -> int:
        party = _Party(error, self.partition.levels)
        try:
            there = self.prepare()
            try:
                return self._converse(there, party, arguments)
            except Died as death:
                raise self._death(death) from None
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

        given = [pack(arguments, there.shares, lent) for pack in self._packers]
        try:
            events = there.ask("begin", call, self.key, given, there.forgotten(), look=look)
            answered: list[Block] = []
            while True:
                answer: Any = None
                _ROOMS.give_back(answered)
                for event in events:
                    match event:
                        case ("send", channel, receiver, parcel, size, words):
                            party.send(channel, receiver, parcel, size, words)
                        case ("receive", channel, sender, count):
                            answer = party.receive(channel, sender, count, there.shares, answered)
                        case ("meet",):
                            answer = party.meet()
                        case ("end", status, record, told, written):
                            return self._end(party, arguments, status, record, told, written)
                events = there.ask("go_on", call, answer, look=look)
        finally:
            _ROOMS.give_back(lent)

    def _end(
        self, party: _Party, arguments: int, status: int, record: tuple[int, ...], told: Any,
        written: Sequence[tuple[int, Parcel]],
    ) -> int:  # fmt: skip
        if told is not None:
            error, location = told
            return party.fail(with_user_frames(pickle.loads(error), location or self.location), record)
        for number, parcel in written:
            source, _ = _MAPPINGS.pointer(parcel)
            ctypes.memmove(self._packers[number].pointer(arguments), source, self._packers[number].size(arguments))
        return status


def _line_of(function: Function) -> Loc | None:
    """The first line of the user's that a partition has."""
    own = (op.loc for op in walk(function.region) if op.loc.line > 0 and is_elsewhere(op.loc.device))
    return next(own, None) or next((op.loc for op in walk(function.region) if op.loc.line > 0), None)


# -- the frame


class _Party:
    """The party of a call for which something else stands, by the address of its error slots."""

    def __init__(self, error: int, levels: int) -> None:
        self._address, self._levels = error - party_offset("error"), levels
        self.error = (_NUMBER * (ERROR_WORDS + max(levels, 1))).from_address(error)
        self._frame = _NUMBER.from_address(self._address + party_offset("frame")).value

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
        buffer = None
        if parcel is not None:
            buffer = _pool()[0](size)
            if not buffer:
                raise MemoryError(f"Unable to allocate {size} bytes for an array")
            source, _ = _MAPPINGS.pointer(parcel)
            ctypes.memmove(buffer, source, size)
        area = (_NUMBER * max(len(words), 1))(*words)
        _functions()[SEND](self._frame, channel, receiver, buffer, size, ctypes.addressof(area), len(words))

    def receive(self, channel: int, sender: int, count: int, shares: bool, lent: list[Block]) -> Any:
        """The next message: its bytes, their number, and its words; or the status."""
        area = (_NUMBER * (2 + count))()
        status = _functions()[RECEIVE](self._frame, channel, sender, ctypes.addressof(area), count, False)
        if status:
            return status
        parcel = None
        if area[0]:
            parcel = _ROOMS.pack(area[0], area[1], shares, lent)
            _pool()[1](area[0], area[1])
        return parcel, area[1], tuple(area[2:])

    def meet(self) -> int:
        """Wait for all others; the status."""
        status: int = _functions()[MEET](self._frame, False)
        return status


def _pool() -> tuple[Any, Any]:
    from jitflow.runtime.pool import pool

    made = pool()
    return (ctypes.CFUNCTYPE(_POINTER, _NUMBER)(made.allocate_address),
            ctypes.CFUNCTYPE(None, _POINTER, _NUMBER)(made.free_address))  # fmt: skip


def _functions() -> Mapping[str, Any]:
    from jitflow.runtime.devices import device_function

    kinds = {
        SEND: ctypes.CFUNCTYPE(None, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _POINTER, _NUMBER),
        RECEIVE: ctypes.CFUNCTYPE(
            ctypes.c_int32, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, ctypes.c_bool
        ),
        MEET: ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, ctypes.c_bool),
    }  # fmt: skip
    return {name: kind(device_function(name)) for name, kind in kinds.items()}


# -- arguments


class _Numbers:
    """The slots of an argument that is a number."""

    def __init__(self, slot: int, count: int) -> None:
        self._slot, self._count = slot, count

    def __call__(self, arguments: int, shares: bool, lent: list[Block]) -> tuple[int, ...]:
        return tuple((_NUMBER * self._count).from_address(arguments + 8 * self._slot))

    def pointer(self, arguments: int) -> int:
        raise NotImplementedError

    def size(self, arguments: int) -> int:
        raise NotImplementedError


class _Elements:
    """The slots of an array: its address, dims and strides."""

    def __init__(self, slot: int, itemsize: int, rank: int, layout: str, writes: bool) -> None:
        self._slot, self._itemsize, self._rank = slot, itemsize, rank
        self._layout, self._writes = layout, writes

    def __call__(self, arguments: int, shares: bool, lent: list[Block]) -> Given:
        pointer, dims, strides = self._read(arguments)
        known = address_of(pointer) if shares else None
        if known is not None:
            return Given(known, 0, (*dims, *strides))
        size = self.size(arguments)
        if not _is_dense(dims, strides, self._itemsize) and size:
            order = "F" if self._layout == "F" else "C"
            kind = np.dtype((np.void, self._itemsize))
            span = _span(dims, strides, self._itemsize)
            seen = (ctypes.c_char * sum(span)).from_address(pointer - span[0])
            array = np.ndarray(dims, kind, seen, span[0], strides).copy(order)  # type: ignore[call-overload]
            pointer, strides = array.ctypes.data, array.strides
        returns = size if self._writes else 0
        return Given(_ROOMS.pack(pointer, size, shares and not returns, lent), 0, (*dims, *strides), returns)

    def pointer(self, arguments: int) -> int:
        """Where the first element is."""
        return self._read(arguments)[0]

    def size(self, arguments: int) -> int:
        """How many bytes the elements have."""
        return int(np.prod(self._read(arguments)[1], dtype=np.int64)) * self._itemsize

    def _read(self, arguments: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        words = (_NUMBER * (1 + 2 * self._rank)).from_address(arguments + 8 * self._slot)
        return words[0], tuple(words[1 : 1 + self._rank]), tuple(words[1 + self._rank :])


def _is_dense(dims: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether the elements lie one behind the other from the first on, in the order of C or Fortran."""
    return any(
        all(stride == expected or dim == 1
            for dim, stride, expected in zip(dims, strides, _strides(dims, itemsize, backwards), strict=True))
        for backwards in (True, False)
    )  # fmt: skip


def _strides(dims: Sequence[int], itemsize: int, backwards: bool) -> list[int]:
    found, step = [0] * len(dims), itemsize
    for axis in reversed(range(len(dims))) if backwards else range(len(dims)):
        found[axis] = step
        step *= dims[axis]
    return found


def _span(dims: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """How many bytes lie before the first element, and from there on."""
    reach = [(dim - 1) * stride for dim, stride in zip(dims, strides, strict=True)]
    return -sum(one for one in reach if one < 0), sum(one for one in reach if one > 0) + itemsize


def _packer(kind: Any, slot: int, layout: str) -> Any:
    if isinstance(kind, Tensor | Variable):
        return _Elements(slot, kind.dtype.itemsize, len(dims_of(kind)), layout, isinstance(kind, Variable))
    return _Numbers(slot, 2 if isinstance(kind, Scalar) and kind.dtype.name == "c128" else 1)
