"""Running accumulations: every line along the axis is one sequential loop, as in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from jitflow.ir.core import Function, Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.types import Buffer, Tensor
from jitflow.passes.layout import Layout, contiguous
from jitflow.passes.lower.emitter import Emitter
from jitflow.passes.lower.kernel import Kernel, KernelArgument
from jitflow.passes.lower.program import HostProgram

__all__ = ["lower_accumulation"]


def lower_accumulation(host: HostProgram, op: Op) -> None:
    """``accumulate_F``: result[i] = F(result[i - 1], operand[i]) along the axis."""
    (operand,) = op.operands
    type = op.result.type
    assert isinstance(type, Tensor)
    storage = host.allocate(type.dtype, type.dims)
    emitter = Emitter()
    source, target = Value(Buffer(type.dtype), "source"), Value(Buffer(type.dtype), "out")
    emitter.depth_of.update({source: 0, target: 0})
    emitter.loc = op.loc
    axis = op.attributes["axis"]
    from_layout, to_layout = host.layouts[operand], contiguous(type.dims, type.dtype.itemsize)
    fold = op.name.removeprefix("accumulate_")

    def offset(layout: Layout, indices: Sequence[Value]) -> Value:
        total = emitter.size(layout.offset)
        for index, stride in zip(indices, (layout.strides[a] for a in order), strict=False):
            total = emitter.arithmetic("add", total, emitter.arithmetic("multiply", index, emitter.size(stride)))
        return total

    order = [other for other in range(type.rank) if other != axis] + [axis]
    zero, one = emitter.size(0), emitter.size(1)

    def nest(depth: int, indices: list[Value]) -> None:
        length = emitter.size(type.dims[order[depth]])
        if depth + 1 < len(order):

            def inner(_: Sequence[Value]) -> Sequence[Value]:
                nest(depth + 1, [*indices, _index(emitter)])
                return ()

            emitter.loop(zero, length, one, (), inner, parallel=host.target.distributed)
            return

        def first(_: Sequence[Value]) -> Sequence[Value]:
            """The line starts with its first element; an empty line has none."""
            start = [*indices, _index(emitter)]
            (begin,) = emitter.here("read", source, offset(from_layout, start), lanes=0)
            emitter.here("write", target, offset(to_layout, start), begin)

            def step(carried: Sequence[Value]) -> Sequence[Value]:
                here = [*indices, _index(emitter)]
                (element,) = emitter.here("read", source, offset(from_layout, here), lanes=0)
                following = emitter.elementwise(fold, carried[0], element)
                emitter.here("write", target, offset(to_layout, here), following)
                return [following]

            emitter.loop(one, length, one, [begin], step)
            return ()

        emitter.loop(zero, emitter.emit("minimum", length, one), one, (), first)

    nest(0, [])
    sizes: list[tuple[Dim, Value]] = [(d, v) for d, v in emitter.sizes.items() if not isinstance(d, int)]
    region = emitter.close([source, target, *(value for _, value in sizes)], [])
    function = Function(f"accumulate_{len(host.kernels)}", region, (), "loop", MappingProxyType({}))
    arguments = (
        KernelArgument("operand", 0),
        KernelArgument("output", 0),
        *(KernelArgument("size", 0, dim) for dim, _ in sizes),
    )
    host.launch(Kernel(function, arguments, (storage.layout,)), (operand,), (storage,))
    host.give(op.result, storage)


def _index(emitter: Emitter) -> Value:
    index = emitter.scope.index
    assert index is not None
    return index
