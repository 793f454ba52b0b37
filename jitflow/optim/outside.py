"""What an optimiser must know of tracing: which object the program's counterpart stands for, and the other way round.

An optimiser makes memory for a variable when it first sees it, which in a compiled function is while that is traced:
once. The compiled code is for that optimiser and these variables alone, which guards see to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitflow.runtime.variable import Variable

__all__ = ["inside", "is_traced", "object_outside", "plainly"]


def is_traced() -> bool:
    """Whether a compiled function is being traced."""
    from jitflow.frontend.recording.trace import active_trace

    return active_trace() is not None


def object_outside(thing: Any) -> Any:
    """The very object that ``thing`` stands for."""
    from jitflow.frontend.recording.trace import active_trace

    trace = active_trace()
    return thing if trace is None or trace.pin is None else trace.pin(thing)


def inside(variable: Variable) -> Any:
    """What stands for a variable in the program."""
    from jitflow.frontend.recording.trace import active_trace

    trace = active_trace()
    return variable if trace is None else trace.variable(variable)


def plainly(function: Callable[[], Any]) -> Any:
    """``function()``, run as plain Python."""
    from jitflow.frontend.recording.trace import recording

    with recording(None):
        return function()
