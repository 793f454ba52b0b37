"""The threads that work for the devices of the CPU other than the caller's (`devices_text`).

They are started when calls need them, and never end. A process that was forked has none of them until its own calls
do. They need POSIX threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

from jitflow.ir.together import DEVICE_FUNCTIONS
from jitflow.runtime.native.entry_support import api_table
from jitflow.runtime.native.native_code import NativeCode, make_immortal
from jitflow.runtime.native.pending import DRAWER
from jitflow.runtime.parallel.channels_text import channels_text
from jitflow.runtime.parallel.devices_text import PYTHON_POINTERS, devices_text
from jitflow.runtime.parallel.frames_text import SYSTEM_FUNCTIONS

__all__ = ["device_function", "workers_started"]

_ATTRIBUTE = sys.intern("exception")
_SPINS = 2000
"""How often who waits looks before he sleeps, some 100 us: waking up takes about as long."""


def device_function(name: str) -> int:
    """The address of what programs call by one of the names `DEVICE_FUNCTIONS`."""
    return _runtime().addresses[name]


def workers_started() -> int:
    """How many threads have been started for devices in this process."""
    return _runtime().workers


class _Runtime:
    """The code, and what it finds in its memory."""

    def __init__(self) -> None:
        code = NativeCode("\n".join([channels_text(), devices_text()]), optimisation=1)
        make_immortal(code)
        self.addresses = {name: code.address(name.rpartition(".")[2]) for name in DEVICE_FUNCTIONS}
        self.words = {
            name: ctypes.c_int64.from_address(code.address(name))
            for name in ("idle", "workers", "processors", "most_spins")
        }
        self._mutex, self._system = code.address("devices_mutex"), ctypes.CDLL(None)
        self.functions = (ctypes.c_void_p * len(SYSTEM_FUNCTIONS)).from_address(code.address("devices_system"))
        for place, name in enumerate(SYSTEM_FUNCTIONS):
            self.functions[place] = ctypes.cast(getattr(self._system, name), ctypes.c_void_p).value
        for name, address in zip(
            PYTHON_POINTERS, (api_table(), id(DRAWER), id(_ATTRIBUTE), id(Exception)), strict=True
        ):
            ctypes.c_void_p.from_address(code.address(name)).value = address
        self.words["processors"].value = processors = os.cpu_count() or 1
        self.words["most_spins"].value = _SPINS if processors > 1 else 0
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    @property
    def workers(self) -> int:
        return self.words["workers"].value

    def _begin_anew(self) -> None:
        """No workers: at the start, and in a process that was forked, perhaps while there were some at work."""
        self.words["idle"].value = self.words["workers"].value = 0
        self._system.pthread_mutex_init(ctypes.c_void_p(self._mutex), None)


@cache
def _runtime() -> _Runtime:
    return _Runtime()
