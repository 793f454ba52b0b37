"""What a trace may cost: how often one place of the program is recorded, and how many copies small loops make.

The time of a compilation grows with the number of ops recorded. That number is bounded for each place of the program
rather than altogether, so that it is at most linear in the text: a long program may take long, while a short one that
writes itself out again and again (loops in loops, helpers called in the branches of helpers, recursion) is refused at
the line that did. What is given up while tracing, because a loop is traced once more, counts as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from jitflow.errors import UserNotImplementedError

__all__ = ["MOST_COPIES", "MOST_KNOWN_TURNS", "MOST_WORK", "REGION_WORK", "Budget", "spent"]

MOST_WORK = 150_000
"""The ops that are recorded for one place of the program at the most."""
REGION_WORK = 64
"""An op with regions costs as much as so many others."""
MOST_COPIES = 16
"""Small loops in each other are unrolled up to so many copies of what is inside, and are native loops around that."""
_MOST_ITEMS = 64
"""So many copies are written out of what is inside of loops over Python's lists of numbers."""
MOST_KNOWN_TURNS = 1_000_000
"""The turns that a loop which Python goes through takes at the most: more would take Python long, or forever."""


class Budget:
    """The small loops that are being written out."""

    def __init__(self) -> None:
        self.unrolled: list[tuple[tuple[str, int], int]] = []
        """The loops of few turns that are being written out, outermost first: where they stand, and their turns."""
        self.going_through: list[tuple[tuple[str, int], int]] = []
        """The loops over Python's lists of numbers that are being written out, outermost first, and at which turn."""
        self.given_up: set[tuple[str, int]] = set()
        """Those that are to be native loops when the trace starts anew: until then one turn shows what is inside."""

    def allows(self, turns: int) -> bool:
        """Whether a loop of so many turns may be written out inside of those that are."""
        return prod((number for _, number in self._counted()), start=turns) <= MOST_COPIES

    def give_up(self) -> tuple[str, int]:
        """Let the outermost loop that is being written out be none of those; returns where it stands."""
        key, _ = next(self._counted())
        self.given_up.add(key)
        return key

    def give_up_all(self) -> list[tuple[str, int]]:
        """Let none of the loops that are being written out be one of those, where a turn alone is a large program."""
        found = [key for key, _ in self._counted()]
        found += [key for key, turn in self.going_through if turn > 1 and key not in self.given_up]
        self.given_up.update(found)
        return found

    def _counted(self) -> Iterator[tuple[tuple[str, int], int]]:
        return ((key, number) for key, number in self.unrolled if key not in self.given_up)

    @contextmanager
    def listing(self, key: tuple[str, int]) -> Iterator[None]:
        """While a loop over a list is written out."""
        self.going_through.append((key, 1))
        try:
            yield
        finally:
            self.going_through.pop()

    def note_item(self, turn: int) -> tuple[str, int] | None:
        """Begin a turn over a number; returns where the loop stands that is to be a native one, if there is such."""
        self.going_through[-1] = self.going_through[-1][0], turn
        going = [(key, number) for key, number in self.going_through if key not in self.given_up and number > 1]
        if len(going) < 2 or prod(number for _, number in going) <= _MOST_ITEMS:
            return None
        self.given_up.add(going[0][0])
        return going[0][0]

    @contextmanager
    def unrolling(self, key: tuple[str, int], turns: int) -> Iterator[None]:
        """While a loop of few turns is written out."""
        self.unrolled.append((key, turns))
        try:
            yield
        finally:
            self.unrolled.pop()


def spent(recursive: str, helper: str) -> UserNotImplementedError:
    """The error for a place that was recorded too often, by a function that calls itself or in a helper."""
    if recursive:
        what = f"the recursion of {recursive}"
        mend = "write a loop, or pass what differs between the calls as numbers and arrays and call it in one place"
    elif helper:
        what = f"{helper}, which is called on many paths or turns,"
        mend = f"call {helper} once, behind the branches that choose its arguments, or in a loop over range(...)"
    else:
        what = "a line in loops that are written out turn by turn"
        mend = "loop over range(...), and write to an array that is made before the loop"
    return UserNotImplementedError(
        f"{what} makes a program too large to compile",
        found="a line that is written out again and again",
        expected="code whose size the text bounds",
        mend=mend,
    )
