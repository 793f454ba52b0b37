"""A ``fusion`` on the host: memory for its results and the launch of its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.fusion.fused_region import Group, fusion_op
from jitflow.passes.fusion.nest import nest_of
from jitflow.passes.lower.concatenation import part_of
from jitflow.passes.lower.kernels.kernel import Kernel
from jitflow.passes.lower.kernels.ways import lower_nest
from jitflow.passes.lower.numbers import lower_number_work, with_numbers
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.packing import packed_layouts
from jitflow.passes.lower.program import Storage
from jitflow.passes.lower.tapes import room_on_tape
from jitflow.passes.plan.record import Place

__all__ = [
    "allocate_outputs",
    "give_results",
    "layouts_of",
    "lower_accumulation",
    "lower_fusion",
    "memory_of",
    "placed_layouts",
    "places_of",
]


def lower_fusion(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion, or do its arithmetic here if that is on numbers alone."""
    if op in host.plan.computed:
        lower_number_work(host, op)
        return
    backwards, nest = op in host.plan.backwards, host.plan.nests.get(op)
    op = with_numbers(host, op)
    layouts = layouts_of(host, op)
    nest = nest or nest_of(op, layouts)
    packed = packed_layouts(nest)
    stored = [host.storage.get(operand) for operand in op.operands]
    for position, layout in packed.items():
        operand = op.operands[position]
        assert isinstance(operand.type, Tensor)
        stored[position] = target = host.allocate(operand.type.dtype, operand.type.dims, layout)
        host.copy_into(operand, target, layout)
        layouts[position] = layout
    if packed:
        nest = nest_of(op, layouts)
    places = places_of(host, op)
    used = [position for position, result in enumerate(op.results) if result in host.plan.started]
    into, base = placed_layouts(host, op), op.attributes["kernel"] + host.suffix

    def make() -> Kernel:
        name = host.kernel_name(base)
        return lower_nest(op, nest, host.target, name=name, backwards=backwards, into=into, used=used)

    kernel = host.once(make, *layouts, *into.items(), backwards, *used, region=op.regions[0])
    outputs = allocate_outputs(host, op, places)
    host.launch(kernel, op.operands, outputs, stored)
    for position in packed:
        copied = stored[position]
        assert copied is not None
        host.free(copied)
    give_results(host, op, outputs)


def lower_accumulation(host: OwningProgram, op: Op) -> None:
    """A running accumulation, as a fusion of its own, in memory of its own."""
    type = op.result.type
    assert isinstance(type, Tensor)
    base = "accumulate" + host.suffix
    fusion, layouts = fusion_op(Group(op), [op.result], {}, base), layouts_of(host, op)
    storage = host.allocate(type.dtype, type.dims)

    def make() -> Kernel:
        return lower_nest(fusion, nest_of(fusion, layouts), host.target, name=host.kernel_name(base))

    kernel = host.once(make, *layouts, region=fusion.regions[0])
    host.launch(kernel, op.operands, (storage,))
    host.give(op.result, storage)


def layouts_of(host: OwningProgram, op: Op) -> list[Layout | None]:
    """How the operands of a fusion lie; None for numbers."""
    return [host.layouts[operand] if isinstance(operand.type, Tensor) else None for operand in op.operands]


def placed_layouts(host: OwningProgram, op: Op) -> dict[int, Layout]:
    """How those results lie, by position, that get no memory of their own."""
    places, replaced = host.plan.places, host.plan.replaced
    found = {number: places[result].layout for number, result in enumerate(op.results) if result in places}
    found.update((number, host.layouts[replaced[one]]) for number, one in enumerate(op.results) if one in replaced)
    return found


def places_of(host: OwningProgram, op: Op) -> dict[Value, Storage]:
    """The memory of those results that get none of their own."""
    places, replaced = host.plan.places, host.plan.replaced
    found = {result: memory_of(host, result, places[result]) for result in op.results if result in places}
    found.update((result, host.whole(replaced[result])) for result in op.results if result in replaced)
    return found


def memory_of(host: OwningProgram, result: Value, place: Place) -> Storage:
    """Where a result goes that gets no memory of its own: a concatenation, where it is stored to, the end of a tape."""
    if place.op.name == "concatenate":
        return part_of(host, place.op)
    if place.op.name == "push":
        return room_on_tape(host, place.op.operands[0], result)
    for view in place.views:
        host.view(view)
    return host.storage[place.op.operands[0]]


def allocate_outputs(host: OwningProgram, op: Op, places: Mapping[Value, Storage]) -> list[Storage]:
    """Memory for the results, as the plan has it; numbers go through memory as well."""
    outputs: list[Storage] = []
    for result in op.results:
        type = result.type
        assert isinstance(type, Tensor | Scalar)
        own = places.get(result)
        outputs.append(own or host.allocate(type.dtype, dims_of(type), host.layouts.get(result)))
    return outputs


def give_results(host: OwningProgram, op: Op, outputs: Sequence[Storage]) -> None:
    """The results are what a kernel has written, as far as nobody else owns that."""
    for result, storage in zip(op.results, outputs, strict=True):
        if isinstance(result.type, Scalar):
            host.set_number(result, host.builder.make("read", storage.buffer, host.dim(0), lanes=0))
            host.free(storage)
        elif result in host.plan.blocks:
            host.give(result, storage)
