"""Which of the arrays, lists and objects that a function returns are one object, or one that the caller knows.

What several paths or turns leave is followed back to where they met (`Origin`, `origins_of`). Where two results may be
one, the trace starts anew with numbers beside these locals (`same`), and compares them at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError
from jitflow.frontend.control.identity import origins_of
from jitflow.frontend.control.leaves import can_change
from jitflow.frontend.control.logic import as_python_bool
from jitflow.frontend.control.same import EACH, PASSED, Numbers, if_of_kind, is_object
from jitflow.frontend.control.shown import copy_of_a_view
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.tracers.base import located
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Op, Value
from jitflow.ir.dtypes import I64
from jitflow.ir.location import Loc

__all__ = ["Origin", "is_merged", "is_one", "is_replaced", "number_among", "number_as", "numbered_sites",
           "require_numbers", "require_objects"]  # fmt: skip


class Origin:
    """What an array may be: the ``objects``, and the ``sites`` at which they were merged."""

    def __init__(self, trace: Trace, value: Value) -> None:
        storage = trace.storage
        self.value, self.root = value, storage.root(value)
        self.objects: set[Value] = set()
        self.sites: dict[Site, None] = {}
        self.carrying: dict[Site, None] = {}
        """Those among them that have to carry a number to tell whether it is the caller's."""
        self.views: list[tracers.ArrayTracer] = []
        """The views among them, as the program has them, and those of which the merged array would be a copy."""
        self.copied: list[tracers.ArrayTracer] = []
        self.lost: dict[Site, list[tracers.ArrayTracer]] = {}
        """Where arrays were merged of which it is a view, and the views that these are copies of: no number tells."""
        self.is_known = True
        """Whether it is merged as memory, if at all, and so known by where it lies."""
        seen: set[Value] = set()
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            arrived = [] if storage.is_parameter(value) else storage.arrived(value)
            replaced = trace.state(Numbers).replaced.get(value)
            if replaced is not None:
                left, entry, ran = replaced
                arrived = [left] if ran is None else [left, entry._value]
            if not arrived:
                self.objects.add(value)
            if isinstance(storage.source(value), Op) or (storage.imitations.of and storage.imitations.shows(value)):
                self._lose(value)
            waiting += arrived
            self.views += storage.views_in.get(value, ())
            if value in storage.merged:
                self.copied += storage.views_in.get(value, ())
                for one in storage.views_in.get(value, ()):
                    self._lose(one._value)
            if value in storage.sites:
                site = storage.sites[value]
                numbered = Site(Choice.NUMBERED, site.file, site.line, site.name.partition("[")[0])
                self.sites[numbered] = None
                if replaced is None:
                    self.carrying[numbered] = None
                self.is_known &= storage.is_adopted(value) and value not in storage.mixed

    def _lose(self, view: Value) -> None:
        storage = current_trace().storage
        merged = (storage.imitations.sources(view) - storage.put_elsewhere) & storage.merged.keys()
        self.lost |= {storage.merged[one].site: storage.views_in.get(one, []) for one in merged}

    def copies_seen_by(self, others: Sequence[tracers.ArrayTracer]) -> list[tracers.ArrayTracer]:
        """The views of which it would be a copy, where they show what the caller passes, or ``others`` that it gets."""
        return _seen(self.copied, others)

    def lost_to(self, others: Sequence[tracers.ArrayTracer]) -> Iterator[Site]:
        """Where it would be a view of a copy instead."""
        return (site for site, views in self.lost.items() if _seen(views, others))

    def told_by_none(self, other: Origin, returned: Sequence[tracers.ArrayTracer]) -> Iterator[Site]:
        """Where arrays were merged of which both may be views, or one and the other a view, and none is returned."""
        trace = current_trace()
        if self.root is other.root or (self.root is self.value and other.root is other.value):
            return
        ours, theirs = (Origin(trace, one.root) if one.root is not one.value else one for one in (self, other))
        told = {thing._value for thing in returned}
        shown = {value for value in ours.objects & theirs.objects - told if not trace.storage.is_parameter(value)}
        if shown and not (ours.is_known and theirs.is_known):
            yield from ours.sites | theirs.sites


def _seen(views: Sequence[tracers.ArrayTracer], others: Sequence[tracers.ArrayTracer]) -> list[tracers.ArrayTracer]:
    storage = current_trace().storage
    outside = storage.behind(*(other._value for other in others))
    found = []
    for one in views:
        root = storage.root(one._value)
        array, _ = storage.parts.of.get(root, (root, ""))
        if storage.is_parameter(storage.root(array)) or storage.behind(one._value) & outside:
            found.append(one)
    return found


def is_replaced(entry: Any, left: Any) -> bool:
    """Whether each turn of a loop, which leaves this, replaces an array of the caller's that was there before."""
    trace = current_trace()
    if trace.scope is not trace.root or not isinstance(entry, tracers.ArrayTracer):
        return False
    may_be_told = trace.is_passed(entry) or trace.storage.is_view_of_argument(entry._value)
    if not may_be_told or not isinstance(left, tracers.ArrayTracer):
        return False
    return entry._value not in Origin(trace, left._value).objects


def require_numbers(trace: Trace, returned: Sequence[tracers.ArrayTracer], kinds: Mapping[int, int]) -> None:
    """Start the trace anew where returned arrays may be one, or one that the caller knows, and no number tells.

    Raises where one may be a view that only a path or turn knows, of which it would be a copy. Of those that are only
    ``kinds`` of one thing the caller gets one.
    """
    things = [*{id(thing): thing for thing in returned}.values()]
    found = [Origin(trace, thing._value) for thing in things]
    asked: dict[Site, None] = {}
    lost: list[Site] = []
    answer = PASSED
    for number, one in enumerate(found):
        whole = kinds.get(id(things[number]))
        others = [other for other in things if other is not things[number]
                  and not (whole and kinds.get(id(other)) == whole)]  # fmt: skip
        seen = one.copies_seen_by(others)
        if one.carrying and not one.is_known and (seen or any(map(trace.storage.is_parameter, one.objects))):
            asked |= one.carrying
        for other in found[number + 1 :]:
            may_be_one = {value for value in one.objects & other.objects if not trace.storage.is_parameter(value)}
            if may_be_one and not (one.is_known and other.is_known and not any(map(trace.storage.source, may_be_one))):
                asked |= one.sites | other.sites
                answer = EACH
        if any(trace.storage.homes.get(view._value) is not trace.root for view in seen):
            raise copy_of_a_view(next(iter(one.sites)))
        lost += one.lost_to(others)
        lost += (site for other in found[number + 1 :] for site in one.told_by_none(other, things))
        if (
            seen and not one.is_known and not trace.state(Numbers).tell(things[number])
        ):  # another object shows all of it
            lost += one.sites
    sites = [site for site in asked if trace.choices.answer(site) != EACH
             and (not trace.choices.is_settled(site) or trace.choices.answer(site) not in (None, answer))]  # fmt: skip
    if sites:
        raise Restart(sites[0], answer, is_wish=True, others=sites[1:])
    if lost:
        raise copy_of_a_view(lost[0])


def require_objects(trace: Trace, returned: Sequence[Any]) -> None:
    """Start the trace anew where returned lists, dicts or objects may be one, and no number tells.

    Raises where they were merged at a place that knows of no numbers.
    """
    shown: dict[int, list[Any]] = {}
    for thing in returned:
        for number in origins_of(thing)[0]:
            shown.setdefault(number, []).append(thing)
    for things in (things for things in shown.values() if len(things) > 1):
        sites = dict.fromkeys(site for thing in things for site in numbered_sites(thing))
        unasked = [site for site in sites if not trace.choices.is_settled(site) or trace.choices.answer(site) == PASSED]
        if unasked:
            trace.begin_anew_at_last(Restart(unasked[0], EACH, others=unasked[1:]))
        elif not all(_is_told(thing) for thing in things):
            raise UserNotImplementedError(
                "a list, dict or object that may have two names, returned where the running program decides "
                "what is returned",
                mend="make it before the branch or loop that decides what is returned",
                location=Loc(*next(((site.file, site.line) for site in sites), ("", 0))) if sites else None,
            )


def is_one(thing: Any, other: Any) -> Any:
    """Whether two arrays, lists, dicts or objects are one object, which the running program knows where they may be.

    The trace starts anew where no number tells. Raises where they were merged at a place that knows of no numbers.
    """
    if thing is other or type(thing) is not type(other) or not (is_object(thing) and is_object(other)):
        return thing is other
    trace = current_trace()
    sites = dict.fromkeys(itertools.chain(numbered_sites(thing), numbered_sites(other)))
    unasked = [site for site in sites if trace.choices.answer(site) != EACH]
    if unasked:
        trace.begin_anew_at_last(Restart(unasked[0], EACH, others=unasked[1:]))
    if unasked or not sites:
        return False
    if not all(_is_told(one) or _is_a_view(one) for one in (thing, other)):
        raise located(
            UserNotImplementedError(
                "whether a list, dict, array or object is another one that it may be where the running program decides",
                mend="compare what tells them apart: a number, or a name",
            )
        )
    first, second = (values.cast(tracers.lift(trace.state(Numbers).of(one, each=True)), I64) for one in (thing, other))
    is_it = values.emit("logical_and", values.emit("equal", first, second),
                        values.emit("not_equal", first, values.constant(0, I64)))  # fmt: skip
    return as_python_bool(is_it)


def _is_a_view(thing: Any) -> bool:
    """Whether it is an array that shows all of another one: ``x[:]``, which has been merged."""
    return isinstance(thing, tracers.ArrayTracer) and not thing.owned


def is_merged(thing: Any) -> bool:
    """Whether it is an object of a class that paths or turns have left: only the running program knows which it is."""
    return type(thing) not in (list, dict) and can_change(thing) and any(True for _ in numbered_sites(thing))


def numbered_sites(thing: Any) -> Iterator[Site]:
    """The sites at which an array or object, and what it was made of, may have got numbers."""
    if isinstance(thing, tracers.ArrayTracer):
        yield from Origin(current_trace(), thing._value).sites
        return
    for site in origins_of(thing)[1]:
        yield Site(Choice.NUMBERED, site.file, site.line, site.name.removesuffix(" is"))


def _is_told(thing: Any) -> bool:
    """Whether a number says which object it is: it has one, or was never merged."""
    return current_trace().state(Numbers).tell(thing) or not any(True for _ in numbered_sites(thing))


def _may_be_one(thing: Any, other: Any) -> bool:
    """Whether an object may be another one, where the paths or turns that it comes from have met."""
    if isinstance(thing, tracers.ArrayTracer):
        mine, others = Origin(current_trace(), thing._value), Origin(current_trace(), other._value)
        may_be = current_trace().state(Numbers).may_be
        found, wanted = (
            one.objects.union(*(may_be[value]() for value in one.objects if value in may_be)) for one in (mine, others)
        )
        return bool((mine.sites or others.sites or found != mine.objects) and found & wanted)
    return not origins_of(thing)[0].keys().isdisjoint(origins_of(other)[0])


def _views_at_the_end(thing: Any) -> list[Any]:
    """The views that an array may be, and that no path or turn has made."""
    trace = current_trace()
    if not isinstance(thing, tracers.ArrayTracer):
        return []
    known, views = trace.state(Numbers).known, [thing, *Origin(trace, thing._value).views]
    return [one for one in {id(view): view for view in views}.values()
            if id(one) in known and known[id(one)][2] is trace.root
            and (one is not thing or (not one.owned and isinstance(trace.storage.source(one._value), Op)))]  # fmt: skip


def number_among(thing: Any, others: Sequence[Any]) -> tuple[Any, list[Any]] | None:
    """Which of some objects of its kind one is, 0 for none, as a number; and those of them that it may be."""
    trace = current_trace()
    known, is_array = trace.state(Numbers).known, isinstance(thing, tracers.ArrayTracer)
    if id(thing) not in known:
        replaced = trace.state(Numbers).replaced
        _, entry, ran = replaced.get(thing._value, (None, None, None)) if is_array else (None, None, None)
        return None if ran is None else (tracers.wrap(as_weak(values.emit("logical_not", ran), I64)), [entry])
    itself = values.cast(tracers.lift(trace.state(Numbers).of(thing, each=False)), I64)
    passed = [one for one, _, _ in known.values() if trace.is_passed(one)]
    may_be = []
    at_the_end = _views_at_the_end(thing)
    if any(one is thing for one in at_the_end):
        return None  # those that may be it are it
    shown = [one for one in at_the_end if not any(one is other for other in others)]
    for one in (one for one in (*passed, *others, *shown) if isinstance(one, tracers.ArrayTracer) == is_array):
        if one is not thing and id(one) in known and _may_be_one(thing, one):
            may_be.append(one)
    found = values.constant(0, I64)
    for place, one in reversed([*enumerate(may_be, 1)]):
        number = values.cast(tracers.lift(known[id(one)][1]), I64)
        is_it = values.emit("logical_and", values.emit("equal", itself, number),
                            values.emit("not_equal", itself, values.constant(0, I64)))  # fmt: skip
        found = values.select(is_it, values.constant(place, I64), found)
    return (tracers.wrap(as_weak(found, I64)), may_be) if may_be else None


def number_as(thing: tracers.Alternatives, options: Mapping[int, Any]) -> None:
    """What something of several kinds may be are, where it is one of them, the object that it is."""
    known = current_trace().state(Numbers).known
    if id(thing) in known:
        _, number, home = known[id(thing)]
        for kind, one in options.items():
            if is_object(one) and id(one) not in known:
                known[id(one)] = one, if_of_kind(thing, kind, number), home


surface.install(is_merged=is_merged)
