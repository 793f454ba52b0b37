"""Draws from NumPy's generators.

A number is an op of the host program, which kernels of scalar code have as well. An array is memory that is filled, by
one call for all of it.
"""

from __future__ import annotations

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import product
from jitflow.ir.layout import contiguous
from jitflow.ir.types import Tensor, dims_of
from jitflow.passes.lower.numbers import lower_arithmetic
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import Storage

__all__ = ["lower_draw"]


def lower_draw(host: OwningProgram, op: Op) -> None:
    """The number, or memory of its own for the array."""
    if "dims" not in op.attributes:
        lower_arithmetic(host, op)
        return
    generator, *parameters = op.operands
    type = op.result.type
    assert isinstance(type, Tensor)
    copies: list[Storage] = []
    given = [_parameter(host, parameter, copies) for parameter in parameters]
    storage = host.allocate(type.dtype, type.dims)
    arrays = tuple(place for place, parameter in enumerate(parameters) if dims_of(parameter.type))
    host.builder.add(
        "fill_draws", host.number(generator), host.dim(product(type.dims)), storage.buffer, *given,
        method=op.attributes["method"], arrays=arrays,
    )  # fmt: skip
    for copy in copies:
        host.free(copy)
    host.give(op.result, storage)


def _parameter(host: OwningProgram, value: Value, copies: list[Storage]) -> Value:
    """A number, or memory with the elements one behind the other."""
    dims = dims_of(value.type)
    if not dims:
        return host.number(value)
    known = host.storage.get(value)
    if known is not None and host.layouts[value] == contiguous(dims, known.dtype.itemsize):
        return known.buffer
    copies.append(host.contiguous_copy(value))
    return copies[-1].buffer
