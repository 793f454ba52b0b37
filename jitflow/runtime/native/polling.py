"""What long native loops ask: whether they are to go on. So Ctrl-C ends them.

``i32 poll(ptr last)`` is cheap when asked often: it looks at the clock, and only now and then takes the GIL and lets
Python run the handlers of the signals that have arrived, which Python does in the main thread alone. Then a function
that does nothing is called (`breathe`), since Python raises in front of its instructions what another thread has told
this one to raise. What comes of this, KeyboardInterrupt as a rule, waits for the failure handler, and the answer is 1.
``last`` is a word of the run's own, 0 at first: the time of its last look.

A run over small arrays keeps the GIL. If it takes long after all, other threads get their turn here.
"""

from __future__ import annotations

import ctypes
import sys

__all__ = ["breathe", "clock_address"]


def clock_address() -> int:
    """C's clock_gettime; 0 where there is none."""
    function = getattr(ctypes.CDLL(None), "clock_gettime", None) if sys.platform != "win32" else None
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def breathe() -> None:
    """Let Python look at what has come for this thread."""
