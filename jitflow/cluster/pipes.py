"""Pipes between two processes of one machine, without names: messages take some ten microseconds, Ray's a millisecond.

One process makes both pipes, and the other opens its ends by way of the first one's table of descriptors, as blocks of
memory are found (`memory.py`). Each closes what it does not use, so that both are told when the other one has ended.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
from dataclasses import dataclass
from typing import Any

__all__ = ["Ended", "Ends", "Pipe", "make_pipe", "open_pipe"]

_HEADER = struct.Struct("<q")
_CHUNK = 1 << 16


class Ended(Exception):
    """There is nobody at the other end."""


@dataclass(frozen=True)
class Ends:
    """Where another process finds its ends: descriptors of this one."""

    process: int
    reads: int
    writes: int


class Pipe:
    """One end of two pipes, for messages in both directions."""

    def __init__(self, reads: int, writes: int, others: tuple[int, ...] = ()) -> None:
        self._reads, self._writes = reads, writes
        self._others = others
        """The ends of the other process, until it has opened them."""
        self._poll = select.poll()
        self._poll.register(reads, select.POLLIN)

    def send(self, message: Any) -> None:
        """Write a message. Raises `Ended`."""
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        left = memoryview(_HEADER.pack(len(content)) + content)
        try:
            while left:
                left = left[os.write(self._writes, left) :]
        except OSError as error:
            raise Ended(str(error)) from None

    def arrives(self, seconds: float) -> bool:
        """Wait for so long at most until there is a message, or nobody any more who could send one."""
        return bool(self._poll.poll(1000 * seconds))

    def receive(self) -> Any:
        """Wait for the next message. Raises `Ended`."""
        (size,) = _HEADER.unpack(self._read(_HEADER.size))
        message = pickle.loads(self._read(size))
        for descriptor in self._others:
            os.close(descriptor)
        self._others = ()
        return message

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self._reads, min(size, _CHUNK))
            except OSError as error:
                raise Ended(str(error)) from None
            if not part:
                raise Ended("its end of the pipe is closed")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Let the other end know that nobody is here any more. Called twice, it does nothing."""
        for descriptor in (self._reads, self._writes, *self._others):
            if descriptor >= 0:
                os.close(descriptor)
        self._reads, self._writes, self._others = -1, -1, ()

    def __del__(self) -> None:
        self.close()


def make_pipe() -> tuple[Pipe, Ends]:
    """An end, and where another process finds the other one, which is to send first."""
    reads, their_writes = os.pipe()
    their_reads, writes = os.pipe()
    return Pipe(reads, writes, (their_reads, their_writes)), Ends(os.getpid(), their_reads, their_writes)


def open_pipe(ends: Ends) -> Pipe:
    """The other end. Raises `Ended` if the process cannot be reached."""
    folder = f"/proc/{ends.process}/fd/"
    try:
        reads = os.open(folder + str(ends.reads), os.O_RDONLY)
        try:
            return Pipe(reads, os.open(folder + str(ends.writes), os.O_WRONLY))
        except OSError:
            os.close(reads)
            raise
    except OSError as error:
        raise Ended(str(error)) from None
