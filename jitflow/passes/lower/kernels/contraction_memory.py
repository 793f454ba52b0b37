"""The memory of a contraction's kernel: what it is given, and tables, panels, sums and lines in scratch memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.layout import Layout
from jitflow.ir.ops.memory import TABLE_ROOM
from jitflow.ir.types import Buffer, Tensor
from jitflow.passes.lower.kernels.beside_sums import BesideSums
from jitflow.passes.lower.kernels.contraction_axes import ContractionAxes, count_of
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.lower.kernels.offset_tables import TABLE_BYTES, Table
from jitflow.passes.lower.kernels.slid_rows import SlidRows
from jitflow.passes.schedule.contractions import choose_panels
from jitflow.passes.schedule.scheduled_contraction import ScheduledContraction
from jitflow.passes.schedule.target import Target

__all__ = ["ContractionMemory"]


class ContractionMemory:
    """A contraction's kernel before anything is emitted into it."""

    def __init__(self, op: Op, layouts: Sequence[Layout], beside: BesideSums, target: Target, name: str) -> None:
        """``layouts`` are those of the operands and of the result."""
        type = op.result.type
        assert isinstance(type, Tensor)
        self.name, self.dtype, self.target, self.result = name, type.dtype, target, layouts[2]
        axes = ContractionAxes(op, layouts, beside.layouts)
        self.batch, self.rows, self.columns, self.steps = axes.batch, axes.rows, axes.columns, axes.steps
        self.offsets, self.beside = axes.offsets, beside
        rows, columns = count_of(self.rows), count_of(self.columns)
        panels, sizes = choose_panels(type.dtype.itemsize, rows, columns, target), (rows, columns, count_of(self.steps))
        memory = self.batch, self.rows, self.columns, self.steps
        chosen = ScheduledContraction(op, panels, sizes, memory, target, follows=beside.region is not None)
        self.scheduled = chosen.followed(name)
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
        self.lines = self._table("lines", steps)
        self.column_right, self.column_out = (
            self._table(name, self.width) for name in ("columns", "column_places")
        )  # fmt: skip
        self.panel = self._scratch(type.dtype, "panel", steps * self.line)
        self.sums = self._scratch(type.dtype, "sums", most * self.line)
        self.slid = SlidRows(self.emitter, self.rows, self.steps, axes.slides, self._table)
        if self.slid.slides:
            self.left_out = self._table("left_out", steps)
            self.nothings = max(steps, self.panels.height)
            self.nothing = self._table("nothing", self.nothings)
        self.arrays = {array: self._buffer(array.dtype, "beside") for array in beside.arrays}
        self.tables = {
            array: self._table("beside_at", most if array.by_rows else self.width) for array in beside.arrays
        }
        self.lines_beside = {
            array: self._scratch(array.dtype, "line", self.width * array.dtype.itemsize)
            for array in beside.arrays if not array.by_rows
        }  # fmt: skip
        self.numbers = {value: Value(value.type, "number") for value in beside.numbers}
        self.emitter.depth_of |= dict.fromkeys(self.numbers.values(), 0)
        self.worker: Value | None = None
        self.parts = 1

    def _buffer(self, dtype: DType, name: str) -> Value:
        buffer = Value(Buffer(dtype), name)
        self.emitter.depth_of[buffer] = 0
        return buffer

    def _scratch(self, dtype: DType, name: str, nbytes: Dim) -> Value:
        buffer = self._buffer(dtype, name)
        self.scratch.append((buffer, nbytes))
        return buffer

    def _table(self, name: str, count: Dim) -> Value:
        return self._scratch(I64, name, (count + TABLE_ROOM) * TABLE_BYTES)

    def _start(self, buffer: Value) -> Value:
        """Where this thread's part of scratch memory begins."""
        (size,) = (size for scratch, size in self.scratch if scratch is buffer)
        if self.worker is None:
            return self.emitter.size(0)
        return self.emitter.emit("multiply", self.worker, self.emitter.size(size))

    def _at(self, buffer: Value) -> tuple[Value, Value]:
        return buffer, self._start(buffer)

    def _behind(self, buffer: Value, row: Value, nbytes: int) -> tuple[Value, Value]:
        """Where what belongs to a row of a block is in scratch memory: so many bytes for each."""
        inside = self.emitter.emit("multiply", row, self.emitter.size(nbytes))
        return buffer, self.emitter.emit("add", self._start(buffer), inside)

    def _part(self, start: Value, stop: Dim, most: Dim) -> Value:
        """How many there are from a start on, at most so many."""
        left = self.emitter.emit("subtract", self.emitter.size(stop), start)
        return self.emitter.emit("minimum", left, self.emitter.size(most))

    def _filled(self, buffer: Value, stride: int | None) -> Table:
        return Table(buffer, self._start(buffer), stride)

    def _loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], object]) -> None:
        emitter = self.emitter

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            body(emitter.position)
            return ()

        emitter.loop(start, stop, emitter.size(step), (), turn)
