"""Tables of the offsets at which rows, columns and steps of a contraction are found, in the order in which they go by.

A box is what is walked: some axes, each from somewhere on. Its last axis goes by first, like digits of a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.records import dataclass

__all__ = ["TABLE_BYTES", "Axis", "Bounds", "Box", "Table", "fill_tables", "positions_at", "whole_box"]

Bounds = Mapping[int, tuple[Value, Value]]
"""Along some axes of a box, the first position, and the one behind the last."""
TABLE_BYTES = 8
"""Bytes of an offset."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a contraction, with its byte stride in each array that has it.

    What is ``slid`` belongs to windows that may reach beyond an array, and stands by itself.
    """

    dim: Dim
    strides: tuple[Dim, ...]
    slid: int | None = None
    """The axis of the array."""


@dataclass(frozen=True, slots=True)
class Box:
    """Some positions along each axis, from its start on."""

    axes: Sequence[Axis]
    starts: Sequence[Value]
    lengths: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Table:
    """Where offsets go: memory, where it begins, and which of the strides they are made of; None for numbers."""

    buffer: Value
    start: Value
    stride: int | None


def whole_box(emitter: Emitter, axes: Sequence[Axis]) -> Box:
    """All positions along some axes."""
    return Box(axes, [emitter.size(0)] * len(axes), [emitter.size(axis.dim) for axis in axes])


def fill_tables(
    emitter: Emitter, box: Box, first: Value, count: Value, tables: Sequence[Table], *,
    only: Bounds | None = None, without: Bounds | None = None,
) -> Value:  # fmt: skip
    """Put so many positions of a box, from a number on, into tables, or those within or without some bounds.

    Gives how many are put there.
    """
    if not box.axes:
        box = Box([Axis(1, (0, 0, 0))], [emitter.size(0)], [emitter.size(1)])
    return _Filling(emitter, box, tables, only, without).fill(first, count)


@dataclass(frozen=True, slots=True)
class _Filling:
    """Positions go into tables in runs along the last axis of a box, with its other axes around them."""

    emitter: Emitter
    box: Box
    tables: Sequence[Table]
    only: Bounds | None
    without: Bounds | None

    def fill(self, first: Value, count: Value) -> Value:
        emitter, box = self.emitter, self.box
        around = Box(box.axes[:-1], box.starts[:-1], box.lengths[:-1])
        zero, one = emitter.size(0), emitter.size(1)
        length = emitter.emit("maximum", box.lengths[-1], one)
        *outer, begin = positions_at(emitter, box, first)
        reach = emitter.emit("subtract", emitter.emit("add", emitter.emit("add", begin, count), length), one)

        def run(carried: Sequence[Value]) -> Sequence[Value]:
            *outer, begin, done, written = carried
            left = emitter.emit("subtract", length, begin)
            left = emitter.emit("minimum", left, emitter.emit("subtract", count, done))
            for start, stop in self._ranges(outer, begin, emitter.emit("add", begin, left)):
                shifts = emitter.emit("subtract", written, start), emitter.emit("subtract", done, begin)
                self._write(outer, start, stop, *shifts)
                written = emitter.emit("add", written, emitter.emit("subtract", stop, start))
            return [*_following(emitter, around, outer), zero, emitter.emit("add", done, left), written]

        runs = emitter.emit("floor_divide", reach, length)
        return emitter.loop(zero, runs, one, (*outer, begin, zero, zero), run)[-1]

    def _ranges(self, outer: Sequence[Value], begin: Value, end: Value) -> list[tuple[Value, Value]]:
        """What of a run goes into the tables: from where up to where, once or twice."""
        emitter, last = self.emitter, len(self.box.axes) - 1
        bounds = self.only or self.without or {}
        start, stop = begin, end
        if last in bounds:
            least, behind = bounds[last]
            start = emitter.emit("minimum", emitter.emit("maximum", begin, least), end)
            stop = emitter.emit("maximum", emitter.emit("minimum", end, behind), start)
        for axis in bounds.keys() - {last}:
            reached, passed = (emitter.emit("less_equal", bound, outer[axis]) for bound in bounds[axis])
            there = emitter.emit("logical_and", reached, emitter.emit("logical_not", passed))
            start, stop = (emitter.emit("select", there, place, end) for place in (start, stop))
        return [(begin, start), (stop, end)] if self.without else [(start, stop)]

    def _write(self, outer: Sequence[Value], start: Value, stop: Value, place: Value, number: Value) -> None:
        """Write a run, each position so many places and numbers further."""
        emitter, box = self.emitter, self.box
        position = [*outer, emitter.size(0)]
        bases = [None if table.stride is None else _offset(emitter, box, position, table.stride)
                 for table in self.tables]  # fmt: skip

        def entry(_: Sequence[Value]) -> Sequence[Value]:
            here = emitter.position
            inside = emitter.emit("multiply", emitter.emit("add", here, place), emitter.size(TABLE_BYTES))
            for table, base in zip(self.tables, bases, strict=True):
                if base is None or table.stride is None:
                    found = emitter.emit("add", here, number)
                else:
                    along = emitter.arithmetic("multiply", here, emitter.size(box.axes[-1].strides[table.stride]))
                    found = emitter.arithmetic("add", base, along)
                where = emitter.arithmetic("add", table.start, inside)
                emitter.here("write", table.buffer, where, emitter.index_scalar(found))
            return ()

        emitter.loop(start, stop, emitter.size(1), (), entry)


def _offset(emitter: Emitter, box: Box, positions: Sequence[Value], stride: int) -> Value:
    """The offset of a position."""
    offset = emitter.size(0)
    for axis, start, position in zip(box.axes, box.starts, positions, strict=True):
        place = emitter.arithmetic("add", start, position)
        share = emitter.arithmetic("multiply", place, emitter.size(axis.strides[stride]))
        offset = emitter.arithmetic("add", offset, share)
    return offset


def positions_at(emitter: Emitter, box: Box, number: Value) -> list[Value]:
    """The position along each axis of the element with a number."""
    found: list[Value] = []
    for length in box.lengths[:0:-1]:
        size = emitter.emit("maximum", length, emitter.size(1))
        found.append(emitter.emit("remainder", number, size))
        number = emitter.emit("floor_divide", number, size)
    return [number, *reversed(found)] if box.axes else []


def _following(emitter: Emitter, box: Box, positions: Sequence[Value]) -> list[Value]:
    """The position behind another one."""
    found: list[Value] = []
    carry = emitter.size(1)
    for length, position in zip(box.lengths[:0:-1], positions[:0:-1], strict=True):
        moved = emitter.arithmetic("add", position, carry)
        ends = emitter.emit("equal", moved, length)
        found.append(emitter.emit("select", ends, emitter.size(0), moved))
        carry = emitter.emit("select", ends, emitter.size(1), emitter.size(0))
    return [emitter.arithmetic("add", positions[0], carry), *reversed(found)] if box.axes else []
