"""Extents: where slices of one array lie, and whether they meet.

Slices never meet in the same turn of all loops if on some axis one ends before the other begins (`Extents.apart`). What
slices show in two turns of a loop never meets if on some axis they begin at the loop's position, or at so many times
it from the same place on, and are no longer than that (`Extents.never_meet`).

    for ... (%i: index[i]) {
      %0 = slice %z {starts=[i, 0], sizes=[1, k], ...}          apart; and each turn has a row of its own
      %1 = slice %z {starts=[i, k], sizes=[1, n - k], ...}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any

from jitflow.ir.bounds import Bounds
from jitflow.ir.core import Function, Op, walk
from jitflow.ir.dims import Dim, Expression, Symbol, minimum, substitute, symbols
from jitflow.ir.types import Index, dims_of
from jitflow.passes.analyses.order import bound_sizes, named_sizes, sizes_inside

__all__ = ["Extents", "covers", "factor_of", "position_of", "renames", "signed_sizes"]

Attributes = Mapping[str, Any]

_Range = tuple[Dim, Dim]


class Extents:
    """Proofs about the slices of a function."""

    def __init__(self, function: Function) -> None:
        self._bounds = Bounds(function.facts)
        for name in signed_sizes(function):
            self._bounds.name(name, signed=True)

    def never_meet(self, parts: Sequence[Op], loop: Op | None) -> bool:
        """Whether slices of one array, which stand in one region, have no element in common.

        ``loop`` is a loop that they stand in and the array does not, or None.
        """
        if loop is not None and not self.turns_never_meet(parts, loop):
            return False
        return all(self.apart(one, other) for one, other in combinations(parts, 2))

    def turns_never_meet(self, parts: Sequence[Op], loop: Op) -> bool:
        """Whether what a turn of a loop shows of an array by these slices is apart from what any other turn shows."""
        position = position_of(loop)
        if position is None:
            return False
        varying = {*sizes_inside(loop.regions[0])} - {position}
        common = set.intersection(*(self._own_stretches(part, position) for part in parts))
        return any(varying.isdisjoint(symbols(start)) for _, start, _ in common)

    def apart(self, first: Op, second: Op) -> bool:
        """Whether two slices of one array have no element in common, in the same turn of all loops."""
        pairs = zip(_ranges(first), _ranges(second), strict=True)
        return any(self._is_before(one, other) or self._is_before(other, one) for one, other in pairs)

    def fill(self, parts: Sequence[Attributes], dims: Sequence[Dim]) -> bool:
        """Whether slices that follow each other along one axis show all of an array of these dims between them."""
        cut = [axis for axis in range(len(dims)) if any(_is_cut(part, axis, dims[axis]) for part in parts)]
        if len(cut) != 1 or any(part["steps"][cut[0]] != 1 for part in parts):
            return False
        (axis,) = cut
        stretches = [(part["starts"][axis], part["sizes"][axis]) for part in parts]
        if not all(isinstance(start, int) for start, _ in stretches):
            return False
        stretches.sort(key=itemgetter(0))
        dim, ends = dims[axis], [*(start for start, _ in stretches[1:]), dims[axis]]
        return stretches[0][0] == 0 and all(
            self._bounds.proves(size - minimum(dim - start, end - start))
            for (start, size), end in zip(stretches, ends, strict=True)
        )

    def _own_stretches(self, part: Op, position: str) -> set[tuple[int, Dim, Dim]]:
        """Axis, start and size of what each turn of the loop with this position has of its own in a slice."""
        axes = zip(*(part.attributes[name] for name in ("starts", "sizes", "steps")), strict=True)
        return {
            (axis, start, size)
            for axis, (start, size, step) in enumerate(axes)
            if step == 1 and self._bounds.proves(abs(factor_of(start, position) or 0) - size)
        }

    def _is_before(self, first: _Range | None, second: _Range | None) -> bool:
        return first is not None and second is not None and self._bounds.proves(second[0] - first[1])


def _ranges(part: Op) -> Iterator[_Range | None]:
    """The first position on each axis, and the one behind the last; None of an axis that may be walked either way."""
    for start, size, step in zip(*(part.attributes[name] for name in ("starts", "sizes", "steps")), strict=True):
        last = start + (size - 1) * step
        if not isinstance(step, int):
            yield None
        else:
            yield (start, last + 1) if step > 0 else (last, start + 1)


def _is_cut(part: Attributes, axis: int, dim: Dim) -> bool:
    return (part["starts"][axis], part["sizes"][axis], part["steps"][axis]) != (0, dim, 1)


def covers(loop: Op, part: Attributes, dims: Sequence[Dim]) -> bool:
    """Whether the turns of a ``for`` go through an array of these dims row by row with a slice, and leave none out."""
    name = position_of(loop)
    first, stop, stride = (
        operand.type.dim if isinstance(operand.type, Index) else None for operand in loop.operands[:3]
    )
    if name is None or first is None or stop is None or stride != 1:
        return False
    turned = 0
    for dim, start, size, step in zip(dims, *(part[key] for key in ("starts", "sizes", "steps")), strict=True):
        if (start, size, step) == (0, dim, 1):
            continue
        ends = tuple(substitute(start, {name: bound}) for bound in (first, stop))
        if (size, step) != (1, 1) or (factor_of(start, name), ends) not in ((1, (0, dim)), (-1, (dim - 1, -1))):
            return False
        turned += 1
    return turned == 1


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


def renames(op: Op) -> bool:
    """Whether a view only gives sizes other names."""
    rank = len(dims_of(op.operands[0].type))
    return op.name == "broadcast" and len(dims_of(op.result.type)) == rank
