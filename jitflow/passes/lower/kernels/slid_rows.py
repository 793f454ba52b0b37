"""Rows of a contraction in the order of what they leave out, where windows reach beyond the array that they show.

Along an axis of the array, the row at r and the step at s read the element ``a r + b s - before``, which is there for
some steps in sequence. So positions along an axis of rows fall into runs that have the same steps, and rows into boxes,
one for each choice of a run along each such axis: the corners, edges and the middle of a picture. Rows are walked box
by box, and each box multiplies its steps alone. How long runs are, the sizes tell when the program runs: they lie in a
table for each axis, which is written once.

    positions of rows     0       1 2 ... n-2    n-1           3 x 3, 1 row of zeros around
    steps                 1 2     0 1 2          0 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.lower.kernels.offset_tables import TABLE_BYTES, Axis, Bounds, Box
from jitflow.records import dataclass

__all__ = ["Rows", "SlidRows", "Slide"]

_FIELDS = 3
"""What is told of a run: its first position, its first step, and that behind its last one."""


@dataclass(frozen=True, slots=True)
class Slide:
    """An axis of rows and one of steps that are one axis of an array, ``extent`` long, with how far each goes."""

    row: int
    step: int
    row_pace: int
    step_pace: int
    before: Dim
    extent: Dim


@dataclass(frozen=True, slots=True)
class Rows:
    """A box of rows, the number of the first one, how many there are, and which steps they have, by axis of steps."""

    box: Box
    first: Value
    count: Value
    steps: Bounds


class SlidRows:
    """All rows, box by box. Without slides that is one box."""

    def __init__(
        self, emitter: Emitter, rows: Sequence[Axis], steps: Sequence[Axis], slides: Sequence[Slide],
        table: Callable[[str, Dim], Value],
    ) -> None:  # fmt: skip
        """``table`` makes scratch memory for so many numbers."""
        self.emitter, self.rows, self.steps, self.slides = emitter, rows, steps, slides
        self.tables = [table(f"runs{number}", _FIELDS * (self._most(one) + 1)) for number, one in enumerate(slides)]
        self.counts: list[Value] = []
        self.start: Callable[[Value], Value]

    def _most(self, slide: Slide) -> Dim:
        """Runs of an axis at most: each begins where the first or the last step changes."""
        return minimum(self.rows[slide.row].dim, 2 * self.steps[slide.step].dim + 1)

    def find(self, start: Callable[[Value], Value]) -> None:
        """Write the tables of runs. ``start`` tells where a thread's part of one begins."""
        self.start = start
        self.counts = list(map(self._find_runs, self.slides, self.tables))

    def _find_runs(self, slide: Slide, table: Value) -> Value:
        emitter = self.emitter
        zero, one = emitter.size(0), emitter.size(1)
        total = emitter.size(self.rows[slide.row].dim)

        def position(carried: Sequence[Value]) -> Sequence[Value]:
            (runs, *before), here = carried, emitter.position
            steps = self._steps_at(slide, here)
            changed = emitter.emit("equal", here, zero)
            for old, new in zip(before, steps, strict=True):
                changed = emitter.emit("logical_or", changed, emitter.emit("not_equal", old, new))
            emitter.branch(changed, lambda: self._write(table, runs, here, *steps))
            return [emitter.emit("add", runs, emitter.emit("select", changed, one, zero)), *steps]

        runs, *_ = emitter.loop(zero, total, one, (zero, zero, zero), position)
        self._write(table, runs, total, zero, zero)
        return runs

    def _steps_at(self, slide: Slide, position: Value) -> tuple[Value, Value]:
        """The first step that a row has, and the one behind the last."""
        emitter = self.emitter
        zero, most = emitter.size(0), emitter.size(self.steps[slide.step].dim)
        gone = emitter.arithmetic("multiply", position, emitter.size(slide.row_pace))
        ends = []
        for behind in (slide.before, slide.before + slide.extent):
            away = emitter.emit("subtract", emitter.size(behind + slide.step_pace - 1), gone)
            steps = emitter.emit("floor_divide", emitter.emit("maximum", away, zero), emitter.size(slide.step_pace))
            ends.append(emitter.emit("minimum", steps, most))
        return ends[0], emitter.emit("maximum", *ends)

    def _write(self, table: Value, run: Value, *numbers: Value) -> None:
        for field, number in enumerate(numbers):
            self.emitter.here("write", table, self._at(table, run, field), self.emitter.index_scalar(number))

    def _read(self, table: Value, run: Value, field: int) -> Value:
        (found,) = self.emitter.here("read", table, self._at(table, run, field), lanes=0)
        return self.emitter.emit("to_index", found)

    def _at(self, table: Value, run: Value, field: int) -> Value:
        emitter = self.emitter
        inside = emitter.emit("multiply", run, emitter.size(_FIELDS * TABLE_BYTES))
        return emitter.emit("add", self.start(table), emitter.emit("add", inside, emitter.size(field * TABLE_BYTES)))

    def each(self, body: Callable[[Rows], None]) -> None:
        """Emit ``body`` for each box of rows."""
        starts = [self.emitter.size(0)] * len(self.rows)
        lengths = [self.emitter.size(axis.dim) for axis in self.rows]
        self._each(0, self.emitter.size(0), starts, lengths, {}, body)

    def _each(
        self, level: int, first: Value, starts: list[Value], lengths: list[Value], steps: Bounds,
        body: Callable[[Rows], None],
    ) -> Value:  # fmt: skip
        """The boxes of all runs along the axes from a level on; the number behind their last row."""
        emitter, one = self.emitter, self.emitter.size(1)
        if level == len(self.slides):
            count = one
            for length in lengths:
                count = length if count is one else emitter.emit("multiply", count, length)
            body(Rows(Box(self.rows, starts, lengths), first, count, steps))
            return emitter.arithmetic("add", first, count)
        slide, table = self.slides[level], self.tables[level]

        def run(carried: Sequence[Value]) -> Sequence[Value]:
            number, begin, length = emitter.position, list(starts), list(lengths)
            begin[slide.row] = self._read(table, number, 0)
            behind = self._read(table, emitter.emit("add", number, one), 0)
            length[slide.row] = emitter.emit("subtract", behind, begin[slide.row])
            has = {**steps, slide.step: (self._read(table, number, 1), self._read(table, number, 2))}
            return [self._each(level + 1, carried[0], begin, length, has, body)]

        (last,) = emitter.loop(emitter.size(0), self.counts[level], one, (first,), run)
        return last
