"""A ``fusion`` on the host: memory for its results and the launch of its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitflow.ir.core import Op
from jitflow.ir.dims import product
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.lower.kernel import lower_nest
from jitflow.passes.lower.numbers import is_number_work, lower_number_work, with_numbers
from jitflow.passes.lower.packing import packed_layouts

if TYPE_CHECKING:
    from jitflow.passes.lower.host import HostLowering

__all__ = ["lower_fusion"]


def lower_fusion(host: HostLowering, op: Op) -> None:
    """Launch the kernel of a fusion, or do its arithmetic here if that is on numbers alone."""
    if is_number_work(op) and not host.target.distributed:
        lower_number_work(host, op)
        return
    op = with_numbers(host, op)
    _check_not_empty(host, op)
    layouts = [host.layouts[operand] if isinstance(operand.type, Tensor) else None for operand in op.operands]
    packed = packed_layouts(op, layouts)
    stored = [host.storage.get(operand) for operand in op.operands]
    for position, layout in packed.items():
        operand = op.operands[position]
        assert isinstance(operand.type, Tensor)
        stored[position] = target = host.allocate(operand.type.dtype, operand.type.dims, layout)
        host.copy_into(operand, target, layout)
        layouts[position] = layout
    into = {
        position: host.destinations[result][1]
        for position, result in enumerate(op.results)
        if result in host.destinations
    }
    reshaped = any(result in host.reshaped for result in op.results)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    kernel = lower_nest(op, layouts, host.target, name=name, keep_order=reshaped, into=into)
    outputs = [
        host.part_of(host.destinations[result][0])
        if result in host.destinations
        else host.allocate(result.type.dtype, dims_of(result.type), layout)  # type: ignore[union-attr]
        for result, layout in zip(op.results, kernel.layouts, strict=True)
    ]
    host.launch(kernel, op.operands, outputs, stored)
    for position in packed:
        copied = stored[position]
        assert copied is not None
        host.free(copied)
    for result, storage in zip(op.results, outputs, strict=True):
        if isinstance(result.type, Scalar):
            host.set_number(result, host.builder.make("read", storage.buffer, host.dim(0), lanes=0))
            host.free(storage)
        elif result not in host.destinations:
            host.give(result, storage)


def _check_not_empty(host: HostLowering, op: Op) -> None:
    """A maximum of nothing is an error, unless there is no result to hold it."""
    for inner in op.regions[0].body:
        if not inner.definition.traits & {"reduction"} or not inner.own_effects:
            continue
        operand = inner.operands[0]
        folded = product([dims_of(operand.type)[axis] for axis in inner.attributes["axes"]])
        if isinstance(folded, int) and folded > 0:
            continue
        kept = product(dims_of(inner.result.type))
        name = inner.name.removeprefix("reduce_")
        message = (
            f"attempt to get {name} of an empty sequence"
            if name.startswith("arg")
            else f"zero-size array to reduction operation {name} which has no identity"
        )
        host.builder.loc = inner.loc
        zero = host.dim(0)
        holds = host.builder.make("greater", host.dim(folded), zero)
        if kept != 1:
            holds = host.builder.make("logical_or", holds, host.builder.make("equal", host.dim(kept), zero))
        host.builder.add("check", holds, error="ValueError", message=message)
        host.builder.loc = op.loc
