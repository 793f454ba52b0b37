"""Lists, dicts and other objects that can change, where the running program chooses which one a name stands for.

    b = a
    if c:
        b = [9.0, 9.0]
    b[0] = 7.0                    a[0] as well, unless c

Such objects are merged item by item into a new one, which is right while nobody writes to one of them. So what went in
and came out is remembered, and looked at when the program has been traced: if one of them has changed, the trace starts
anew, and the name stands for one of several objects (`Alternatives`), each of which takes its writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jitflow.frontend.control.mutables import Held, Mutables, held
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Trace, current_trace

__all__ = ["is_chosen_by_identity", "remember_choice", "require_unchanged"]


@dataclass(frozen=True, eq=False)
class Merged:
    """Objects that were merged at a site, the result among them, and what they held."""

    site: Site
    held: tuple[Held, ...]


class _MergedObjects(list[Merged]):
    """All that were merged."""


def is_chosen_by_identity(site: Site) -> bool:
    """Whether a name stands for one of the objects themselves behind a branch."""
    return bool(current_trace().choices.answer(site))


def remember_choice(site: Site, things: Sequence[Any], made: Sequence[Any], before: Mutables) -> None:
    """Objects of several paths were made anew. Those that only their path knows may change as they like."""
    known = [thing for thing in things if before.holds(thing)]
    found = [content for content in map(held, [*known, *made]) if content is not None]
    if known and found:
        trace = current_trace()
        trace.state(_MergedObjects).append(Merged(site, tuple(found)))


def require_unchanged(trace: Trace) -> None:
    """Start the trace anew where an object has changed that was merged with another one."""
    for merged in trace.state(_MergedObjects):
        if any(content.changed() for content in merged.held):
            raise Restart(merged.site)
