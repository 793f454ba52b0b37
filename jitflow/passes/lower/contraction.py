"""A contraction as a kernel: rows of sums, each a product of what the left operand shows with a packed panel.

The axes of a contraction are those of both operands that are kept (a batch), rows, columns, and those that are summed
up, its steps. The left operand is read where it lies: an element of it is at the offset of its row plus that of its
step, from two short tables. So windows are never copied, whatever their steps and dilations, and an axis is as good as
several. Of the right operand some steps of some columns are packed into a panel, which all rows of a block read:

    share tiles of the result: a block of rows by a strip of columns
      for steps by 512:
        gather_panel panel, right
        for rows by 96:
          multiply_gathered sums, left, panel
          scatter_sums result, sums                behind the last steps

Each element is summed up by steps in their order, each product and sum rounded once, and what comes of 512 steps is
added to what came before: so its bits depend on the number of its steps alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim, maximum, minimum, product
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.layout import Layout
from jitflow.ir.ops.memory import TABLE_ROOM
from jitflow.ir.types import Buffer, Tensor, dims_of
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.lower.kernel import Kernel, KernelArgument
from jitflow.passes.lower.program import HostProgram
from jitflow.passes.lower.sharing import share
from jitflow.passes.schedule.contractions import choose_panels
from jitflow.passes.schedule.scheduled_contraction import ScheduledContraction
from jitflow.passes.schedule.target import Target

__all__ = ["lower_contraction"]

_TABLE = 8
"""Bytes of an offset."""


def lower_contraction(host: HostProgram, op: Op) -> None:
    """The contraction in memory of its own."""
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    layouts = [host.layouts[operand] for operand in op.operands]
    name = host.kernel_name("contract" + host.suffix)
    kernel = _Contraction(op, layouts, storage.layout, host.target, name).kernel()
    host.launch(kernel, op.operands, (storage,))
    host.give(op.result, storage)


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a contraction, with its byte stride in each array that has it."""

    dim: Dim
    strides: tuple[Dim, ...]


class _Contraction:
    """The kernel of one contraction."""

    def __init__(self, op: Op, layouts: Sequence[Layout], result: Layout, target: Target, name: str) -> None:
        type = op.result.type
        assert isinstance(type, Tensor)
        self.name, self.dtype, self.target, self.result = name, type.dtype, target, result
        self.offsets = (layouts[0].offset, layouts[1].offset, result.offset)
        self._find_axes(op, (layouts[0], layouts[1], result))
        rows, columns = _count(self.rows), _count(self.columns)
        panels, sizes = choose_panels(type.dtype.itemsize, rows, columns, target), (rows, columns, _count(self.steps))
        memory = self.batch, self.rows, self.columns, self.steps
        self.scheduled = ScheduledContraction(op, panels, sizes, memory, target).followed(name)
        self.panels = self.scheduled.panels
        self.width, self.line = self.panels.columns, self.panels.columns * type.dtype.itemsize
        self.strips = -(-columns // self.width)
        self.blocks = -(-rows // self.panels.block)
        self.emitter = Emitter()
        self.emitter.loc = op.loc
        self.left, self.right, self.out = (self._buffer(type.dtype, name) for name in ("left", "right", "out"))
        self.scratch: list[tuple[Value, Dim]] = []
        most, steps = self.panels.block, self.panels.steps
        self.row_left, self.row_out = self._table("rows", most), self._table("places", most)
        self.step_left, self.step_right = self._table("left_steps", steps), self._table("right_steps", steps)
        self.column_right, self.column_out = (
            self._table(name, self.width) for name in ("columns", "column_places")
        )  # fmt: skip
        self.panel = self._scratch(type.dtype, "panel", steps * self.line)
        self.sums = self._scratch(type.dtype, "sums", most * self.line)
        self.worker: Value | None = None
        self.parts = 1

    def _find_axes(self, op: Op, layouts: tuple[Layout, Layout, Layout]) -> None:
        """The axes, with those joined through which one stride leads."""
        labels = [op.attributes[name] for name in ("left", "right", "kept")]
        dims = [dims_of(value.type) for value in (*op.operands, op.result)]
        sizes: dict[int, Dim] = {}
        for own, shape in zip(labels, dims, strict=True):
            sizes.update(zip(own, shape, strict=True))
        found: dict[tuple[bool, ...], list[_Axis]] = {}
        for label in dict.fromkeys((*labels[2], *labels[0])):
            has = tuple(label in own for own in labels)
            strides = tuple(
                layout.strides[own.index(label)]
                for own, layout in zip(labels, layouts, strict=True) if label in own
            )  # fmt: skip
            if sizes[label] != 1:
                _join(found.setdefault(has, []), _Axis(sizes[label], strides))
        self.batch = found.get((True, True, True), [])
        self.rows, self.columns = found.get((True, False, True), []), found.get((False, True, True), [])
        self.steps = found.get((True, True, False), [])

    # Memory

    def _buffer(self, dtype: DType, name: str) -> Value:
        buffer = Value(Buffer(dtype), name)
        self.emitter.depth_of[buffer] = 0
        return buffer

    def _scratch(self, dtype: DType, name: str, nbytes: Dim) -> Value:
        buffer = self._buffer(dtype, name)
        self.scratch.append((buffer, nbytes))
        return buffer

    def _table(self, name: str, count: Dim) -> Value:
        return self._scratch(I64, name, (count + TABLE_ROOM) * _TABLE)

    def _start(self, buffer: Value) -> Value:
        """Where this thread's part of scratch memory begins."""
        (size,) = (size for scratch, size in self.scratch if scratch is buffer)
        if self.worker is None:
            return self.emitter.size(0)
        return self.emitter.emit("multiply", self.worker, self.emitter.size(size))

    # The kernel

    def kernel(self) -> Kernel:
        """The finished kernel."""
        emitter = self.emitter
        work = minimum(self.panels.block, _count(self.rows)) * self.width * _count(self.steps)
        share(self, _count(self.batch) * self.blocks * self.strips, 1, work, self._tiles)
        sizes = [(dim, value) for dim, value in emitter.sizes.items() if not isinstance(dim, int)]
        memory = [self.left, self.right, self.out, *(buffer for buffer, _ in self.scratch)]
        region = emitter.close([*memory, *(value for _, value in sizes)], [])
        arguments = (
            KernelArgument("operand", 0), KernelArgument("operand", 1), KernelArgument("output", 0),
            *(KernelArgument("scratch", 0, size * self.parts, _dtype(buffer)) for buffer, size in self.scratch),
            *(KernelArgument("size", 0, dim) for dim, _ in sizes),
        )  # fmt: skip
        function = Function(self.name, region, (), "loop", MappingProxyType({}))
        return Kernel(function, arguments, (self.result,), self.scheduled)

    def _tiles(self, first: Value, last: Value) -> None:
        """The tiles from one to another: strip by strip of each block, of one matrix of the batch after the other."""
        emitter = self.emitter

        def tile(number: Value) -> None:
            begins = emitter.emit("equal", number, first)
            number, strip = self._divided(number, self.strips)
            number, block = self._divided(number, self.blocks)
            bases = [emitter.size(offset) for offset in self.offsets]
            for axis, position in zip(self.batch, self._positions(self.batch, number), strict=True):
                steps = [emitter.arithmetic("multiply", position, emitter.size(stride)) for stride in axis.strides]
                bases = [emitter.arithmetic("add", *pair) for pair in zip(bases, steps, strict=True)]
            top = emitter.arithmetic("multiply", block, emitter.size(self.panels.block))
            edge = emitter.arithmetic("multiply", strip, emitter.size(self.width))
            another = emitter.emit("logical_or", begins, emitter.emit("equal", strip, emitter.size(0)))
            self._tile(top, edge, bases, begins, another)

        self._loop(first, last, 1, tile)

    def _divided(self, number: Value, count: Dim) -> tuple[Value, Value]:
        """How often a count is in a number, and what is left."""
        emitter = self.emitter
        if count == 1:
            return number, emitter.size(0)
        size = emitter.size(maximum(count, 1))
        return emitter.emit("floor_divide", number, size), emitter.emit("remainder", number, size)

    def _tile(self, top: Value, edge: Value, bases: list[Value], begins: Value, another: Value) -> None:
        """One tile. Offsets of rows are found for ``another`` block, those of steps, if one panel has all, at once."""
        emitter = self.emitter
        left, right, out = bases
        steps = emitter.size(_count(self.steps))
        tables = (self.row_left, self.row_out)
        rows = self._fill(self.rows, top, emitter.size(_count(self.rows)), self.panels.block, tables, another)
        columns = emitter.size(_count(self.columns))
        count = self._fill(self.columns, edge, columns, self.width, (self.column_right, self.column_out))

        def panel(start: Value) -> None:
            several = emitter.emit("greater", steps, emitter.size(self.panels.steps))
            tables, wanted = (self.step_left, self.step_right), emitter.emit("logical_or", begins, several)
            depth = self._fill(self.steps, start, steps, self.panels.steps, tables, wanted)
            packed = (self.panel, self._start(self.panel))
            emitter.here(
                "gather_panel", *packed, self.right, right, *self._at(self.step_right),
                *self._at(self.column_right), depth, count, dtype=self.dtype,
                vectors=self.panels.vectors, vector_bytes=self.panels.vector_bytes,
            )  # fmt: skip
            is_last = emitter.emit("greater_equal", emitter.emit("add", start, depth), steps)

            def rise(row: Value) -> None:
                left_over = emitter.emit("subtract", rows, row)
                high = emitter.emit("minimum", left_over, emitter.size(self.panels.height))
                sums = self._behind(self.sums, row, self.line)
                emitter.here(
                    "multiply_gathered", *sums, self.left, left, *self._behind(self.row_left, row, _TABLE),
                    *self._at(self.step_left), *packed, high, depth, count, start, dtype=self.dtype,
                    rows=self.panels.rows, vectors=self.panels.vectors, vector_bytes=self.panels.vector_bytes,
                    ahead=self.panels.ahead,
                )  # fmt: skip
                places = self._behind(self.row_out, row, _TABLE)

                def finish() -> None:
                    emitter.here(
                        "scatter_sums", self.out, out, *places, *self._at(self.column_out), *sums, high, count,
                        dtype=self.dtype, vector_bytes=self.panels.vector_bytes,
                    )  # fmt: skip

                emitter.branch(is_last, finish)

            self._loop(emitter.size(0), rows, self.panels.height, rise)

        # Once at least: a sum of nothing is 0.
        self._loop(emitter.size(0), emitter.emit("maximum", steps, emitter.size(1)), self.panels.steps, panel)

    def _at(self, buffer: Value) -> tuple[Value, Value]:
        return buffer, self._start(buffer)

    def _behind(self, buffer: Value, row: Value, nbytes: int) -> tuple[Value, Value]:
        """Where what belongs to a row of a block is in scratch memory: so many bytes for each."""
        inside = self.emitter.emit("multiply", row, self.emitter.size(nbytes))
        return buffer, self.emitter.emit("add", self._start(buffer), inside)

    def _loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], None]) -> None:
        emitter = self.emitter

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            index = emitter.scope.index
            assert index is not None
            body(index)
            return ()

        emitter.loop(start, stop, emitter.size(step), (), turn)

    # Offsets

    def _fill(
        self, axes: list[_Axis], start: Value, stop: Value, most: Dim, tables: tuple[Value, Value],
        wanted: Value | None = None,
    ) -> Value:  # fmt: skip
        """Put the offsets of at most so many positions into tables, if they are not there, and give their number."""
        emitter = self.emitter
        count = emitter.emit("minimum", emitter.emit("subtract", stop, start), emitter.size(most))

        def entry(positions: Sequence[Value]) -> Sequence[Value]:
            index = emitter.scope.index
            assert index is not None
            for number, table in enumerate(tables):
                offset = emitter.size(0)
                for axis, position in zip(axes, positions, strict=True):
                    share = emitter.arithmetic("multiply", position, emitter.size(axis.strides[number]))
                    offset = emitter.arithmetic("add", offset, share)
                place = emitter.arithmetic(
                    "add", self._start(table), emitter.emit("multiply", index, emitter.size(_TABLE))
                )
                emitter.here("write", table, place, emitter.index_scalar(offset))
            return self._following(axes, positions)

        def fill() -> None:
            emitter.loop(emitter.size(0), count, emitter.size(1), self._positions(axes, start), entry)

        if wanted is None:
            fill()
        else:
            emitter.branch(wanted, fill)
        return count

    def _positions(self, axes: list[_Axis], start: Value) -> list[Value]:
        """The position along each axis of the element with a number."""
        emitter, found = self.emitter, []
        for axis in axes[:0:-1]:
            dim = emitter.size(maximum(axis.dim, 1))
            found.append(emitter.emit("remainder", start, dim))
            start = emitter.emit("floor_divide", start, dim)
        return [start, *reversed(found)] if axes else []

    def _following(self, axes: list[_Axis], positions: Sequence[Value]) -> list[Value]:
        """The position behind another one."""
        emitter, found = self.emitter, []
        carry = emitter.size(1)
        for axis, position in zip(axes[:0:-1], positions[:0:-1], strict=True):
            moved = emitter.arithmetic("add", position, carry)
            ends = emitter.emit("equal", moved, emitter.size(axis.dim))
            found.append(emitter.emit("select", ends, emitter.size(0), moved))
            carry = emitter.emit("select", ends, emitter.size(1), emitter.size(0))
        return [emitter.arithmetic("add", positions[0], carry), *reversed(found)] if axes else []


def _join(axes: list[_Axis], axis: _Axis) -> None:
    """Add an axis, as one with the last where a step of that is as far as all of this one."""
    if axes and axes[-1].strides == tuple(stride * axis.dim for stride in axis.strides):
        axes[-1] = _Axis(axes[-1].dim * axis.dim, axis.strides)
    else:
        axes.append(axis)


def _count(axes: list[_Axis]) -> Dim:
    return product([axis.dim for axis in axes])


def _dtype(buffer: Value) -> DType:
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype
