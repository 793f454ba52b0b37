"""The regions that a trace is recording, one inside the other, and what is known inside each.

A `Scope` collects the ops of one region. What is learnt about sizes inside a region (a check that was passed, the range
of a loop's position) does not hold outside, because the region may never run: a scope keeps what was known when it
was entered, and gives it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from jitflow.ir.core import Builder, Fact, Op, Region, Value
from jitflow.ir.dims import Dim, Expression, lower_bound, substitute
from jitflow.ir.ops import OPS

__all__ = ["Knowledge", "Scope"]


class Knowledge:
    """What holds of the sizes at some point of the program.

    ``at_least`` maps names to a number that they are never below; ``at_most`` to a dim that they are never above, later
    names in terms of earlier ones (a loop's position in terms of the sizes around it).
    """

    def __init__(self) -> None:
        self.at_least: dict[str, int] = {}
        self.at_most: dict[str, Dim] = {}
        self.established: set[Fact] = set()
        self.equal: dict[str, Dim] = {}

    def copy(self) -> Knowledge:
        """The same knowledge, to be added to."""
        copied = Knowledge()
        copied.at_least, copied.at_most = dict(self.at_least), dict(self.at_most)
        copied.established, copied.equal = set(self.established), dict(self.equal)
        return copied

    def never_below(self, dim: Dim, number: int) -> bool:
        """Whether ``dim >= number`` follows: sizes with an upper bound are replaced by it where they are subtracted."""
        bound = lower_bound(dim, self.at_least)
        if bound is not None and bound >= number:
            return True
        for name in reversed(self.at_most):
            if isinstance(dim, Expression) and _is_subtracted(dim, name):
                dim = substitute(substitute(dim, {name: self.at_most[name]}), self.equal)
                bound = lower_bound(dim, self.at_least)
                if bound is not None and bound >= number:
                    return True
        return False


def _is_subtracted(dim: Expression, name: str) -> bool:
    """Whether the size occurs in one term only, alone and with a negative factor."""
    found = False
    for monomial, coefficient in dim.terms:
        if any(name in str(atom) for atom in monomial):
            if found or len(monomial) != 1 or str(monomial[0]) != name or coefficient > 0:
                return False
            found = True
    return found


@dataclass(eq=False)
class Scope:
    """One region under construction."""

    builder: Builder = field(default_factory=Builder)
    knowledge: Knowledge = field(default_factory=Knowledge)
    outer: Scope | None = None
    recalled: int = 0
    """How many of the trace's decisions, which hold everywhere, are known here."""
    once: bool = False
    """Whether the region runs once, where it stands: it is no loop and no branch."""
    is_differentiated: bool = False
    """Whether the region is the function of a derivative."""
    assumed: dict[Value, frozenset[int]] = field(default_factory=dict)
    """What the numbers of kinds may be here, because of the branch that the region is."""
    inserted: dict[Value, list[Op]] = field(default_factory=dict)
    """Ops that stand right behind the op, or at the start if it is a parameter, that made a value."""

    @property
    def depth(self) -> int:
        """In how many scopes it lies, itself among them."""
        return sum(1 for _ in self.around())

    def around(self) -> Iterator[Scope]:
        """The scope, and those that it lies in."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    @property
    def is_straight(self) -> bool:
        """Whether what is recorded here runs exactly once in each call."""
        return all(scope.once or scope.outer is None for scope in self.around())

    def insert(self, value: Value, name: str, *operands: Value, results: Sequence[Value], **attributes: Any) -> None:
        """Put an op behind the one that made ``value``."""
        loc = next((op.loc for op in self.builder.ops if value in op.results), self.builder.loc)
        op = Op(OPS[name], operands, tuple(results), MappingProxyType(attributes), loc=loc)
        self.inserted.setdefault(value, []).append(op)

    def close(self, parameters: Sequence[Value], yielded: Sequence[Value]) -> Region:
        """The region, with what was inserted in its place."""
        region = self.builder.region(parameters, yielded)
        if not self.inserted:
            return region
        ops: list[Op] = []
        for parameter in parameters:
            ops += self.inserted.get(parameter, ())
        for op in region.ops:
            ops.append(op)
            for result in op.results:
                ops += self.inserted.get(result, ())
        return Region(region.parameters, tuple(ops))
