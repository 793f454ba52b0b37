"""Arrays that no kernel makes: constants and memory that is written to later."""

from __future__ import annotations

from jitflow.ir.core import Op
from jitflow.ir.types import Scalar, Tensor
from jitflow.passes.lower.numbers import lower_arithmetic
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["lower_constant", "lower_empty"]


def lower_constant(host: OwningProgram, op: Op) -> None:
    """A number, or a small array that is written element by element."""
    type = op.result.type
    if not isinstance(type, Tensor):
        lower_arithmetic(host, op)
        return
    storage = host.allocate(type.dtype, type.dims)
    for number, item in enumerate(_flat(op.attributes["value"], type.rank)):
        value = host.builder.make("constant", value=item, type=Scalar(type.dtype))
        host.builder.add("write", storage.buffer, host.dim(number * type.dtype.itemsize), value)
    host.give(op.result, storage)


def lower_empty(host: OwningProgram, op: Op) -> None:
    """Memory with whatever is in it."""
    host.give(op.result, host.allocate(op.attributes["dtype"], op.attributes["dims"]))
    host.unwritten.add(op.result)


def _flat(value: object, rank: int) -> list[object]:
    if rank == 0:
        return [value]
    assert isinstance(value, tuple)
    return [item for part in value for item in _flat(part, rank - 1)]
