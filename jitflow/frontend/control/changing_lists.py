"""Python's lists that regions change: the statement that made such a list makes one of the running program instead.

See `jitflow.frontend.containers.growing_lists`. A trace begins with lists of Python's, and starts anew where one of
them turns out to change on a decision that only the running program makes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from jitflow.frontend.control.cells import Cells
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording.choices import AT_LAST, Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Undoable, active_trace, current_trace
from jitflow.frontend.syntax import makes_containers
from jitflow.frontend.tracers.base import begin_anew_rewritten
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.types import Container

__all__ = ["SLOTTED", "MadeHere", "ProgramLists", "begin_anew_beside",
           "begin_anew_displayed", "begin_anew_with", "begin_anew_with_slots", "container_type", "drain_lists",
           "form_of_dict", "go_on_with_others", "is_made", "is_made_inside", "is_reference", "made_like",
           "site_of_making", "slotted_site"]  # fmt: skip


class MadeHere(NamedTuple):
    """A container of Python's that a statement has made, and the region in which that was."""

    thing: Any
    site: Site
    home: Scope


class ProgramLists(Undoable):
    """The lists that statements have made, by identity, and where; and those that are part of the running program."""

    def __init__(self) -> None:
        self.made: dict[int, MadeHere] = {}
        self.growing: list[Any] = []
        self.making = 0
        """How many calls of classes of containers are going on: ``list(map(list, rows))`` makes lists in one."""

    def mark(self) -> Callable[[], None]:
        """What turns that are traced again have told about items may have come too early."""
        known = [(growing, growing.known) for growing in self.growing]

        def forget() -> None:
            for growing, form in known:
                growing.known = form

        return forget


def site_of_making(name: str) -> Site:
    """Where a container is made that goes by a name, in this call of its function, if that is no call of itself."""
    here = current_trace().here(with_callers=True)
    calls = {(place.file, place.function): (place.line, place.column) for place in here.chain()}  # each by its first
    del calls[here.file, here.function]
    return Site(Choice.GROWING, here.file, here.line, name, tuple(calls.values()), here.function)


def made_like(items: Any, made: Any) -> Any:
    """``made``, a list or dict which takes the place of ``items``."""
    trace = active_trace()
    known = None if trace is None else trace.state(ProgramLists).made.get(id(items))
    if trace is not None and known is not None:
        trace.state(ProgramLists).made[id(made)] = MadeHere(made, known.site, trace.scope)
    return made


def is_made(thing: Any) -> bool:
    """Whether it is a container that a statement has made, which may be one of the running program some time."""
    trace = active_trace()
    return trace is not None and id(thing) in trace.state(ProgramLists).made


def begin_anew_with(changed: Any, held: Any = None, *, is_wish: bool = False) -> None:
    """Start the trace anew if what a region has changed is a list that can be one of the running program.

    ``held`` is its type, if that is not told by what is in it. ``is_wish``: it need not be one, and is none where that
    is refused. A list or dict that can be none has slots (`outside.slots`).
    """
    trace = current_trace()
    known = trace.state(ProgramLists).made.get(id(changed))
    if known is None:
        frames = trace.user_frames() if isinstance(changed, _DISPLAYED) else ()
        for frame in frames:  # a function without control flow, of which no display is a hook
            if any(thing is changed for thing in frame.f_locals.values()):
                begin_anew_rewritten(trace, frame)
        return
    site = known.site
    if held != SLOTTED and not trace.choices.is_settled(site):
        raise trace.begin_anew(Restart(site, held or surface.container_type(changed), is_wish=is_wish))
    if isinstance(changed, dict | list) and not trace.choices.is_settled(slotted_site(site)):
        raise trace.begin_anew(Restart(slotted_site(site), is_wish=is_wish))


_DISPLAYED = list, dict, set, deque


def begin_anew_displayed() -> None:
    """Start the trace anew if a container that no statement has made may be one of a function that is not rewritten.

    No display of such a function is a hook.
    """
    trace = current_trace()
    making = filter(makes_containers, trace.straight)
    sites = [Site(Choice.REWRITTEN, code.co_filename, code.co_firstlineno) for code in making]
    sites = [site for site in sites if not trace.choices.is_settled(site)]
    if sites:
        raise trace.begin_anew(Restart(sites[0], others=sites[1:]))


def go_on_with_others(cells: Cells, known: int) -> None:
    """Behind a statement that was left out since it changes containers, let the trace go on with those of the next one.

    In Python's, what follows would find less than the program does, and fail. ``known`` is for how much the trace had
    to start anew before the statement.
    """
    trace = current_trace()
    answers = {site: restart.answer for restart in trace.restarts[known:] for site in restart.sites}
    others: dict[int, Any] = {}

    def other(thing: Any) -> Any:
        made = trace.state(ProgramLists).made.get(id(thing))
        if made is None or made.site not in answers or made.home is not trace.scope:
            return thing
        if id(thing) not in others:
            others[id(thing)] = surface.container_made_anew(thing, made.site, answers[made.site])
        return others[id(thing)]

    if any(site.choice is Choice.GROWING for site in answers):
        for held in Mutables(cells.contents()).all():
            for key in held.keys if isinstance(held.content, list | dict) else ():
                if (found := other(held.item(key))) is not held.item(key):
                    held.set_item(key, found)
        cells.write({name: other(thing) for name, thing in cells.read([*cells.names()]).items()})


SLOTTED = "slotted"
"""In the place of the type of a container: a dict has slots for its keys."""


def slotted_site(site: Site) -> Site:
    """What stands for the decision whether a dict that is made at a site has slots for its keys."""
    return replace(site, choice=Choice.SLOTTED)


def begin_anew_with_slots(site: Site | None) -> None:
    """Start the trace anew with slots in the place of a container that cannot hold what is put there."""
    trace = current_trace()
    if site is not None and not trace.choices.is_settled(slotted_site(site)):
        raise trace.begin_anew(Restart(slotted_site(site), AT_LAST, is_wish=True))


def form_of_dict(*contents: Any) -> str | None:
    """Whether a dict that holds one of several contents has slots; None where its keys tell no names."""
    dicts = [content for content in contents if isinstance(content, Mapping) and content]
    is_named = any(isinstance(key, str) for content in dicts for key in content)
    return SLOTTED if is_named or any(surface.container_type(content) is True for content in dicts) else None


def container_type(changed: Any, left: Any) -> Container | str | None:
    """The type of a container of Python's that changes, of what was ``left`` in it, if that tells it."""
    if not is_made(changed) or not isinstance(changed, type(left)):
        return None
    if isinstance(changed, dict) and form_of_dict(changed, left) == SLOTTED:
        return SLOTTED
    if type(left) is not type(changed):
        return None
    with current_trace().region():  # what several kinds have in common is an op, which nobody needs
        held = surface.container_type(left)
    return held if isinstance(held, Container) else None


def is_reference(thing: Any) -> bool:
    """Whether it is a container of the running program, of which it is known what it holds."""
    return isinstance(thing, Recorded) and thing.flows and getattr(thing, "is_known", True)


def is_made_inside(thing: Any) -> bool:
    """Whether it is a container of the running program that was not made here, or around."""
    return is_reference(thing) and getattr(thing, "home", None) not in set(current_trace().scope.around())


def begin_anew_beside(things: Iterable[Any]) -> None:
    """Where one of several things is a container of the running program, let those of Python's be such, too.

    One of which nobody knows yet what it holds is told by one of the same kind.
    """
    things = [*things]
    containers: list[Any] = [one for one in things if isinstance(one, Recorded) and hasattr(type(one), "held")]
    for thing in things if containers else ():
        begin_anew_with(thing, is_wish=True)
    known = {each.held.kind: each.held for each in containers if each.is_known}
    for each in containers:
        if not each.is_known and each.site is not None and each.held.kind in known:
            raise current_trace().begin_anew(Restart(each.site, known[each.held.kind]))


def drain_lists() -> None:
    """Take off what is left in the lists that the region has made, if a reverse sweep goes through it."""
    trace = current_trace()
    lists = [growing for growing in trace.state(ProgramLists).growing if growing.home is trace.scope]
    if lists and any(scope.is_differentiated for scope in trace.scope.around()):
        for growing in lists:
            growing.drain()
