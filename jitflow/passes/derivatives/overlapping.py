"""One value that is added to several overlapping slices of an array is added to them in one sweep.

The reverse of a stencil adds the same cotangent to each of the slices that the stencil reads: a sweep over the array
for each. Here the value is put into the middle of zeros instead, and what contains all slices gets the sum of shifted
slices of that. The zeros are written once, before the loop if there is one, since each turn replaces the middle alone.

                                                 %z = variable 0                   (n + 2 elements)
    store %a', (load %a') + %x                   store %z[2:n], %x
    store %b', (load %b') + %x             ->    store %p', (load %p') + (load %z[2:]) + (load %z[:-2])

where %a' is %p'[:-2] and %b' is %p'[2:]. A value may be a constant multiple of the common one. Sums may be taken in any
order; nothing but sums may touch the memory in between.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import field

from jitflow.ir.core import Builder, Op, Value
from jitflow.ir.dims import Dim, maximum, minimum, symbols
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of
from jitflow.passes.derivatives.sums import Memory, Sum
from jitflow.records import dataclass

__all__ = ["add_in_one_sweep"]

_FURTHEST = 4
"""How far from the first slice another one may begin: there are as many zeros around the middle, or twice as many."""
_FEWEST = 8
"""Elements of arrays that are known to be so small that nothing is gained."""


def add_in_one_sweep(ops: list[Op], outside: Notation | None, known: Collection[str]) -> list[Op]:
    """The ops of a reverse sweep with such sums in one.

    ``outside`` writes what stands before the loop that they are a turn of, where the sizes ``known`` are bound; None if
    they are no turn of a loop.
    """
    memory = _Overlapping(ops)
    groups = [group for group in memory.groups() if len(group.sums) > (1 if outside is not None else 2)]
    if not groups:
        return ops
    instead: dict[Op, list[Op]] = {}
    gone: set[Op] = set()
    for group in groups:
        last = max(group.sums, key=lambda one: memory.positions[one.sum.store]).sum.store
        gone.update(op for one in group.sums for op in one.sum.ops)
        instead[last] = group.written(outside, known)
    return [other for op in ops for other in (instead.get(op) or ([] if op in gone else [op]))]


@dataclass(frozen=True, eq=False)
class _Share:
    """A sum, the slice that it adds to, and the ops that make its value of the common one."""

    sum: Sum
    slice: Op
    multiple: tuple[Op, ...]


@dataclass(eq=False)
class _Group:
    """Sums of multiples of ``value`` to slices of ``place``."""

    value: Value
    place: Value
    sums: list[_Share] = field(default_factory=list)

    def written(self, outside: Notation | None, known: Collection[str]) -> list[Op]:
        """The one sum instead."""
        builder = Builder(loc=self.sums[0].sum.store.loc)
        m = Notation(builder)
        first, reach = self._starts()
        sizes, steps = dims_of(self.value.type), (1,) * len(reach)
        dims = tuple(size + 2 * further for size, further in zip(sizes, reach, strict=True))
        bound = outside is not None and all(name in known for dim in dims for name in symbols(dim))
        before = outside if outside is not None and bound else m
        zeros = before("variable", before.zeros(Tensor(dtype_of(self.value), dims)))
        middle = m("slice", zeros, starts=tuple(reach), sizes=sizes, steps=steps)
        m.add("store", middle, self.value)
        whole = tuple(
            maximum(minimum(size + further, dim - start), 0)
            for size, further, dim, start in zip(sizes, reach, dims_of(self.place.type), first, strict=True)
        )
        place = m("slice", self.place, starts=first, sizes=whole, steps=steps)
        total = m("load", place)
        for share in self.sums:
            starts = tuple(
                further - (start - origin)
                for further, start, origin in zip(reach, share.slice.attributes["starts"], first, strict=True)
            )
            shifted = m("load", m("slice", zeros, starts=starts, sizes=whole, steps=steps))
            total = m("add", total, self._multiple(builder, share, shifted))
        m.add("store", place, total)
        return builder.ops

    def _starts(self) -> tuple[tuple[Dim, ...], list[int]]:
        """Where the first slice begins along each axis, and how much later the last one does."""
        first, reach = [], []
        for starts in zip(*(share.slice.attributes["starts"] for share in self.sums), strict=True):
            offsets = [start - starts[0] for start in starts]
            first.append(starts[0] + min(offsets))
            reach.append(max(offsets) - min(offsets))
        return tuple(first), reach

    def _multiple(self, builder: Builder, share: _Share, shifted: Value) -> Value:
        value = shifted
        for op in share.multiple:
            source = next(operand for operand in op.operands if dims_of(operand.type))
            value = builder.make(op.name, *(value if operand is source else operand for operand in op.operands))
        return value


class _Overlapping(Memory):
    """Straight code in which sums are to be joined."""

    def __init__(self, ops: list[Op]) -> None:
        super().__init__(ops)
        self.parts = {op for found in self.sums.values() for op in found.ops}
        self.first = _first_of_the_same(ops) if len(self.sums) > 1 else {}

    def groups(self) -> list[_Group]:
        """Sums of multiples of one value to slices of one place that are not far apart, nothing else in between."""
        open_groups: list[_Group] = []
        done: list[_Group] = []
        for op in self.ops:
            if op in self.sums:
                found = self._share(self.sums[op])
                if found is not None:
                    self._enter(open_groups, *found)
            elif open_groups and op not in self.parts and self._touches_anything(op):
                closed = [group for group in open_groups if self.touches(op, self.root(group.place))]
                open_groups = [group for group in open_groups if group not in closed]
                done += closed
        return done + open_groups

    def _touches_anything(self, op: Op) -> bool:
        touched = self.memory_of(op)
        return touched is None or bool(touched)

    def _share(self, found: Sum) -> tuple[Value, _Share] | None:
        """The common value that a sum adds a multiple of, and its share; None if it is not to a slice."""
        part = self.producers.get(found.store.operands[0])
        sizes = dims_of(found.value.type)
        if part is None or part.name != "slice" or found.value not in self.producers:
            return None
        if any(step != 1 for step in part.attributes["steps"]) or part.attributes["sizes"] != sizes:
            return None
        numbers = [size for size in sizes if isinstance(size, int)]
        if len(numbers) == len(sizes) and math.prod(numbers) < _FEWEST:
            return None
        value, multiple = self._common(found.value)
        return value, _Share(found, part, multiple)

    def _enter(self, groups: list[_Group], value: Value, share: _Share) -> None:
        """Put a sum into the group that it belongs to, or begin one."""
        place = share.slice.operands[0]
        for group in groups:
            if group.value is value and self.same(group.place, place) and self._is_near(group.sums[0], share):
                group.sums.append(share)
                return
        groups.append(_Group(value, place, [share]))

    def _is_near(self, one: _Share, other: _Share) -> bool:
        starts = zip(one.slice.attributes["starts"], other.slice.attributes["starts"], strict=True)
        offsets = [second - first for first, second in starts]
        return all(isinstance(offset, int) and abs(offset) <= _FURTHEST for offset in offsets)

    def _common(self, value: Value) -> tuple[Value, tuple[Op, ...]]:
        """What a value is a constant multiple of, and the ops that make it of that."""
        ops: list[Op] = []
        while (op := self.producers.get(value)) is not None:
            arrays = [operand for operand in op.operands if dims_of(operand.type)]
            others = [operand for operand in op.operands if operand not in arrays]
            if op.name not in ("negative", "multiply") or len(arrays) != 1 or not all(map(self._is_finite, others)):
                break
            ops.append(op)
            (value,) = arrays
        return self.first.get(value, value), tuple(reversed(ops))

    def _is_finite(self, number: Value) -> bool:
        """Whether a number is a constant of which a multiple of 0 is 0."""
        op = self.producers.get(number)
        return op is not None and op.name == "constant" and bool(abs(op.attributes["value"]) < math.inf)


def _first_of_the_same(ops: list[Op]) -> dict[Value, Value]:
    """For values that are computed as others are, of the same values, the first of those."""
    first: dict[tuple[object, ...], Value] = {}
    found: dict[Value, Value] = {}
    for op in ops:
        if "elementwise" in op.definition.traits or op.name == "constant":
            attributes = tuple((name, repr(value)) for name, value in sorted(op.attributes.items()))
            key = (op.name, attributes, *(found.get(operand, operand) for operand in op.operands))
            found[op.result] = first.setdefault(key, op.result)
    return found
