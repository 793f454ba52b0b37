"""Memory that processes of one machine share, so that large arrays go from one to the other without being copied.

A block is a file without a name (``memfd``), which other processes of the same user open by way of the process that
made it. The system frees it when the last process that maps it has ended, however that came about: a process that is
killed leaves nothing behind, which blocks with names would.

Where there are no such files (outside of Linux), and between machines, arrays travel in messages instead.
"""

from __future__ import annotations

import mmap
import os
import secrets
import socket
import sys
from functools import cache
from typing import Any

import numpy as np

from jitflow.errors import UserRuntimeError
from jitflow.records import dataclass

__all__ = ["Address", "Block", "can_share", "machine_name", "mapped"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Address:
    """Where another process finds a block."""

    machine: str
    process: int
    descriptor: int
    size: int
    mark: int = 0
    """Tells it from one of another process that has the same numbers later."""


class Block:
    """A block of ``size`` bytes of this process: ``bytes`` is its memory, ``address`` where others find it."""

    def __init__(self, size: int) -> None:
        descriptor = os.memfd_create("jitflow", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, max(size, 1))
            self.bytes = _map(descriptor, max(size, 1))
        except BaseException:
            os.close(descriptor)
            raise
        self.address = Address(machine_name(), os.getpid(), descriptor, max(size, 1), secrets.randbits(62))

    def close(self) -> None:
        """Let nobody find it any more; who has mapped it keeps it."""
        descriptor = self.address.descriptor
        if descriptor >= 0:
            self.address = Address(self.address.machine, self.address.process, -1, self.address.size)
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


def can_share() -> bool:
    """Whether processes of this machine can share memory."""
    return sys.platform == "linux" and hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


@cache
def machine_name() -> str:
    """What tells this machine from others: its name, and when it was started."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            started = file.read().strip()
    except OSError:
        started = ""
    return f"{socket.gethostname()} {started}"


def mapped(address: Address) -> Array:
    """The memory of a block of another process on this machine, as bytes.

    Raises RuntimeError if that process has ended, or is another user's.
    """
    try:
        descriptor = os.open(f"/proc/{address.process}/fd/{address.descriptor}", os.O_RDWR)
    except OSError as error:
        raise UserRuntimeError(f"the memory of process {address.process} cannot be reached: {error}") from None
    try:
        if os.fstat(descriptor).st_size != address.size:
            raise UserRuntimeError(f"the memory of process {address.process} is not what it said")
        return _map(descriptor, address.size)
    finally:
        os.close(descriptor)


def _map(descriptor: int, size: int) -> Array:
    return np.frombuffer(mmap.mmap(descriptor, size), np.uint8)  # which keeps the mapping as long as it is used
