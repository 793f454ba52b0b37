"""Chunks: the third level of the tree in which a reduction adds, and what threads share of a whole array.

Inside a block, elements are folded lane by lane; blocks are joined with care; and so are chunks of some 64 blocks, each
of which begins anew, and is folded to one number before it is joined to those before it (`Reduction.follow`). Where a
chunk begins depends on sizes alone, so the bits do not depend on who computes it:

    for chunk of 65,536:                              share the chunks: (first, last) {
      for block, for column: ...              ->        for chunk of those: ... write what it is folded to
      join what it is folded to                       }
                                                      for chunk: read that, and join

On the left is the code for one thread. On the right, what is one block is folded in a branch of its own, without parts
for threads, cells and loops, which cost as much as a short row, if its body is short: a long one is compiled once.
Sweeps that follow, and reduce nothing themselves, are shared in the same chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Buffer, Index, Scalar, Vector
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.folding import chunk_positions, chunks_on_chip
from jitflow.passes.schedule.tree import For

if TYPE_CHECKING:
    from jitflow.passes.fusion.nest import Access, Loop
    from jitflow.passes.lower.kernels.reduction import Reduction
    from jitflow.passes.lower.kernels.staging import Staging

__all__ = ["Chunks"]


class Chunks:
    """A loop of chunks: ``body`` goes over one, with the reductions of the sweep that is open, if one is."""

    most = cost.MOST_CHUNKS
    """How many are shared at a time."""

    def __init__(self, lowering: Staging, node: For, reductions: Sequence[Reduction], body: Callable[[], None]) -> None:
        self.lowering, self.emitter, self.node = lowering, lowering.emitter, node
        self.reductions, self.loop, self.body = list(reductions), node.loop, body
        self.length = chunk_positions(lowering.joined, node.step)
        self.start, self.stop = lowering.ends(node.loop)

    def run(self) -> None:
        """Emit the loop, after which each reduction has its state."""
        if self.node.threads == 0 or self.sharers == 1:
            self.take(self._follow_each_other())
        elif not self.reductions or self.lowering.target.distributed or self.lowering.joined.cost > cost.LONG_BODY:
            self.take(self._share())
        else:
            self.take(self._one_or_shared())

    @property
    def sharers(self) -> int:
        """How many share the chunks: the threads that there are, or so many warps of a GPU as the schedule says."""
        if not self.lowering.target.distributed:
            return self.lowering.target.threads
        assert isinstance(self.node.threads, int)
        return self.node.threads

    def take(self, states: Sequence[Value]) -> None:
        """Give the reductions their states."""
        for reduction in self.reductions:
            count = len(reduction.state)
            reduction.state, states = list(states[:count]), states[count:]

    # Spread over a grid, and joined by the kernel behind

    def fill(self, cells: Sequence[Access], numbers: Loop) -> None:
        """Let teams write what each of the ``numbers`` of chunks is folded to."""
        emitter = self.emitter

        def chunk(_: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            for cell, value in zip(cells, self._chunk(self._position(self.start, number)), strict=True):
                self.lowering.store(cell, value)
            return ()

        zero, one = emitter.size(0), emitter.size(1)
        emitter.loop(zero, emitter.size(numbers.dim), one, (), chunk, numbers, parallel=True)

    def join(self, cells: Sequence[Access], numbers: Loop) -> None:
        """Give each reduction the state that it has behind all chunks, which `fill` has written."""
        emitter = self.emitter

        def chunk(before: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            states = [self.lowering.load(cell) for cell in cells]
            return self._joined(before, states, self._position(self.start, number))

        zero, one = emitter.size(0), emitter.size(1)
        self.take(emitter.loop(zero, emitter.size(numbers.dim), one, self._nothing(), chunk, numbers))

    # One behind the other

    def _follow_each_other(self) -> Sequence[Value]:
        emitter, size = self.emitter, self.emitter.size

        def chunk(before: Sequence[Value]) -> Sequence[Value]:
            first = emitter.position
            return self._joined(before, self._chunk(first), first)

        return emitter.loop(self.start, self.stop, size(self.length), self._nothing(), chunk)

    def _nothing(self) -> list[Value]:
        """What chunks are folded to where there are none."""
        return [value for reduction in self.reductions for value in reduction.nothing()]

    def _chunk(self, first: Value, length: Dim = 0) -> list[Value]:
        """What the chunk that begins at a position is folded to; it has the usual length if nothing is said."""
        emitter, length = self.emitter, length or self.length
        end = emitter.arithmetic("add", first, emitter.size(length))
        last = emitter.arithmetic("minimum", end, self.stop)
        for reduction in self.reductions:
            emitter.loc = reduction.op.loc
            reduction.begin()
        with self.lowering.taking(self.loop, first, last, length):
            self.body()
        for reduction in self.reductions:
            reduction.close()
        return [value for reduction in self.reductions for value in reduction.state]

    def _joined(self, before: Sequence[Value], states: Sequence[Value], first: Value) -> Sequence[Value]:
        """The states behind a chunk that begins at ``first``: at 0 nothing comes before, for which no row waits."""

        def follow() -> Sequence[Value]:
            self.take(states)
            joined: list[Value] = []
            rest = list(before)
            for reduction in self.reductions:
                count = len(reduction.state)
                joined += reduction.follow(rest[:count])
                del rest[:count]
            return joined

        return self.emitter.either(self.emitter.emit("less", self.start, first), follow, lambda: states)

    # Shared

    def _one_or_shared(self) -> Sequence[Value]:
        """One block by itself, if chunks have blocks, else one chunk; or all chunks."""
        emitter, size = self.emitter, self.emitter.size
        blocks = [node for node in self.node.body if isinstance(node, For) and node.loop is self.loop]
        length = blocks[0].step if len(blocks) == len(self.node.body) == 1 else self.length
        several = emitter.emit("less", size(length), size(self.loop.dim))
        return emitter.either(several, self._share, lambda: self._chunk(size(0), length))

    def _of_nothing(self, initial: Sequence[Value]) -> Sequence[Value]:
        """What there are cells for, of each that is shared; ``initial`` are the states before all."""
        return initial

    def _share(self) -> Sequence[Value]:
        emitter, size = self.emitter, self.emitter.size
        initial = self._nothing()
        most = self.most
        if self.lowering.target.distributed:
            most = min(most, chunks_on_chip(self.lowering.joined, self.lowering.lanes))
        together = self.length * most
        cells = [self._cell(value, most) for value in self._of_nothing(initial)]

        def group(before: Sequence[Value]) -> Sequence[Value]:
            start = emitter.position
            end = emitter.arithmetic("minimum", emitter.emit("add", start, size(together)), self.stop)
            rounded = emitter.emit("add", emitter.emit("subtract", end, start), size(self.length - 1))
            count = emitter.emit("divide_truncated", rounded, size(self.length))
            self._share_group(start, count, cells)
            return self._join_group(start, count, cells, before)

        return emitter.loop(self.start, self.stop, size(together), initial, group)

    def _share_group(self, start: Value, count: Value, cells: Sequence[Value]) -> None:
        emitter, size = self.emitter, self.emitter.size

        def chunk(_: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            states = self._chunk(self._position(start, number))
            for cell, value in zip(cells, states, strict=True):
                emitter.here("write", cell, self._offset(cell, number, value), value)
            return ()

        first, last, worker = (Value(Index(), name) for name in ("first", "last", "worker"))
        self.lowering.chunk_worker = worker
        emitter.share(
            count, size(self.node.threads), (first, last, worker),
            lambda: emitter.loop(first, last, size(1), (), chunk),
            step=1, threads=self.sharers, worth=cost.WORTH,
        )  # fmt: skip
        self.lowering.chunk_worker = None

    def _join_group(
        self, start: Value, count: Value, cells: Sequence[Value], before: Sequence[Value]
    ) -> Sequence[Value]:
        emitter, size = self.emitter, self.emitter.size
        if not cells:
            return ()

        def join(before: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            depth = len(emitter.scopes) - 1
            states = [
                emitter.emit("read", cell, self._offset(cell, number, value), depth=depth, lanes=_lanes(value))
                for cell, value in zip(cells, self._of_nothing(before), strict=True)
            ]
            return self._joined(before, states, self._position(start, number))

        return emitter.loop(size(0), count, size(1), before, join)

    def _position(self, start: Value, number: Value) -> Value:
        """Where a chunk of a group begins."""
        emitter = self.emitter
        return emitter.arithmetic("add", start, emitter.arithmetic("multiply", number, emitter.size(self.length)))

    def _cell(self, value: Value, most: int) -> Value:
        assert isinstance(value.type, Scalar | Vector)
        return self.emitter.emit("local", depth=0, dtype=value.type.dtype, count=most * max(_lanes(value), 1))

    def _offset(self, cell: Value, number: Value, value: Value) -> Value:
        assert isinstance(cell.type, Buffer)
        size = cell.type.dtype.itemsize * max(_lanes(value), 1)
        return self.emitter.arithmetic("multiply", number, self.emitter.size(size))


def _lanes(value: Value) -> int:
    """How many lanes a state has, 0 for a number."""
    return value.type.lanes if isinstance(value.type, Vector) else 0
