"""Concatenations on the host: memory into which kernels write the parts that they compute (`destinations.py`)."""

from __future__ import annotations

from jitflow.ir.core import Op
from jitflow.ir.types import Tensor
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage
from jitflow.passes.plan.destinations import parts_of

__all__ = ["lower_concatenate", "part_of"]


def lower_concatenate(host: OwningProgram, op: Op) -> None:
    """Copy the parts that no kernel has written in place."""
    place = host.plan.places.get(op.result)
    storage = part_of(host, op if place is None else place.op)
    for operand, layout in parts_of(op, None if place is None else place.layout):
        if operand not in host.plan.inside:
            host.copy_into(operand, storage, layout)
    if place is None:
        host.give(op.result, storage)


def part_of(host: OwningProgram, op: Op) -> Storage:
    """The memory of a concatenation, made when its first part is."""
    if op not in host.concatenations:
        type = op.result.type
        assert isinstance(type, Tensor)
        host.concatenations[op] = host.allocate(type.dtype, type.dims)
    return host.concatenations[op]
