"""Exceptions on their way through native code.

One that is raised inside of a run waits while the run ends, and is raised again by the failure handler. Where a
function of jitflow's raises for the program, its frame is hidden: tracebacks go from the call to the program's lines.
"""

from __future__ import annotations

import threading

__all__ = ["DRAWER", "take_exception"]


class _Drawer(threading.local):
    exception: BaseException | None = None


DRAWER = _Drawer()
"""Native code sets its attribute. No Python runs for that, because the stack may have room for nothing more."""


def take_exception() -> BaseException | None:
    """What the last call in this thread that failed raised; None if that was taken already."""
    exception, DRAWER.exception = DRAWER.exception, None
    return exception
