"""Python's lists that regions change: the statement that made such a list makes one of the running program instead.

See `jitflow.frontend.python.growing_lists`. A trace begins with lists of Python's, and starts anew where one of them
turns out to change on a decision that only the running program makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitflow.frontend.recording.choices import Restart
from jitflow.frontend.recording.trace import active_trace, current_trace

__all__ = ["begin_anew_with", "drain_lists", "forget_kinds", "kinds_so_far", "list_like"]


def list_like(items: list[Any], made: list[Any]) -> list[Any]:
    """``made``, which takes the place of ``items``."""
    trace = active_trace()
    if trace is not None and id(items) in trace.lists:
        trace.lists[id(made)] = made, trace.lists[id(items)][1]
    return made


def begin_anew_with(changed: Any, *, is_wish: bool = False) -> None:
    """Start the trace anew if what a region has changed is a list that can be one of the running program.

    ``is_wish``: it need not be one, and is none where that is refused.
    """
    trace = current_trace()
    if type(changed) is list and id(changed) in trace.lists:
        site = trace.lists[id(changed)][1]
        if not trace.choices.is_settled(site):
            raise trace.begin_anew(Restart(site, is_wish=is_wish))


def drain_lists() -> None:
    """Take off what is left in the lists that the region has made."""
    trace = current_trace()
    for growing in trace.growing:
        if growing.home is trace.scope:
            growing.drain()


def kinds_so_far() -> list[tuple[Any, Any]]:
    """What is known of the items of all lists, to be given to `forget_kinds`."""
    return [(growing, growing.known) for growing in current_trace().growing]


def forget_kinds(before: Sequence[tuple[Any, Any]]) -> None:
    """A turn is traced again: what it has told about the items of lists may have come too early."""
    for growing, known in before:
        growing.known = known
