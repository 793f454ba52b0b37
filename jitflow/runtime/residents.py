"""Variables that live on a GPU: their memory there, with what orders the calls that use it.

The lock words of such a variable lie on the host, in front of a mirror of its elements, through which all goes that is
not compiled. Calls return before the GPU has done what they asked for; so who uses a variable on another stream than
the last one waits there, by an *event*, and not here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitflow.runtime.native.cuda import Event, Gpu, gpu

__all__ = ["Resident"]

Array = np.ndarray[Any, Any]


class Resident:
    """The memory on a GPU of a variable whose ``mirror`` and lock words, at ``header``, lie on the host."""

    def __init__(self, device: str, mirror: Array, header: int) -> None:
        self.header = header
        self._gpu: Gpu = gpu(device)
        self._mirror = mirror
        self._address = self._gpu.allocate(mirror.nbytes)
        self._free = self._gpu.freeing(self._address)
        self._event = Event(self._gpu)
        self.store()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self._mirror.shape, "typestr": self._mirror.dtype.str, "data": (self._address, False),
                "version": 3}  # fmt: skip

    def begin(self) -> None:
        """Let the calling thread's stream wait for what was done before."""
        self._event.wait()

    def end(self) -> None:
        """Note that what comes next waits for what the calling thread's stream does until here."""
        self._event.record()

    def fetch(self) -> None:
        """Let the mirror show what is there."""
        self.begin()
        self._gpu.copy_here(self._mirror.ctypes.data, self._address, self._mirror.nbytes)

    def store(self) -> None:
        """Put there what the mirror shows."""
        self.begin()
        self._gpu.copy_there(self._address, self._mirror.ctypes.data, self._mirror.nbytes)
        self.end()

    def __del__(self) -> None:
        if hasattr(self, "_free"):
            self._free()
