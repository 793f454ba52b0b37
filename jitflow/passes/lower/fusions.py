"""A ``fusion`` on the host: memory for its results and the launch of its kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from jitflow.ir.core import Op, Value
from jitflow.ir.layout import Layout
from jitflow.ir.types import Scalar, Tensor, dims_of
from jitflow.passes.lower.concatenation import part_of
from jitflow.passes.lower.kernel import lower_nest
from jitflow.passes.lower.numbers import is_number_work, lower_number_work, with_numbers
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.packing import packed_layouts
from jitflow.passes.lower.program import Storage
from jitflow.passes.lower.tapes import room_on_tape
from jitflow.passes.plan.in_place import replaces_own_elements

__all__ = ["Place", "allocate_outputs", "give_results", "layouts_of", "lower_fusion", "places_of"]


def lower_fusion(host: OwningProgram, op: Op) -> None:
    """Launch the kernel of a fusion, or do its arithmetic here if that is on numbers alone."""
    if is_number_work(op) and not host.target.distributed:
        lower_number_work(host, op)
        return
    op = with_numbers(host, op)
    layouts = layouts_of(host, op)
    packed = packed_layouts(op, layouts)
    stored = [host.storage.get(operand) for operand in op.operands]
    for position, layout in packed.items():
        operand = op.operands[position]
        assert isinstance(operand.type, Tensor)
        stored[position] = target = host.allocate(operand.type.dtype, operand.type.dims, layout)
        host.copy_into(operand, target, layout)
        layouts[position] = layout
    places = places_of(host, op)
    into = {position: places[result].layout for position, result in enumerate(op.results) if result in places}
    reshaped = any(result in host.reshaped for result in op.results)
    name = host.kernel_name(op.attributes["kernel"] + host.suffix)
    used = [position for position, result in enumerate(op.results) if result in host.starts]
    kernel = lower_nest(op, layouts, host.target, name=name, keep_order=reshaped, into=into, used=used)
    outputs = allocate_outputs(host, op, places, kernel.layouts)
    host.launch(kernel, op.operands, outputs, stored)
    for position in packed:
        copied = stored[position]
        assert copied is not None
        host.free(copied)
    give_results(host, op, places, outputs)


def layouts_of(host: OwningProgram, op: Op) -> list[Layout | None]:
    """How the operands of a fusion lie; None for numbers."""
    return [host.layouts[operand] if isinstance(operand.type, Tensor) else None for operand in op.operands]


def places_of(host: OwningProgram, op: Op, factors: Sequence[Value] = ()) -> dict[Value, Place]:
    """Where those results go that get no memory of their own. The ``factors`` are read while they are written."""
    found = {result: _place_of(host, op, result, factors) for result in op.results}
    return {result: place for result, place in found.items() if place is not None}


def allocate_outputs(
    host: OwningProgram, op: Op, places: Mapping[Value, Place], layouts: Sequence[Layout]
) -> list[Storage]:
    """Memory for the results, which lie as ``layouts`` say where they get memory of their own."""
    return [
        places[result].storage if result in places else host.allocate(result.type.dtype, dims_of(result.type), layout)  # type: ignore[union-attr]
        for result, layout in zip(op.results, layouts, strict=True)
    ]


def give_results(host: OwningProgram, op: Op, places: Mapping[Value, Place], outputs: Sequence[Storage]) -> None:
    """The results are what a kernel has written, as far as nobody else owns that."""
    for result, storage in zip(op.results, outputs, strict=True):
        if isinstance(result.type, Scalar):
            host.set_number(result, host.builder.make("read", storage.buffer, host.dim(0), lanes=0))
            host.free(storage)
        elif result not in places or host.pushes.get(result) in host.stored:
            host.give(result, storage)


@dataclass(frozen=True, slots=True)
class Place:
    """Memory that exists, and how a result lies in it."""

    storage: Storage
    layout: Layout


def _place_of(host: OwningProgram, op: Op, result: Value, factors: Sequence[Value]) -> Place | None:
    """Where a result goes that gets no memory of its own: a concatenation, the place that it is stored to, a tape."""
    if result in host.destinations:
        concatenation, layout = host.destinations[result]
        return Place(part_of(host, concatenation), layout)
    if result in host.pushes:
        push = host.pushes[result]
        host.stored.add(push)
        room = room_on_tape(host, push.operands[0], result)
        return Place(room, room.layout)
    early = host.early.get(result)
    if early is None:
        return None
    for view in early.views:
        host.view(view)
    place = early.store.operands[0]
    storage, layout = host.storage[place], host.layouts[place]
    if any(host.may_overlap(factor, place) for factor in factors):
        return None
    for operand, parameter in zip(op.operands, op.regions[0].parameters, strict=True):
        if operand not in host.storage or not host.may_overlap(operand, place):
            continue
        layouts = {
            inner: host.layouts[outer]
            for outer, inner in zip(op.operands, op.regions[0].parameters, strict=True)
            if isinstance(inner.type, Tensor)
        }
        same = host.storage[operand] is storage
        apart = partial(host.disjoint.never_meet, place=place, fusion=op)
        inside = op.regions[0].yielded[op.results.index(result)]
        if not same or not replaces_own_elements(op, layouts, parameter, inside, layout, apart):
            return None
    host.stored.add(early.store)
    return Place(storage, layout)
