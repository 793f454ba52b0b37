"""What a thread's time went into: work, waiting for a core, and all else, as one clock."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import NamedTuple

__all__ = ["Moment", "now"]


class Moment(NamedTuple):
    """A moment of a thread, or what lies between two of them."""

    seconds: float
    worked: float
    """Seconds of cores that the process has used."""
    starved: float
    """Seconds in which this thread could have gone on, if it had had a core; 0 where the system does not tell."""

    def since(self, other: Moment) -> Moment:
        """What lies between an earlier moment and this one."""
        return Moment(*(one - before for one, before in zip(self, other, strict=True)))


class _Account(threading.local):
    """The account that Linux keeps of a thread."""

    def __init__(self) -> None:
        self.file = -1
        with suppress(OSError):
            self.file = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self.file >= 0:
            os.close(self.file)


_ACCOUNT = _Account()


def now() -> Moment:
    """The present moment of the thread that asks."""
    account = os.pread(_ACCOUNT.file, 64, 0).split() if _ACCOUNT.file >= 0 else ()
    return Moment(time.perf_counter(), time.process_time(), 1e-9 * float(account[1]) if account else 0.0)
