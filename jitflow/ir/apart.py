"""Places that swap, and never meet.

``u, v = v, u`` at the end of a turn makes each of the two places of a loop show both variables, so their place sets say
nothing. Yet in any one turn they show different ones: what a turn yields is what it was given in another order, and
what the loop was given first was apart. The same holds of the loop's results, and of the results of a branch that
hands out the same places in either order.

So beside its set a place has a *role*: the parameter or result that it is, or is a view of. Two roles that are apart
never show common elements, as long as both are those of the same turn, which they are wherever both can be named.
Outside of the loop a role says nothing any more.

    %p, %q = for %0, %k, %1, %u, %v (%i, %a, %b) {      a and b are apart, p and q are apart,
      ...                                               though each shows u or v
      yield %b, %a
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Region, Value
from jitflow.ir.types import Place, Variable

__all__ = ["Roles"]


class Roles:
    """The roles of the places of a region; ``disjoint`` says of two places whether their place sets are."""

    def __init__(self, region: Region, disjoint: Callable[[Value, Value], bool]) -> None:
        self._role: dict[Value, Value] = {}
        self._apart: dict[Value, set[Value]] = {}
        self._disjoint = disjoint
        self._enter(region)
        del self._disjoint  # it knows who asks, who knows this: both would stay until the garbage is collected

    def of(self, value: Value) -> Value | None:
        """The role of a place, or of a value that was loaded from one; None if nothing tells it from others."""
        value = self._role.get(value, value)
        return value if value in self._apart else None

    def apart(self, first: Value | None, second: Value | None) -> bool:
        """Whether two roles never show common elements."""
        return first is not None and second is not None and second in self._apart.get(first, ())

    def _enter(self, region: Region) -> None:
        for op in region.body:
            if "view" in op.definition.traits or op.name == "load":
                (operand,) = op.operands
                if operand in self._role or operand in self._apart:
                    self._role[op.result] = self._role.get(operand, operand)
            elif op.name == "if":
                for inner in op.regions:
                    self._enter(inner)
                self._branches(op)
            elif op.name in ("for", "while"):
                self._loop(op)
                for inner in op.regions:
                    self._enter(inner)

    def _never_meet(self, first: Value, second: Value) -> bool:
        return self._disjoint(first, second) or self.apart(self.of(first), self.of(second))

    def _set_apart(self, first: Value, second: Value) -> None:
        self._apart.setdefault(first, set()).add(second)
        self._apart.setdefault(second, set()).add(first)

    def _branches(self, op: Op) -> None:
        for number, second in _places(op.results):
            for other, first in _places(op.results[:number]):
                if all(self._never_meet(region.yielded[other], region.yielded[number]) for region in op.regions):
                    self._set_apart(first, second)

    def _loop(self, op: Op) -> None:
        body = op.regions[-1]
        first = 3 if op.name == "for" else 0
        initial, carried = op.operands[first:], body.parameters[bool(first) :]
        position = {parameter: number for number, parameter in enumerate(carried)}
        source = {
            number: position[value]
            for number, value in enumerate(body.yielded)
            if value in position and isinstance(value.type, Variable | Place)
        }
        """For each place, the one that it shows in the next turn."""
        receivers = [carried, op.results, *(region.parameters for region in op.regions[:-1])]
        for one in source:
            for other in source:
                if one < other and self._stay_apart(one, other, source, initial):
                    for values in receivers:
                        self._set_apart(values[one], values[other])

    def _stay_apart(self, one: int, other: int, source: dict[int, int], initial: Sequence[Value]) -> bool:
        """Whether two places are apart in every turn: at first, and so are those that they come to show."""
        seen: set[tuple[int, int]] = set()
        while (one, other) not in seen:
            seen.add((one, other))
            if one == other or not self._never_meet(initial[one], initial[other]):
                return False
            if one not in source or other not in source:
                return False
            one, other = source[one], source[other]
        return True


def _places(values: Sequence[Value]) -> list[tuple[int, Value]]:
    return [(number, value) for number, value in enumerate(values) if isinstance(value.type, Variable | Place)]
