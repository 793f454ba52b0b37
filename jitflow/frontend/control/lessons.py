"""What the turns of a loop have taught: a nest of loops is traced a few times in all, not a few times for each level.

A turn is traced until it leaves the kinds of values that it finds, so twice at the least where it changes any. If each
loop did so for itself, the innermost of a nest would be traced twice as often with every level around it. Therefore a
loop whose turn holds other loops puts off what it would trace again: it remembers what it has learnt (`Lessons`), goes
on with values of the kinds that it knows so far, of which nothing is computed, and asks the turn around it for another
`Round`. Only the outermost loop goes round, and each round goes through the text once.

Lessons are kept by the loop around, for the same loop in the same turn; they are about kinds and sizes, which only
become more from round to round, and so they never tell too much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from jitflow.frontend.control.carried import Local
from jitflow.frontend.control.contents import Place
from jitflow.frontend.recording.regions import Scope
from jitflow.frontend.recording.trace import current_trace
from jitflow.records import dataclass

__all__ = ["Lessons", "Nest", "Round"]

_MOST_SPLIT = 3
"""How many loops in each other are split: each is written twice with what is inside."""
_MOST_WAITS = 4
"""How often a loop waits for the turn around it to be traced again; then it goes round for itself."""


@dataclass(eq=False)
class Lessons:
    """What is known of a loop, by the turns that were traced before."""

    locals: dict[str, Local] = field(default_factory=dict)
    """What its locals were found to be."""
    written: set[tuple[str, int]] = field(default_factory=set)
    """The arrays from outside that it writes to: the names they are reached by, and their number in what is there."""
    items: set[Place] = field(default_factory=set)
    """What the loop changes in objects."""
    changes: Mapping[str, Any] | None = None
    """The locals whose kinds change, if that splits the loop."""
    stays: bool | None = None
    """Whether these keep the kinds that they have changed to."""
    _waits: int = 0
    _inner: dict[Hashable, Lessons] = field(default_factory=dict)

    def of(self, part: Hashable) -> Lessons:
        """The lessons of a loop inside, or of a piece."""
        return self._inner.setdefault(part, Lessons())

    def wait(self, here: Round, around: Round | None) -> bool:
        """Whether the turn ``around`` is to be traced again, and the loop with it, after the turn ``here``."""
        if around is None or self._waits == _MOST_WAITS or not (here.has_loops or around.again):
            return False
        self._waits += 1
        around.again = True
        return True


@dataclass(eq=False)
class Round:
    """One turn that is being traced."""

    lessons: Lessons
    again: bool = False
    """Whether a loop in it waits for the turn to be traced again."""
    outside: Scope = field(default_factory=lambda: current_trace().scope)
    """The region that the loop stands in."""
    _met: Counter[Hashable] = field(default_factory=Counter)

    def mark(self) -> Callable[[], None]:
        """What forgets the loops that come from now on."""
        met, again = Counter(self._met), self.again

        def forget() -> None:
            self._met, self.again = met.copy(), again

        return forget

    @property
    def has_loops(self) -> bool:
        """Whether there are loops in it."""
        return bool(self._met)

    def meet(self, loop: Hashable) -> Lessons:
        """What is known of the loop that comes next in the turn."""
        self._met[loop] += 1
        return self.lessons.of((loop, self._met[loop]))


class Nest:
    """The loops in each other that are being traced."""

    def __init__(self) -> None:
        self.rounds: list[Round] = []
        """Their turns, outer ones first."""
        self.splits_left = _MOST_SPLIT
        """How many of those to come are split where the kinds of their values change; see `control.splitting`."""

    @contextmanager
    def round(self, turn: Round) -> Iterator[Round]:
        """While a turn of a loop is traced."""
        self.rounds.append(turn)
        try:
            yield turn
        finally:
            self.rounds.pop()

    @contextmanager
    def splitting(self, most: int) -> Iterator[None]:
        """Of the loops in each other that are recorded meanwhile, so many are split at the most."""
        before, self.splits_left = self.splits_left, most
        try:
            yield
        finally:
            self.splits_left = before
