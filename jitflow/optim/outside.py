"""What an optimiser must know of tracing: which object the program's counterpart stands for, and the other way round.

An optimiser makes memory for a variable when it first sees it, which in a compiled function is while that is traced:
once. The compiled code is for that optimiser and these variables alone, which guards see to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitflow.runtime.preparation import Preparation, Slot
from jitflow.runtime.variable import Variable

__all__ = ["inside", "is_traced", "object_outside", "plainly", "prepared", "slot_inside"]


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


def prepared(owner: Any, method: str, variables: Sequence[Any]) -> Any:
    """What a method of the object outside answers about the variables outside, once: it may make memory for them."""
    from jitflow.frontend.recording.preparations import Preparations
    from jitflow.frontend.recording.trace import active_trace

    found, outside = object_outside(owner), [object_outside(variable) for variable in variables]
    answer = plainly(lambda: getattr(found, method)(outside))
    trace = active_trace()
    if trace is not None:
        registers = [_register_of(thing) for thing in (owner, *variables)]
        if None not in registers:
            made = Preparation(registers[0], method, tuple(registers[1:]), answer)
            trace.state(Preparations).made.append(made)
    return answer


def slot_inside(owner: Any, attribute: str, *keys: Any) -> Any:
    """What stands in the program for a variable that an object outside holds and the program does not read."""
    from jitflow.frontend.recording.preparations import Preparations
    from jitflow.frontend.recording.trace import active_trace

    variable = getattr(object_outside(owner), attribute)
    for key in keys:
        variable = variable[key]
    found, trace = inside(variable), active_trace()
    if trace is not None and (register := _register_of(owner)) is not None:
        trace.state(Preparations).slots.setdefault(trace.origins[id(found)], Slot(register, attribute, keys))
    return found


def _register_of(thing: Any) -> Any:
    """The register of the object that ``thing`` stands for, None if it has none."""
    from jitflow.frontend.outside.proxies import outside_register
    from jitflow.frontend.recording.trace import active_trace

    trace = active_trace()
    return outside_register(thing) if trace is None or id(thing) not in trace.origins else trace.origins[id(thing)]
