"""Arithmetic by rows: what a few rows of arrays are, without the arrays (for `sparsify`).

Rows of one position are one row, the sum of them: each row leaves its number at its position in memory that holds
nothing else, and the one that is found there afterwards stands for all of them. That memory starts as it happens to be,
and nothing is read from it but what was put there, so it costs as much as there are rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, product
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.records import dataclass

__all__ = ["Gathered", "NotByRows", "Rows"]


class NotByRows(Exception):
    """A value of which single rows cannot be had."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """Some rows of an array of zeros: those at ``positions``, which are in range, along the axes from ``axis`` on."""

    axis: int
    positions: tuple[Value, ...]
    each: Value
    """For each position its row, which is one for equal positions."""
    once: Value
    """The rows for their sum: for each position its row or, if that is among the others already, zeros."""

    @classmethod
    def of(cls, m: Notation, scatters: Sequence[Op]) -> Gathered:
        """What some ops ``scatter`` add to zeros."""
        place, *indices, _ = scatters[0].operands
        axis: int = scatters[0].attributes["axis"]
        room = dims_of(place.type)[axis : axis + len(indices)]
        parts = [_flat(m, op) for op in scatters]
        along = (*(0 for _ in room), axis)
        *ids, values = (_joined(m, found, at) for found, at in zip(zip(*parts, strict=True), along, strict=True))
        count = dims_of(ids[0].type)
        number = m("variable", m("empty", dtype=I64, dims=room))
        m.add("scatter", number, *ids, m("iota", dtype=I64, dims=count, axis=0), axis=0, combine="set")
        positions = tuple(
            m("select", m("less", index, 0), m("add", index, m("cast", m.size(size), dtype=I64)), index)
            for index, size in zip(ids, room, strict=True)
        )
        slots = m("gather", m("load", number), *positions, axis=0, mode="clip")
        sums = m("variable", m.zeros(values.type))
        m.add("scatter", sums, slots, values, axis=axis, combine="add", mode="clip")
        once = m("load", sums)
        return cls(axis, positions, m("gather", once, slots, axis=axis, mode="clip"), once)

    def rows_of(self, m: Notation, value: Value) -> Value:
        """The rows of another array."""
        return m("gather", value, *self.positions, axis=self.axis, mode="clip")

    def dims(self, whole: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """The dims of rows of an array."""
        (count,) = dims_of(self.positions[0].type)
        return (*whole[: self.axis], count, *whole[self.axis + len(self.positions) :])

    def place_of(self, axis: int) -> int:
        """The axis of the rows that an axis of the whole is. Raises `NotByRows` for those that positions are of."""
        if axis < self.axis:
            return axis
        if axis < self.axis + len(self.positions):
            raise NotByRows
        return axis - len(self.positions) + 1


def _flat(m: Notation, scatter: Op) -> list[Value]:
    """The positions and the rows of a scatter, each position along one axis."""
    place, *indices, values = scatter.operands
    axis = scatter.attributes["axis"]
    dims = next(dims_of(index.type) for index in indices if rank(index))
    count = product(dims)
    kind = dims_of(place.type)
    before, after = kind[:axis], kind[axis + len(indices) :]
    if not rank(values):
        values = m("broadcast", values, dims=(*before, *dims, *after), axes=())
    flat = []
    for index in indices:
        index = index if dtype_of(index) == I64 else m("cast", index, dtype=I64)
        index = index if rank(index) else m("broadcast", index, dims=dims, axes=())
        flat.append(index if rank(index) == 1 else m("reshape", index, dims=(count,)))
    return [*flat, values if len(dims) == 1 else m("reshape", values, dims=(*before, count, *after))]


def _joined(m: Notation, parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else m("concatenate", *parts, axis=axis)


@dataclass(eq=False)
class Rows:
    """Computes rows of values that depend on a gradient; ``loads`` are the gradient itself."""

    gathered: Gathered
    producers: Mapping[Value, Op]
    loads: frozenset[Value]
    found: dict[Value, Value] = field(default_factory=dict)
    found_once: dict[Value, Value] = field(default_factory=dict)

    def store(self, m: Notation, store: Op) -> None:
        """Store the rows alone."""
        place, value = store.operands
        rows = self._value(m, value, once=False)
        at, positions = self.gathered.axis, self.gathered.positions
        m.add("scatter", place, *positions, rows, axis=at, combine="set", mode="clip")

    def summed(self, m: Notation, reduction: Op) -> Op:
        """The sum of all elements of a value that is nothing in the other rows."""
        rows = self._value(m, reduction.operands[0], once=True)
        return replace(reduction, operands=(rows,), attributes={"axes": tuple(range(rank(rows)))})

    def _value(self, m: Notation, value: Value, *, once: bool) -> Value:
        found = self.found_once if once else self.found
        if value not in found:
            found[value] = self._computed(m, value, once=once)
        return found[value]

    def _computed(self, m: Notation, value: Value, *, once: bool) -> Value:
        if value in self.loads:
            return self.gathered.once if once else self.gathered.each
        if not rank(value):
            return value
        op = self.producers.get(value)
        if op is None or not isinstance(value.type, Tensor):
            raise NotByRows
        if op.name == "broadcast":
            return self._broadcast(m, op, once=once)
        if op.name == "copy":
            return self._value(m, op.operands[0], once=once)
        if op.name == "load" and not once:
            return self.gathered.rows_of(m, value)
        if "elementwise" not in op.definition.traits:
            raise NotByRows
        operands = [self._value(m, operand, once=once) for operand in op.operands]
        return m(op.name, *operands, **op.attributes)

    def _broadcast(self, m: Notation, op: Op, *, once: bool) -> Value:
        (source,), axes = op.operands, op.attributes["axes"]
        if not rank(source):
            return source
        whole = dims_of(op.result.type)
        if op.attributes.get("assumed") and axes == tuple(range(len(whole))):
            rows, dims = self._value(m, source, once=once), self.gathered.dims(whole)
            return rows if dims_of(rows.type) == dims else m("broadcast", rows, dims=dims, axes=axes, assumed=True)
        places = tuple(map(self.gathered.place_of, axes))
        return m("broadcast", source, dims=self.gathered.dims(whole), axes=places)
