"""Calls of processes of this machine, which take a tenth of the time that a call of an actor takes.

A process that answers listens at a socket without a name in the file system (Linux's abstract ones): like the blocks of
`memory.py` it ends with the process, and whoever waits for an answer hears of that at once. Each thread that asks has a
line of its own, so that calls that wait for others keep nobody else waiting. On a line one call goes after the other.

A message is a pickle, and behind it the memory of the arrays in it, which is read to where it is to lie. Whoever has
more to say than a call and an answer talks by messages themselves (`nodes.py`).

Between machines, and where there are no such sockets, Ray carries the same calls.
"""

from __future__ import annotations

import os
import pickle
import secrets
import select
import socket
import struct
import threading
import traceback
import weakref
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, NamedTuple

import numpy as np

from jitflow.cluster.packing import packed_error

__all__ = ["Answering", "Asked", "Listener", "Messages", "Place", "line_to", "messages_to"]

_SHORT = 1 << 16
"""Bytes of a message that are sent as one."""


class Place(NamedTuple):
    """The machine that a process is on, and where it answers those of the same one."""

    machine: str
    address: str | None


class Messages:
    """An end of a line: what is sent there, and what comes.

    Both raise EOFError or OSError where the other end has ended.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._end = weakref.finalize(self, connected.close)  # also where both are garbage, in whatever order
        self._poll = select.poll()
        self._poll.register(connected, select.POLLIN)

    def send(self, thing: Any) -> None:
        """Send something that can be pickled."""
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(thing, 5, buffer_callback=buffers.append)
        arrays = [buffer.raw() for buffer in buffers]
        sizes = [len(text), *(array.nbytes for array in arrays)]
        head: bytes = struct.pack(f"<{1 + len(sizes)}Q", len(arrays), *sizes) + text
        if sum(sizes) <= _SHORT:
            self._socket.sendall(b"".join((head, *arrays)))
            return
        self._socket.sendall(head)
        for array in arrays:
            self._socket.sendall(array)

    def arrives(self, seconds: float) -> bool:
        """Wait for so long at most until something comes, or nobody is there any more who could send it."""
        return bool(self._poll.poll(1000 * seconds))

    def receive(self) -> Any:
        """What came next."""
        (count,) = struct.unpack("<Q", self._filled(8))
        size, *sizes = struct.unpack(f"<{1 + count}Q", self._filled(8 * (1 + count)))
        text = self._filled(size)
        return pickle.loads(text, buffers=[self._filled(one) for one in sizes])

    def _filled(self, size: int) -> memoryview:
        left = memory = np.empty(size, np.uint8).data
        while left:
            count = self._socket.recv_into(left)
            if not count:
                raise EOFError("the other end has ended")
            left = left[count:]
        return memory

    def close(self) -> None:
        """Let the other end hear of no more. Called twice, it does nothing."""
        self._end()


class Listener:
    """Lets processes of this user on this machine connect, each of whom is served on a thread of its own.

    ``serve`` is called with the messages, and may raise what these raise. ``address`` is what the others connect to.
    """

    def __init__(self, serve: Callable[[Messages], None]) -> None:
        self.address = f"jitflow-{secrets.token_hex(16)}"
        self._serve = serve
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"\0{self.address}")
        self._listener.listen(256)
        threading.Thread(target=self._accept, daemon=True, name=self.address).start()

    def _accept(self) -> None:
        while True:
            connected, _ = self._listener.accept()
            _, user, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if user == os.getuid():
                threading.Thread(target=self._serve_one, args=(Messages(connected),), daemon=True).start()
            else:
                connected.close()

    def _serve_one(self, messages: Messages) -> None:
        with closing(messages), suppress(EOFError, OSError):  # whoever connected has ended
            self._serve(messages)


def messages_to(address: str) -> Messages:
    """Connect to a `Listener`. Raises OSError if there is none any more."""
    connected = socket.socket(socket.AF_UNIX)
    messages = Messages(connected)
    connected.connect(f"\0{address}")
    return messages


class Answering(Listener):
    """Answers calls, each with what ``answer`` gives for its arguments."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self._answer = answer
        super().__init__(self._answer_all)

    def _answer_all(self, messages: Messages) -> None:
        while True:
            arguments = messages.receive()
            try:
                result, error = self._answer(*arguments), None
            except BaseException as raised:
                result, error = None, _told(raised)
            try:
                messages.send((result, error))
            except (pickle.PicklingError, AttributeError, TypeError) as raised:  # nothing has been sent
                messages.send((None, _told(raised)))


def _told(error: BaseException) -> bytes:
    """An exception as bytes, with the lines it came from in a note."""
    error.add_note("in another process:\n" + "".join(traceback.format_exception(error)))
    return packed_error(error)


class Asked:
    """A call that is under way."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        self.found: tuple[Any, bytes | None] | None = None

    def answer(self) -> Any:
        """Wait for what it gives, or raise what it raises. Raises EOFError or OSError if the process has ended."""
        if self.found is None:
            self._line.take_answer()
        assert self.found is not None
        result, error = self.found
        if error is not None:
            raise pickle.loads(error)
        return result


class _Line:
    """The end that asks, one call after the other."""

    def __init__(self, address: str) -> None:
        self._messages = messages_to(address)
        self._asked: Asked | None = None
        self.is_open = True

    def ask(self, *arguments: Any) -> Asked:
        """Begin a call, when that before has been answered. Raises EOFError or OSError if the process has ended."""
        if self._asked is not None:
            self.take_answer()
        self._asked = asked = Asked(self)
        self._whole(self._messages.send, arguments)
        return asked

    def take_answer(self) -> None:
        """Wait until the call that is under way has been answered."""
        if self._asked is None:
            raise EOFError("the line was given up")
        found = self._whole(self._messages.receive)
        self._asked.found, self._asked = found, None

    def _whole(self, send_or_receive: Callable[..., Any], *arguments: Any) -> Any:
        """Send or receive a whole message; a line on which one was given up is of no use any more."""
        try:
            return send_or_receive(*arguments)
        except BaseException:
            self.is_open, self._asked = False, None
            self._messages.close()
            raise


class _Lines(threading.local):
    def __init__(self) -> None:
        self.process, self.open = 0, dict[str, _Line]()


_LINES = _Lines()


def line_to(address: str) -> _Line:
    """The line of this thread to who answers there. Raises OSError if nobody does any more."""
    if _LINES.process != os.getpid():  # those before a fork are the parent's
        _LINES.process, _LINES.open = os.getpid(), {}
    line = _LINES.open.get(address)
    if line is None or not line.is_open:
        line = _LINES.open[address] = _Line(address)
    return line
