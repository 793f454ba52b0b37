"""Iterators of what only the running program knows.

Of `filter`, the items that are left are a list of the program, made at once. `next` takes the items of a source one by
one.
"""

from __future__ import annotations

from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.branch import choose, if_
from jitflow.frontend.control.comparisons import is_traced
from jitflow.frontend.control.loop import own_loop
from jitflow.frontend.control.sources import Once, as_source
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.stepwise import attempted_step, is_stepwise, step
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.python import iterated_programs as programs
from jitflow.frontend.python.made_containers import made_container
from jitflow.frontend.recording.locate import raising_for_the_program
from jitflow.frontend.recording.trace import active_trace

__all__ = ["filter_", "next_"]


@raising_for_the_program
def next_(iterator: Any, *default: Any) -> Any:
    """`next`."""
    if active_trace() is not None and is_stepwise(iterator):
        if not default:
            return step(iterator)
        item, ended = attempted_step(iterator)
        return choose(ended == 0, lambda: item, lambda: default[0])
    if not isinstance(iterator, Source) or (isinstance(iterator, Recorded) and not iterator.once):
        found: Any = iterator
        return next(found, *default)
    iterator = iterator.gone_through()
    if iterator.once and iterator.used:
        iterator.begin()  # which raises
    place, iterator.taken = iterator.taken, iterator.taken + 1
    if default:
        return programs.item_or(iterator, place, tracers.size_of(iterator.count), *default)
    return programs.item_at(iterator, place, tracers.size_of(iterator.count))


def filter_(function: Any, items: Any) -> Any:
    """`filter`."""
    is_running = isinstance(items, Recorded) or is_traced(items)
    return _left(function, items) if is_running and active_trace() is not None else filter(function, items)


def _left(function: Any, items: Any) -> Any:
    found = made_container([], "filter(...)")

    def turn(item: Any) -> None:
        if_(item if function is None else function(item), lambda: found.append(item), lambda: None, (), ())

    own_loop(items, turn)
    left = as_source(found)
    return iter(found) if left is None else Once(left, filter)
