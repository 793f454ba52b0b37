"""How a native program ends: what `run` returns, 0 where it has done what it should."""

from __future__ import annotations

__all__ = ["CHECK_FAILED", "DEVICE_FAILED", "INTERRUPTED", "NOT_ON_TAPE", "NO_WORKER", "OF_ANOTHER_PROCESS",
           "OUT_OF_MEMORY", "ROUTINE_FAILED", "ROUTINE_FAILED_ELSEWHERE", "STOPPED", "TOO_BIG",
           "UNCOUNTED"]  # fmt: skip

CHECK_FAILED, OUT_OF_MEMORY, ROUTINE_FAILED, INTERRUPTED, NOT_ON_TAPE = range(1, 6)
UNCOUNTED = (1 << 63) - 1
TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
"""Where numbers of bytes saturate, and what NumPy says to an array of as many or more."""
STOPPED, NO_WORKER, ROUTINE_FAILED_ELSEWHERE = range(6, 9)
"""A partition that waits for one which has failed; a device whose thread cannot start; a routine on another thread."""
DEVICE_FAILED = 9
"""The driver of a GPU refuses a call."""
OF_ANOTHER_PROCESS = -1
"""The site of what failed in another process: the exception knows its place."""
