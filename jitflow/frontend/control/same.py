"""Which object an array or a list is, as a number that the running program carries beside it.

    x = y = a * 2      where the branch is taken
    return x, y        one object or two

What several paths or turns leave is merged as a value, which is right inside of the program. The caller may tell: where
it gets two that may be one, or one that may be what it passed, the trace starts anew, and such a local is merged and
carried with the number of the object that it is. At the end the numbers say which results are one object.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.leaves import can_change, parts_of
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.paths import Path
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor
from jitflow.records import dataclass

__all__ = [
    "add_numbers",
    "give_numbers",
    "is_numbered",
    "number",
    "number_among",
    "number_as",
    "require_numbers",
]

PASSED, EACH = "passed", "each"
"""For `Choice.NUMBERED`: only what the caller passed has a number, or each object that the program makes."""
_FIRST_MADE_INSIDE = 1 << 32


class _Numbers:
    """The numbers of the objects of one trace: negative ones are those of the caller's, 0 is of no other object."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any, Scope]] = {}
        """By identity: the object, its number, and the region that knows it."""
        self.replaced: dict[Value, tuple[Value, Any, Value | None]] = {}
        """By what came out of a loop of which each turn replaces the caller's array: what turns leave, that array, and
        whether there was a turn, if that is not known."""
        self._made = 0
        self._next: Value | None = None
        """The number of what a branch or loop makes next, in memory."""

    def of(self, thing: Any, each: bool) -> Any:
        """The number of an object, which is given one if it has none here."""
        trace = current_trace()
        if isinstance(thing, tracers.ArrayTracer) and thing._value in self.replaced and id(thing) not in self.known:
            self.known[id(thing)] = thing, self._unless_replaced(trace, thing._value), trace.root
        _, number, home = self.known.get(id(thing), (None, None, None))
        if home is None or home not in [*trace.scope.around()]:
            number, home = self._new(trace, thing, each)
            self.known[id(thing)] = thing, number, home
        return number

    def _new(self, trace: Trace, thing: Any, each: bool) -> tuple[Any, Scope]:
        if trace.is_passed(thing):
            return -1 - trace.origins[id(thing)], trace.root
        if type(thing) is tracers.Alternatives:
            return self._of_kinds(thing, each), trace.scope
        made_in = trace.storage.homes.get(thing._value) if isinstance(thing, tracers.ArrayTracer) else None
        home = trace.scope if made_in is None else made_in
        if not each or home not in [*trace.scope.around()]:
            return 0, trace.scope
        if home is trace.root:
            self._made += 1
            return self._made, home
        if self._next is None:
            with trace.region(trace.root):
                self._next = trace.storage.memory(Tensor(I64, ()))
                trace.add("store", self._next, values.constant(_FIRST_MADE_INSIDE, I64))
        with trace.region(home):
            number = values.as_scalar(trace.make("load", self._next))
            trace.add("store", self._next, values.emit("add", number, values.constant(1, I64)))
            return tracers.wrap(as_weak(number, I64)), home

    def _unless_replaced(self, trace: Trace, value: Value) -> Any:
        _, entry, ran = self.replaced[value]
        if ran is None:
            return 0
        with trace.region(trace.root):
            found = values.select(ran, values.constant(0, I64), values.constant(self.of(entry, each=False), I64))
            return tracers.wrap(as_weak(found, I64))

    def _of_kinds(self, thing: tracers.Alternatives, each: bool) -> Any:
        """The number of what is of several kinds: that of its array, if it is one."""
        arrays = {kind: one for kind, one in thing.options.items() if isinstance(one, tracers.ArrayTracer)}
        if type(thing.chosen) is int:
            return self.of(arrays[thing.chosen], each) if thing.chosen in arrays else 0
        found = values.constant(0, I64)
        for kind, one in arrays.items():
            is_it = values.emit("equal", values.cast(tracers.lift(thing.chosen), I64), values.constant(kind, I64))
            found = values.select(is_it, values.cast(tracers.lift(self.of(one, each)), I64), found)
        return tracers.wrap(as_weak(found, I64))


def _answer(key: tuple[str, int], name: str) -> Any:
    """What was chosen for a local that is merged or carried, or for all of them there."""
    choices = current_trace().choices
    return choices.answer(Site(Choice.NUMBERED, *key, name)) or choices.answer(Site(Choice.NUMBERED, *key))


def _numbers_in(thing: Any, each: bool) -> Any:
    """The numbers of the objects in something; `UNBOUND` if that is."""
    thing = resolved(thing)
    if thing is UNBOUND:
        return UNBOUND
    if type(thing) is tracers.Alternatives and any(map(_is_structure, thing.options.values())):
        return thing.each(lambda held: _numbers_in(held, each))
    numbers = [current_trace().state(_Numbers).of(one, each) for one in _objects_in(thing)]
    return tuple(numbers) if _is_structure(thing) else numbers[0] if numbers else 0


def _give_numbers(thing: Any, numbers: Any) -> None:
    """Let the objects in something that was merged have the numbers that were merged."""
    thing, numbers, trace = resolved(thing), resolved(numbers), current_trace()
    known = trace.state(_Numbers).known
    several = numbers.options.values() if type(numbers) is tracers.Alternatives else (numbers,)
    by_count = {len(each) if type(each) is tuple else None: each for each in several if each is not UNBOUND}
    options = thing.options.items() if type(thing) is tracers.Alternatives else ()
    for kind, held in ((None, thing), *options):
        objects = [*_objects_in(held)]
        found = by_count.get(len(objects) if _is_structure(held) else None, ())
        for one, number in zip(objects, found if type(found) is tuple else (found,), strict=False):
            if id(one) not in known or known[id(one)][2] not in [*trace.scope.around()]:
                known[id(one)] = one, number if kind is None else _if_of_kind(thing, kind, number), trace.scope


def _if_of_kind(thing: tracers.Alternatives, kind: int, number: Any) -> Any:
    """The number of an object in what is of several kinds: 0 where that is of another one, and the object not there."""
    if type(thing.chosen) is int:
        return number if thing.chosen == kind else 0
    is_it = values.emit("equal", values.cast(tracers.lift(thing.chosen), I64), values.constant(kind, I64))
    found = values.select(is_it, values.cast(tracers.lift(number), I64), values.constant(0, I64))
    return tracers.wrap(as_weak(found, I64))


def _is_structure(thing: Any) -> bool:
    return type(thing) is not tracers.Alternatives and parts_of(thing) is not None


def _objects_in(thing: Any) -> Iterator[Any]:
    """The arrays and lists in something, itself among them. What is of several kinds is one of its arrays."""
    if isinstance(thing, tracers.ArrayTracer | tracers.Alternatives) or can_change(thing):
        yield thing
    parts = None if type(thing) is tracers.Alternatives else parts_of(thing)
    for part in () if parts is None else parts.items:
        yield from _objects_in(part)


def number(paths: Sequence[Path], names: Sequence[str], key: tuple[str, int]) -> dict[str, str]:
    """Let numbers go beside those locals of paths for which that was chosen; returns the names that stand for them."""
    numbered = [name for name in names if _answer(key, name)]
    for path, name in itertools.product(paths, numbered):
        with current_trace().region(path.scope):
            thing = UNBOUND if path.ended else path.locals.get(name, UNBOUND)
            path.locals[f"which {name}"] = _numbers_in(thing, _answer(key, name) == EACH)
    return {f"which {name}": name for name in numbered}


def give_numbers(merged: dict[str, Any], numbered: Mapping[str, str]) -> None:
    """Let what was merged have its numbers, which were merged beside it."""
    for which, name in numbered.items():
        _give_numbers(merged[name], merged.pop(which))


@dataclass(eq=False)
class _Item:
    """The numbers of the objects in a local, as a cell that is carried like one."""

    cells: Cells
    of: str
    each: bool

    @property
    def name(self) -> str:
        """No name that a local may have."""
        return f"which {self.of}"

    @property
    def cell_contents(self) -> Any:
        """The numbers."""
        return _numbers_in(self.cells.get(self.of), self.each)

    @cell_contents.setter
    def cell_contents(self, numbers: Any) -> None:
        _give_numbers(self.cells.get(self.of), numbers)


def add_numbers(cells: Cells, names: Sequence[str], key: tuple[str, int]) -> list[str]:
    """Let numbers be carried beside those locals for which that was chosen; returns the names that stand for them."""
    items = [_Item(cells, name, answer == EACH) for name in names if (answer := _answer(key, name))]
    for item in items:
        cells.add(item)
    return [item.name for item in items]


def is_replaced(entry: Any, left: Any) -> bool:
    """Whether each turn of a loop, which leaves this, replaces an array of the caller's that was there before."""
    trace = current_trace()
    if trace.scope is not trace.root or not trace.is_passed(entry) or not isinstance(left, tracers.ArrayTracer):
        return False
    return entry._value not in _Origin(trace, left._value).objects


def note_replaced(value: Value, entry: Any, left: Any, ran: Value | None) -> None:
    """What such a loop makes of the caller's array needs no numbers inside: it is that if no turn ``ran``."""
    current_trace().state(_Numbers).replaced[value] = left._value, entry, ran


def is_numbered(key: tuple[str, int], name: str) -> bool:
    """Whether a local that is merged has numbers, so that it need not be one of several objects itself."""
    return bool(_answer(key, name))


# -- what the caller gets ----------------------------------------------------------------------------------


def require_numbers(trace: Trace, returned: Sequence[tracers.ArrayTracer]) -> None:
    """Start the trace anew where returned arrays may be one, or one that the caller passed, and no number tells."""
    things = [*{id(thing): thing for thing in returned}.values()]
    found = [_Origin(trace, thing._value) for thing in things]
    asked: dict[Site, None] = {}
    answer = PASSED
    for number, one in enumerate(found):
        if one.carrying and not one.is_known and any(map(trace.storage.is_parameter, one.objects)):
            asked |= one.carrying
        for other in found[number + 1 :]:
            may_be_one = {value for value in one.objects & other.objects if not trace.storage.is_parameter(value)}
            if may_be_one and not (one.is_known and other.is_known and not any(map(trace.storage.source, may_be_one))):
                asked |= one.sites | other.sites
                answer = EACH
    sites = [site for site in asked if trace.choices.answer(site) != EACH
             and (not trace.choices.is_settled(site) or trace.choices.answer(site) not in (None, answer))]  # fmt: skip
    if sites:
        raise Restart(sites[0], answer, is_wish=True, others=sites[1:])


class _Origin:
    """What an array may be: the ``objects``, and the ``sites`` at which they were merged."""

    def __init__(self, trace: Trace, value: Value) -> None:
        storage = trace.storage
        self.objects: set[Value] = set()
        self.sites: dict[Site, None] = {}
        self.carrying: dict[Site, None] = {}
        """Those among them that have to carry a number to tell whether it is the caller's."""
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
            replaced = trace.state(_Numbers).replaced.get(value)
            if replaced is not None:
                left, entry, ran = replaced
                arrived = [left] if ran is None else [left, entry._value]
            if not arrived:
                self.objects.add(value)
            waiting += arrived
            if value in storage.sites:
                site = storage.sites[value]
                numbered = Site(Choice.NUMBERED, site.file, site.line, site.name.partition("[")[0])
                self.sites[numbered] = None
                if replaced is None:
                    self.carrying[numbered] = None
                self.is_known &= storage.is_adopted(value) and value not in storage.mixed


def number_among(thing: tracers.ArrayTracer, others: Sequence[Any]) -> tuple[Any, list[Any]] | None:
    """Which of some objects an array is, 0 for none, as a number; and those of them that it may be."""
    trace = current_trace()
    mine, known = _Origin(trace, thing._value), trace.state(_Numbers).known
    if id(thing) not in known:
        _, entry, ran = trace.state(_Numbers).replaced.get(thing._value, (None, None, None))
        return None if ran is None else (tracers.wrap(as_weak(values.emit("logical_not", ran), I64)), [entry])
    itself = values.cast(tracers.lift(trace.state(_Numbers).of(thing, each=False)), I64)
    passed = [one for one, _, _ in known.values() if trace.is_passed(one)]
    may_be = []
    for one in (one for one in (*passed, *others) if isinstance(one, tracers.ArrayTracer) and id(one) in known):
        other = _Origin(trace, one._value)
        if one is not thing and (mine.sites or other.sites) and mine.objects & other.objects:
            may_be.append(one)
    found = values.constant(0, I64)
    for place, one in reversed([*enumerate(may_be, 1)]):
        number = values.cast(tracers.lift(known[id(one)][1]), I64)
        is_it = values.emit("logical_and", values.emit("equal", itself, number),
                            values.emit("not_equal", itself, values.constant(0, I64)))  # fmt: skip
        found = values.select(is_it, values.constant(place, I64), found)
    return (tracers.wrap(as_weak(found, I64)), may_be) if may_be else None


def number_as(thing: tracers.Alternatives, options: Mapping[int, Any]) -> None:
    """The arrays that something of several kinds may be are, where it is one of them, the object that it is."""
    known = current_trace().state(_Numbers).known
    if id(thing) in known:
        _, number, home = known[id(thing)]
        for kind, one in options.items():
            if isinstance(one, tracers.ArrayTracer) and id(one) not in known:
                known[id(one)] = one, _if_of_kind(thing, kind, number), home
