"""`filter` of what only the running program knows: the items that are left are a list of the program, made at once."""

from __future__ import annotations

from typing import Any

from jitflow.frontend.control.branch import if_
from jitflow.frontend.control.comparisons import is_traced
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python.made_containers import made_container
from jitflow.frontend.recording.trace import active_trace

__all__ = ["filter_"]


def filter_(function: Any, items: Any) -> Any:
    """`filter`."""
    is_running = isinstance(items, Recorded) or is_traced(items)
    return _left(function, items) if is_running and active_trace() is not None else filter(function, items)


def _left(function: Any, items: Any) -> Any:
    found = made_container([], "filter(...)")

    def turn(item: Any) -> None:
        if_(item if function is None else function(item), lambda: found.append(item), lambda: None, (), ())

    own_loop(items, turn)
    return iter(found) if type(found) is list else found
