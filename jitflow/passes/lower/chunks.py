"""Reductions of whole arrays, chunk by chunk, which threads may share.

    for chunk of 65,536:                              share the chunks: (first, last) {
      for block, for column: ...              ->        for chunk of those: ... write what it is folded to
      join what it is folded to                       }
                                                      for chunk: read that, and join

Where a chunk begins depends on sizes alone, and chunks are joined in their order, so the bits do not depend on who
computes them. What they are folded to is in the kernel's frame in between, in as many cells as it has room for.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Value
from jitflow.ir.types import Buffer, Scalar
from jitflow.passes.lower.loops import Loops
from jitflow.passes.lower.sharing import open_span
from jitflow.passes.schedule.cost import WORTH
from jitflow.passes.schedule.tree import For

__all__ = ["Chunks"]

MOST = 256
"""Chunks that are shared at a time."""


class Chunks(Loops):
    """Loops, those of chunks among them, after which each reduction has its state."""

    def run_loop(self, node: For) -> None:
        if not node.chunks:
            super().run_loop(node)
        elif node.threads != 0 and self.target.threads > 1:
            self._share_chunks(node)
        else:
            self._follow_each_other(node)

    def _follow_each_other(self, node: For) -> None:
        emitter, size = self.emitter, self.emitter.size

        def turn(before: Sequence[Value]) -> Sequence[Value]:
            first = emitter.scope.index
            assert first is not None
            return self._joined(before, self._chunk(node, first), first)

        self._give(emitter.loop(size(0), size(node.loop.dim), size(node.step), self._nothing(), turn))

    def _give(self, states: Sequence[Value]) -> None:
        for reduction in self.reductions:
            count = len(reduction.state)
            reduction.state, states = list(states[:count]), states[count:]

    def _nothing(self) -> list[Value]:
        """What chunks are folded to where there are none."""
        return [value for reduction in self.reductions for value in reduction.nothing()]

    def _chunk(self, node: For, first: Value) -> list[Value]:
        """What the chunk that begins at a position is folded to."""
        emitter = self.emitter
        end = emitter.arithmetic("add", first, emitter.size(node.step))
        last = emitter.arithmetic("minimum", end, emitter.size(node.loop.dim))
        for reduction in self.reductions:
            emitter.loc = reduction.op.loc
            reduction.begin()
        with self.taking(node.loop, first, last, node.step):
            self.nodes(node.body)
        for reduction in self.reductions:
            reduction.close()
        return [value for reduction in self.reductions for value in reduction.state]

    def _joined(self, before: Sequence[Value], states: Sequence[Value], first: Value) -> Sequence[Value]:
        """The states behind a chunk that begins at ``first``: at 0 nothing comes before, for which nobody waits."""

        def follow() -> Sequence[Value]:
            self._give(states)
            joined: list[Value] = []
            for reduction in self.reductions:
                count = len(reduction.state)
                joined += reduction.follow(before[len(joined) : len(joined) + count])
            return joined

        return self.emitter.either(self.emitter.emit("less", self.emitter.size(0), first), follow, lambda: states)

    # Shared

    def _share_chunks(self, node: For) -> None:
        emitter, size = self.emitter, self.emitter.size
        initial = self._nothing()
        cells = [self._cell(value) for value in initial]

        def group(before: Sequence[Value]) -> Sequence[Value]:
            start = emitter.scope.index
            assert start is not None
            end = emitter.arithmetic("minimum", emitter.emit("add", start, size(MOST * node.step)), size(node.loop.dim))
            count = emitter.emit("subtract", end, start)
            self._share_group(node, start, count, cells)
            return self._join_group(node, start, count, cells, before)

        self._give(emitter.loop(size(0), size(node.loop.dim), size(MOST * node.step), initial, group))

    def _share_group(self, node: For, start: Value, count: Value, cells: Sequence[Value]) -> None:
        emitter, size = self.emitter, self.emitter.size
        span = open_span(node.loop, node.loop.dim, node.step, node.threads)

        def chunk(_: Sequence[Value]) -> Sequence[Value]:
            inside = emitter.scope.index
            assert inside is not None
            states = self._chunk(node, emitter.arithmetic("add", start, inside))
            for cell, value in zip(cells, states, strict=True):
                emitter.here("write", cell, self._cell_of(node, cell, inside), value)
            return ()

        emitter.share(
            count, size(span.work), (span.first, span.last, span.worker),
            lambda: emitter.loop(span.first, span.last, size(node.step), (), chunk),
            step=node.step, threads=self.target.threads, worth=WORTH,
        )  # fmt: skip

    def _join_group(
        self, node: For, start: Value, count: Value, cells: Sequence[Value], before: Sequence[Value]
    ) -> Sequence[Value]:
        emitter, size = self.emitter, self.emitter.size

        def join(before: Sequence[Value]) -> Sequence[Value]:
            inside, depth = emitter.scope.index, len(emitter.scopes) - 1
            assert inside is not None
            states = [
                emitter.emit("read", cell, self._cell_of(node, cell, inside), depth=depth, lanes=0) for cell in cells
            ]
            return self._joined(before, states, emitter.arithmetic("add", start, inside))

        return emitter.loop(size(0), count, size(node.step), before, join)

    def _cell(self, value: Value) -> Value:
        assert isinstance(value.type, Scalar)
        return self.emitter.emit("local", depth=0, dtype=value.type.dtype, count=MOST)

    def _cell_of(self, node: For, cell: Value, inside: Value) -> Value:
        """Where the cell of the chunk lies that begins so far inside of the group."""
        assert isinstance(cell.type, Buffer)
        emitter = self.emitter
        number = emitter.emit("divide_truncated", inside, emitter.size(node.step))
        return emitter.arithmetic("multiply", number, emitter.size(cell.type.dtype.itemsize))
