"""Reductions down the rows of a large matrix: bands of rows instead of tiles of columns.

A tile of a few vectors that walks down the rows reads a few cache lines of each. From a matrix that no cache holds,
such pieces come slowly, since processors guess only what lies behind what was read. Here a strip of columns keeps its
sums in memory that stays in the first cache, and a few rows at a time are added along all of the strip. Down a column
the order of additions is that of a tile, so the bits are the same.

    for strip of columns:
      for column: the sums begin
      for block of rows:
        for band of rows:
          for column: add the elements of these rows
        for column: combine the block's sums with those before
      for column: finish, and store what follows

Measured on one core: a vector times 2,500 by 2,500 numbers of f64 in 2.1 ms instead of 3.0; BLAS takes 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.types import Scalar, Tensor, Vector
from jitflow.passes.lower.reductions import BLOCK, Reduction, SumReduction, reduction_for
from jitflow.passes.lower.schedule import is_short

if TYPE_CHECKING:
    from jitflow.passes.lower.elements import Elements

__all__ = ["Bands", "worth_bands"]

STRIP = 4096
"""Columns whose sums are in memory at once."""
BAND = 4
"""Rows that are added at a time, so that sums are read and written once for each of them."""
LIGHT_ROW = 12
"""Instructions an element up to which the rows of a band are written out."""

LARGE = 1 << 16
"""Bytes of a matrix that the first cache does not hold."""
FEWEST_COLUMNS, FEWEST_ROWS = 8, 64
"""Of a matrix with fewer, each strip and each band would cost something beside its elements."""


def worth_bands(lowering: Elements) -> Dim:
    """1 where a kernel reduces a matrix to a row and the matrix is large, else 0; which of them may depend on sizes."""
    schedule, outer, reduced = lowering.schedule, lowering.outer, lowering.reduced
    if lowering.target.distributed or lowering.target.masked or schedule.period:
        return 0
    if len(outer) != 1 or len(reduced) != 1 or lowering.vector is not outer[0] or is_short(reduced):
        return 0
    kinds = {type(reduction_for(op, lowering)) for op in schedule.reductions(0)}
    if schedule.sweeps != 1 or schedule.stores(0) or not kinds or not kinds <= {Reduction, SumReduction}:
        return 0
    columns, rows = (loop.dim for loop in (*outer, *reduced))
    parts = (columns * rows * schedule.widest_item // LARGE, columns // FEWEST_COLUMNS, rows // FEWEST_ROWS)
    return product([minimum(part, 1) for part in parts])


class Bands:
    """The loops of such a kernel. ``store`` writes, at a column, the results that follow."""

    def __init__(self, lowering: Elements, store: Callable[[], None]) -> None:
        self.lowering = lowering
        self.emitter = lowering.emitter
        self.store = store
        (self.columns,), (self.rows,) = lowering.outer, lowering.reduced
        self.reductions: list[Reduction] = []
        self.cells: dict[tuple[Reduction, int], Value] = {}
        """The memory of each number of a reduction's state, and of the sum of a block behind them."""
        self.strip: Value

    def run(self) -> None:
        """Emit everything, in lanes of one register."""
        emitter, lanes = self.emitter, self.lowering.lanes

        def strip(_: Sequence[Value]) -> Sequence[Value]:
            assert emitter.scope.index is not None
            self.strip = emitter.scope.index
            self._along(self._begin)
            emitter.loop(emitter.size(0), emitter.size(self.rows.dim), emitter.size(BLOCK), (), self._block)
            self._along(self._finish)
            return ()

        self.lowering.lanes = self.lowering.register_lanes
        self.reductions = [reduction_for(op, self.lowering) for op in self.lowering.schedule.reductions(0)]
        emitter.loop(emitter.size(0), emitter.size(self.columns.dim), emitter.size(STRIP), (), strip)
        self.lowering.lanes = lanes

    def _along(self, body: Callable[[], None]) -> None:
        """Run the body for the columns of the strip, under masks throughout: there are many such loops to compile."""
        emitter, lanes = self.emitter, self.lowering.lanes

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            body()
            return ()

        end = emitter.emit("add", self.strip, emitter.size(STRIP))
        stop = emitter.arithmetic("minimum", end, emitter.size(self.columns.dim))
        emitter.loop(self.strip, stop, emitter.size(lanes), (), turn, self.columns, lanes, masked=True)

    def _begin(self) -> None:
        for reduction in self.reductions:
            self.emitter.loc = reduction.op.loc
            reduction.begin()
            values = [*reduction.state, *([reduction.partial()] if reduction.blocked else [])]
            for number, value in enumerate(values):
                self._write(reduction, number, value)

    def _block(self, _: Sequence[Value]) -> Sequence[Value]:
        emitter = self.emitter
        first = emitter.scope.index
        assert first is not None
        last = emitter.arithmetic(
            "minimum", emitter.emit("add", first, emitter.size(BLOCK)), emitter.size(self.rows.dim)
        )
        band = BAND if self.lowering.schedule.cost <= LIGHT_ROW else 1
        whole = emitter.arithmetic("minimum", last, emitter.size(self.rows.dim // band * band))
        emitter.loop(first, whole, emitter.size(band), (), lambda _: self._band(band))
        if band > 1:
            emitter.loop(whole, last, emitter.size(1), (), lambda _: self._band(1))
        if any(reduction.blocked for reduction in self.reductions):
            self._along(self._combine)
        return ()

    def _band(self, count: int) -> Sequence[Value]:
        """Add ``count`` rows, from the one at the open loop's index on."""
        emitter = self.emitter
        first = emitter.scope.index
        assert first is not None
        rows = [first, *(emitter.emit("add", first, emitter.size(number)) for number in range(1, count))]
        self._along(lambda: self._add(rows))
        return ()

    def _add(self, rows: Sequence[Value]) -> None:
        partials: dict[Reduction, Value] = {}
        for reduction in self.reductions:
            if reduction.blocked:
                partials[reduction] = self._read(reduction, len(reduction.state))
            else:
                reduction.take(list(self._states(reduction)))
        for row in rows:
            with self.emitter.step(self.rows, row):
                for reduction in self.reductions:
                    self.emitter.loc = reduction.op.loc
                    if reduction.blocked:
                        partials[reduction] = reduction.accumulate(partials[reduction])
                    else:
                        reduction.step()
        for reduction in self.reductions:
            if reduction.blocked:
                self._write(reduction, len(reduction.state), partials[reduction])
            else:
                self._write_states(reduction)

    def _combine(self) -> None:
        for reduction in self.reductions:
            if not reduction.blocked:
                continue
            reduction.take(list(self._states(reduction)))
            behind = len(reduction.state)
            reduction.combine(self._read(reduction, behind))
            self._write_states(reduction)
            self._write(reduction, behind, reduction.partial())

    def _finish(self) -> None:
        for reduction in self.reductions:
            self.emitter.loc = reduction.op.loc
            reduction.take(list(self._states(reduction)))
            self.emitter.store_cached(reduction.op.result, reduction.finish())
        self.store()

    # Memory of the sums

    def _states(self, reduction: Reduction) -> Iterator[Value]:
        for number in range(len(reduction.state)):
            yield self._read(reduction, number)

    def _write_states(self, reduction: Reduction) -> None:
        for number, value in enumerate(reduction.state):
            self._write(reduction, number, value)

    def _read(self, reduction: Reduction, number: int) -> Value:
        buffer, offset, mask = self._cell(reduction, number)
        depth = max(self.emitter.depth_of[known] for known in (offset, *mask))
        return self.emitter.emit("read", buffer, offset, *mask, depth=depth, lanes=self.lowering.lanes)

    def _write(self, reduction: Reduction, number: int, value: Value) -> None:
        if (reduction, number) not in self.cells:
            assert isinstance(value.type, Vector | Scalar)
            dtype = value.type.dtype
            cell = self.lowering.buffer_for(Value(Tensor(dtype, (STRIP,)), "sums"), dtype)
            self.lowering.scratch.append((cell, STRIP * dtype.itemsize))
            self.cells[reduction, number] = cell
        buffer, offset, mask = self._cell(reduction, number)
        self.emitter.here("write", buffer, offset, self.emitter.splat(value, self.lowering.lanes), *mask)

    def _cell(self, reduction: Reduction, number: int) -> tuple[Value, Value, tuple[Value, ...]]:
        """Memory, where the lanes of the present columns lie in it, and the mask of those that there are."""
        emitter, mask, itemsize = self.emitter, self.lowering.mask, reduction.accumulator.itemsize
        index = next(scope.index for scope in emitter.scopes if scope.loop is self.columns)
        assert index is not None
        offset = emitter.cached(("cell", index, itemsize))
        if offset is None:
            column = emitter.emit("subtract", index, self.strip)
            offset = emitter.emit("multiply", column, emitter.size(itemsize))
            emitter.store_cached(("cell", index, itemsize), offset)
        return self.cells[reduction, number], offset, () if mask is None else (mask,)
