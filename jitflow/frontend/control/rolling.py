"""Rolling: one turn of a loop becomes the body of a ``for`` or ``while`` op.

The body is traced until it is stable. What a turn hands to the next is carried: numbers that the body assigns from the
start, arrays and others once the body has left another object in a local than it found. A local that stays the same
array is not carried, however often it is written to. What a turn changes in a dict, a list or another object is carried
like a local (`contents`). A turn that makes variables of memory from outside is traced again, because its first reads
came too early (`jitflow.frontend.recording.memory`). What a loop inside learns, it leaves to the next turn that is
traced of the loop around it (`lessons`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import jitflow.frontend.tracers as tracers
from jitflow.errors import UserError, UserNotImplementedError
from jitflow.frontend.control.alternatives import number_of
from jitflow.frontend.control.carried import Local
from jitflow.frontend.control.cells import UNBOUND
from jitflow.frontend.control.changing_lists import container_type
from jitflow.frontend.control.contents import ChangesInLoop, changed_items, item_at
from jitflow.frontend.control.leaves import are_carried_together, flatten
from jitflow.frontend.control.lessons import Lessons, Nest, Round
from jitflow.frontend.control.loop_op import LoopOp
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.mutables import Mutables
from jitflow.frontend.control.paths import RAISED_BY_PYTHON, Path
from jitflow.frontend.control.raising import EndOfPath
from jitflow.frontend.control.returning import RETURNED
from jitflow.frontend.control.same import add_numbers, note_reached
from jitflow.frontend.control.steps import Source
from jitflow.frontend.control.turns import NeedsUnrolling, Test, left_by
from jitflow.frontend.recording.choices import Choice, Site
from jitflow.frontend.recording.memory import BeforeTurn
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers.base import located
from jitflow.records import dataclass

__all__ = ["Body", "CannotRoll", "Change", "KindsChange", "Rolling", "Test"]

_ATTEMPTS = 12

Body = Callable[..., None]


class CannotRoll(Exception):
    """Rolling failed for a ``reason``; ``error`` is what the user is told if unrolling is out of the question.

    ``changed`` is the list that changes in the loop, if that is the reason, and ``held`` what it holds behind a turn.
    Where one ``grows`` that has a slot for each item, the loop is not written out for a size.
    """

    def __init__(
        self, error: UserError, reason: str = "", changed: Any = None, held: Any = None, *, grows: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.reason = reason or error.message
        self.changed, self.held, self.grows = changed, held, grows


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


class Rolling(LoopOp):
    """One loop, from its traced turns to the op."""

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
        mutables, take_back = Mutables(self.cells.contents(), with_stores=True, own=self.cells.own()), trace.trial()
        self._before = mutables
        note_reached(mutables)
        items = [item for place in lessons.items if (item := item_at(place, mutables)) is not None]
        for item in items:
            self.cells.add(item)
        which = add_numbers(self.cells, [*self.names, *(item.name for item in items)], self.key)
        entry = self.cells.read((*self.names, *self.temporaries))

        undo = partial(self._undo, entry, mutables, take_back)
        if splits and lessons.changes is not None and self._are_as_before(lessons.changes, entry):
            raise KindsChange(lessons.changes, lessons)
        self._make_variables(lessons)
        locals_ = self._locals(entry, lessons.locals)
        problem: UserError | None = None
        why = ""
        changed_list: Any = None
        held: Any = None
        grows = False
        for _ in range(_ATTEMPTS):
            self.cells.write(entry)
            take_back()
            began = trace.storage.now()
            try:
                with trace.storage.turn() as before, nest.round(Round(lessons)) as here:
                    turn = self._turn(run, test, source, locals_)
                met = self._meet_items(turn.path, locals_, source, lessons, which)
                entry |= {local.name: local.entry for local in met}
                stable = self._learn(locals_, turn.path) and not met
                changes = self._changes(locals_, entry) if splits else {}
            except (NeedsUnrolling, ChangesInLoop) as reason:
                why, changed_list, grows = str(reason), reason.changed, getattr(reason, "grows", False)
                held = container_type(changed_list, reason.left)
                problem = located(
                    UserNotImplementedError(
                        f"a loop that cannot be one native loop: {reason}",
                        mend="write to an array that is made before the loop, or loop over a range of a known number "
                        "of turns",
                    )
                )
                problem.tells_least = isinstance(reason, ChangesInLoop)
            except UserError as error:
                if not error.needs_number and not (error.has_no_type and source is None):
                    raise
                problem = error
                if error.location is not None:
                    why = f"Python needs a number at {error.location} that a native loop does not know"
            if problem is not None:
                undo()
                raise CannotRoll(problem, why, changed_list, held, grows=grows)
            lessons.locals = {local.name: local for local in locals_}
            if changes:
                lessons.changes = changes
            elif stable and not here.again and not trace.storage.goes_again(before):
                self.cells.write(entry)
                sent = self._sent(list(self._flows(turn, locals_, source is not None)), turn, began)
                if not trace.storage.goes_again(before):
                    if any(local.learnt_too_much(left_by(turn.path, local)) for local in locals_):
                        locals_ = self._locals(entry)
                        continue
                    self._finish(turn, locals_, source, test is not None, *sent)
                    shown_locals = (local for local in locals_ if local.name not in which)
                    carried = [(local, slot) for local in shown_locals for slot in local.slots if slot is not None]
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

    def keeps_kinds(
        self, run: Callable[[Any], None], test: Test | None, source: Source | None, lessons: Lessons
    ) -> bool:
        """Whether a turn leaves the kinds of values that it finds: one is traced, and everything undone."""
        trace = current_trace()
        entry, mutables = (
            self.cells.read((*self.names, *self.temporaries)),
            Mutables(self.cells.contents(), with_stores=True, own=self.cells.own()),
        )
        undo = partial(self._undo, entry, mutables, trace.trial())
        self._before = mutables
        note_reached(mutables)
        here = Round(lessons, again=True)
        try:
            while here.again:
                undo()
                locals_ = self._locals(entry)
                with trace.region(), trace.storage.turn(), trace.state(Nest).round(Round(lessons)) as here:
                    self._learn(locals_, self._turn(run, test, source, locals_).path)
            return not self._changes(locals_, entry)
        except (NeedsUnrolling, ChangesInLoop, UserError, EndOfPath, *RAISED_BY_PYTHON):
            return False
        finally:
            undo()

    def _undo(self, entry: dict[str, Any], mutables: Mutables, take_back: Callable[[], None]) -> None:
        """Give back what there was before the turns were traced."""
        mutables.restore()
        self.cells.write(entry)
        take_back()

    def _meet_items(
        self, path: Path, locals_: list[Local], source: Source | None, lessons: Lessons, which: list[str]
    ) -> list[Local]:  # fmt: skip
        """Let what a turn has changed in objects be among the locals; returns those that are new.

        ``which`` gets the names of those that are numbers of objects.
        A turn knows what is carried of a local by copies, so an object in one is not changed itself.
        """
        copied = [thing for local in locals_ if local.name not in self.cells.items
                  for thing in (resolved(local.before), left_by(path, local))]  # fmt: skip
        met = []
        for item, left in changed_items(self._before, Mutables([source, *copied])):
            if path.ended:
                continue  # nobody comes to see what a turn leaves that raises
            if not current_trace().choices.wishes(Site(Choice.CARRIED_CONTENTS, *self.key)):
                raise ChangesInLoop(item.held)
            if item.name not in self.cells.items:
                self.cells.add(item)
                lessons.items.add(item.place)
                met.append(self._local(item.name, item.cell_contents))
                path.locals[item.name] = left
                for name in add_numbers(self.cells, [item.name], self.key):
                    which.append(name)
                    met.append(self._local(name, self.cells.get(name)))
                    path.locals[name] = self.cells.get(name)
        locals_ += met
        return met

    def _are_as_before(self, changes: Mapping[str, Change], entry: Mapping[str, Any]) -> bool:
        """Whether locals are of the one kind that they had been of before the loop when their kinds changed."""
        things = {name: resolved(entry.get(name, UNBOUND)) for name in changes}
        return all(
            type(thing) is not tracers.Alternatives and number_of(thing) == changes[name].entry.chosen
            for name, thing in things.items()
        )

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
