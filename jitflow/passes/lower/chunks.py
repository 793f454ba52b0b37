"""Chunks: the third level of the tree in which a reduction adds, and what threads share of a whole array.

Inside a block, elements are folded lane by lane; blocks are joined with care; and so are chunks of some 64 blocks, each
of which begins anew, and is folded to one number before it is joined to those before it (`Reduction.follow`). Where a
chunk begins depends on sizes alone, so the bits do not depend on who computes it:

    for chunk of 65,536:                              share the chunks: (first, last) {
      for block, for column: ...              ->        for chunk of those: ... write what it is folded to
      join what it is folded to                       }
                                                      for chunk: read that, and join

On the left is the code for one thread. So it is where all of an array is reduced; of many rows each is left to one
thread, and has no chunks, which would cost short rows a fifth of their time. Sweeps that follow, and reduce nothing
themselves, are shared in the same chunks. A sweep that ends where it is decided is not, since most of it is never done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum, product
from jitflow.ir.types import Buffer, Index, Scalar, Vector
from jitflow.passes.lower.reductions import BLOCK, Reduction
from jitflow.passes.lower.schedule import is_short
from jitflow.passes.lower.sharing import FOR_MEMORY, WORTH

if TYPE_CHECKING:
    from jitflow.passes.lower.sweeps import Sweeps

__all__ = ["Chunks"]

ALONG_A_ROW, DOWN_THE_ROWS = 64 * BLOCK, 8 * BLOCK
"""Elements of a chunk; down the rows those of a column, since there lanes are columns."""
MOST = 256
"""Chunks that are shared at a time, which is how many results of chunks the frame has room for."""


class Chunks:
    """The reduced loops of one sweep at one position of the outer loops; ``visit`` is what it does beside reducing."""

    def __init__(self, sweeps: Sweeps, reductions: Sequence[Reduction], visit: Callable[[], None]) -> None:
        self.sweeps, self.emitter = sweeps, sweeps.emitter
        self.reductions, self.visit = list(reductions), visit
        self.loops = list(sweeps.reduced)

    def run(self) -> None:
        """Emit the loops, after which each reduction has its state."""
        if self.sweeps.outer or not self._may_be_several():
            self._fold()
        elif self.sweeps.target.threads > 1:
            self._share()
        elif self.reductions:
            self._follow_each_other()
        else:
            self._fold()

    def _may_be_several(self) -> bool:
        sweeps = self.sweeps
        if not self.loops or sweeps.target.distributed or sweeps.vector is None:
            return False
        if sweeps.vector is not self.loops[-1] and is_short(self.loops):
            return False
        count, length = self.loops[0].dim, self._length()
        several = not (isinstance(count, int) and isinstance(length, int) and count <= length)
        return several and not sweeps.may_end_early(self.loops[-1], self.reductions)

    def _length(self) -> Dim:
        """How many positions of the outermost reduced loop are a chunk."""
        elements = ALONG_A_ROW if self.sweeps.horizontal else DOWN_THE_ROWS
        inside = product([loop.dim for loop in self.loops[1:]])
        return elements if inside == 1 else maximum(elements // maximum(inside, 1), 1)

    def _fold(self) -> None:
        """Fold all elements, or those of a chunk."""
        states = [value for reduction in self.reductions for value in reduction.state]
        states = list(self.sweeps.reduced_loops(self.loops, self.reductions, self.visit, states))
        self._take(states)

    def _take(self, states: Sequence[Value]) -> None:
        for reduction in self.reductions:
            states = reduction.take(states)

    # One behind the other

    def _follow_each_other(self) -> None:
        emitter, size, loop = self.emitter, self.emitter.size, self.loops[0]

        def chunk(before: Sequence[Value]) -> Sequence[Value]:
            first = emitter.scope.index
            assert first is not None
            return self._joined(before, self._chunk(first), first)

        self._take(emitter.loop(size(0), size(loop.dim), size(self._length()), self._nothing(), chunk))

    def _nothing(self) -> list[Value]:
        """What chunks are folded to where there are none."""
        return [value for reduction in self.reductions for value in reduction.nothing()]

    def _chunk(self, first: Value) -> list[Value]:
        """What the chunk that begins at a position is folded to."""
        emitter, loop = self.emitter, self.loops[0]
        end = emitter.arithmetic("add", first, emitter.size(self._length()))
        self.sweeps.bounds[loop] = first, emitter.arithmetic("minimum", end, emitter.size(loop.dim))
        for reduction in self.reductions:
            emitter.loc = reduction.op.loc
            reduction.begin()
        self._fold()
        for reduction in self.reductions:
            reduction.close()
        del self.sweeps.bounds[loop]
        return [value for reduction in self.reductions for value in reduction.state]

    def _joined(self, before: Sequence[Value], states: Sequence[Value], first: Value) -> Sequence[Value]:
        """The states behind a chunk that begins at ``first``: at 0 nothing comes before, for which no row waits."""

        def follow() -> Sequence[Value]:
            self._take(states)
            joined: list[Value] = []
            rest = list(before)
            for reduction in self.reductions:
                count = len(reduction.state)
                joined += reduction.follow(rest[:count])
                del rest[:count]
            return joined

        return self.emitter.either(self.emitter.emit("less", self.emitter.size(0), first), follow, lambda: states)

    # Shared

    def _share(self) -> None:
        emitter, size, length = self.emitter, self.emitter.size, self._length()
        together, dim = length * MOST, self.loops[0].dim
        cells = [self._cell(value) for value in self._nothing()]
        initial = self._nothing()

        def group(before: Sequence[Value]) -> Sequence[Value]:
            start = emitter.scope.index
            assert start is not None
            end = emitter.arithmetic("minimum", emitter.emit("add", start, size(together)), size(dim))
            rounded = emitter.emit("add", emitter.emit("subtract", end, start), size(length - 1))
            count = emitter.emit("divide_truncated", rounded, size(length))
            self._share_group(start, count, cells)
            return self._join_group(start, count, cells, before)

        self._take(emitter.loop(size(0), size(dim), size(together), initial, group))

    def _share_group(self, start: Value, count: Value, cells: Sequence[Value]) -> None:
        emitter, size, schedule = self.emitter, self.emitter.size, self.sweeps.schedule
        first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
        elements = product([self._length(), *(loop.dim for loop in self.loops[1:])])
        work = elements * (schedule.sweep_cost(self.sweeps.sweep) + FOR_MEMORY)

        def chunk(_: Sequence[Value]) -> Sequence[Value]:
            number = emitter.scope.index
            assert number is not None
            states = self._chunk(self._position(start, number))
            for cell, value in zip(cells, states, strict=True):
                emitter.here("write", cell, self._offset(cell, number), value)
            return ()

        attributes = {"step": 1, "threads": self.sweeps.target.threads, "worth": WORTH}
        span = (first, last, worker)
        emitter.share(count, size(work), span, lambda: emitter.loop(first, last, size(1), (), chunk), **attributes)

    def _join_group(
        self, start: Value, count: Value, cells: Sequence[Value], before: Sequence[Value]
    ) -> Sequence[Value]:
        emitter, size = self.emitter, self.emitter.size
        if not cells:
            return ()

        def join(before: Sequence[Value]) -> Sequence[Value]:
            number = emitter.scope.index
            assert number is not None
            depth = len(emitter.scopes) - 1
            states = [emitter.emit("read", cell, self._offset(cell, number), depth=depth, lanes=0) for cell in cells]
            return self._joined(before, states, self._position(start, number))

        return emitter.loop(size(0), count, size(1), before, join)

    def _position(self, start: Value, number: Value) -> Value:
        """Where a chunk of a group begins."""
        emitter = self.emitter
        return emitter.arithmetic("add", start, emitter.arithmetic("multiply", number, emitter.size(self._length())))

    def _cell(self, value: Value) -> Value:
        assert isinstance(value.type, Scalar | Vector)
        return self.emitter.emit("local", depth=0, dtype=value.type.dtype, count=MOST)

    def _offset(self, cell: Value, number: Value) -> Value:
        assert isinstance(cell.type, Buffer)
        return self.emitter.arithmetic("multiply", number, self.emitter.size(cell.type.dtype.itemsize))
