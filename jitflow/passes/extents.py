"""Extents: where slices of one array lie, and whether they meet.

Slices never meet in the same turn of all loops if on some axis one ends before the other begins (`Extents.apart`). What
slices show in two turns of a loop never meets if on some axis they begin at the loop's position, or at so many times
it, and are no longer than that (`own_axes`).

    for ... (%i: index[i]) {
      %0 = slice %z {starts=[i, 0], sizes=[1, k], ...}          apart; and each turn has a row of its own
      %1 = slice %z {starts=[i, k], sizes=[1, n - k], ...}
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.ir.bounds import Bounds
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.dims import Dim, Expression, Symbol, symbols
from jitflow.ir.types import Index
from jitflow.passes.order import bound_sizes, named_sizes

__all__ = ["Extents", "factor_of", "own_axes", "position_of", "signed_sizes"]


class Extents:
    """Proofs about the slices of a function."""

    def __init__(self, function: Function) -> None:
        self._bounds = Bounds(function.facts)
        for name in signed_sizes(function):
            self._bounds.name(name, signed=True)

    def apart(self, first: Op, second: Op) -> bool:
        """Whether two slices of one array have no element in common, in the same turn of all loops."""
        pairs = zip(_ranges(first), _ranges(second), strict=True)
        return any(self._is_before(one, other) or self._is_before(other, one) for one, other in pairs)

    def _is_before(self, first: tuple[Dim, Dim] | None, second: tuple[Dim, Dim] | None) -> bool:
        return first is not None and second is not None and self._bounds.proves(second[0] - first[1])


def _ranges(part: Op) -> Iterator[tuple[Dim, Dim] | None]:
    """The first position on each axis, and the one behind the last; None of an axis that is walked backwards."""
    for start, size, step in zip(*(part.attributes[name] for name in ("starts", "sizes", "steps")), strict=True):
        forwards = isinstance(step, int) and step > 0
        yield (start, start + (size - 1) * step + 1) if forwards else None


def own_axes(part: Op, position: str) -> set[int]:
    """The axes of a slice on which each turn of the loop with this position has a stretch of its own."""
    sizes, steps = part.attributes["sizes"], part.attributes["steps"]
    found = set()
    for axis, start in enumerate(part.attributes["starts"]):
        factor = factor_of(start, position)
        if factor and isinstance(sizes[axis], int) and steps[axis] == 1 and sizes[axis] <= abs(factor):
            found.add(axis)
    return found


def position_of(loop: Op) -> str | None:
    """The name of the position of a ``for``, None if it has none."""
    if loop.name != "for":
        return None
    kind = loop.regions[0].parameters[0].type
    dim = kind.dim if isinstance(kind, Index) else None
    return str(dim) if isinstance(dim, Expression) and dim.is_symbol else None


def factor_of(dim: Dim, name: str) -> int | None:
    """How often a size is added in a dim; None if it stands elsewhere in it."""
    found = 0
    for monomial, coefficient in dim.terms if isinstance(dim, Expression) else ():
        if monomial == (Symbol(name),):
            found = coefficient
        elif name in symbols(Expression(((monomial, 1),))):
            return None
    return found


def signed_sizes(function: Function) -> Iterator[str]:
    """The sizes that may be negative: positions of loops, and integers of the program."""
    for op in walk(function.region):
        if op.name == "for":
            yield from named_sizes(op.regions[0].parameters[0].type)
        elif op.name == "to_index":
            yield from bound_sizes(op)
