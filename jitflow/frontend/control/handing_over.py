"""In front of what may fail or calls out, the caller's objects get what the program has stored in them by then.

Numbers are noted where they are stored (`outside.stores`). Arrays, lists and objects are handed over by a call of a
function of Python's, which a branch makes where something does fail. In front of a call out to the user's functions,
which may look, the stores are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from jitflow.frontend.control.calls_out import record_call, template_of
from jitflow.frontend.control.foreseen import can_follow, foretold
from jitflow.frontend.control.leaves import can_change, parts_of
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.same import Numbers, is_object
from jitflow.frontend.control.shown import require_shown
from jitflow.frontend.control.told import number_as, require_numbers, require_objects
from jitflow.frontend.control.trying import Statements, raised_by
from jitflow.frontend.outside.made_objects import MADE_OF, fields_of, made_with, users_class
from jitflow.frontend.outside.objects import Recorded, array_fields
from jitflow.frontend.outside.overlays import content_of, is_stored
from jitflow.frontend.outside.slots import Slotted
from jitflow.frontend.outside.stores import Stores
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Restart, Site
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives, ArrayTracer, Tracer
from jitflow.frontend.tracers.absent import UNBOUND
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Op, Value
from jitflow.ir.routines import Routine
from jitflow.runtime.objects.held_arrays import Group, held_things

__all__ = ["hand_over"]

Template = Callable[[tuple[Any, ...]], Any]


def hand_over(stores: Stores, op: Op) -> None:
    """Record in front of an op, the last one, that what was stored is handed over if the op fails, or looks."""
    looks = isinstance(op.attributes.get("routine"), Routine) and op.attributes.get("effect") == "external"
    if not looks and not _may_raise(op):
        return
    stores.notice_failure()
    held = [] if looks else [*stores.held()]
    if not looks and not held:
        return
    trace, ops = current_trace(), current_trace().builder.ops
    assert ops[-1] is op
    ops.pop()
    trace.announced = None
    if looks:
        _make_all(stores)
    else:
        hold = partial(stores.table.hold, targets=tuple(target for target, _ in held))
        call = partial(_call, stores, hold, [thing for _, thing in held])
        condition = foretold(op)
        if condition is None and can_follow(op):
            call()
            op = _followed(op, ops)
        elif condition is None:
            _pass_whole(stores)
            call()
        else:
            values.unless(condition, call)
    trace.announced = partial(hand_over, stores)
    ops.append(op)


def _followed(op: Op, ops: list[Op]) -> Op:
    """An op that is followed by the call that was recorded last, if it fails."""
    storage, call = current_trace().storage, ops.pop()
    operands, attributes = (*op.operands, *call.operands), {**op.attributes, "on_failure": call.attributes["routine"]}
    followed = replace(op, operands=operands, attributes=MappingProxyType({**attributes, "held": len(call.operands)}))
    storage.makers.update(dict.fromkeys(storage.makers.keys() & {*op.results}, followed))
    return followed


def _pass_whole(stores: Stores) -> None:
    """Start the trace anew with whole lists where what is appended to them would be handed over again and again."""
    choices = current_trace().choices
    sites = (Site(Choice.PASSED, path) for tail, _, path in stores.tails.values() if isinstance(tail, Recorded))
    for site in sites:
        if not choices.is_settled(site):
            raise current_trace().begin_anew(Restart(site, is_wish=True))


def _may_raise(op: Op) -> bool:
    """Whether an op may raise what Python would raise there."""
    if op.attributes.get("checked"):
        return op.name in _RAISING and bool(raised_by(op))
    return any(effect.kind in ("check", "external") for effect in op.own_effects) and bool(raised_by(op))


_RAISING = frozenset(["divide", "floor_divide", "remainder", "left_shift", "right_shift", "power"])
"""What Python's numbers raise in: its integers do not overflow."""


def _make_all(stores: Stores) -> None:
    """Make all stores that have happened by now."""
    dirty = [*stores.dirty()]
    changed = [container for container in stores.containers.values() if container.is_changed]
    tails = [*stores.tails.values()]
    if not dirty and not stores.lists and not changed and not tails and not stores.passed:
        return
    if stores.passed:
        current_trace().add("tell_containers", stores.address())
    targets = (*(overlay.targets[name] for overlay, name in dirty), *(container.target for container in changed),
               *(target for _, target, _ in tails))  # fmt: skip
    things = [thing for overlay, name in dirty for thing in (overlay[is_stored(name)], overlay[name])]
    things += [thing for container in changed for thing in (True, content_of(container.thing))]
    things += [thing for tail, _, _ in tails for thing in (True, tail)]
    _call(stores, partial(stores.table.store, targets=targets), things)
    for overlay, name in dirty:
        stores.forget(overlay, name)
    stores.note_content()


def _call(stores: Stores, function: Any, things: Sequence[Any]) -> None:
    """Record a call that writes to no memory of the program, so that it gets views where there are some."""
    trace, making = current_trace(), _Making(stores, tuple(things))
    own = making.template
    record_call(trace, function, None, making.things, {}, own=own, name="store", borrows=True, effect="check")
    trace.state(Statements).foreseen.add(trace.builder.ops[-1])  # no handler has to do with it


def _filled(make: Callable[..., Any], parts: Sequence[Template], operands: tuple[Any, ...]) -> Any:
    """A dict or list with slots. What is under a key that is not there is nothing that could be made."""
    found: list[Any] = []
    for there, order, item in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        is_there = there(operands)
        found += is_there, order(operands), item(operands) if is_there else None
    return make(*found)


class _Making:
    """What one call hands over: each thing once, so that what is one object, or one memory, goes on being that."""

    def __init__(self, stores: Stores, things: tuple[Any, ...]) -> None:
        self._stores, self.things = stores, things
        self._made: dict[int, tuple[Any, Template]] = {}
        self._open: set[int] = set()
        self._arrays: list[tuple[int, ArrayTracer]] = []
        self._kinds: dict[int, int] = {}
        """By what is of one of several kinds alone, these, by identity."""

    def template(self, thing: Any, given: list[Tracer]) -> Template | None:
        """What makes the things, which are the call's arguments."""
        if thing is not self.things:
            return None
        parts = [template_of(part, given, self._part) for part in self.things]
        groups = self._groups()
        require_numbers(current_trace(), [array for _, array in self._arrays], self._kinds)
        require_objects(current_trace(), [one for one, _ in self._made.values() if can_change(one)])
        return partial(held_things, parts, groups, lambda: self._stores.table.current().objects)

    def _part(self, thing: Any, given: list[Tracer]) -> Template | None:
        if id(thing) in self._made:
            return self._made[id(thing)][1]
        if id(thing) in self._open:
            return None
        self._open.add(id(thing))
        if type(thing) is Alternatives:
            number_as(thing, thing.options)
            self._kinds |= {id(one): id(thing) for one in thing.options.values() if id(one) not in self._made}
        make = _template(self._stores, thing, given, self._part)
        if make is None and (type(thing) in (list, dict) or isinstance(thing, ArrayTracer)):
            if isinstance(thing, ArrayTracer):
                self._arrays.append((len(given), thing))
            make = template_of(thing, given, self._part)
        self._open.remove(id(thing))
        if make is None:
            return None
        self._made[id(thing)] = thing, partial(_once, len(self._made), make, *self._which(thing, given))
        return self._made[id(thing)][1]

    def _which(self, thing: Any, given: list[Tracer]) -> tuple[Any, ...]:
        """The place of the number that says which object it is, if one does, and the caller's that it may be."""
        trace, stores = current_trace(), self._stores
        numbers = trace.state(Numbers)
        if not is_object(thing) or not numbers.tell(thing):
            return ()
        given.append(numbers.of(thing, each=False))
        passed = {-1 - trace.origins[id(one)] for one, _, _ in numbers.known.values() if trace.is_passed(one)}
        objects = {number: stores.number_of(-1 - number) for number in passed}
        return len(given) - 1, lambda number: stores.table.current().objects[objects[number]]

    def _groups(self) -> list[Group]:
        """The operands that may show one memory, and the numbers of the caller's arrays that they may show."""
        trace, storage = current_trace(), current_trace().storage
        require_shown(trace, dict.fromkeys(array._value for _, array in self._arrays))
        groups: list[tuple[set[Value], list[int], set[int]]] = []
        views: dict[int, frozenset[int] | None] = {}
        owned: set[Value] = set()
        for place, array in self._arrays:
            value = array._value
            is_copy = array.owned and (value in owned or not storage.is_new_array(value))
            owned |= {value} if array.owned else set()
            behind = set() if is_copy else storage.behind(value)
            shown = {*trace.positions(behind)}
            if storage.is_adopted(value) or (array.owned and not is_copy):
                roots = storage.shown_by_views(value)
                passed = trace.positions(roots)
                views[place] = passed if len(passed) == len(roots) else None
            places = [place]
            for group in [group for group in groups if group[0] & behind]:
                groups.remove(group)
                behind, places, shown = behind | group[0], [*group[1], *places], shown | group[2]
            groups.append((behind, places, shown))
        return [self._group(places, sorted(shown), views) for _, places, shown in groups]

    def _group(self, places: list[int], shown: list[int], views: dict[int, frozenset[int] | None]) -> Group:
        leaves = self._stores.inputs.leaves
        numbers = {position: self._stores.number_of(leaves[position].register) for position in shown}
        whole = [None if (passed := views.get(place)) is None else {numbers[one] for one in numbers if one in passed}
                 for place in places]  # fmt: skip
        return places, [*numbers.values()], whole


def _once(number: int, make: Template, *which_and_operands: Any) -> Any:
    """What is made once for each object, by the number that says which it is."""
    *which, operands = which_and_operands
    made, told = operands[-1], int(operands[which[0]]) if which else 0
    if told < 0:
        return which[1](told)
    key = ("which", told) if told else number
    if key not in made:
        made[key] = make(operands)
    return made[key]


def _template(
    stores: Stores, thing: Any, given: list[Tracer], own: Callable[[Any, list[Tracer]], Template | None]
) -> Template | None:
    """What makes something that no callback would get: the caller's own objects, and those that the program makes."""
    register = stores.inputs.register_of(thing)
    if register is not None:
        number = stores.number_of(register)
        return lambda operands: stores.table.current().objects[number]
    if thing is UNBOUND:
        return lambda operands: None
    if type(thing) is Alternatives:
        chosen = template_of(thing.chosen, given, own)
        options = {number: template_of(resolved(option), given, own) for number, option in thing.options.items()}
        return lambda operands: options[int(chosen(operands))](operands)
    if isinstance(thing, Slotted):
        known, slots = thing.parts
        made = [template_of(part, given, own) for part in slots]
        return partial(_filled, thing.maker(known), made)
    if isinstance(thing, Recorded) and thing.flows:
        make, arrays = surface.returned_container(thing)
        columns = [template_of(array, given, own) for array in arrays]
        return lambda operands: make(*(column(operands) for column in columns))
    if isinstance(thing, Recorded):
        listed = thing.returned()
        columns = [template_of(getattr(listed, name), given, own) for name in array_fields(type(listed))]
        return lambda operands: listed.made_of(*(column(operands) for column in columns))
    if MADE_OF in type(thing).__dict__:
        fields = fields_of(thing)
        items = [template_of(item, given, own) for item in fields.values()]
        make = partial(made_with, users_class(type(thing)), tuple(fields))
        return lambda operands: make(*(item(operands) for item in items))
    parts = None if type(thing) in (tuple, list, dict) else parts_of(thing)
    if parts is None:
        return None
    items = [template_of(item, given, own) for item in parts.items]
    return lambda operands: parts.make([item(operands) for item in items])
