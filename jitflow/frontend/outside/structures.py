"""`jitflow.variables` in a compiled function: the variables in a structure that the program was given, or has made.

Which of an object's attributes lead to variables is found out by looking at the object itself. Those are then read as
the program would read them, and a guard looks again at each call whether the same paths lead to variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from jitflow.frontend.outside.proxies import OBJECT_PROXIES, ObjectProxy
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import VariableTracer
from jitflow.runtime.entry.plan import Satisfies
from jitflow.structure import attributes_of, has_variables_at, variable_paths

__all__ = ["variables_in"]


def variables_in(objects: Any, trainable: bool | None = None) -> list[Any]:
    """The variables in a structure, each once."""
    found = dict.fromkeys(_variables(objects, set()))
    return [variable for variable in found if trainable in (None, variable.trainable)]


def _variables(thing: Any, seen: set[int]) -> Iterator[VariableTracer]:
    identity = id(thing._jitflow_object if type(thing) in OBJECT_PROXIES else thing)
    if identity in seen:
        return
    seen.add(identity)
    if type(thing) is VariableTracer:
        yield thing
    elif type(thing) in OBJECT_PROXIES:
        for name in _leading_on(thing):
            yield from _variables(getattr(thing, name), seen)
    elif isinstance(thing, dict):
        for item in list(thing.values()):
            yield from _variables(item, seen)
    elif isinstance(thing, list | tuple):
        for item in thing:
            yield from _variables(item, seen)


def _leading_on(proxy: ObjectProxy) -> list[str]:
    """The attributes of an object outside that lead to variables, guarded to be those that do."""
    thing = proxy._jitflow_object
    test = partial(has_variables_at, variable_paths(thing))
    current_trace().require(Satisfies(proxy._jitflow_register, test, "has its variables where they were"))
    return [name for name, item in attributes_of(thing) if variable_paths(item)]
