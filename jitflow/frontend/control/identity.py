"""Lists, dicts and other objects that can change, where the running program chooses which one a name stands for.

    b = a
    if c:
        b = [9.0, 9.0]
    b[0] = 7.0                    a[0] as well, unless c

Such objects are merged item by item into a new one, which is right while nobody writes to one of them, nor sees two of
them outside. So what went in and came out is remembered, and looked at when the program has been traced: if one of them
has changed, or two are returned, the trace starts anew, and the name stands for one of several objects
(`Alternatives`), each of which takes its writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.leaves import can_change, parts_of
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Held, Mutables, held
from jitflow.frontend.recording.choices import Restart, Site
from jitflow.frontend.recording.trace import Trace, Undoable, current_trace
from jitflow.frontend.syntax import is_block
from jitflow.frontend.tracers import Alternatives
from jitflow.records import dataclass

__all__ = [
    "is_chosen_by_identity",
    "origins_of",
    "pairs_of",
    "remember_carried",
    "remember_choice",
    "remember_made_of",
    "remember_renewed",
    "remember_torn",
    "require_apart",
    "require_unchanged",
    "shown_by_others",
    "with_contents",
    "within_reach",
]


@dataclass(frozen=True, eq=False)
class Merged:
    """Objects that were merged at a site, the result among them, and what they held."""

    site: Site
    known: tuple[Any, ...]
    given_up: tuple[Any, ...]
    """Those known for which something else stands behind the site."""
    made: tuple[Any, ...]
    held: tuple[Held, ...]
    is_written: bool
    """Whether a turn has changed what it found, which may be what others know."""
    is_kept: bool
    """Whether the program still has one of those known by another name."""


class _MergedObjects(list[Merged]):
    """All that were merged."""

    def __init__(self) -> None:
        super().__init__()
        self.by_made: dict[int, list[Merged]] = {}
        """By object, the sites that it was made at."""

    def note(self, merged: Merged) -> None:
        self.append(merged)
        for number in {id(thing): None for thing in merged.made}:
            self.by_made.setdefault(number, []).append(merged)


class _MadeOf(dict[int, dict[tuple[int, Site | None], tuple[Any, Any]]]):
    """By object that was made where paths or turns met: by what it was made of, and the local that was merged, both."""


class _TornObjects(list[tuple[Held, UserNotImplementedError]], Undoable):
    """Objects that are one where they come from and several here, as they were, and the error if they change."""

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[int, dict[int, Any]] = {}
        """By object: those that may be one with it where they come from, itself among them."""

    def mark(self) -> Callable[[], None]:
        count = len(self)
        return lambda: self.__delitem__(slice(count, None))

    def with_others(self, *things: Any) -> list[Any]:
        """Objects, and those that may be one with them."""
        return [other for thing in things for other in self.others.get(id(thing), {id(thing): thing}).values()]

    def note(self, one: Any, other: Any) -> None:
        """Two objects may be one where they come from."""
        self.others.setdefault(id(one), {id(one): one})[id(other)] = other
        self.others.setdefault(id(other), {id(other): other})[id(one)] = one


def is_chosen_by_identity(site: Site) -> bool:
    """Whether a name stands for one of the objects themselves behind a branch."""
    return bool(current_trace().choices.answer(site))


def _is_known(thing: Any, before: Mutables) -> bool:
    """Whether others may know an object: it was within reach before, or may be one that was."""
    options = [option for option in _apart([thing]) if held(option) is not None]
    behind = (known for option in options for choice in _behind(current_trace(), id(option)) for known in choice.known)
    return any(map(before.holds, options)) or any(map(before.holds, behind))


def with_contents(things: Sequence[Any]) -> list[Any]:
    """Objects, and those that they hold."""
    found = _apart(things)
    for thing in found:
        parts = parts_of(thing)
        found += [] if parts is None else _apart(parts.items)
    return found


def _apart(things: Sequence[Any]) -> list[Any]:
    """The objects themselves in the place of what is one of several."""
    found = []
    for thing in things:
        if type(thing) is not Alternatives:
            found.append(thing)
        elif type(thing.chosen) is int:
            found.append(thing.options[thing.chosen])
        else:
            found += thing.options.values()
    return found


def remember_choice(
    site: Site, things: Sequence[Any], made: Sequence[Any], before: Mutables, *,
    whole: bool = False, found: Sequence[Held] = (),
) -> None:  # fmt: skip
    """Objects of several paths were made anew. Those that only their path knows may change as they like.

    They were made ``whole``, with all that is in them, as those of several kinds always are. A turn of a loop began
    with what it has ``found`` in those made for it.
    """
    if whole or any(type(thing) is Alternatives for thing in made):
        things, made = with_contents(things), with_contents(made)
    known = [thing for thing in _apart(things) if _is_known(thing, before)]
    behind_it = _apart(made)
    given_up = [thing for thing in known if not any(thing is one for one in behind_it)]
    made = [thing for thing in behind_it if not any(thing is one for one in known)]
    now = [content for content in map(held, [*known, *made]) if content is not None]
    if known and now:
        is_written = any(content.changed() for content in found)
        behind = (one for thing in known for choice in _behind(current_trace(), id(thing)) for one in choice.known)
        torn = current_trace().state(_TornObjects)
        is_kept = is_written and any(map(within_reach().holds, torn.with_others(*known, *behind)))
        merged = Merged(site, tuple(known), tuple(given_up), tuple(made), tuple(now), is_written, is_kept)
        current_trace().state(_MergedObjects).note(merged)


def remember_torn(made_of: Iterable[tuple[Sequence[Any], Any]], before: Mutables, found: Sequence[Held] = ()) -> None:
    """An object that a path made is in several of those that were made of the paths' objects: none of them may change.

    ``made_of`` are the objects of the paths, and what was made of them. A turn of a loop began with what it has
    ``found`` in those made for it.
    """
    torn, began = current_trace().state(_TornObjects), {id(content.thing): content for content in found}
    made_there: dict[tuple[int, int], list[Any]] = {}
    several: dict[int, Any] = {}
    behind: list[tuple[Any, Any]] = []
    within = cache(within_reach)
    for things, made in made_of:
        mine = [part for part in _apart([resolved(made)]) if can_change(part) and not before.holds(part)]
        for number, thing in ((number, one) for number, kind in enumerate(things) for one in _apart([kind])):
            if not can_change(thing):
                continue
            others = torn.with_others(thing)
            for other in others:
                for twin in made_there.get((number, id(other)), ()):
                    for part in (part for part in mine if part is not twin):
                        torn.note(twin, part)
                        if not before.holds(thing):
                            several |= {id(twin): twin, id(part): part}
            made_there.setdefault((number, id(thing)), []).extend(mine)
            if not found:  # what a turn begins with is of another turn
                known = [*filter(within().holds, others)] if len(others) > 1 else []
                behind += itertools.product(mine, [thing, *known])
    for part, other in behind:
        torn.note(part, other)
    if several:
        error = UserNotImplementedError(
            "an object that has two names on one path and changes later, where the names are of two objects on another",
            mend="change it on the path itself, or give one of the names a copy",
            location=current_trace().here(),
        )
        contents = (began.get(number) or held(part) for number, part in several.items())
        torn.extend((content, error) for content in contents if content is not None)


def remember_renewed(thing: Any, made: Any) -> None:
    """What leaves a region was made anew, and is the object that it was made of."""
    torn = current_trace().state(_TornObjects)
    remember_made_of(thing, made)
    for part, new in pairs_of(thing, made):
        for other in torn.with_others(part) if part is not new else ():
            torn.note(new, other)


def remember_made_of(thing: Any, made: Any, site: Site | None = None, *, alone: bool = False) -> None:
    """What a path or turn has left was made anew, in a local that is merged at a site if that is where it was.

    ``alone``: of what is in it that is told by itself, if it is of one kind.
    """
    is_alone = alone and type(thing) is not Alternatives and type(made) is not Alternatives
    for one, other in ((thing, made),) if is_alone else pairs_of(thing, made):
        if one is not other and can_change(one):
            current_trace().state(_MadeOf).setdefault(id(other), {})[id(one), site] = other, one


def remember_carried(thing: Any, site: Site) -> None:
    """What a turn of a loop begins with in a local was made anew, of what the last turn has left."""
    for part in with_contents([thing]):
        if can_change(part):
            current_trace().state(_MadeOf).setdefault(id(part), {})[id(part), site] = part, part


def origins_of(thing: Any) -> tuple[dict[int, Any], dict[Site, None]]:
    """An object and all that it may have been made of, by their identity, and where they were merged."""
    made_of, found, sites = current_trace().state(_MadeOf), {id(thing): thing}, dict[Site, None]()
    for number in (waiting := [id(thing)]):
        for (_, site), (_, one) in made_of.get(number, {}).items():
            waiting += [] if id(one) in found else [id(one)]
            found[id(one)] = one
            sites |= {} if site is None else {site: None}
    return found, sites


def pairs_of(thing: Any, made: Any, seen: set[tuple[int, int]] | None = None) -> Iterator[tuple[Any, Any]]:
    """An object and what was made of it, and what is in it and what was made of that."""
    seen = set() if seen is None else seen
    if thing is made or (id(thing), id(made)) in seen:
        return
    if type(thing) is Alternatives or type(made) is Alternatives:
        sides = ([one for one in _apart([side]) if parts_of(one) is not None] for side in (thing, made))
        for one, other in itertools.product(*sides):
            yield from pairs_of(one, other, seen)
        return
    seen.add((id(thing), id(made)))
    parts, new = parts_of(thing), parts_of(made)
    if parts is not None and new is not None and repr(parts.shape) == repr(new.shape):
        yield thing, made
        for one, other in zip(parts.items, new.items, strict=True):
            yield from pairs_of(one, other, seen)


def within_reach(but: Collection[Any] = ()) -> Mutables:
    """The objects that the program has names for, but for some."""
    things = (resolved(thing) for frame in current_trace().user_frames() for thing in frame.f_locals.values())
    return Mutables(thing for thing in things if not any(thing is one for one in but))


def shown_by_others(name: str) -> Mutables:
    """The objects for which the program has other names than a local of the innermost function that has it."""
    shown: list[Any] = []
    is_found = False
    for frame in current_trace().user_frames():
        shown += (thing for other, thing in frame.f_locals.items() if is_found or other != name)
        is_found |= name in frame.f_locals and name not in frame.f_code.co_freevars
    return Mutables(resolved(thing) for thing in shown if not _is_block(thing))


def _is_block(thing: Any) -> bool:
    return type(thing) is FunctionType and is_block(thing.__code__)


def require_unchanged(trace: Trace) -> None:
    """Start the trace anew where an object has changed that was merged with another one.

    Around a loop or branch first: what it carries is not made anew then.
    """
    for merged in reversed(trace.state(_MergedObjects)):
        around = [one for thing in merged.known for one in _behind(trace, id(thing))]
        was_written = merged.is_written and any(one.is_kept for one in (merged, *around))
        if was_written or any(content.changed() for content in merged.held):
            _choose_by_identity(trace, merged, *around)
    for content, error in () if trace.restarts else trace.state(_TornObjects):
        if content.changed() or any(one.changed() for one in _made_later(trace, content.thing)):
            raise error


def _made_later(trace: Trace, thing: Any) -> Iterator[Held]:
    """What was made of an object where it was merged with others, as it was then."""
    found = [thing]
    for merged in trace.state(_MergedObjects):
        if any(one is other for one in merged.given_up for other in found):
            found += merged.made
            yield from (content for content in merged.held if any(content.thing is one for one in merged.made))


def require_apart(trace: Trace, returned: Collection[int]) -> None:
    """Start the trace anew where an object, known by its identity, is returned that was merged with another one.

    Unless nobody outside can tell: that one is not returned, nor what was merged with it.
    """
    behind = {
        shown: {shown, *(id(thing) for one in _behind(trace, shown) for thing in one.known)} for shown in returned
    }
    for merged in reversed(trace.state(_MergedObjects)):
        made = {id(thing) for thing in merged.made}
        for shown in (shown for shown in returned if not made.isdisjoint(behind[shown])):
            others = set().union(*(found for other, found in behind.items() if other != shown and other not in made))
            if any(id(thing) in others for thing in merged.known):
                _choose_by_identity(trace, merged, *_behind(trace, shown))


def _choose_by_identity(trace: Trace, *found: Merged) -> None:
    """Start the trace anew with the objects of some merged as they are, unless they are so already."""
    sites = [merged.site for merged in found if not trace.choices.is_settled(merged.site)]
    if sites and not any(map(trace.is_noted, sites[1:])):  # which may do for what comes from there
        trace.begin_anew_at_last(Restart(*sites[:1], others=sites[1:]))


def _behind(trace: Trace, shown: int) -> list[Merged]:
    """The choices that an object may come from."""
    by_made, found = trace.state(_MergedObjects).by_made, dict[Merged, None]()
    waiting = [shown]
    while waiting:
        made = [merged for merged in by_made.get(waiting.pop(), ()) if merged not in found]
        found |= dict.fromkeys(made)
        waiting += (id(thing) for merged in made for thing in merged.known)
    return [*found]
