"""A node: a process that runs the partitions of its devices, which it compiles from their text for its own processor.

A partition here is the native code that it would be in the driver. What it calls to send, to receive and to meet are
functions of this module: they tell the driver, where what stands for the partition does the same to the frame of the
call (`jitflow.cluster.standing_in`), and wait for the answer if there is one. So order, failures and meetings are
decided in one place, the frame, wherever partitions run.

    driver                                   node
      begin(call, arguments)  ───────────▶     run the partition
                              ◀───────────     events: send..., receive | meet | end
      go_on(call, answer)     ───────────▶     ...
"""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.cluster.lines import Listener, Messages, Place
from jitflow.cluster.memory import Block, can_share, machine_name
from jitflow.cluster.packing import packed_error
from jitflow.cluster.parcels import MAPPINGS, ROOMS, Given, Parcel, Rooms
from jitflow.cluster.partitions import SIGNATURES, PartitionText, Program
from jitflow.errors import CompilerBug
from jitflow.ir.status import STOPPED
from jitflow.ir.together import MEET, RECEIVE, SEND, STOPS
from jitflow.runtime.parallel.channels_text import ERROR_WORDS

__all__ = ["Node"]

_ON_THE_WAY = 1 << 26
"""Bytes in blocks of which the driver may have been told without having said that it has them."""
_Word = ctypes.c_int64


class _Queues:
    """What a call says and hears where each event is fetched by a message (`Node.begin`, `Node.go_on`)."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._events: queue.SimpleQueue[tuple[tuple[Any, ...], list[Block]]] = queue.SimpleQueue()
        """Each with the blocks that it tells of."""
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.lent: list[Block] = []
        """The blocks of which the driver has been told last."""

    def tell(self, event: tuple[Any, ...], lent: list[Block]) -> None:
        """Let the driver know."""
        self._events.put((event, lent))

    def ask(self, event: tuple[Any, ...]) -> Any:
        """Let the driver know, and wait for what it says."""
        self.tell(event, [])
        return self._answers.get()

    def answer(self, answer: Any) -> None:
        """Answer what the call asks, and be done with the events before it."""
        self._rooms.give_back(self.lent)
        if answer is not None:
            self._answers.put(answer)

    def next_events(self) -> list[tuple[Any, ...]]:
        """What has happened since, at least one thing."""
        event, self.lent = self._events.get()
        found = [event]
        while True:
            try:
                event, lent = self._events.get_nowait()
            except queue.Empty:
                return found
            found.append(event)
            self.lent += lent


class _OnLine:
    """The same where the two are at the ends of a line."""

    def __init__(self, rooms: Rooms, messages: Messages) -> None:
        self._rooms, self._messages = rooms, messages
        self._lent: list[Block] = []

    def tell(self, event: tuple[Any, ...], lent: list[Block]) -> None:
        """As in `_Queues`."""
        self._messages.send(event)
        self._lent += lent
        if sum(block.address.size for block in self._lent) > _ON_THE_WAY:
            self.ask(("wait",))

    def ask(self, event: tuple[Any, ...]) -> Any:
        """As in `_Queues`."""
        self._messages.send(event)
        return self.wait()

    def wait(self) -> Any:
        """What the driver says next, who is done with all that he has been told."""
        answer = self._messages.receive()
        self._rooms.give_back(self._lent)
        return answer


class _Call:
    """A call of a partition."""

    def __init__(
        self, node: Node, number: int, program: Program, given: Sequence[Given | tuple[int, ...]],
        line: _Queues | _OnLine,
    ) -> None:  # fmt: skip
        self.node, self.number, self.program, self.given, self.line = node, number, program, given, line
        self.frame = _Word()
        """What the code takes for the frame: not 0 as soon as another partition has failed."""
        self.first: tuple[int, ...] | None = None
        """How far the one has come that failed; None if all are to end."""
        self.failure: BaseException | None = None
        """What has failed outside of the partition's code."""

    def ask(self, *event: Any) -> Any:
        """Tell the driver, and wait for what it says."""
        return STOPPED if self.failure is not None else self.line.ask(event)

    def fail(self, error: BaseException) -> int:
        """Note what happened outside of the partition's code, which is to end; the status."""
        self.failure = self.failure or error
        return STOPPED

    def run(self) -> None:
        """From the first event to the last."""
        address = ctypes.addressof(self.frame)
        _CALLS[address] = self
        try:
            end = self._end()
        except BaseException as error:
            end = "end", -1, (), (packed_error(error), None), ()
        finally:
            del _CALLS[address], self.node.calls[self.number]
        self.line.tell(end, [])

    def _end(self) -> tuple[Any, ...]:
        from jitflow.compilation.failures import failure

        program = self.program
        context = (ctypes.c_void_p * len(program.words))(*program.words)
        context[program.frame_slot] = ctypes.addressof(self.frame)
        arguments, keep = self._arguments()
        error = (_Word * (ERROR_WORDS + max(program.levels, 1)))()
        place = ctypes.addressof(error)
        status = program.run(ctypes.addressof(context), ctypes.addressof(arguments), None, place)
        record, told = tuple(error[ERROR_WORDS : ERROR_WORDS + program.levels]), None
        if self.failure is not None:
            raise self.failure
        if status not in (0, STOPPED):
            exception = failure(program.sites, status, place)
            told = packed_error(exception), program.sites[error[1]].loc if 0 <= error[1] < len(program.sites) else None
        written: tuple[tuple[int, Parcel], ...] = ()
        if not status:
            written = tuple(
                (number, self.node.rooms.pack(pointer, one.returns, False, []))
                for number, one, pointer in keep if isinstance(one, Given) and one.returns
            )  # fmt: skip
        return "end", status, record, told, written

    def _arguments(self) -> tuple[Any, list[tuple[int, object, int]]]:
        """The slots, and what keeps what they point to: the number of the argument, it, and its memory."""
        from jitflow.runtime.variable import memory

        words: list[int] = []
        keep: list[tuple[int, Any, int]] = []
        for number, one in enumerate(self.given):
            if not isinstance(one, Given):
                words += one
                continue
            pointer, owner = self.node.mappings.pointer(one.parcel)
            if isinstance(owner, np.ndarray) and owner is one.parcel:
                # The code relies on its alignment, and may write to it.
                home = memory(owner.dtype, owner.shape)
                home[...] = owner
                pointer, owner = home.ctypes.data, home
            keep += [(number, one, pointer), (-1, owner, 0)]
            words += [pointer, *one.sizes]
        return (_Word * max(len(words), 1))(*words), keep


class Node:
    """What the process does for others; an actor."""

    def __init__(self, threads: int = 0) -> None:
        if threads:
            from jitflow.runtime.parallel.threads import set_num_threads

            set_num_threads(threads)
        self.rooms, self.mappings, self.shares = ROOMS, MAPPINGS, True
        self._programs: dict[int, Program] = {}
        self.calls: dict[int, _Call] = {}
        """Those that have not come to their end."""
        self._lines: dict[int, _Queues] = {}
        self._listener = Listener(self._serve) if can_share() else None

    def about(self) -> tuple[Place, dict[str, str], tuple[str, ...]]:
        """Where this process is, the versions of what it runs, and the devices."""
        from jitflow.cluster.actors import versions
        from jitflow.machines.hardware import devices

        place = Place(machine_name(), None if self._listener is None else self._listener.address)
        return place, versions(), tuple(device.name for device in devices("cpu"))

    def share(self, shares: bool) -> None:
        """Whether the driver maps memory of this process."""
        self.shares = shares

    def compile(self, key: int, partition: PartitionText) -> bytes | None:
        """Compile a partition; what that raises, packed."""
        try:
            self._programs[key] = Program(partition, _addresses())
        except BaseException as error:
            return packed_error(error)
        return None

    def begin(
        self, call: int, key: int, given: Sequence[Given | tuple[int, ...]], forgotten: list[int]
    ) -> list[tuple[Any, ...]]:
        """Begin a call of a partition; what happens in it first. ``forgotten``: what is not needed any more."""
        self._forget(forgotten)
        line = self._lines[call] = _Queues(self.rooms)
        one = self.calls[call] = _Call(self, call, self._programs[key], given, line)
        threading.Thread(target=one.run, daemon=True).start()
        return self._events(call)

    def _serve(self, messages: Messages) -> None:
        """Run one call after the other for a driver on this machine."""
        line = _OnLine(self.rooms, messages)
        while True:
            call, key, given, forgotten = line.wait()
            self._forget(forgotten)
            one = self.calls[call] = _Call(self, call, self._programs[key], given, line)
            one.run()

    def go_on(self, call: int, answer: Any) -> list[tuple[Any, ...]]:
        """Answer what a call has asked, if it has, and wait for what happens in it next."""
        self._lines[call].answer(answer)
        return self._events(call)

    def stop(self, call: int, first: tuple[int, ...] | None) -> None:
        """Another partition has failed, having come so far; None if everything is to end."""
        one = self.calls.get(call)
        if one is not None:
            one.first, one.frame.value = first, 1

    def leave(self, call: int) -> None:
        """The driver will not answer any more, and has what it needs of what it was told."""
        self.stop(call, None)
        line = self._lines.pop(call, None)
        if line is not None:
            line.answer(STOPPED)

    def pid(self) -> int:
        """The number of this process."""
        import os

        return os.getpid()

    def _events(self, call: int) -> list[tuple[Any, ...]]:
        found = self._lines[call].next_events()
        if found[-1][0] == "end" and not self._lines[call].lent:
            del self._lines[call]
        return found

    def _forget(self, forgotten: list[int]) -> None:
        self.mappings.forget(forgotten)
        for one in forgotten:
            self._programs.pop(one, None)


# -- what native code calls

_CALLS: dict[int, _Call] = {}
"""Those that run, by what they take for the frame."""


def _send(frame: int, channel: int, receiver: int, buffer: int | None, size: int, words: Any, count: int) -> None:
    call = _CALLS[frame]
    try:
        lent: list[Block] = []
        parcel = None if buffer is None else call.node.rooms.take(buffer, size, call.node.shares, lent)
        call.line.tell(("send", channel, receiver, parcel, size, tuple(words[:count])), lent)
    except BaseException as error:
        call.fail(error)


def _receive(frame: int, channel: int, sender: int, message: Any, count: int, polls: bool) -> int:
    call = _CALLS[frame]
    try:
        answer = call.ask("receive", channel, sender, count)
        if isinstance(answer, int):
            return answer
        parcel, size, words = answer
        if parcel is not None:
            message[0], message[1] = call.node.mappings.copied(parcel, size), size
        for place, word in enumerate(words):
            message[2 + place] = word
    except BaseException as error:
        return call.fail(error)
    return 0


def _meet(frame: int, polls: bool) -> int:
    call = _CALLS[frame]
    try:
        if call.program.writes:
            answer: int = call.ask("meet")
            return answer
        call.line.tell(("come",), [])  # what comes behind the meeting does nothing that anybody sees
    except BaseException as error:
        return call.fail(error)
    return 0


def _stops(frame: int, error: int) -> int:
    call = _CALLS[frame]
    own = (_Word * max(call.program.levels, 1)).from_address(error + 8 * ERROR_WORDS)
    return int(call.first is None or call.first < tuple(own[: call.program.levels]))


_FUNCTIONS = {
    SEND: SIGNATURES[SEND](_send), RECEIVE: SIGNATURES[RECEIVE](_receive), MEET: SIGNATURES[MEET](_meet),
    STOPS: SIGNATURES[STOPS](_stops),
}  # fmt: skip


def _addresses() -> dict[str, int]:
    found = {name: ctypes.cast(function, ctypes.c_void_p).value for name, function in _FUNCTIONS.items()}
    if None in found.values():
        raise CompilerBug("expected functions to have addresses")
    return {name: address or 0 for name, address in found.items()}
