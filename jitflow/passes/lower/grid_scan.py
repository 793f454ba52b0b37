"""Running accumulations on a GPU: lines are cut into chunks, which warps take at the same time.

    kernel 1: for line, for chunk, in parallel: what the chunk comes to               -> %cells
    kernel 2: for line: the running accumulation of %cells, in its place
    kernel 3: for line, for chunk, in parallel: from the cell before on, each element -> %out

Where lines lie without gaps a warp has 32 elements of one, and folds over them in five steps, in each of which a lane
takes in what lies 1, 2, 4, 8 and 16 lanes before it; the last lane has what goes on. Across lines, lanes are lines, and
each is one loop. Short lines, and those of which there are many, are one chunk, and one kernel. How long chunks are
depends on the shape alone, so the bits do; they are not those of a processor, which adds one by one as NumPy does.
Products and extremes of complex numbers, which have no number that changes nothing, stay one by one.

Rejected: a single kernel whose chunks wait for those before (decoupled look-back), which reads memory once and not
twice: it needs its blocks to be started in order, and to wait for each other in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim, maximum, minimum, product
from jitflow.ir.dtypes import F32, DType
from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Buffer, Tensor
from jitflow.passes.lower.fusions import lower_accumulation
from jitflow.passes.lower.kernels.emitter import Emitter
from jitflow.passes.lower.kernels.kernel import Kernel, KernelArgument
from jitflow.passes.lower.kernels.reduction import IDENTITY
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.schedule import cost
from jitflow.passes.schedule.target import Target
from jitflow.records import dataclass

__all__ = ["lower_accumulation_on_grid"]


def lower_accumulation_on_grid(host: OwningProgram, op: Op) -> None:
    """``accumulate_F``, in chunks where lines are long and few."""
    (operand,) = op.operands
    type = op.result.type
    assert isinstance(type, Tensor)
    if type.dtype.is_complex and op.name != "accumulate_add":
        lower_accumulation(host, op)
        return
    storage = host.allocate(type.dtype, type.dims)
    layouts, axis = (host.layouts[operand], storage.layout), op.attributes["axis"]
    make = partial(_GridScan, op, target=host.target)
    lines = [dim for place, dim in enumerate(type.dims) if place != axis]
    whole, length, count = make(type, axis, layouts), type.dims[axis], product(lines)
    least, most, long, few = cost.SCANS_ALONG if whole.is_along else cost.SCANS_DOWN
    chunk = least * maximum(length // (least * most), 1)
    joined = (length - 1) // chunk  # nothing follows the last chunk
    dims = (*lines, joined) if whole.is_along else (joined, *lines)
    cells = Tensor(whole.wide, dims)
    apart = contiguous(dims, whole.wide.itemsize)
    name = f"accumulate_{len(host.kernels)}"
    chosen = minimum(length // (long + 1), 1) * (1 - minimum(count // (few + 1), 1))
    cut = _Cut(type.dtype, chunk, joined, product(dims) * whole.wide.itemsize, apart)
    parts = (
        make(type, axis, layouts).part(f"{name}_chunks", "fold", cut),
        make(cells, len(lines) if whole.is_along else 0, (apart, apart)).part(f"{name}_cells", "join", cut),
        make(type, axis, layouts).part(f"{name}_rest", "finish", cut),
    )
    instead = whole.part(name, "whole", cut)
    if chosen == 0:
        kernel = instead
    else:
        kernel = replace(parts[0], following=parts[1:], choice=chosen, instead=None if chosen == 1 else instead)
    host.launch(kernel, (operand,), (storage,))
    host.give(op.result, storage)


_Lanes = tuple[Value, tuple[Value, ...]]
"""The position of the first of 32 lanes, and the mask of those that are there, if not all are."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """How lines of this dtype are cut: positions of a chunk, how many chunks others follow, and their cells."""

    dtype: DType
    chunk: Dim
    joined: Dim
    nbytes: Dim
    layout: Layout


class _GridScan:
    """One kernel of an accumulation: loops over lines, of which lanes are neighbours unless they are of one line."""

    def __init__(self, op: Op, type: Tensor, axis: int, layouts: tuple[Layout, Layout], target: Target) -> None:
        self.type = type
        self.fold = op.name.removeprefix("accumulate_")
        self.target = target
        self.layouts = layouts
        self.emitter = Emitter()
        self.emitter.loc = op.loc
        self.buffers = (Value(Buffer(type.dtype), "source"), Value(Buffer(type.dtype), "out"))
        self.emitter.depth_of.update(dict.fromkeys(self.buffers, 0))
        last = type.rank - 1
        self.order = [other for other in range(type.rank) if other != axis] + [axis]
        across = axis != last and type.dims[last] != 1
        self.lanes = target.lanes if across else 0

    def part(self, name: str, does: str, cut: _Cut) -> Kernel:
        """The kernel that folds chunks, joins what they come to, finishes them, or goes over whole lines."""
        self.does, self.cut = does, cut
        self.cells = Value(Buffer(self.wide), "cells")
        self.emitter.depth_of[self.cells] = 0
        if does == "join":
            self.buffers = (self.cells, self.cells)
        arguments = [KernelArgument("operand"), KernelArgument("output")]
        given = [Value(Buffer(cut.dtype), name) for name in ("source", "out")]
        given = given if does == "join" else [*self.buffers]
        if does != "whole":
            given.append(self.cells)
            arguments.append(KernelArgument("scratch", 0, cut.nbytes, self.wide))
        self._lines(0, [])
        sizes: list[tuple[Dim, Value]] = [(d, v) for d, v in self.emitter.sizes.items() if not isinstance(d, int)]
        arguments += (KernelArgument("size", 0, dim) for dim, _ in sizes)
        region = self.emitter.close([*given, *(value for _, value in sizes)], [])
        function = Function(name, region, (), "loop", MappingProxyType({}))
        return Kernel(function, tuple(arguments), self.layouts[1:])

    @property
    def is_along(self) -> bool:
        """Whether lanes are neighbours of a line."""
        return not self.lanes

    @property
    def wide(self) -> DType:
        """The dtype in which is folded: sums and products of half floats are rounded when they are written."""
        dtype = self.type.dtype
        return F32 if dtype.is_float and dtype.bits == 16 and self.fold in ("add", "multiply") else dtype

    def _as(self, dtype: DType, number: Value) -> Value:
        return number if self.wide == self.type.dtype else self.emitter.elementwise("cast", number, dtype=dtype)

    def _read(self, indices: Sequence[Value]) -> Value:
        emitter, stride, name = self.emitter, self.layouts[0].strides[-1], "read"
        place = [self.buffers[0], self._offset(self.layouts[0], indices)]
        if self.lanes and stride != self.type.dtype.itemsize:
            name, place = "read_strided", [*place, emitter.size(stride)]
        return self._as(self.wide, emitter.here(name, *place, *self._mask, lanes=self.lanes)[0])

    def _write(self, indices: Sequence[Value], value: Value) -> None:
        place, number = self._offset(self.layouts[1], indices), self._as(self.type.dtype, value)
        self.emitter.here("write", self.buffers[1], place, number, *self._mask)

    @property
    def _mask(self) -> tuple[Value, ...]:
        return tuple(scope.mask for scope in self.emitter.scopes if scope.mask is not None)

    def _offset(self, layout: Layout, indices: Sequence[Value]) -> Value:
        emitter = self.emitter
        total = emitter.size(layout.offset)
        for index, axis in zip(indices, self.order, strict=True):
            share = emitter.arithmetic("multiply", index, emitter.size(layout.strides[axis]))
            total = emitter.arithmetic("add", total, share)
        return total

    @property
    def identity(self) -> Value:
        """What changes no number that follows it; of zeros that is the one with a sign."""
        dtype = self.wide
        nothing = IDENTITY[self.fold](dtype)
        if self.fold == "add" and dtype.kind in "fc":
            nothing = complex(-0.0, -0.0) if dtype.is_complex else -0.0
        return self.emitter.number(nothing, dtype)

    def _lines(self, depth: int, indices: list[Value]) -> None:
        """The loops over the lines from ``depth`` on."""
        emitter = self.emitter
        if depth + 1 == len(self.order):
            self._line(indices)
            return

        def inner(_: Sequence[Value]) -> Sequence[Value]:
            self._lines(depth + 1, [*indices, self.emitter.position])
            return ()

        zero, length = emitter.size(0), emitter.size(self.type.dims[self.order[depth]])
        if depth + 2 < len(self.order) or not self.lanes:
            emitter.loop(zero, length, emitter.size(1), (), inner, parallel=True)
            return
        step = emitter.size(self.lanes)
        emitter.loop(zero, length, step, (), inner, lanes=self.lanes, masked=True, parallel=True)

    def _line(self, indices: list[Value]) -> None:
        emitter, cut = self.emitter, self.cut
        zero, one, length = emitter.size(0), emitter.size(1), emitter.size(self.type.dims[self.order[-1]])
        if self.does in ("whole", "join"):
            self._stretch(indices, zero, length, self.identity)
            return

        def chunk(_: Sequence[Value]) -> Sequence[Value]:
            number = emitter.position
            start = emitter.emit("multiply", number, emitter.size(cut.chunk))
            stop = emitter.emit("minimum", emitter.emit("add", start, emitter.size(cut.chunk)), length)
            if self.does == "fold":
                total = self._total(indices, start, stop)
                emitter.here("write", self.cells, self._cell(indices, number), total, *self._mask)
                return ()
            before = emitter.emit("maximum", emitter.emit("subtract", number, one), zero)
            cell = emitter.here("read", self.cells, self._cell(indices, before), *self._mask, lanes=self.lanes)[0]
            first = emitter.emit("equal", number, zero)
            self._stretch(indices, start, stop, emitter.elementwise("select", first, self.identity, cell))
            return ()

        count = cut.joined if self.does == "fold" else cut.joined + 1
        emitter.loop(zero, emitter.size(count), one, (), chunk, parallel=True)

    def _cell(self, indices: Sequence[Value], number: Value) -> Value:
        """Where the cell of a chunk lies."""
        places = [*indices, number] if self.is_along else [number, *indices]
        total = self.emitter.size(0)
        for place, stride in zip(places, self.cut.layout.strides, strict=True):
            share = self.emitter.arithmetic("multiply", place, self.emitter.size(stride))
            total = self.emitter.arithmetic("add", total, share)
        return total

    def _total(self, indices: list[Value], start: Value, stop: Value) -> Value:
        """What a chunk comes to, all of whose positions are there."""
        emitter = self.emitter
        nothing = self.identity if self.is_along else emitter.splat(self.identity, self.lanes)

        def down(carried: Sequence[Value]) -> Sequence[Value]:
            return [emitter.elementwise(self.fold, carried[0], self._read([*indices, self.emitter.position]))]

        def along(carried: Sequence[Value]) -> Sequence[Value]:
            (total,) = carried
            for _, numbers in self._neighbours(indices, None):
                total = emitter.elementwise(self.fold, total, numbers)
            return [total]

        if not self.is_along:
            return emitter.loop(start, stop, emitter.size(1), [nothing], down)[0]
        lanes = self.target.lanes
        step = emitter.size(lanes * cost.SCANNED_TOGETHER)
        (total,) = emitter.loop(start, stop, step, [emitter.splat(nothing, lanes)], along)
        return emitter.emit("extract_lane", self._running(total), emitter.size(lanes - 1))

    def _stretch(self, indices: list[Value], start: Value, stop: Value, before: Value) -> None:
        """Write what a stretch of a line comes to at each position, from what comes ``before`` on."""
        emitter = self.emitter

        def down(carried: Sequence[Value]) -> Sequence[Value]:
            here = [*indices, self.emitter.position]
            following = emitter.elementwise(self.fold, carried[0], self._read(here))
            self._write(here, following)
            return [following]

        def along(carried: Sequence[Value]) -> Sequence[Value]:
            (before,) = carried
            last = emitter.size(self.target.lanes - 1)
            for (place, mask), numbers in self._neighbours(indices, stop):
                done = emitter.elementwise(self.fold, before, self._running(numbers))
                self._write_lanes(self._offset(self.layouts[1], [*indices, place]), done, mask)
                before = emitter.emit("extract_lane", done, last)
            return [before]

        if self.is_along:
            step = emitter.size(self.target.lanes * cost.SCANNED_TOGETHER)
            emitter.loop(start, stop, step, [before], along)
        else:
            emitter.loop(start, stop, emitter.size(1), [emitter.splat(before, self.lanes)], down)

    # Lanes that are neighbours of a line

    def _neighbours(self, indices: list[Value], stop: Value | None) -> list[tuple[_Lanes, Value]]:
        """What the lanes of a turn have, several times: the position of the first, which are there, and the numbers.

        All are asked for before any is needed. Without a ``stop`` all are there.
        """
        emitter, lanes = self.emitter, self.target.lanes
        stride, found = self.layouts[0].strides[self.order[-1]], list[tuple[_Lanes, Value]]()
        for number in range(cost.SCANNED_TOGETHER):
            place = emitter.arithmetic("add", self.emitter.position, emitter.size(lanes * number))
            mask: tuple[Value, ...] = ()
            if stop is not None:
                mask = (emitter.emit("lanes_below", emitter.emit("subtract", stop, place), lanes=lanes),)
            operands = [self.buffers[0], self._offset(self.layouts[0], [*indices, place])]
            name = "read"
            if stride != self.type.dtype.itemsize:
                name, operands = "read_strided", [*operands, emitter.size(stride)]
            found.append(((place, mask), emitter.here(name, *operands, *mask, lanes=lanes)[0]))
        return [(where, self._as(self.wide, read)) for where, read in found]

    def _write_lanes(self, offset: Value, numbers: Value, mask: tuple[Value, ...]) -> None:
        stride, numbers = self.layouts[1].strides[self.order[-1]], self._as(self.type.dtype, numbers)
        if stride == self.type.dtype.itemsize:
            self.emitter.here("write", self.buffers[1], offset, numbers, *mask)
        else:
            self.emitter.here("write_strided", self.buffers[1], offset, self.emitter.size(stride), numbers, *mask)

    def _running(self, numbers: Value) -> Value:
        """The running accumulation of lanes."""
        emitter, lanes, shift = self.emitter, self.target.lanes, 1
        while shift < lanes:
            moved = emitter.emit("shift_lanes", numbers, count=shift)
            taken = emitter.elementwise(self.fold, moved, numbers)
            first = emitter.emit("lanes_below", emitter.size(shift), lanes=lanes)
            numbers, shift = emitter.elementwise("select", first, numbers, taken), 2 * shift
        return numbers
