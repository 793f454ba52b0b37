"""Rolling: one turn of a loop becomes the body of a ``for`` or ``while`` op.

The body is traced until it is stable. What a turn hands to the next is carried: numbers that the body assigns from the
start, arrays and others once the body has left another object in a local than it found. A local that stays the same
array is not carried, however often it is written to. A turn that makes variables of memory from outside is traced
again, because its first reads came too early (`jitflow.frontend.recording.memory`). What a loop inside learns, it
leaves to the next turn that is traced of the loop around it (`lessons`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.arrays.runtime_sizes import bind
from jitflow.frontend.control.alternatives import aligned, number_of, released
from jitflow.frontend.control.branch import (
    Path,
    outside_type,
    trace_path,
    whether_bound,
)
from jitflow.frontend.control.carried import Flow, Local, Turn
from jitflow.frontend.control.cells import UNBOUND, Cells
from jitflow.frontend.control.identity import is_chosen_by_identity, is_known, remember_choice
from jitflow.frontend.control.leaves import Leaves, are_carried_together, flatten
from jitflow.frontend.control.lessons import Lessons, Nest, Round
from jitflow.frontend.control.local_types import kind_of
from jitflow.frontend.control.logic import truth
from jitflow.frontend.control.merge import (
    MaybeUnbound,
    Slot,
    Way,
    agreeing,
    common_kind,
    names_of,
    resolved,
    result_of,
    shown_name,
    word,
)
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.returning import RETURNED, is_returned_itself
from jitflow.frontend.control.sources import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.memory import BeforeTurn
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.ir.core import Value, walk_ops
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import BOOL, I64
from jitflow.ir.types import Index, Place, Scalar, Tensor

__all__ = ["Body", "CannotRoll", "Change", "KindsChange", "Rolling", "Test"]

_ATTEMPTS = 12

Body = Callable[..., None]
Test = Callable[[], Any]


class NeedsUnrolling(Exception):
    """The body cannot be rolled, for the reason given: because ``changed`` does, if that is a list."""

    def __init__(self, reason: str, changed: Any = None) -> None:
        super().__init__(reason)
        self.changed = changed


class CannotRoll(Exception):
    """Rolling failed for a ``reason``; ``error`` is what the user is told if unrolling is out of the question.

    ``changed`` is the list that changes in the loop, if that is the reason.
    """

    def __init__(self, error: UserError, reason: str = "", changed: Any = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.reason = reason or error.message
        self.changed = changed


@dataclass(frozen=True)
class Change:
    """A local of one kind, of which a turn leaves another."""

    entry: tracers.Alternatives
    """What it was before the loop, beside the other kinds."""
    left: Any
    """What the turn left."""

    @property
    def others(self) -> list[int]:
        """The numbers of the kinds that it was not of before the loop."""
        return [number for number in self.entry.options if number != self.entry.chosen]


class KindsChange(Exception):
    """Turns leave values of other kinds than they find: the ``changes``, by name."""

    def __init__(self, changes: Mapping[str, Change], lessons: Lessons) -> None:
        super().__init__(f"the types of {', '.join(changes)} change")
        self.changes, self.lessons = changes, lessons


class Rolling:
    """One loop, from its traced turns to the op."""

    def __init__(self, cells: Cells, state: Sequence[str], temporaries: Sequence[str], key: tuple[str, int]) -> None:
        self.cells, self.state, self.temporaries, self.key = cells, tuple(state), tuple(temporaries), key

    _before: Mutables
    """The objects that were within reach before the loop."""
    _next_turn: tuple[Value, Dim]
    """Behind a loop over a source that has a test: the turn that is next, and how many there are."""

    def roll(
        self, run: Callable[[Any], None], test: Test | None, source: Source | None, *,
        splits: bool = False, piece: Lessons | None = None,
    ) -> list[str]:  # fmt: skip
        """Trace the loop into a ``for``, or a ``while`` if there is a test; returns the names that it carries.

        Raises `CannotRoll`, everything undone, and so `KindsChange` if it ``splits`` where turns leave other kinds of
        values than they find. A ``piece`` of a loop that was split comes with its lessons.
        """
        trace = current_trace()
        nest = trace.state(Nest)
        around = nest.rounds[-1] if nest.rounds else None
        lessons = piece or (Lessons() if around is None else around.meet(self.key))
        names = (*self.state, *self.temporaries)
        entry, mutables, take_back = self.cells.read(names), Mutables(self.cells.contents()), trace.trial()
        self._before = mutables

        def undo() -> None:
            self.cells.write(entry)
            mutables.restore()
            take_back()

        if splits and lessons.changes is not None and self._are_as_before(lessons.changes, entry):
            raise KindsChange(lessons.changes, lessons)
        self._make_variables(lessons)
        locals_ = [self._local(name, entry[name], lessons.locals.get(name)) for name in self.state]
        problem: UserError | None = None
        why = ""
        changed_list: Any = None
        for _ in range(_ATTEMPTS):
            self.cells.write(entry)
            take_back()
            began = trace.storage.now()
            try:
                with trace.storage.turn() as before, nest.round(Round(lessons)) as here:
                    turn = self._turn(run, test, source, locals_)
                changed = mutables.changed()
                if changed:
                    raise NeedsUnrolling(f"{changed} changes in the loop", mutables.changed_list())
                stable = self._learn(locals_, turn.path)
                changes = self._changes(locals_, entry) if splits else {}
            except NeedsUnrolling as reason:
                why, changed_list = str(reason), reason.changed
                problem = located(
                    UserNotImplementedError(
                        f"a loop that cannot be one native loop: {reason}",
                        mend="write to an array that is made before the loop, or loop over a range of a known number "
                        "of turns",
                    )
                )
            except UserError as error:
                if not error.needs_number:
                    raise
                problem = error
                if error.location is not None:
                    why = f"Python needs a number at {error.location} that a native loop does not know"
            if problem is not None:
                undo()
                raise CannotRoll(problem, why, changed_list)
            lessons.locals = {local.name: local for local in locals_}
            if changes:
                lessons.changes = changes
            elif stable and not here.again and not trace.storage.goes_again(before):
                self.cells.write(entry)
                sent = self._sent(list(self._flows(turn, locals_, source is not None)), turn.path, began)
                if not trace.storage.goes_again(before):
                    if any(local.learnt_too_much(_left(turn.path, local)) for local in locals_):
                        locals_ = [self._local(name, entry[name]) for name in self.state]
                        continue
                    self._finish(turn, locals_, source, test is not None, *sent)
                    carried = [(local, slot) for local in locals_ for slot in local.slots if slot is not None]
                    several = tracers.Alternatives
                    shown = (local.name if type(local.entry) is several else slot.name for local, slot in carried)
                    return [*dict.fromkeys(shown)]
            if trace.storage.goes_again(before):
                lessons.written |= self._made_variables(before)
            if lessons.wait(here, around):
                undo()
                self._stand_in(locals_, source)
                return []
            if changes:
                undo()
                raise KindsChange(changes, lessons)
        undo()
        raise CannotRoll(located(UserNotImplementedError("a loop whose locals change their types in every turn")))

    def next_turn(self) -> Dim:
        """Behind a loop over a source that has a test: the turn that is next."""
        number, count = self._next_turn
        return bind(number, "turn", count)

    def keeps_kinds(
        self, run: Callable[[Any], None], test: Test | None, source: Source | None, lessons: Lessons
    ) -> bool:
        """Whether a turn leaves the kinds of values that it finds: one is traced, and everything undone."""
        trace = current_trace()
        entry, mutables = self.cells.read((*self.state, *self.temporaries)), Mutables(self.cells.contents())
        take_back = trace.trial()
        self._before = mutables
        here = Round(lessons, again=True)
        try:
            while here.again:
                self.cells.write(entry)
                mutables.restore()
                take_back()
                locals_ = [self._local(name, entry[name]) for name in self.state]
                with trace.region(), trace.storage.turn(), trace.state(Nest).round(Round(lessons)) as here:
                    self._learn(locals_, self._turn(run, test, source, locals_).path)
            return not self._changes(locals_, entry)
        except (NeedsUnrolling, UserError):
            return False
        finally:
            self.cells.write(entry)
            mutables.restore()
            take_back()

    def _are_as_before(self, changes: Mapping[str, Change], entry: Mapping[str, Any]) -> bool:
        """Whether locals are of the one kind that they had been of before the loop when their kinds changed."""
        things = {name: resolved(entry.get(name, UNBOUND)) for name in changes}
        return all(
            type(thing) is not tracers.Alternatives and number_of(thing) == changes[name].entry.chosen
            for name, thing in things.items()
        )

    # -- what turns have taught ----------------------------------------------------------------------

    def _make_variables(self, lessons: Lessons) -> None:
        """Let what the loop writes to be variables before its first turn reads them."""
        storage = current_trace().storage
        for name, number in lessons.written:
            items = flatten(resolved(self.cells.get(name))).items
            if number < len(items) and isinstance(items[number], tracers.ArrayTracer):
                storage.place(storage.root(items[number]._value))

    def _made_variables(self, before: BeforeTurn) -> set[tuple[str, int]]:
        """The arrays from outside that turns have made variables, as `Lessons` have them."""
        storage, found = current_trace().storage, set[tuple[str, int]]()
        for name in self.cells.names():
            for number, item in enumerate(flatten(resolved(self.cells.get(name))).items):
                if isinstance(item, tracers.ArrayTracer) and storage.has_become_variable(item._value, before):
                    found.add((name, number))
        return found

    def _stand_in(self, locals_: Sequence[Local], source: Source | None) -> None:
        """Go on with some values of the kinds that are known so far: what is recorded with them is given up."""
        if source is not None:
            self._next_turn = Value(Scalar(I64)), source.count
        kinds = [outside_type(self._outer_kind(local, number)) for local in locals_
                 for number, slot in enumerate(local.slots) if slot is not None]  # fmt: skip
        bits = {local.name: Value(Scalar(BOOL)) for local in locals_ if isinstance(local.before, MaybeUnbound)}
        self._bind(locals_, [Value(kind) for kind in kinds], bits, source)

    def _changes(self, locals_: Sequence[Local], entry: Mapping[str, Any]) -> dict[str, Change]:
        """The locals of one kind before the loop of which a turn leaves another one, with another dtype."""
        found = {}
        for local in locals_:
            if local.name.startswith(RETURNED):
                continue  # who returns leaves the loop
            before = resolved(entry[local.name])
            mixed = type(local.entry) is tracers.Alternatives and type(before) is not tracers.Alternatives
            if mixed and not are_carried_together(local.entry):
                found[local.name] = Change(local.entry, local.left)
        return found

    # -- one turn ------------------------------------------------------------------------------------

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
        return lambda thing: is_returned(thing) or (by_identity and self._before.holds(thing))

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
            local.bits, local.made = [], []
        if test is not None:
            with trace.region() as condition:
                condition_parameters, position = self._enter(locals_, source, counted=source is not None)
                proceed = self._proceed(test, position, source)
        self.cells.write({local.name: local.entry for local in locals_})
        with trace.region() as scope:
            parameters, position = self._enter(locals_, source, counted=source is not None)
            if source is not None:
                _know_position(position, source)
        path = trace_path(lambda: run(position), lambda: self.cells.read(self.state), scope)
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
            if any(slot is not None for slot in local.slots):
                thing = local.leaves.rebuild(items)
                local.made.append(thing)
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
        if source is None:
            answer = truth(test())
            return _bool_value(answer)
        trace = current_trace()
        inside = trace.make("less", values.size(tracers.dim_of(position)), values.size(source.count))
        return trace.make("logical_and", inside, _bool_value(truth(test())))

    # -- what is carried -----------------------------------------------------------------------------

    def _learn(self, locals_: list[Local], path: Path) -> bool:
        """Compare what a turn left with what it found; whether nothing new was learnt."""
        if path.ended:
            return True
        stable = True
        for local in locals_:
            thing = path.locals[local.name]
            with current_trace().region(path.scope):
                left = released(resolved(thing), self._before.holds)
            found, differs = self._align(local, left)
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
                stable &= self._learn_part(local, number, item)
        return stable

    def _align(self, local: Local, left: Any) -> tuple[Any, bool]:
        """What a turn leaves, beside what it found, as alternatives if the two differ in kind; whether that is new."""
        if left is UNBOUND:
            return left, False
        is_itself, name = self._is_itself(local.name), shown_name(local.name)
        if local.entry is UNBOUND:
            local.sample, _, left = aligned(
                [left if local.sample is None else local.sample, UNBOUND, left], name, is_itself
            )
            return left, False
        local.left = left
        entry, left = aligned([local.entry, left], name, is_itself)
        if entry is local.entry:
            return left, False
        fresh = self._local(local.name, entry)
        local.entry, local.leaves, local.slots, local.open_axes = entry, fresh.leaves, fresh.slots, fresh.open_axes
        return left, True

    def _learn_part(self, local: Local, number: int, left: Any) -> bool:
        slot, entry = local.slots[number], local.leaves.items[number]
        if slot is None and (left is UNBOUND or agreeing([entry, left])):
            return True
        if left is UNBOUND:
            return True
        trace, opened = current_trace(), local.open_axes[number]
        before = entry if slot is None else slot.kind
        fresh: list[Dim] = []

        def new_size() -> Dim:
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

    # -- the op --------------------------------------------------------------------------------------

    def _finish(
        self, turn: Turn, locals_: list[Local], source: Source | None, tested: bool,
        flows: list[Flow], initial: list[Value], yielded: list[Value],
    ) -> None:  # fmt: skip
        """Append the op, and bind the locals to its results."""
        trace = current_trace()
        path = turn.path
        slots = [flow.slot for flow in flows]
        types = [outside_type(self._outer_kind(local, number)) for local in locals_
                 for number, slot in enumerate(local.slots) if slot is not None]  # fmt: skip
        hints = [word(slot.name) for slot in slots]
        partly = self._bits(turn, locals_, tested)
        for local in partly:
            initial.append(whether_bound(local.before))
            with trace.region(path.scope):
                yielded.append(whether_bound(True if path.ended else path.locals[local.name]))
            types.append(Scalar(BOOL))
            hints.append(f"{word(local.name)}_is_bound")
            turn.parameters.append(local.bits[-1])
            turn.condition_parameters += local.bits[:-1]
        found: Sequence[Value]
        if tested:
            found = self._add_while(turn, initial, yielded, types, hints, source)
        else:
            assert source is not None
            region = path.scope.close(turn.parameters, yielded)
            bounds = [values.size(0), values.size(source.count), values.size(1)]
            found = trace.add("for", *bounds, *initial, types=types, regions=(region,), names=hints)
        bits = {local.name: value for local, value in zip(partly, found[len(slots) :], strict=True)}
        found = found[: len(slots)]
        for flow, value in zip(flows, found, strict=True):
            trace.storage.arrive(value, flow.arrays)
        self._bind(locals_, found, bits, source)
        for local in locals_:
            if local.made:
                self._remember(local, turn.path)

    def _bind(
        self, locals_: Sequence[Local], found: Sequence[Value], bits: Mapping[str, Value], source: Source | None
    ) -> None:
        """Let the locals be what the loop has ``found``; ``bits`` say which are bound."""
        results = iter(found)
        self.cells.write(dict.fromkeys(self.temporaries, UNBOUND))
        ran = self._ran(source)
        for local in locals_:
            items = list(local.leaves.items)
            for number, slot in enumerate(local.slots):
                if slot is not None:
                    value, outside = next(results), slot
                    if isinstance(value.type, Tensor | Place):
                        kind = Tensor(value.type.dtype, value.type.dims)
                        outside = Slot(slot.name, kind, slot.site, slot.as_place, slot.shared)
                    items[number] = result_of(outside, value)
            if any(slot is not None for slot in local.slots):
                thing = local.leaves.rebuild(items)
                local.made.append(thing)
                holds = bits.get(local.name, ran if local.entry is UNBOUND else None)
                self.cells.set(local.name, thing if holds is None else MaybeUnbound(thing, holds))

    def _remember(self, local: Local, path: Path) -> None:
        """A turn may leave an object that others know, and what goes round is made anew."""
        left, site = _left(path, local), self._identity_site(local.name)
        if not is_chosen_by_identity(site) and is_known(left, self._before):
            remember_choice(site, [local.entry, left], local.made, self._before)

    def _bits(self, turn: Turn, locals_: list[Local], tested: bool) -> list[Local]:
        """The locals of which turns hand on whether they are bound.

        There is no need to where each turn binds the local before it asks: then it is bound if there was a turn.
        """
        scopes = [scope for scope in (turn.path.scope, turn.condition) if scope is not None]
        asked = {operand for scope in scopes for op in walk_ops(scope.builder.ops) for operand in op.operands}
        found = []
        for local in locals_:
            left = turn.path.locals.get(local.name, UNBOUND)
            binds = (
                not tested and local.before is UNBOUND and left is not UNBOUND and not isinstance(left, MaybeUnbound)
            )
            if local.may_be_unbound and (turn.path.ended or not binds or not asked.isdisjoint(local.bits)):
                found.append(local)
        return found

    def _flows(self, turn: Turn, locals_: list[Local], counted: bool) -> Iterator[Flow]:
        """What is carried, in the order of the parameters."""
        number = int(counted)
        for local in locals_:
            thing = turn.path.locals.get(local.name, UNBOUND)
            left = flatten(resolved(thing), is_itself=self._is_itself(local.name))
            for part, slot in enumerate(local.slots):
                if slot is None:
                    continue
                item = UNBOUND if turn.path.ended or left.shape != local.leaves.shape else left.items[part]
                parameters = [values[number] for values in (turn.parameters, turn.condition_parameters) if values]
                yield Flow(slot, local.leaves.items[part], item, parameters)
                number += 1

    def _sent(
        self, flows: list[Flow], path: Path, since: tuple[int, int]
    ) -> tuple[list[Flow], list[Value], list[Value]]:
        """What goes in, and what a turn hands on: first what it reads, then what it puts into memory made before.

        ``since``: when the loop began, in the storage's count.
        """
        trace = current_trace()
        storage, home = trace.storage, trace.scope
        for flow in flows:
            for parameter in flow.parameters:
                storage.arrive(parameter, flow.arrays)
        storage.end_turn(path.scope, since)
        names = names_of(flow.left for flow in flows)
        yielded: dict[Flow, Value] = {}
        for flow in sorted(flows, key=lambda flow: flow.slot.as_place):
            others = [other.left._value for other in flows if other is not flow and other.slot.as_place
                      and isinstance(other.left, tracers.ArrayTracer)]  # fmt: skip
            reused = not any(storage.may_be(value, flow.parameters[0]) for value in others)
            yielded[flow] = flow.slot.incoming(flow.left, path.scope, Way(home, names, reused, path.scope, since))
        initial = [flow.slot.incoming(flow.entry, home, Way(home, turn=path.scope, since=since)) for flow in flows]
        return flows, initial, [yielded[flow] for flow in flows]

    def _add_while(
        self, turn: Turn, initial: list[Value], yielded: list[Value], types: list[Any], hints: list[str],
        source: Source | None,
    ) -> Sequence[Value]:  # fmt: skip
        trace, counted = current_trace(), source is not None
        assert turn.condition is not None
        assert turn.proceed is not None
        if counted:
            initial = [values.size(0), *initial]
            types = [Index(), *types]
            hints = ["position", *hints]
            with trace.region(turn.path.scope):
                position = turn.parameters[0].type
                assert isinstance(position, Index)
                assert position.dim is not None
                yielded = [values.size(position.dim + 1), *yielded]
        regions = (
            turn.condition.close(turn.condition_parameters, [turn.proceed]),
            turn.path.scope.close(turn.parameters, yielded),
        )
        found = trace.add("while", *initial, types=types, regions=regions, names=hints)
        if counted:
            assert source is not None
            self._next_turn = values.cast(found[0], I64), source.count
        return found[1:] if counted else found

    def _outer_kind(self, local: Local, number: int) -> Any:
        slot = local.slots[number]
        assert slot is not None
        kind, opened = slot.type, local.open_axes[number]
        if not isinstance(kind, Tensor | Place) or not opened:
            return kind
        dims = (local.new_size(number, axis) if axis in opened else dim for axis, dim in enumerate(kind.dims))
        return replace(kind, dims=tuple(dims))

    def _ran(self, source: Source | None) -> Value | None:
        """Whether there was a turn; None where that is known, or nobody can tell."""
        if source is None or current_trace().known(source.count, ">=", 1):
            return None
        return values.emit("greater_equal", values.size(source.count), values.size(1))


def _widened(entry: Any, known: Local) -> Any:
    """A local before the loop with the kinds that it is ``known`` to take on, if it begins as it did then."""
    if entry is UNBOUND or known.entry is UNBOUND:
        return entry
    name, is_itself = shown_name(known.name), is_returned_itself(known.name)
    begins_alike = aligned([entry, resolved(known.before)], name, is_itself)[0] is entry
    return aligned([entry, known.entry], name, is_itself)[0] if begins_alike else entry


def _left(path: Path, local: Local) -> Any:
    """What a turn leaves in a local."""
    return UNBOUND if path.ended else resolved(path.locals.get(local.name, UNBOUND))


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
