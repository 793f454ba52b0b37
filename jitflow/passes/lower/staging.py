"""Operands that are brought nearer before loops read them: rows onto the chip of a GPU, blocks into scratch memory.

What is summed up is one long row, of which a bias is another part in each turn, a column the same number for a while,
and a strided array has gaps. In front of the loops of a block its elements are written down as they come:

    x: f32[n, m],  b: f32[m]           block of (x + b).sum()         b[3] ... b[m - 1]  b[0] ... b[m - 1]  b[0] ...

A block is in the first cache, so this takes little beside what reads memory or computes more than a sum: what a bias is
added to in the caches is summed up at four fifths of the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitflow.ir.core import Value
from jitflow.ir.dims import maximum
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop
from jitflow.passes.schedule.folding import BLOCK

if TYPE_CHECKING:
    from jitflow.passes.lower.elements import Elements

__all__ = ["row_on_chip", "stage_block", "stage_row"]


def row_on_chip(elements: Elements, value: Value) -> Access:
    """Memory on the chip for a row of a value."""
    assert isinstance(value.type, Tensor)
    dtype, (loop,) = value.type.dtype, elements.reduced
    row = Value(value.type, value.name)
    nbytes = elements.emitter.size(loop.dim * dtype.itemsize)
    elements.buffers[row] = elements.emitter.emit("on_chip", nbytes, depth=0, dtype=dtype)
    return Access(row, dtype, 0, {loop: dtype.itemsize})


def stage_row(elements: Elements, value: Value) -> Access:
    """Bring the open row of an operand onto the chip; how it is read there."""
    (loop,), room = elements.reduced, row_on_chip(elements, value)
    source = elements.joined.access(elements.nest.access(value))
    nbytes = elements.emitter.size(loop.dim * room.dtype.itemsize)
    target, buffer = elements.buffers[room.buffer], elements.buffers[source.buffer]
    elements.emitter.here("stage", target, buffer, elements.offset(source), nbytes)
    return room


def stage_block(elements: Elements, value: Value) -> Access:
    """Write what an operand has at the positions of the open block into scratch memory; how it is read there.

    Its rows run along the last part of the reduced loop.
    """
    emitter, (loop,), inner = elements.emitter, elements.reduced, elements.joined.parts[-1]
    access, (first, last) = elements.joined.uneven[value], elements.ends(loop)
    length, one, step = emitter.size(maximum(inner.dim, 1)), emitter.size(1), access.strides.get(inner, 0)
    room = _room(elements, access, first)
    shown = Value(access.buffer.type, access.buffer.name)
    elements.buffers[shown] = elements.buffers[access.buffer]
    outer = {around: stride for around, stride in access.strides.items() if around in elements.outer}
    read = Access(shown, access.dtype, 0, {**outer, inner: step})
    written = Access(room, access.dtype, 0, {inner: access.dtype.itemsize})
    lanes, vector = elements.lanes, elements.vector

    def turn(_: Sequence[Value]) -> Sequence[Value]:
        elements.store(written, elements.load(read))
        return ()

    def row(_: Sequence[Value]) -> Sequence[Value]:
        begin = emitter.arithmetic("multiply", emitter.position, length)
        start = emitter.arithmetic("maximum", first, begin)
        stop = emitter.arithmetic("minimum", last, emitter.arithmetic("add", begin, length))
        back = emitter.arithmetic("multiply", begin, emitter.size(step))
        elements.bases[shown] = emitter.arithmetic("subtract", _row_offset(elements, access, emitter.position), back)
        left = emitter.emit("remainder_truncated", emitter.emit("subtract", stop, start), emitter.size(lanes))
        whole = emitter.emit("subtract", stop, left)
        emitter.loop(start, whole, emitter.size(lanes), (), turn, inner, lanes)
        emitter.rest(whole, stop, emitter.lanes_between(whole, stop, lanes), (), turn, inner, lanes)
        return ()

    elements.vector = inner
    final = emitter.emit("divide_truncated", emitter.emit("subtract", last, one), length)
    begin = emitter.emit("divide_truncated", first, length)
    emitter.loop(begin, emitter.arithmetic("add", final, one), one, (), row)
    elements.vector = vector
    return Access(room, access.dtype, 0, {loop: access.dtype.itemsize})


def _room(elements: Elements, access: Access, first: Value) -> Value:
    """Scratch memory for a block that begins at a position, a part of it for each thread that shares chunks or rows."""
    emitter, itemsize = elements.emitter, access.dtype.itemsize
    room, nbytes = Value(access.buffer.type, "block"), BLOCK * itemsize
    threads = 1 if elements.chunk_worker is None else elements.target.threads
    elements.scratch.append((elements.buffer_for(room, access.dtype), nbytes * threads))
    worker = elements.worker or elements.chunk_worker
    start = emitter.size(0) if worker is None else emitter.arithmetic("multiply", worker, emitter.size(nbytes))
    before = emitter.arithmetic("multiply", first, emitter.size(itemsize))
    elements.bases[room] = emitter.arithmetic("subtract", start, before)
    return room


def _row_offset(elements: Elements, access: Access, number: Value) -> Value:
    """Where a row begins: the byte offset of its number, counted over all parts but the last."""
    emitter, (outermost, *inside) = elements.emitter, elements.joined.parts[:-1]
    offset = elements.start_of(access.buffer, access.offset)
    for part in reversed(inside):
        size = emitter.size(maximum(part.dim, 1))
        place = emitter.emit("remainder_truncated", number, size)
        offset = emitter.arithmetic(
            "add", offset, emitter.arithmetic("multiply", place, _stride(elements, access, part))
        )
        number = emitter.emit("divide_truncated", number, size)
    return emitter.arithmetic(
        "add", offset, emitter.arithmetic("multiply", number, _stride(elements, access, outermost))
    )


def _stride(elements: Elements, access: Access, part: Loop) -> Value:
    return elements.emitter.size(access.strides.get(part, 0))
