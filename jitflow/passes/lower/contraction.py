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
from itertools import chain
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim, maximum, minimum, product
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.layout import Layout, windows_layout
from jitflow.ir.ops.linear import shown_dims
from jitflow.ir.ops.memory import TABLE_ROOM
from jitflow.ir.types import Buffer, Tensor, dims_of
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.lower.kernel import Kernel, KernelArgument
from jitflow.passes.lower.offset_tables import TABLE_BYTES, Axis, Table, fill_tables, positions_at, whole_box
from jitflow.passes.lower.program import HostProgram
from jitflow.passes.lower.sharing import share
from jitflow.passes.lower.slid_rows import Rows, Slide, SlidRows
from jitflow.passes.schedule.contractions import choose_panels
from jitflow.passes.schedule.scheduled_contraction import ScheduledContraction
from jitflow.passes.schedule.target import Target

__all__ = ["lower_contraction"]


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


class _Contraction:
    """The kernel of one contraction."""

    def __init__(self, op: Op, layouts: Sequence[Layout], result: Layout, target: Target, name: str) -> None:
        type = op.result.type
        assert isinstance(type, Tensor)
        self.name, self.dtype, self.target, self.result = name, type.dtype, target, result
        left = windows_layout(op.attributes, layouts[0]) if "axes" in op.attributes else layouts[0]
        self.offsets = (left.offset, layouts[1].offset, result.offset)
        self._find_axes(op, (left, layouts[1], result))
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
        self.lines = self._table("lines", steps)
        self.column_right, self.column_out = (
            self._table(name, self.width) for name in ("columns", "column_places")
        )  # fmt: skip
        self.panel = self._scratch(type.dtype, "panel", steps * self.line)
        self.sums = self._scratch(type.dtype, "sums", most * self.line)
        self.slid = SlidRows(self.emitter, self.rows, self.steps, self._slides(op), self._table)
        if self.slid.slides:
            self.left_out, self.nothing = (
                self._table("left_out", steps),
                self._table("nothing", max(steps, self.panels.height)),
            )
        self.worker: Value | None = None
        self.parts = 1

    def _find_axes(self, op: Op, layouts: tuple[Layout, Layout, Layout]) -> None:
        """The axes, with those joined through which one stride leads, but for those that windows slide along."""
        labels = [op.attributes[name] for name in ("left", "right", "kept")]
        left, right = (dims_of(operand.type) for operand in op.operands)
        shapes = (shown_dims(left, op.attributes), right, dims_of(op.result.type))
        sizes: dict[int, Dim] = {}
        for own, shape in zip(labels, shapes, strict=True):
            sizes.update(zip(own, shape, strict=True))
        slid: dict[int, int] = {}
        for number, axis in enumerate(op.attributes.get("axes", ())):
            slid |= {labels[0][axis]: axis, labels[0][len(left) + number]: axis}
        found: dict[tuple[bool, ...], list[Axis]] = {}
        for label in dict.fromkeys((*labels[2], *labels[0])):
            has = tuple(label in own for own in labels)
            strides = tuple(
                layout.strides[own.index(label)]
                for own, layout in zip(labels, layouts, strict=True) if label in own
            )  # fmt: skip
            if sizes[label] != 1:
                _join(found.setdefault(has, []), Axis(sizes[label], strides, slid.get(label)))
        self.batch = found.get((True, True, True), [])
        self.rows, self.columns = found.get((True, False, True), []), found.get((False, True, True), [])
        self.steps = found.get((True, True, False), [])

    def _slides(self, op: Op) -> list[Slide]:
        """What is one axis of the left array is one of rows and one of steps."""
        found, array = [], dims_of(op.operands[0].type)
        rows, steps = ({axis.slid: number for number, axis in enumerate(axes)} for axes in (self.rows, self.steps))
        names = ("axes", "steps", "dilations", "before")
        for axis, place_pace, tap_pace, before in zip(*(op.attributes.get(name, ()) for name in names), strict=True):
            row, step = rows.get(axis), steps.get(axis)
            if row is not None and step is not None:
                places_are_rows = op.attributes["left"][axis] in op.attributes["kept"]
                paces = (place_pace, tap_pace) if places_are_rows else (tap_pace, place_pace)
                found.append(Slide(row, step, *paces, before, array[axis]))
        return found

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
        return self._scratch(I64, name, (count + TABLE_ROOM) * TABLE_BYTES)

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
        self.slid.find(self._start)
        if self.slid.slides:
            none = emitter.index_scalar(emitter.size(0))
            room = max(self.panels.steps, self.panels.height)
            self._loop(emitter.size(0), emitter.size(room), 1, lambda place: emitter.here(
                "write", *self._behind(self.nothing, place, TABLE_BYTES), none
            ))  # fmt: skip

        def tile(number: Value) -> None:
            begins = emitter.emit("equal", number, first)
            number, strip = self._divided(number, self.strips)
            number, block = self._divided(number, self.blocks)
            bases = [emitter.size(offset) for offset in self.offsets]
            batch = positions_at(emitter, whole_box(emitter, self.batch), number)
            for axis, position in zip(self.batch, batch, strict=True):
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
        steps, zero = emitter.size(_count(self.steps)), emitter.size(0)
        rows = self._part(top, _count(self.rows), self.panels.block)
        emitter.branch(another, lambda: self._find_rows(top, rows))
        count = self._part(edge, _count(self.columns), self.width)
        columns = (self._filled(self.column_right, 0), self._filled(self.column_out, 1))
        fill_tables(emitter, whole_box(emitter, self.columns), edge, count, columns)

        def panel(start: Value) -> None:
            depth = self._part(start, _count(self.steps), self.panels.steps)
            several = emitter.emit("greater", steps, emitter.size(self.panels.steps))
            another_panel = emitter.emit("logical_or", begins, several)
            whole, places = whole_box(emitter, self.steps), [self._filled(self.step_right, 1)]
            if not self.slid.slides:
                places += self._step_tables()
            emitter.branch(another_panel, lambda: fill_tables(emitter, whole, start, depth, places))
            packed = (self.panel, self._start(self.panel))
            emitter.here(
                "gather_panel", *packed, self.right, right, *self._at(self.step_right),
                *self._at(self.column_right), depth, count, dtype=self.dtype,
                vectors=self.panels.vectors, vector_bytes=self.panels.vector_bytes,
            )  # fmt: skip
            is_last = emitter.emit("greater_equal", emitter.emit("add", start, depth), steps)
            is_finite = self._is_finite(depth, count)
            self._each_box(top, rows, lambda box, first, last: self._multiply_box(
                box, (first, last), (left, out), (start, depth, count), (is_last, is_finite)
            ))  # fmt: skip

        # Once at least: a sum of nothing is 0.
        self._loop(zero, emitter.emit("maximum", steps, emitter.size(1)), self.panels.steps, panel)

    def _multiply_box(
        self, box: Rows, rows: tuple[Value, Value], bases: tuple[Value, Value], panel: tuple[Value, Value, Value],
        states: tuple[Value, Value | None],
    ) -> None:  # fmt: skip
        """The rows of a block that are in a box, times a panel; behind the last panel they are written."""
        emitter = self.emitter
        (left, out), (start, depth, count), (is_last, is_finite) = bases, panel, states
        steps, left_out = depth, emitter.size(0)
        if box.steps:
            whole = whole_box(emitter, self.steps)
            steps = fill_tables(emitter, whole, start, depth, self._step_tables(), only=box.steps)
        if is_finite is not None:
            left_out = self._find_left_out(box, start, depth, is_finite)

        def rise(row: Value) -> None:
            over = emitter.emit("subtract", rows[1], row)
            high = emitter.emit("minimum", over, emitter.size(self.panels.height))
            sums, packed = self._behind(self.sums, row, self.line), (self.panel, self._start(self.panel))

            def multiply(
                array: Value, base: Value, tables: Sequence[tuple[Value, Value]], steps: Value, before: Value
            ) -> None:
                emitter.here(
                    "multiply_gathered", *sums, array, base, *chain.from_iterable(tables), *packed,
                    high, steps, count, before, depth, dtype=self.dtype,
                    rows=self.panels.rows, vectors=self.panels.vectors, vector_bytes=self.panels.vector_bytes,
                    ahead=self.panels.ahead,
                )  # fmt: skip

            tables = [self._behind(self.row_left, row, TABLE_BYTES), *map(self._at, (self.step_left, self.lines))]
            multiply(self.left, left, tables, steps, start)
            if is_finite is not None:
                nothing, one = self._at(self.nothing), emitter.size(1)
                there = emitter.emit("greater", left_out, emitter.size(0))
                emitter.branch(
                    there, lambda: multiply(*nothing, [nothing, nothing, self._at(self.left_out)], left_out, one)
                )
            places = self._behind(self.row_out, row, TABLE_BYTES)

            def finish() -> None:
                emitter.here(
                    "scatter_sums", self.out, out, *places, *self._at(self.column_out), *sums, high, count,
                    dtype=self.dtype, vector_bytes=self.panels.vector_bytes,
                )  # fmt: skip

            emitter.branch(is_last, finish)

        self._loop(*rows, self.panels.height, rise)

    def _at(self, buffer: Value) -> tuple[Value, Value]:
        return buffer, self._start(buffer)

    def _behind(self, buffer: Value, row: Value, nbytes: int) -> tuple[Value, Value]:
        """Where what belongs to a row of a block is in scratch memory: so many bytes for each."""
        inside = self.emitter.emit("multiply", row, self.emitter.size(nbytes))
        return buffer, self.emitter.emit("add", self._start(buffer), inside)

    def _loop(self, start: Value, stop: Value, step: int, body: Callable[[Value], object]) -> None:
        emitter = self.emitter

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            index = emitter.scope.index
            assert index is not None
            body(index)
            return ()

        emitter.loop(start, stop, emitter.size(step), (), turn)

    # Offsets

    def _part(self, start: Value, stop: Dim, most: Dim) -> Value:
        """How many there are from a start on, at most so many."""
        left = self.emitter.emit("subtract", self.emitter.size(stop), start)
        return self.emitter.emit("minimum", left, self.emitter.size(most))

    def _filled(self, buffer: Value, stride: int | None) -> Table:
        return Table(buffer, self._start(buffer), stride)

    def _step_tables(self) -> list[Table]:
        """Where steps are in the left array, and in a panel."""
        return [self._filled(self.step_left, 0), self._filled(self.lines, None)]

    def _each_box(self, top: Value, rows: Value, body: Callable[[Rows, Value, Value], None]) -> None:
        """Emit ``body`` for each box of rows, with those that are in a block: from which to which one of it."""
        emitter = self.emitter
        if not self.slid.slides:
            self.slid.each(lambda box: body(box, emitter.size(0), rows))
            return

        def part(box: Rows) -> None:
            zero, end = emitter.size(0), emitter.emit("add", box.first, box.count)
            first = emitter.emit("maximum", emitter.emit("subtract", box.first, top), zero)
            last = emitter.emit("minimum", emitter.emit("subtract", end, top), rows)
            emitter.branch(emitter.emit("less", first, last), lambda: body(box, first, last))

        self.slid.each(part)

    def _find_rows(self, top: Value, rows: Value) -> None:
        """Put the offsets of the rows of a block into tables."""
        emitter = self.emitter

        def part(box: Rows, first: Value, last: Value) -> None:
            number = emitter.emit("subtract", emitter.emit("add", top, first), box.first)
            tables = [Table(*self._behind(table, first, TABLE_BYTES), stride)
                      for table, stride in ((self.row_left, 0), (self.row_out, 1))]  # fmt: skip
            fill_tables(emitter, box.box, number, emitter.emit("subtract", last, first), tables)

        self._each_box(top, rows, part)

    # Steps that are left out

    def _is_finite(self, depth: Value, count: Value) -> Value | None:
        """Whether a panel is finite: then what is multiplied by zeros may be left out."""
        if not self.slid.slides:
            return None
        (found,) = self.emitter.here(
            "is_finite_panel", *self._at(self.panel), depth, count, dtype=self.dtype,
            vector_bytes=self.panels.vector_bytes,
        )  # fmt: skip
        return found

    def _find_left_out(self, box: Rows, start: Value, depth: Value, is_finite: Value) -> Value:
        """How many steps of a panel must be multiplied by zeros: in a table, those that its rows have not."""
        emitter = self.emitter

        def find() -> list[Value]:
            whole, tables = whole_box(emitter, self.steps), [self._filled(self.left_out, None)]
            return [fill_tables(emitter, whole, start, depth, tables, without=box.steps)]

        (found,) = emitter.either(is_finite, lambda: [emitter.size(0)], find)
        return found


def _join(axes: list[Axis], axis: Axis) -> None:
    """Add an axis, as one with the last where a step of that is as far as all of this one."""
    alone = axis.slid is not None or (axes and axes[-1].slid is not None)
    if axes and not alone and axes[-1].strides == tuple(stride * axis.dim for stride in axis.strides):
        axes[-1] = Axis(axes[-1].dim * axis.dim, axis.strides)
    else:
        axes.append(axis)


def _count(axes: list[Axis]) -> Dim:
    return product([axis.dim for axis in axes])


def _dtype(buffer: Value) -> DType:
    assert isinstance(buffer.type, Buffer)
    return buffer.type.dtype
