"""Operands that are brought nearer before loops read them: rows onto the chip of a GPU, blocks into scratch memory.

What is summed up is one long row, of which a bias is another part in each turn, a column the same number for a while,
and a strided array has gaps. In front of the loops of a block its elements are written down as they come:

    x: f32[n, m],  b: f32[m]           block of (x + b).sum()         b[3] ... b[m - 1]  b[0] ... b[m - 1]  b[0] ...

A block is in the first cache, so this takes little beside what reads memory or computes more than a sum: what a bias is
added to in the caches is summed up at four fifths of the speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jitflow.ir.core import Value
from jitflow.ir.dims import Dim, maximum
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop
from jitflow.passes.lower.kernels.elements import Elements
from jitflow.passes.schedule.folding import BLOCK
from jitflow.passes.schedule.tree import Keep, Stage

__all__ = ["Staging"]


class Staging(Elements):
    """Where operands are brought, and what sweeps keep for later ones."""

    chunk_worker: Value | None = None
    """The number of the thread, where several share chunks."""

    def _stage(self, node: Stage) -> None:
        for value in node.values:
            self.staged[value] = self._stage_row(value) if self.target.distributed else self._stage_block(value)

    # Rows on the chip

    def _row_on_chip(self, value: Value) -> Access:
        """Memory on the chip for a row of a value."""
        assert isinstance(value.type, Tensor)
        dtype, (loop,) = value.type.dtype, self.reduced
        row = Value(value.type, value.name)
        nbytes = self.emitter.size(loop.dim * dtype.itemsize)
        self.buffers[row] = self.emitter.emit("on_chip", nbytes, depth=0, dtype=dtype)
        return Access(row, dtype, 0, {loop: dtype.itemsize})

    def _stage_row(self, value: Value) -> Access:
        """Bring the open row of an operand onto the chip; how it is read there."""
        (loop,), room = self.reduced, self._row_on_chip(value)
        source = self.joined.access(self.nest.access(value))
        nbytes = self.emitter.size(loop.dim * room.dtype.itemsize)
        target, buffer = self.buffers[room.buffer], self.buffers[source.buffer]
        self.emitter.here("stage", target, buffer, self.offset(source), nbytes)
        return room

    # Blocks in scratch memory

    def _stage_block(self, value: Value) -> Access:
        """Write what an operand has at the positions of the open block into scratch memory; how it is read there.

        Its rows run along the last part of the reduced loop.
        """
        emitter, (loop,), inner = self.emitter, self.reduced, self.joined.parts[-1]
        access, (first, last) = self.joined.uneven[value], self.ends(loop)
        length, one, step = emitter.size(maximum(inner.dim, 1)), emitter.size(1), access.strides.get(inner, 0)
        room = self._room_of_block(access, first)
        shown = Value(access.buffer.type, access.buffer.name)
        self.buffers[shown] = self.buffers[access.buffer]
        outer = {around: stride for around, stride in access.strides.items() if around in self.outer}
        read = Access(shown, access.dtype, 0, {**outer, inner: step})
        written = Access(room, access.dtype, 0, {inner: access.dtype.itemsize})
        lanes, vector = self.lanes, self.vector

        def turn(_: Sequence[Value]) -> Sequence[Value]:
            self.store(written, self.load(read))
            return ()

        def row(_: Sequence[Value]) -> Sequence[Value]:
            begin = emitter.arithmetic("multiply", emitter.position, length)
            start = emitter.arithmetic("maximum", first, begin)
            stop = emitter.arithmetic("minimum", last, emitter.arithmetic("add", begin, length))
            back = emitter.arithmetic("multiply", begin, emitter.size(step))
            self.bases[shown] = emitter.arithmetic("subtract", self._row_offset(access, emitter.position), back)
            left = emitter.emit("remainder_truncated", emitter.emit("subtract", stop, start), emitter.size(lanes))
            whole = emitter.emit("subtract", stop, left)
            emitter.loop(start, whole, emitter.size(lanes), (), turn, inner, lanes)
            emitter.rest(whole, stop, emitter.lanes_between(whole, stop, lanes), (), turn, inner, lanes)
            return ()

        self.vector = inner
        final = emitter.emit("divide_truncated", emitter.emit("subtract", last, one), length)
        begin = emitter.emit("divide_truncated", first, length)
        emitter.loop(begin, emitter.arithmetic("add", final, one), one, (), row)
        self.vector = vector
        return Access(room, access.dtype, 0, {loop: access.dtype.itemsize})

    def _room_of_block(self, access: Access, first: Value) -> Value:
        """Scratch memory for a block that begins at a position, a part for each thread that shares chunks or rows."""
        emitter, itemsize = self.emitter, access.dtype.itemsize
        room, nbytes = Value(access.buffer.type, "block"), BLOCK * itemsize
        threads = 1 if self.chunk_worker is None else self.target.threads
        self.scratch.append((self.buffer_for(room, access.dtype), nbytes * threads))
        worker = self.worker or self.chunk_worker
        start = emitter.size(0) if worker is None else emitter.arithmetic("multiply", worker, emitter.size(nbytes))
        before = emitter.arithmetic("multiply", first, emitter.size(itemsize))
        self.bases[room] = emitter.arithmetic("subtract", start, before)
        return room

    def _row_offset(self, access: Access, number: Value) -> Value:
        """Where a row begins: the byte offset of its number, counted over all parts but the last."""
        emitter, (outermost, *inside) = self.emitter, self.joined.parts[:-1]
        offset = self.start_of(access.buffer, access.offset)

        def add(part: Loop, place: Value) -> Value:
            share = emitter.arithmetic("multiply", place, emitter.size(access.strides.get(part, 0)))
            return emitter.arithmetic("add", offset, share)

        for part in reversed(inside):
            size = emitter.size(maximum(part.dim, 1))
            offset = add(part, emitter.emit("remainder_truncated", number, size))
            number = emitter.emit("divide_truncated", number, size)
        return add(outermost, number)

    # Saved values

    def make_room(self, keeps: Iterable[Keep]) -> None:
        """Find out where values lie that a later sweep needs again."""
        for keep in keeps:
            value = keep.value
            assert isinstance(value.type, Tensor)
            if keep.into is not None:
                self.hosts.add(keep.into)
                self.saved[value] = self.outputs[keep.into][2]
                continue
            if keep.on_chip:
                self.saved[value] = self._row_on_chip(value)
                continue
            row = Value(value.type, value.name)  # beside the value's own buffer, which it has if it is a result
            buffer = self.buffer_for(row, value.type.dtype)
            loops = [*self.outer, *self.reduced] if self.target.distributed else self.reduced
            strides: dict[Loop, Dim] = {}
            total: Dim = value.type.dtype.itemsize
            for loop in reversed(loops):
                strides[loop] = total
                total = total * loop.dim
            self.scratch.append((buffer, total))
            self.rows[row] = total
            self.saved[value] = Access(row, value.type.dtype, 0, strides)
