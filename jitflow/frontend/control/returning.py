"""Which call of the user's is about to return, read off the stack of Python's frames."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from jitflow.frontend.recording.locate import is_internal
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.syntax import is_block
from jitflow.frontend.tracers import ArrayTracer

__all__ = ["RETURNED", "is_returned_itself", "leaves_the_function", "returning_function"]

RETURNED = "value__"
"""What the rewriting calls the value of a ``return``."""


def leaves_the_function() -> bool:
    """Whether the innermost function of the user's that runs is the one that is being compiled."""
    frame: Any = sys._getframe(1)
    while frame is not None and (is_internal(frame.f_code.co_filename) or is_block(frame.f_code)):
        frame = frame.f_back
    return frame is not None and frame.f_back is current_trace().caller


def is_returned_itself(name: str) -> Callable[[Any], bool]:
    """Whether something is an array that the caller passed, which leaves the function in a local of this name."""
    if not name.startswith(RETURNED) or not leaves_the_function():
        return lambda thing: False
    return lambda thing: isinstance(thing, ArrayTracer) and current_trace().is_passed(thing)


def returning_function() -> FrameType | None:
    """The call of a function that is about to return, if nothing of it runs behind a ``return``."""
    frame: Any = sys._getframe(1)
    while frame is not None and (is_internal(frame.f_code.co_filename) or is_block(frame.f_code)):
        if is_block(frame.f_code) and frame.f_code.co_exceptiontable:
            return None
        frame = frame.f_back
    return None if frame is None or frame.f_code.co_exceptiontable else frame
