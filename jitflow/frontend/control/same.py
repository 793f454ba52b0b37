"""Which object an array, list or dict is, as a number that the running program carries beside it.

    x = y = a * 2      where the branch is taken
    return x, y        one object or two

What several paths or turns leave is merged as a value, which is right inside of the program. The caller may tell: where
it gets two that may be one, or one that may be what it passed, the trace starts anew, and such a local is merged and
carried with the number of the object that it is. At the end the numbers say which results are one object.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.leaves import can_change, parts_of
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import Trace, current_trace
from jitflow.frontend.tracers.python_numbers import as_weak
from jitflow.ir.core import Value
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor
from jitflow.records import dataclass

__all__ = [
    "EACH",
    "PASSED",
    "Numbers",
    "add_numbers",
    "give_numbers",
    "if_of_kind",
    "is_numbered",
    "is_object",
    "note_reached",
    "number",
]

PASSED, EACH = "passed", "each"
"""For `Choice.NUMBERED`: only what the caller passed has a number, or each object that the program makes."""
_FIRST_MADE_INSIDE = 1 << 32


class Numbers:
    """The numbers of the objects of one trace: negative ones are those of the caller's, 0 is of no other object."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Any, Scope]] = {}
        """By identity: the object, its number, and the region that knows it."""
        self.replaced: dict[Value, tuple[Value, Any, Value | None]] = {}
        """By what came out of a loop of which each turn replaces the caller's array: what turns leave, that array, and
        whether there was a turn, if that is not known."""
        self.may_be: dict[Value, Callable[[], set[Value]]] = {}
        """By the copy of an item that a list has given: what may lie behind that."""
        self.reached: dict[Scope, list[Mutables]] = {}
        """By region: the lists, dicts and objects that were there when its last branch or loop began."""
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

    def tell(self, thing: Any) -> bool:
        """Whether a number says which object something is, or will."""
        return id(thing) in self.known or (isinstance(thing, tracers.ArrayTracer) and thing._value in self.replaced)

    def _new(self, trace: Trace, thing: Any, each: bool) -> tuple[Any, Scope]:
        if trace.is_passed(thing):
            return -1 - trace.origins[id(thing)], trace.root
        if type(thing) is tracers.Alternatives:
            return self._of_kinds(thing, each), trace.scope
        made_in = trace.storage.homes.get(thing._value) if isinstance(thing, tracers.ArrayTracer) else self._home(thing)
        home = trace.scope if made_in is None else made_in
        if home is trace.root:
            self._made += 1
            return self._made, home
        if not each or home not in [*trace.scope.around()]:
            return 0, trace.scope
        if self._next is None:
            with trace.region(trace.root):
                self._next = trace.storage.memory(Tensor(I64, ()))
                trace.add("store", self._next, values.constant(_FIRST_MADE_INSIDE, I64))
        with trace.region(home):
            number = values.as_scalar(trace.make("load", self._next))
            trace.add("store", self._next, values.emit("add", number, values.constant(1, I64)))
            return tracers.wrap(as_weak(number, I64)), home

    def _home(self, thing: Any) -> Scope | None:
        """The outermost region, if it is known, in which a list, dict or object is there."""
        around = reversed([*current_trace().scope.around()])
        reached = self.reached
        return next((scope for scope in around if any(one.reaches(thing) for one in reached.get(scope, ()))), None)

    def _unless_replaced(self, trace: Trace, value: Value) -> Any:
        _, entry, ran = self.replaced[value]
        if ran is None:
            return 0
        with trace.region(trace.root):
            found = values.select(ran, values.constant(0, I64), values.constant(self.of(entry, each=False), I64))
            return tracers.wrap(as_weak(found, I64))

    def _of_kinds(self, thing: tracers.Alternatives, each: bool) -> Any:
        """The number of what is of several kinds: that of its array, list, dict or object, if it is one."""
        objects = {kind: one for kind, one in thing.options.items() if is_object(one)}
        if type(thing.chosen) is int:
            return self.of(objects[thing.chosen], each) if thing.chosen in objects else 0
        found = values.constant(0, I64)
        for kind, one in objects.items():
            is_it = values.emit("equal", values.cast(tracers.lift(thing.chosen), I64), values.constant(kind, I64))
            found = values.select(is_it, values.cast(tracers.lift(self.of(one, each)), I64), found)
        return tracers.wrap(as_weak(found, I64))


def _answer(key: tuple[str, int], name: str) -> Any:
    """What was chosen for a local that is merged or carried, or for all of them there."""
    choices = current_trace().choices
    return choices.answer(Site(Choice.NUMBERED, *key, name)) or choices.answer(Site(Choice.NUMBERED, *key))


def _numbers_in(thing: Any, each: bool) -> Any:
    """The number of something, 0 for what is no object; of a structure its own and those of its parts."""
    thing, numbers = resolved(thing), current_trace().state(Numbers)
    if thing is UNBOUND:
        return UNBOUND
    if type(thing) is tracers.Alternatives:
        if any(map(_is_structure, thing.options.values())):
            return thing.each(lambda held: _numbers_in(held, each))
        return numbers.of(thing, each)
    parts, itself = parts_of(thing), numbers.of(thing, each) if is_object(thing) else 0
    return itself if parts is None else (itself, *(_numbers_in(part, each) for part in parts.items))


def _give_numbers(thing: Any, numbers: Any, kinds: Sequence[tuple[tracers.Alternatives, int]] = ()) -> None:
    """Let the objects in something that was merged have the numbers that were merged.

    It is there where what is of several kinds is of these ``kinds``.
    """
    thing, numbers, trace = resolved(thing), resolved(numbers), current_trace()
    if type(thing) is tracers.Alternatives and any(map(_is_structure, thing.options.values())):
        several = [*numbers.options.values()] if type(numbers) is tracers.Alternatives else [numbers]
        for kind, held in thing.options.items():
            for each in several:
                _give_numbers(held, each, (*kinds, (thing, kind)))
        return
    parts = None if type(thing) is tracers.Alternatives else parts_of(thing)
    if parts is not None:
        if type(numbers) is not tuple or len(numbers) != 1 + len(parts.items):
            return
        numbers, *inside = numbers
        for part, number in zip(parts.items, inside, strict=True):
            _give_numbers(part, number, kinds)
    if not isinstance(numbers, int | tracers.Tracer) or not (is_object(thing) or type(thing) is tracers.Alternatives):
        return
    known = trace.state(Numbers).known
    for whole, kind in kinds:
        numbers = if_of_kind(whole, kind, numbers)
    options = thing.options.items() if type(thing) is tracers.Alternatives else ()
    found = [(thing, numbers), *((one, if_of_kind(thing, kind, numbers)) for kind, one in options if is_object(one))]
    for one, number in found:
        if id(one) not in known or known[id(one)][2] not in [*trace.scope.around()]:
            known[id(one)] = one, number, trace.scope


def if_of_kind(thing: tracers.Alternatives, kind: int, number: Any) -> Any:
    """The number of an object in what is of several kinds: 0 where that is of another one, and the object not there."""
    if type(thing.chosen) is int:
        return number if thing.chosen == kind else 0
    is_it = values.emit("equal", values.cast(tracers.lift(thing.chosen), I64), values.constant(kind, I64))
    found = values.select(is_it, values.cast(tracers.lift(number), I64), values.constant(0, I64))
    return tracers.wrap(as_weak(found, I64))


def is_object(thing: Any) -> bool:
    """Whether the caller can tell it from an equal one: an array, list, dict or object."""
    return isinstance(thing, tracers.ArrayTracer) or can_change(thing)


def note_reached(before: Mutables) -> None:
    """A branch or loop begins: objects that are there ``before`` keep the number that they get inside.

    So do all others that the program has names for, where objects have numbers.
    """
    trace = current_trace()
    found = [before]
    if trace.choices.was_asked(Choice.NUMBERED):
        named = (thing for frame in trace.user_frames() for thing in frame.f_locals.values())
        found.append(Mutables(map(resolved, named)))
    trace.state(Numbers).reached[trace.scope] = found


def _is_structure(thing: Any) -> bool:
    """Whether something has parts with numbers of their own."""
    return type(thing) is not tracers.Alternatives and parts_of(thing) is not None


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


def note_replaced(value: Value, entry: Any, left: Any, ran: Value | None) -> None:
    """What such a loop makes of the caller's array needs no numbers inside: it is that if no turn ``ran``."""
    current_trace().state(Numbers).replaced[value] = left._value, entry, ran


def is_numbered(key: tuple[str, int], name: str) -> bool:
    """Whether a local that is merged has numbers, so that it need not be one of several objects itself."""
    return bool(_answer(key, name))
