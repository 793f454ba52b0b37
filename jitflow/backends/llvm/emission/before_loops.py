"""Addresses that a loop does not change, computed in front of it.

What loads and stores add to such an address is the loop's position, which an instruction does by itself. So code
generation need not look for addresses that go along with the loop (strength reduction), which takes a quarter of its
time. Names tell what a loop changes: they are numbered as they come up, and those of a loop come up inside of it.

    loop:  %v9 = getelementptr i8, ptr %a0, i64 %v3          in front:  %v9 = getelementptr i8, ptr %a0, i64 %v3
           %v10 = getelementptr i8, ptr %v9, i64 %p8             loop:  %v10 = getelementptr i8, ptr %v9, i64 %p8
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from jitflow.ir.core import Op, Value

__all__ = ["BeforeLoops", "places_first"]


class BeforeLoops:
    """Of the loops of a function that are being written, what is computed in front of each."""

    def __init__(self) -> None:
        self._open: list[tuple[int, dict[str, str]]] = []
        """The number of each, after which those inside come, and names by their instructions."""
        self._known: dict[str, int] = {}
        """Of such a name the number of the last one that it is computed of."""

    @contextmanager
    def loop(self, number: int) -> Iterator[dict[str, str]]:
        """A loop, for the lines in front of it, which are known when it has been written."""
        lines: dict[str, str] = {}
        self._open.append((number, lines))
        yield lines
        self._open.pop()

    def name(self, instruction: str, operands: tuple[str, ...], fresh: Callable[[], int]) -> str | None:
        """The name of what an instruction computes in front of all loops that change no operand, if there are some."""
        last = max(map(self.came_up, operands))
        lines = next((lines for number, lines in self._open if last < number), None)
        if lines is None:
            return None
        if instruction not in lines:
            lines[instruction] = name = f"%v{fresh()}"
            self._known[name] = last
        return lines[instruction]

    def came_up(self, operand: str) -> int:
        """When an operand came up. Parameters and literals were there from the start."""
        if operand in self._known:
            return self._known[operand]
        return int(operand[2:]) if operand[:2] in ("%v", "%p") else 0


def places_first(ops: Sequence[Op]) -> Iterator[Op]:
    """The ops of a region, in front what says where it reads, so that reads of several places can stand together."""
    places: set[Value] = {op.operands[1] for op in ops if op.name == "read"}
    for op in reversed(ops):
        if op.name in _ARITHMETIC and op.results[0] in places:
            places.update(op.operands)
    behind: set[Value] = set()
    others: list[Op] = []
    for op in ops:
        if op.name in _ARITHMETIC and op.results[0] in places and behind.isdisjoint(op.operands):
            yield op
        else:
            others.append(op)
            behind.update(op.results)
    yield from others


_ARITHMETIC = {"add", "multiply", "subtract"}
