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
          what follows, and scatter_sums result, sums           behind the last steps

Each element is summed up by steps in their order, each product and sum rounded once, and what comes of 512 steps is
added to what came before: so its bits depend on the number of its steps alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from jitflow.ir.core import Function, Value
from jitflow.ir.dims import Dim, maximum, minimum
from jitflow.ir.ops.memory import PANEL_BYTES
from jitflow.passes.lower.kernels.beside_sums import ArrayBeside
from jitflow.passes.lower.kernels.contraction_axes import count_of
from jitflow.passes.lower.kernels.contraction_memory import ContractionMemory
from jitflow.passes.lower.kernels.kernel import Kernel, KernelArgument, buffer_dtype
from jitflow.passes.lower.kernels.offset_tables import TABLE_BYTES, Table, fill_tables, positions_at, whole_box
from jitflow.passes.lower.kernels.sharing import share
from jitflow.passes.lower.kernels.slid_rows import Rows

__all__ = ["ContractionKernel"]


class ContractionKernel(ContractionMemory):
    """The kernel of one contraction."""

    def kernel(self) -> Kernel:
        """The finished kernel."""
        emitter = self.emitter
        work = minimum(self.panels.block, count_of(self.rows)) * self.width * count_of(self.steps)
        share(self, count_of(self.batch) * self.blocks * self.strips, 1, work, self._tiles)
        sizes = [(dim, value) for dim, value in emitter.sizes.items() if not isinstance(dim, int)]
        given = (self.left, self.right, self.out, *self.arrays.values(), *self.numbers.values())
        scratch = (buffer for buffer, _ in self.scratch)
        region = emitter.close([*given, *scratch, *(value for _, value in sizes)], [])
        arguments = (
            KernelArgument("operand", 0), KernelArgument("operand", 1), KernelArgument("output", 0),
            *(KernelArgument("operand", array.position + 1) for array in self.arrays),
            *(KernelArgument("scalar", position + 1) for position in self.beside.numbers.values()),
            *(KernelArgument("scratch", 0, size * self.parts, buffer_dtype(buffer)) for buffer, size in self.scratch),
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
            self._loop(emitter.size(0), emitter.size(self.nothings), 1, lambda place: emitter.here(
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
        left, right, out, *beside = bases
        steps, zero = emitter.size(count_of(self.steps)), emitter.size(0)
        rows = self._part(top, count_of(self.rows), self.panels.block)
        emitter.branch(another, lambda: self._find_rows(top, rows))
        count = self._part(edge, count_of(self.columns), self.width)
        columns = (self._filled(self.column_right, 0), self._filled(self.column_out, 1))
        fill_tables(emitter, whole_box(emitter, self.columns), edge, count, columns)
        reads = dict(zip(self.arrays, beside, strict=True))
        self._find_lines(edge, count, reads)

        def panel(start: Value) -> None:
            depth = self._part(start, count_of(self.steps), self.panels.steps)
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
                box, (first, last), (left, out), (start, depth, count), (is_last, is_finite), reads
            ))  # fmt: skip

        # Once at least: a sum of nothing is 0.
        self._loop(zero, emitter.emit("maximum", steps, emitter.size(1)), self.panels.steps, panel)

    def _multiply_box(
        self, box: Rows, rows: tuple[Value, Value], bases: tuple[Value, Value], panel: tuple[Value, Value, Value],
        states: tuple[Value, Value | None], beside: Mapping[ArrayBeside, Value],
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
                if self.beside.region is not None:
                    self._follow(row, high, count, beside)
                emitter.here(
                    "scatter_sums", self.out, out, *places, *self._at(self.column_out), *sums, high, count,
                    dtype=self.dtype, vector_bytes=self.panels.vector_bytes,
                )  # fmt: skip

            emitter.branch(is_last, finish)

        self._loop(*rows, self.panels.height, rise)

    # Offsets

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
            of_rows = [(self.row_left, 0), (self.row_out, 1)]
            of_rows += [(self.tables[array], stride) for stride, array in self._numbered if array.by_rows]
            tables = [Table(*self._behind(table, first, TABLE_BYTES), stride) for table, stride in of_rows]
            fill_tables(emitter, box.box, number, emitter.emit("subtract", last, first), tables)

        self._each_box(top, rows, part)

    # What follows

    @property
    def _numbered(self) -> list[tuple[int, ArrayBeside]]:
        """What is read beside sums, with which of the strides of an axis is its own."""
        return list(enumerate(self.arrays, 2))

    def _find_lines(self, edge: Value, count: Value, bases: Mapping[ArrayBeside, Value]) -> None:
        """Put what is one number for each column into lines of scratch memory."""
        emitter = self.emitter
        for stride, array in self._numbered:
            if array.by_rows:
                continue
            table, line = self.tables[array], self.lines_beside[array]
            fill_tables(emitter, whole_box(emitter, self.columns), edge, count, [self._filled(table, stride)])

            def copy(column: Value, array: ArrayBeside = array, table: Value = table, line: Value = line) -> None:
                number = self._number_at(array, table, column, bases[array])
                emitter.here("write", *self._behind(line, column, array.dtype.itemsize), number)

            self._loop(emitter.size(0), count, 1, copy)

    def _number_at(self, array: ArrayBeside, table: Value, place: Value, base: Value) -> Value:
        """The number of an array at an offset in a table."""
        emitter = self.emitter
        (offset,) = emitter.here("read", *self._behind(table, place, TABLE_BYTES), lanes=0)
        where = emitter.emit("add", base, emitter.emit("to_index", offset))
        (number,) = emitter.here("read", self.arrays[array], where, lanes=0)
        return number

    def _follow(self, top: Value, high: Value, count: Value, bases: Mapping[ArrayBeside, Value]) -> None:
        """Sums of some rows become what the kernel computes of them."""
        emitter, itemsize = self.emitter, self.dtype.itemsize
        lanes, pieces = self.panels.vector_bytes // itemsize, PANEL_BYTES // itemsize
        groups = emitter.emit(
            "floor_divide", emitter.emit("add", count, emitter.size(pieces - 1)), emitter.size(pieces)
        )
        pitch = emitter.emit("multiply", groups, emitter.size(PANEL_BYTES))
        first = self._behind(self.sums, top, self.line)[1]

        def row(number: Value) -> None:
            place = emitter.emit("add", top, number)
            line = emitter.emit("add", first, emitter.emit("multiply", number, pitch))
            of_row = {array: self._number_at(array, self.tables[array], place, bases[array])
                      for array in self.arrays if array.by_rows}  # fmt: skip

            def vector(column: Value) -> None:
                def beside(array: ArrayBeside) -> Value:
                    if array.by_rows:
                        return of_row[array]
                    place = self._behind(self.lines_beside[array], column, array.dtype.itemsize)
                    return emitter.here("read", *place, lanes=lanes)[0]

                where = emitter.emit("add", line, emitter.emit("multiply", column, emitter.size(itemsize)))
                (sums,) = emitter.here("read", self.sums, where, lanes=lanes)
                found = self.beside.emit(emitter, sums, beside, self.numbers)
                emitter.here("write", self.sums, where, emitter.splat(found, lanes))

            self._loop(emitter.size(0), count, lanes, vector)

        self._loop(emitter.size(0), high, 1, row)

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
