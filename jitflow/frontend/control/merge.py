"""Where paths meet: the locals after a branch, and what a loop carries round.

A local that is the same object on every path stays that object. Numbers and arrays of different paths become one
number or array of their common type (`kinds.py`), tuples and the like item by item; everything else has to be equal.

An array that comes out of a merge is a value of its own. If the program writes to it later, or to one of the arrays
that went in, it matters that it *is* one of them, when these can be seen by another name. Then the trace starts anew
(`Restart`) and carries the array as a *place*, a view of memory that other names may show as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserNotImplementedError, UserTypeError
from jitflow.frontend.control.alternatives import described
from jitflow.frontend.control.cells import UNBOUND, MaybeUnbound, resolved
from jitflow.frontend.control.leaves import flatten
from jitflow.frontend.control.local_types import Kind, closed, converted, join, kind_of, placeholder, renamed
from jitflow.frontend.control.returning import RETURNED, returning_function
from jitflow.frontend.outside.objects import Recorded
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import OBJECTS, SHOWN, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.texts import TracedText
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Place, Scalar, Tensor, Type
from jitflow.records import dataclass

__all__ = [
    "MaybeUnbound",
    "Slot",
    "Way",
    "agreeing",
    "common_kind",
    "is_there_before",
    "names_of",
    "resolved",
    "result_of",
    "shown_name",
    "word",
]


def word(name: str) -> str:
    """A name that the IR can hold."""
    return "".join(letter if letter.isalnum() else "_" for letter in name).strip("_")


def agreeing(things: Sequence[Any]) -> bool:
    """Whether a local need not be merged: one object, or constants that cannot be told apart."""
    first, *others = things
    if type(first) is TracedText:
        return all(other is first for other in others)
    for other in others:
        if other is first:
            continue
        if isinstance(other, Recorded):
            return False
        if type(other) is not type(first) or isinstance(other, tracers.Tracer) or kind_of(other) is not None:
            if type(other) is type(first) and type(first) in (bool, int, float, complex) and repr(other) == repr(first):
                continue
            return False
        try:
            if not bool(other == first):
                return False
        except Exception:
            return False
    return True


def is_there_before(thing: Any) -> bool:
    """Whether it is an array that was there before the branch or loop."""
    trace = current_trace()
    return isinstance(thing, tracers.ArrayTracer) and trace.storage.homes.get(thing._value) in set(trace.scope.around())


def common_kind(name: str, things: Sequence[Any], fresh: Callable[[], Dim]) -> Kind:
    """The type of what a local is on several paths. Raises `UserTypeError` where there is none."""
    found: Kind | None = None
    for thing in things:
        if thing is UNBOUND:
            continue
        kind = kind_of(thing)
        if kind is None:
            raise located(_no_common_type(name, things))
        if found is not None and found.dtype != kind.dtype:
            raise located(_no_common_type(name, things))
        try:
            found = kind if found is None else join(found, kind, fresh)
        except UserTypeError as error:
            raise located(
                UserTypeError(f"{shown_name(name)} is {error.message}", found=error.found, mend=error.mend)
            ) from None
    assert found is not None
    return found


def _no_common_type(name: str, things: Sequence[Any]) -> UserNotImplementedError:
    found = " and ".join(_describe(thing) for thing in things)
    mend = "return a number or an array" if name.startswith(RETURNED) else "give it a number or an array"
    falls_through = name.startswith(RETURNED) and any(thing is None for thing in things)
    error = UserNotImplementedError(
        f"{shown_name(name)} has no common type on the paths that the running program chooses from",
        found=found,
        expected="numbers or arrays on every path, or the same object",
        mend=f"{mend} on every path" + ("; one without a return gives None" if falls_through else ""),
    )
    error.has_no_type = True
    return error


_MADE_NAME = re.compile(r"(and|or|choice|match)__\d+")


def shown_name(name: str) -> str:
    """A local as the user knows it."""
    if name.startswith(RETURNED):
        return "the returned value"
    return "the value" if _MADE_NAME.match(name) else name


def _describe(thing: Any) -> str:
    if thing is UNBOUND:
        return "a name that is not bound"
    if isinstance(thing, Recorded):
        return "a list that the running program changes" if thing.may_change else "a list of the running program"
    return described(thing)


@dataclass(frozen=True, eq=False)
class Way:
    """How something flows to where paths meet, in the region ``home``."""

    home: Scope
    names: Mapping[Value, int] = field(default_factory=dict)
    """By how many names each array that was made on the way flows."""
    reused: bool = False
    """Whether arrays that were made on the way may all be put into one memory: nobody shows the last turn's."""
    turn: Scope | None = None
    """If the way leads round a loop: the region of a turn, and when the loop began, in the storage's count."""
    since: tuple[int, int] = (0, 0)


def names_of(things: Iterable[Any]) -> Counter[Value]:
    """By how many of some names each array is shown, or may be."""
    leaves = (item for thing in things for item in flatten(thing).items)
    behind = current_trace().storage.behind
    return Counter(root for leaf in leaves if isinstance(leaf, tracers.ArrayTracer) for root in behind(leaf._value))


def _is_alone(thing: tracers.ArrayTracer, scope: Scope, way: Way) -> bool:
    """Whether an array was made on the way, and is shown by one name."""
    storage = current_trace().storage
    return way.names.get(storage.root(thing._value)) == 1 and storage.is_fresh(thing._value, scope)


def _is_itself(thing: tracers.ArrayTracer) -> bool:
    """Whether it is an array with memory of its own, or what the caller passes, and no view."""
    trace = current_trace()
    return trace.is_passed(thing) or thing.owned or trace.storage.is_adopted(thing._value)


@dataclass(eq=False)
class Slot:
    """One merged number or array: its type, where its site is, and the type of what flows along the edges."""

    name: str
    kind: Kind
    site: Site
    as_place: bool = False
    shared: bool = False
    """Whether something flows in that other names may show."""
    is_branch: bool = False
    """Whether it comes out of a branch."""
    views: set[Value] = field(default_factory=set)
    """The roots of which a view flows in, and not the array itself."""
    shown: list[tracers.ArrayTracer] = field(default_factory=list)
    """The views that flow in."""
    themselves: set[Value] = field(default_factory=set)
    """The roots that flow in themselves."""

    @property
    def type(self) -> Type:
        """The type of a region's parameter or result."""
        if self.as_place:
            assert isinstance(self.kind, Tensor)
            return Place(self.kind.dtype, self.kind.dims)
        return self.kind

    def incoming(self, thing: Any, scope: Scope, way: Way) -> Value:
        """What flows in from a path whose ops ``scope`` collects."""
        trace = current_trace()
        if isinstance(thing, tracers.ArrayTracer):
            merged = (trace.storage.merged.get(root) for root in trace.storage.behind(thing._value))
            self.shown += [] if _is_itself(thing) else [thing]
            trace.choices.note_sources(self.site, *(slot.site for slot in merged if slot is not None and slot.shared))
        with trace.region(scope):
            if self.as_place:
                return self._place(trace, thing, scope, way)
            if thing is UNBOUND:
                return placeholder(trace, self.kind)
            if isinstance(thing, tracers.ArrayTracer) and not _is_alone(thing, scope, way):
                self.shared = True
                returning = returning_function() if self.name.startswith(RETURNED) else None
                trace.storage.copy_at(self.site, thing._value, way.turn, way.since, returning)
            return converted(thing, self.kind)

    def _place(self, trace: Trace, thing: Any, scope: Scope, way: Way) -> Value:
        storage = trace.storage
        assert isinstance(self.kind, Tensor)
        if isinstance(thing, tracers.ArrayTracer):
            alone = _is_alone(thing, scope, way)
            if not alone and not storage.is_there(thing._value, way.home):
                self._give_up(trace)
            if thing.type.dtype == self.kind.dtype and not (alone and way.reused):
                shown = storage.behind(thing._value)
                views = storage.shown_by_views(thing._value) if _is_itself(thing) else shown
                self.views |= views
                self.themselves |= shown - views
                return renamed(storage.place(thing._value), self.kind)
            if not alone:
                self._give_up(trace)
                raise located(
                    UserNotImplementedError(
                        f"{self.name} is an array of another dtype that other names show, and is written to later",
                        found=f"{thing.type.dtype} where {self.kind.dtype} is needed",
                        mend=f"convert it before: {self.name} = {self.name}.astype(...)",
                    )
                )
        value = None if thing is UNBOUND else converted(thing, self.kind)
        dims = closed(trace, self.kind) if value is None else values.dims(value)
        home = trace.root if value is None else way.home  # what is unbound nobody reads
        is_made_there = (value is None or way.reused) and all(map(trace.is_visible_in(home), dims))
        kind = Tensor(self.kind.dtype, dims)
        if not (is_made_there and home is trace.root):
            self._give_up(trace)
        with trace.region(home if is_made_there else scope):
            memory = storage.memory(kind)
        if value is not None:
            storage.put_elsewhere.add(thing._value if isinstance(thing, tracers.ArrayTracer) else value)
            trace.add("store", memory, value)
        return memory

    def _give_up(self, trace: Trace) -> None:
        """It cannot be a place that the caller gets: if it is one for that alone, start anew with a value."""
        if trace.choices.answer(self.site) == SHOWN and not trace.is_noted(self.site):
            beside = [site for site in trace.choices.connected(self.site) if trace.choices.answer(site) == SHOWN]
            trace.begin_anew_at_last(Restart(self.site, OBJECTS, others=beside))


def result_of(slot: Slot, value: Value) -> Any:
    """The tracer of a merged number or array."""
    storage = current_trace().storage
    if slot.as_place:
        assert isinstance(slot.kind, Tensor)
        shown = Value(slot.kind, slot.name)
        storage.adopt(shown, value)
        storage.note_views(shown, slot.views)
        storage.sites[shown], storage.views_in[shown] = slot.site, slot.shown
        if not slot.views.isdisjoint(slot.themselves):
            storage.mixed.add(shown)
        return tracers.wrap(shown, owned=False)
    if isinstance(slot.kind, Scalar):
        return tracers.wrap(value)
    assert isinstance(value.type, Tensor)
    storage.made_here(value)
    tracer = tracers.wrap(value, owned=True)
    storage.merged[value], storage.sites[value], storage.views_in[value] = slot, slot.site, slot.shown
    return tracer
