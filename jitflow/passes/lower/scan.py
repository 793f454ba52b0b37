"""Running accumulations: every line along the axis is one sequential loop, as in NumPy; lanes are lines."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.layout import Layout
from jitflow.ir.types import Buffer, Tensor
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.lower.kernel import Kernel, KernelArgument
from jitflow.passes.lower.program import HostProgram
from jitflow.passes.schedule.target import Target

__all__ = ["Scan", "lower_accumulation"]


def lower_accumulation(host: HostProgram, op: Op) -> None:
    """``accumulate_F``: result[i] = F(result[i - 1], operand[i]) along the axis."""
    (operand,) = op.operands
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    scan = Scan(op, type, op.attributes["axis"], (host.layouts[operand], storage.layout), host.target)
    arguments = [KernelArgument("operand"), KernelArgument("output")]
    host.launch(scan.kernel(f"accumulate_{len(host.kernels)}", scan.buffers, arguments), (operand,), (storage,))
    host.give(op.result, storage)


class Scan:
    """The kernel of one accumulation: loops over the lines, the innermost of them by vectors, and along each line."""

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
        self.lanes = (target.lanes or max(2, 2 * target.vector_bytes // type.dtype.itemsize)) if across else 0

    def kernel(self, name: str, buffers: Sequence[Value], arguments: Sequence[KernelArgument]) -> Kernel:
        """The finished kernel, given these buffers."""
        self._lines(0, [])
        sizes: list[tuple[Dim, Value]] = [(d, v) for d, v in self.emitter.sizes.items() if not isinstance(d, int)]
        region = self.emitter.close([*buffers, *(value for _, value in sizes)], [])
        function = Function(name, region, (), "loop", MappingProxyType({}))
        given = (*arguments, *(KernelArgument("size", 0, dim) for dim, _ in sizes))
        return Kernel(function, given, self.layouts[1:])

    def _lines(self, depth: int, indices: list[Value]) -> None:
        """The loops over the lines from ``depth`` on."""
        emitter, target = self.emitter, self.target
        if depth + 1 == len(self.order):
            self._line(indices)
            return

        def inner(_: Sequence[Value]) -> Sequence[Value]:
            self._lines(depth + 1, [*indices, _index(emitter)])
            return ()

        zero, length = emitter.size(0), emitter.size(self.type.dims[self.order[depth]])
        if depth + 2 < len(self.order) or not self.lanes:
            emitter.loop(zero, length, emitter.size(1), (), inner, parallel=target.distributed)
            return
        step = emitter.size(self.lanes)
        if target.masked:
            emitter.loop(zero, length, step, (), inner, lanes=self.lanes, masked=True, parallel=target.distributed)
        else:
            whole = emitter.size(self.type.dims[self.order[depth]] // self.lanes * self.lanes)
            emitter.loop(zero, whole, step, (), inner, lanes=self.lanes)
            emitter.rest(whole, length, emitter.lanes_between(whole, length, self.lanes), (), inner, None, self.lanes)

    def _line(self, indices: list[Value]) -> None:
        """One line, or lanes of neighbouring lines: it starts with its first element; an empty one has none."""
        emitter = self.emitter
        one, length = emitter.size(1), emitter.size(self.type.dims[self.order[-1]])

        def first(_: Sequence[Value]) -> Sequence[Value]:
            start = [*indices, _index(emitter)]
            begin = self._read(start)
            self._write(start, begin)

            def step(carried: Sequence[Value]) -> Sequence[Value]:
                here = [*indices, _index(emitter)]
                following = emitter.elementwise(self.fold, carried[0], self._read(here))
                self._write(here, following)
                return [following]

            emitter.loop(one, length, one, [begin], step)
            return ()

        emitter.loop(emitter.size(0), emitter.emit("minimum", length, one), one, (), first)

    def _read(self, indices: Sequence[Value]) -> Value:
        emitter, stride = self.emitter, self.layouts[0].strides[-1]
        place = self.buffers[0], self._offset(self.layouts[0], indices)
        if self.lanes and stride != self.type.dtype.itemsize:
            return emitter.here("read_strided", *place, emitter.size(stride), *self._mask, lanes=self.lanes)[0]
        return emitter.here("read", *place, *self._mask, lanes=self.lanes)[0]

    def _write(self, indices: Sequence[Value], value: Value) -> None:
        self.emitter.here("write", self.buffers[1], self._offset(self.layouts[1], indices), value, *self._mask)

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


def _index(emitter: Emitter) -> Value:
    index = emitter.scope.index
    assert index is not None
    return index
