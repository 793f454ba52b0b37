"""One turn of a loop, traced: what it finds in its locals, what it leaves there, and what of that goes round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.frontend.control.alternatives import aligned, released
from jitflow.frontend.control.carried import Local, Turn
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.changing_lists import is_reference
from jitflow.frontend.control.identity import is_chosen_by_identity, remember_carried, remember_renewed
from jitflow.frontend.control.implications import assume, holds_if, in_other_words, learnt_in
from jitflow.frontend.control.leaves import Leaves, can_change, flatten
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    Slot,
    agreeing,
    common_kind,
    is_there_before,
    resolved,
    result_of,
    shown_name,
    word,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import Path, trace_path
from jitflow.frontend.control.returning import is_returned_itself
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL
from jitflow.ir.types import Index, Scalar, Tensor

__all__ = ["NeedsUnrolling", "OneTurn", "Test", "left_by"]

Test = Callable[[], Any]
"""Whether a loop goes on."""


class NeedsUnrolling(Exception):
    """The body cannot be rolled, for the reason given: because ``changed`` does, if that is a list."""

    def __init__(self, reason: str, changed: Any = None) -> None:
        super().__init__(reason)
        self.changed, self.left = changed, None


class OneTurn:
    """A loop while its turns are traced."""

    def __init__(self, cells: Cells, state: Sequence[str], temporaries: Sequence[str], key: tuple[str, int]) -> None:
        self.cells, self.state, self.temporaries, self.key = cells, tuple(state), tuple(temporaries), key

    @property
    def names(self) -> tuple[str, ...]:
        """The locals that may go round, and the items of objects that do."""
        return (*self.state, *self.cells.items)

    _before: Mutables
    """The objects that were within reach before the loop."""
    _next_turn: tuple[Value, Dim]
    """Behind a loop over a source that has a test: the turn that is next, and how many there are."""

    def _locals(self, entry: Mapping[str, Any], known: Mapping[str, Local] = MappingProxyType({})) -> list[Local]:
        """The locals of a turn as they are before the loop, or as they are ``known`` to become."""
        found = [self._local(name, entry[name], known.get(name)) for name in self.names]
        for number, local in enumerate(found):
            if can_change(local.before) and not isinstance(local.before, MaybeUnbound):
                local.twin = next((other for other in found[:number] if other.before is local.before), None)
        return found

    def _local(self, name: str, thing: Any, known: Local | None = None) -> Local:
        """A local as it is before the loop, or as it is ``known`` to become."""
        entry = resolved(thing)
        if known is not None:
            entry = _widened(entry, known)
        leaves = flatten(entry, is_itself=self._is_itself(name))
        local = Local(name, entry, leaves, [None] * len(leaves.items), [set() for _ in leaves.items], before=thing)
        for number, item in enumerate(leaves.items):
            if item is not UNBOUND and not isinstance(item, tracers.ArrayTracer):
                kind = _number_kind(item)
                if kind is not None:
                    local.slots[number] = self._slot(local, number, kind)
        if known is not None and (entry is UNBOUND) == (known.entry is UNBOUND):
            local.begin_with(known, lambda number, kind: self._slot(local, number, kind))
        return local

    def _is_itself(self, name: str) -> Callable[[Any], bool]:
        """Whether a local that holds something stands for that very object."""
        is_returned, by_identity = is_returned_itself(name), is_chosen_by_identity(self._identity_site(name))
        return lambda thing: (
            is_returned(thing) or (by_identity and not is_reference(thing) and self._before.holds(thing))
        )

    def _identity_site(self, name: str) -> Site:
        return Site(Choice.CHOSEN_BY_IDENTITY, *self.key, name)

    def _slot(self, local: Local, number: int, kind: Scalar | Tensor) -> Slot:
        name = local.name if local.leaves.shape is None else f"{local.name}[{number}]"
        site = Site(Choice.MERGED_AS_MEMORY, *self.key, name)
        as_place = isinstance(kind, Tensor) and current_trace().storage.is_place(site)
        return Slot(name, kind, site, as_place, shared=isinstance(kind, Tensor))

    def _turn(self, run: Callable[[Any], None], test: Test | None, source: Source | None, locals_: list[Local]) -> Turn:
        trace = current_trace()
        condition: Scope | None = None
        condition_parameters: list[Value] = []
        proceed: Value | None = None
        for local in locals_:
            local.bits, local.made, local.found = [], [], []
        if test is not None:
            with trace.region() as condition:
                condition_parameters, position = self._enter(locals_, source, counted=source is not None)
                found = Mutables(self.cells.contents() if self.cells.items else ())
                proceed = self._proceed(test, position, source)
                if changed := found.changed():
                    raise NeedsUnrolling(f"{changed} changes in the loop", found.changed_list())
        self.cells.write({local.name: local.entry for local in locals_})
        with trace.region() as scope:
            parameters, position = self._enter(locals_, source, counted=source is not None)
            if source is not None:
                _know_position(position, source)
            if condition is not None:
                known = dict(zip(condition_parameters, parameters, strict=True))
                assume(in_other_words(learnt_in(condition.knowledge), known))
        path = trace_path(lambda: run(position), lambda: self.cells.read(self.names), scope, is_whole=True)
        return Turn(path, parameters, condition, condition_parameters, proceed)

    def _enter(self, locals_: list[Local], source: Source | None, *, counted: bool) -> tuple[list[Value], Any]:
        """Make a region's parameters, and bind the locals that are carried to them."""
        trace = current_trace()
        parameters: list[Value] = []
        position: Any = None
        if counted:
            size = trace.size(_position_name(self.temporaries, self.state))
            parameters.append(Value(Index(size), str(size)))
            position = tracers.size_of(size)
        for local in locals_:
            items = list(local.leaves.items)
            for number, slot in enumerate(local.slots):
                if slot is not None:
                    inside = self._opened(slot, local, number)
                    parameter = Value(inside.type, word(slot.name))
                    parameters.append(parameter)
                    items[number] = local.inside[number] = result_of(inside, parameter)
            if local.is_made:
                thing = local.make(items)
                remember_carried(thing, self._identity_site(local.name))
                local.found += Mutables([thing]).all()
                if local.may_be_unbound:
                    local.bits.append(Value(Scalar(BOOL), f"{word(local.name)}_is_bound"))
                    thing = MaybeUnbound(thing, local.bits[-1])
                self.cells.set(local.name, thing)
        return parameters, position

    def _opened(self, slot: Slot, local: Local, number: int) -> Slot:
        """The slot as a parameter of a region: the sizes that may change have names of the region's own."""
        axes = local.open_axes[number]
        if not axes:
            return slot
        assert isinstance(slot.kind, Tensor)
        dims = tuple(local.new_size(number, axis) if axis in axes else dim for axis, dim in enumerate(slot.kind.dims))
        return Slot(slot.name, Tensor(slot.kind.dtype, dims), slot.site, slot.as_place, slot.shared)

    def _proceed(self, test: Test, position: Any, source: Source | None) -> Value:
        """Whether there is another turn; where there is, is known from here on."""
        trace, inside = current_trace(), None
        if source is not None:
            inside = trace.make("less", values.size(tracers.dim_of(position)), values.size(source.count))
        answer = truth(test())
        if isinstance(answer, Value):
            assume(holds_if(answer, True))
        proceed = _bool_value(answer)
        return proceed if inside is None else trace.make("logical_and", inside, proceed)

    def _learn(self, locals_: list[Local], path: Path) -> bool:
        """Compare what a turn left with what it found; whether nothing new was learnt."""
        if path.ended:
            return True
        left_by_turn = {local: resolved(path.locals[local.name]) for local in locals_}
        apart = [local for local in locals_ if local.twin and left_by_turn[local] is not left_by_turn[local.twin]]
        for local in apart:
            local.twin = None
        stable = not apart
        for local in locals_:
            thing = path.locals[local.name]
            if isinstance(local.before, MaybeUnbound) and not local.is_made and thing is not local.before:
                local.binds, stable = True, False
            with current_trace().region(path.scope):
                left = released(resolved(thing), self._before.holds)
            found, differs = self._align(local, left)
            remember_renewed(resolved(thing), found)
            stable &= not differs
            path.locals[local.name] = replace(thing, thing=found) if isinstance(thing, MaybeUnbound) else found
            left = flatten(found, is_itself=self._is_itself(local.name))
            if repr(left.shape) != repr(local.leaves.shape):
                if local.entry is not UNBOUND:
                    raise NeedsUnrolling(f"{local.name} becomes a structure of another shape")
                stable = False
                count = len(left.items)
                local.leaves = Leaves((UNBOUND,) * count, left.shape, left.rebuild)
                local.slots, local.open_axes = [None] * count, [set() for _ in range(count)]
            for number, item in enumerate(left.items):
                stable &= self._learn_part(local, number, item, path.scope)
                self._note_sources(local, number, item, locals_)
        return stable

    def _note_sources(self, local: Local, number: int, left: Any, locals_: list[Local]) -> None:
        """Where a turn leaves the array that another local had before the loop, it will leave what that one carries."""
        slot = local.slots[number]
        if slot is None or not isinstance(left, tracers.ArrayTracer):
            return
        for other in locals_:
            found = [place for place, item in enumerate(other.leaves.items) if item is left]
            current_trace().choices.note_sources(
                slot.site, *(self._slot(other, place, slot.kind).site for place in found)
            )

    def _align(self, local: Local, left: Any) -> tuple[Any, bool]:
        """What a turn leaves, beside what it found, as alternatives if the two differ in kind; whether that is new."""
        if left is UNBOUND:
            return left, False
        is_itself, name, local.left = self._is_itself(local.name), shown_name(local.name), left
        if local.entry is UNBOUND:
            local.sample, _, left = aligned(
                [left if local.sample is None else local.sample, UNBOUND, left], name, is_itself, grows=True
            )
            return left, False
        entry, left = aligned([local.entry, left], name, is_itself, grows=True)
        if entry is local.entry:
            return left, False
        fresh = self._local(local.name, entry)
        local.entry, local.leaves, local.slots, local.open_axes = entry, fresh.leaves, fresh.slots, fresh.open_axes
        return left, True

    def _learn_part(self, local: Local, number: int, left: Any, turn: Scope) -> bool:
        slot, entry = local.slots[number], local.leaves.items[number]
        if slot is None and (left is UNBOUND or agreeing([entry, left])):
            return True
        if left is UNBOUND:
            return True
        trace, opened = current_trace(), local.open_axes[number]
        if slot is None and entry is UNBOUND and is_there_before(left):
            local.leaves = local.leaves.having(number, left)
            return False
        before = entry if slot is None else slot.kind
        fresh: list[Dim] = []

        def new_size() -> Dim:
            with trace.region(turn):  # nothing binds it before the loop
                fresh.append(trace.size("size"))
            return fresh[-1]

        name = local.name if slot is None else slot.name
        kind = common_kind(name, [before, left], new_size)
        if isinstance(kind, Tensor):
            visible = trace.is_visible_in(trace.scope)
            changed = {axis for axis, dim in enumerate(kind.dims) if dim in fresh or not visible(dim)} - opened
            opened |= changed
            local.single_axes |= {
                (number, axis) for axis in changed if _is_single(before, axis) or _is_single(left, axis)
            }
            if slot is not None and not changed and _same_but(kind, slot.kind, opened):
                return True
        elif slot is not None and kind == slot.kind:
            return True
        local.slots[number] = self._slot(local, number, kind)
        return False


def _widened(entry: Any, known: Local) -> Any:
    """A local before the loop with the kinds that it is ``known`` to take on, if it begins as it did then."""
    if entry is UNBOUND or known.entry is UNBOUND:
        return entry
    name, is_itself = shown_name(known.name), is_returned_itself(known.name)
    begins_alike = aligned([entry, resolved(known.before)], name, is_itself)[0] is entry
    return aligned([entry, known.entry], name, is_itself, grows=True)[0] if begins_alike else entry


def _is_single(thing: Any, axis: int) -> bool:
    """Whether an array, or a type, has the size 1 there."""
    kind = kind_of(thing)
    return isinstance(kind, Tensor) and current_trace().known(kind.dims[axis], "==", 1) is True


def _know_position(position: Any, source: Source) -> None:
    """Inside the body there is an item, and the position is that of one."""
    trace = current_trace()
    dim = tracers.dim_of(position)
    trace.knowledge.at_most[str(dim)] = source.span - 1
    trace.raise_bound(source.span - 1)


def _number_kind(thing: Any) -> Scalar | None:
    if isinstance(thing, tracers.SizeTracer | tracers.ScalarTracer) or type(thing) in (bool, int, float, complex):
        kind = tracers.type_of(thing)
        assert isinstance(kind, Scalar)
        return kind
    return None


def _same_but(kind: Tensor, other: Any, axes: set[int]) -> bool:
    return isinstance(other, Tensor) and kind.dtype == other.dtype and all(
        axis in axes or one == two for axis, (one, two) in enumerate(zip(kind.dims, other.dims, strict=True))
    )  # fmt: skip


def _bool_value(answer: bool | Value) -> Value:
    if isinstance(answer, Value):
        return values.emit("cast", answer, dtype=BOOL) if values.is_weak(answer) else answer
    return values.constant(answer, BOOL)


def _position_name(temporaries: Sequence[str], state: Sequence[str]) -> str:
    return next((name for name in temporaries if name.isidentifier() and len(name) <= 2), "i")


def left_by(path: Path, local: Local) -> Any:
    """What a turn leaves in a local."""
    return UNBOUND if path.ended else resolved(path.locals.get(local.name, UNBOUND))
