"""The text of a random program as it grows: lines, and what its names stand for.

What a name stands for is said by its *sort* alone, and a sort leaves the kind open on purpose: a ``number`` may be an
int, a float, a bool, a scalar of any dtype, an array of no axes, and now and then a whole array; a ``maybe`` is a
number or None; an ``array`` has one axis and any dtype; ``list`` and ``dict`` are Python's. Which kind it is depends on
the path that a run takes: that is what these programs are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["NothingFits", "Writing"]

Item = TypeVar("Item")


class NothingFits(Exception):
    """No name is of the sort that is asked for."""


class Writing:
    """Lines, names and choices. ``choose(n)`` gives one of ``n`` numbers, so a seed says what is written."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.depth = 0
        self.loops = 0
        """How many loops are around; numbers do not multiply there, for Python's ints have no end."""
        self.names: dict[str, str] = {}
        """The sort of each name that is bound here on every path."""
        self.perhaps: dict[str, str] = {}
        """The sorts of names that some path binds."""
        self.kept: set[str] = set()
        """Names that are not assigned: what ends a loop, and arguments that decide."""
        self.count = 0

    def pick(self, items: Sequence[Item]) -> Item:
        """One of several."""
        return items[self.choose(len(items))]

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.choose(one_in) == 0

    def line(self, text: str) -> None:
        """Append a line."""
        self.lines.append("    " * self.depth + text)

    def fresh(self, start: str) -> str:
        """A name that is new."""
        self.count += 1
        return f"{start}{self.count}"

    def named(self, *sorts: str) -> str:
        """A name that is bound here."""
        found = [name for name, sort in self.names.items() if sort in sorts]
        if not found:
            raise NothingFits
        return self.pick(found)

    def target(self, sort: str, start: str) -> str:
        """A name to assign: one that has been before, perhaps on some path only, or a new one."""
        bound = [name for name, known in (self.perhaps | self.names).items() if known == sort and name not in self.kept]
        return self.pick(bound) if bound and not self.chance(3) else self.fresh(start)

    def bind(self, name: str, sort: str) -> None:
        """From here on the name stands for a value of a sort."""
        self.names[name] = sort

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Lines one level deeper. Names that are bound there are perhaps bound after."""
        self.depth += 1
        names = dict(self.names)
        yield
        self.perhaps |= self.names
        self.names = names
        self.depth -= 1
