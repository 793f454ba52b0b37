"""Loops whose values are of another kind from some turn on: two loops, so that both know the kinds of their values.

    m = -1
    for v in a:               while m is an int:    one loop, which ends at that turn
        if v > m:             the rest of the turns: another one
            m = v

Where every turn leaves the other kind (``s = 0`` before a sum of floats), the first turn stands before the loop. Where
a value may be of its first kind again later, there is one loop, which carries the number of the kind. So do loops in
the first of two pieces, most turns being in the other, and loops in many that are split: a nest has a few copies of
each body, not two to the power of its depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jitflow.frontend.control.alternatives import option
from jitflow.frontend.control.branch import choose, decide
from jitflow.frontend.control.lessons import Lessons, Nest
from jitflow.frontend.control.logic import as_python_bool, not_, truth
from jitflow.frontend.control.merge import resolved
from jitflow.frontend.control.possible_kinds import is_of_kind
from jitflow.frontend.control.rolling import CannotRoll, Change, Rolling, Test
from jitflow.frontend.control.sources import Rest
from jitflow.frontend.control.steps import Source
from jitflow.frontend.recording import values
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.tracers import Alternatives
from jitflow.ir.core import Value
from jitflow.records import dataclass

__all__ = ["MOST_SPLITS", "Pieces"]

MOST_SPLITS = 2
"""How often a loop is split; what changes then is carried with the number of its kind."""

Again = Callable[[Any, int, Lessons], None]
"""Records the loop over the rest of a source, which may be split so many times more, with its lessons."""


@dataclass(frozen=True)
class Pieces:
    """A loop that is split: its turns, and the locals whose kind changes."""

    loop: Rolling
    run: Callable[[Any], None]
    test: Test | None
    source: Source | None
    changes: Mapping[str, Change]
    lessons: Lessons

    def record(self, again: Again, splits: int) -> None:
        """Record the pieces. Raises `CannotRoll` as the loop itself would."""
        with current_trace().state(Nest).splitting(current_trace().state(Nest).splits_left - 1):
            self._record(again, splits)

    def _record(self, again: Again, splits: int) -> None:
        if all(type(change.left) is not Alternatives for change in self.changes.values()):
            self._first_turn(again, splits - 1)
        elif all(len(change.others) == 1 for change in self.changes.values()) and self._stays():
            self._until_changed(again, splits - 1)
        else:
            again(self.source, 0, self.lessons.of("whole"))

    def _first_turn(self, again: Again, splits: int) -> None:
        """The first turn, and the loop behind it, if there is a turn."""
        loop, source = self.loop, self.source

        def turns() -> None:
            if source is not None:
                current_trace().raise_bound(source.span - 1)
            with current_trace().state(Nest).splitting(0):
                self.run(0)
            again(None if source is None else Rest(source, 1), splits, self.lessons.of("rest"))

        answer = True if self.test is None else truth(self.test())
        if source is not None:
            there_is_one = current_trace().known(source.count, ">=", 1)
            if there_is_one is None:
                found = values.emit("greater_equal", values.size(source.count), values.size(1))
                answer = found if answer is True else values.emit("logical_and", found, _as_value(answer))
        if answer is True:
            turns()
        elif answer is not False:
            decide(answer, turns, lambda: None, loop.cells, loop.state, loop.temporaries, loop.key)

    def _stays(self) -> bool:
        """Whether a turn that finds the last kinds leaves them."""
        if self.lessons.stays is None:
            self.lessons.stays = self._would_stay()
        return self.lessons.stays

    def _would_stay(self) -> bool:
        names = tuple(self.changes)
        before = self.loop.cells.read(names)
        self.loop.cells.write({name: _of_kind(change.left, change.others[0]) for name, change in self.changes.items()})
        try:
            with current_trace().state(Nest).splitting(0):
                return self.loop.keeps_kinds(self.run, self.test, self.source, self.lessons.of("stays"))
        finally:
            self.loop.cells.write(before)

    def _until_changed(self, again: Again, splits: int) -> None:
        """Turns until all values are of their last kind, and then the others."""
        loop, last = self.loop, {name: change.others[0] for name, change in self.changes.items()}

        def have_changed() -> Any:
            answer: Value | None = None
            for name, number in last.items():
                thing = resolved(loop.cells.get(name))
                if type(thing) is not Alternatives:
                    return False
                holds = is_of_kind(thing, number)
                answer = holds if answer is None else values.emit("logical_and", answer, holds)
            assert answer is not None
            return as_python_bool(answer)

        def go_on() -> Any:
            unchanged = not_(have_changed())
            return unchanged if self.test is None else choose(unchanged, self.test, lambda: False)

        def others() -> None:
            for name, number in last.items():
                loop.cells.set(name, _of_kind(resolved(loop.cells.get(name)), number))
            rest = self.source if self.source is None else Rest(self.source, loop.next_turn())
            again(rest, splits, self.lessons.of("rest"))

        try:
            with current_trace().state(Nest).splitting(0):
                loop.roll(self.run, go_on, self.source, piece=self.lessons.of("until"))
        except CannotRoll:
            again(self.source, 0, self.lessons.of("whole"))
            return
        answer = truth(have_changed())
        if answer is True:  # all names are of one kind behind the loop
            others()
        elif answer is not False:
            decide(answer, others, lambda: None, loop.cells, loop.state, loop.temporaries, loop.key)


def _of_kind(thing: Any, number: int) -> Any:
    """What it is where it is of one of its kinds. The numbers of what it holds may be of one kind already."""
    return option(thing, number) if type(thing) is Alternatives else thing


def _as_value(answer: Any) -> Value:
    assert isinstance(answer, Value)
    return answer
