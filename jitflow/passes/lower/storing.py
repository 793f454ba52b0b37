"""Variables and writes to them.

A variable is memory, and every view of it a layout. One that a region makes and hands on as what a place shows is kept
until the end of the program, since nobody knows which turn's it is that is shown last. A ``store`` copies its value to
where the place lies, unless the kernel that computes the value has written it there.
"""

from __future__ import annotations

from jitflow.ir.core import Op, Value
from jitflow.ir.types import Place, Scalar, Tensor, Variable, dims_of
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["lower_load", "lower_store", "lower_variable"]


def lower_load(host: OwningProgram, op: Op) -> None:
    """A load is a layout of the variable's memory; one number is read here and now."""
    place = op.operands[0]
    host.storage[op.result] = host.storage[place]
    if not dims_of(op.result.type):
        host.number(op.result)


def lower_variable(host: OwningProgram, op: Op) -> None:
    """New memory with the elements of the operand: the operand's own, where nothing else uses it."""
    (value,) = op.operands
    kind = op.result.type
    assert isinstance(kind, Variable)
    kept = host.plan.blocks[op.result].kept
    if isinstance(value.type, Tensor) and not kept:
        host.give(op.result, host.take(op, value))
        return
    storage = host.allocate(kind.dtype, kind.dims, kept=kept)
    if value not in host.unwritten:
        host.copy_into(value, storage, storage.layout)
    host.give(op.result, storage)


def lower_store(host: OwningProgram, op: Op) -> None:
    """Write a value to where a place lies; a number fills it."""
    if op in host.plan.written:
        return
    place, value = op.operands
    kind = place.type
    assert isinstance(kind, Variable | Place)
    assert isinstance(value.type, Tensor | Scalar)
    storage, layout = host.storage[place], host.layouts[place]
    if op not in host.plan.copied:
        host.copy_into(value, storage, layout, kind.dims)
        return
    copied = host.contiguous_copy(value)
    temporary = Value(value.type, value.name)
    host.give(temporary, copied)
    host.copy_into(temporary, storage, layout, kind.dims)
    host.free(copied)
