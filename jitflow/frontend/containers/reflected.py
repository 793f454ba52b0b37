"""``x |= y`` and ``x.update(y)`` where ``x`` is a container of Python's, and ``y`` one of the running program.

Python asks ``y`` for a new object before it asks whether ``x`` can be changed, so all others that know ``x`` would not
see the change. The trace starts anew instead, and ``x`` is one of the running program, too.
"""

from __future__ import annotations

import functools
import gc
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from jitflow.frontend.containers.containers import refusal
from jitflow.frontend.control.changing_lists import begin_anew_with
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.outside.sets import operator_here, python_set
from jitflow.frontend.recording.trace import current_trace

__all__ = ["joined_with", "reflected"]

_CHANGEABLE = list, dict, set, deque


def reflected(operate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A method such as ``__radd__``, which makes a new object of two."""

    @functools.wraps(operate)
    def call(self: Any, other: Any) -> Any:
        if isinstance(other, _CHANGEABLE) and (symbol := operator_here()).endswith("="):
            begin_anew_with(other)
            if not _has_other_names(other):
                return operate(self, other)
            raise refusal(
                f"`{symbol}` of a {type(other).__name__} with what the running program makes",
                "make a new one of both, or change it item by item",
            )
        return operate(self, other)

    return call


def _has_other_names(thing: Any) -> bool:
    """Whether the program knows something by more than the one name or place that is to hold another thing now."""
    frames = [*current_trace().user_frames()]
    known = [frame.f_locals for frame in frames]
    holders = [one for one in gc.get_referrers(thing) if not type(one).__module__.startswith("jitflow")
               and not isinstance(one, FrameType) and not any(one is each for each in (known, *known))]  # fmt: skip
    names = {(id(frame), name) for frame, names in zip(frames, known, strict=True) for name, one in names.items()
             if one is thing and name not in (*frame.f_code.co_cellvars, *frame.f_code.co_freevars)}  # fmt: skip
    return len(holders) + len(names) > 1


def joined_with(keys: Any, method: Callable[..., Any], *others: Any) -> Any:
    """A method of one of Python's sets, which takes others."""
    if any(isinstance(other, Recorded) for other in others):
        begin_anew_with(keys)
    return method(*map(python_set, others))
