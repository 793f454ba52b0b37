"""Calls of routines from the host program: operands are memory as it lies, numbers go through memory too.

Where all dims of a result are known its memory is allocated here, like every other; a result that binds sizes comes
with memory that the routine's caller has taken from the pool.
"""

from __future__ import annotations

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.layout import contiguous
from jitflow.ir.routine_table import row_of
from jitflow.ir.types import Buffer, Scalar, Tensor, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import HostProgram, Storage

__all__ = ["lower_host_call"]


def lower_host_call(host: OwningProgram, op: Op) -> None:
    """Call the routine, and bind its results and sizes."""
    builder = host.builder
    operands: list[Value] = []
    takes: list[tuple[object, int | str]] = []
    passing: list[Storage] = []
    overwritten = _overwritten(host, op)
    for operand in (*overwritten, *op.operands[len(overwritten) :]):
        type = operand.type
        assert isinstance(type, Tensor | Scalar)
        if operand in host.storage:
            takes.append((type.dtype, len(dims_of(type))))
            operands += _described(host, operand)
        else:
            takes.append((type.dtype, 0 if isinstance(type, Tensor) else "python" if type.weak else "numpy"))
            place = host.allocate(type.dtype, ())
            builder.add("write", place.buffer, host.dim(0), host.number(operand))
            operands.append(place.buffer)
            passing.append(place)
    fresh: dict[Dim, int] = {}
    gives = []
    places: list[Storage | None] = []
    for result in op.results:
        type = result.type
        assert isinstance(type, Tensor | Scalar)
        numbers = tuple(_number(host, dim, fresh) for dim in dims_of(type))
        gives.append((type.dtype, numbers))
        known = all(number < 0 for number in numbers)
        if overwritten and not places:
            places.append(host.storage[overwritten[0]])
        else:
            places.append(host.allocate(type.dtype, dims_of(type)) if known else None)
        operands += [place.buffer for place in places[-1:] if place is not None]
        operands += [host.dim(dim) for dim, number in zip(dims_of(type), numbers, strict=True) if number < 0]
    attributes = {name: op.attributes[name] for name in ("routine", "keywords", "options")}
    made = list(builder.add("invoke", *operands, takes=tuple(takes), gives=tuple(gives), **attributes))
    for dim, number in fresh.items():
        host.scopes.bind(str(dim), made[len(made) - len(fresh) + number])
    for place in passing:
        host.free(place)
    _give(host, op, places, made)


def _overwritten(host: OwningProgram, op: Op) -> tuple[Value, ...]:
    """What stands for an operand whose memory the first result takes over: that memory, or a copy."""
    if not row_of(op.attributes["routine"]).overwrites:
        return ()
    operand = Value(op.operands[0].type)
    host.give(operand, host.take(op, op.operands[0]))
    return (operand,)


def _described(host: HostProgram, operand: Value) -> list[Value]:
    """Buffer, dims and strides of an operand in memory."""
    layout, buffer = host.layouts[operand], host.storage[operand].buffer
    if layout.offset != 0:
        buffer = host.builder.make("offset", buffer, host.dim(layout.offset))
    return [buffer, *map(host.dim, dims_of(operand.type)), *map(host.dim, layout.strides)]


def _number(host: HostProgram, dim: Dim, fresh: dict[Dim, int]) -> int:
    """The number of the size that a dim is, if the call binds it; -1 for what is known before."""
    if all(map(host.scopes.knows, symbols(dim))):
        return -1
    return fresh.setdefault(dim, len(fresh))


def _give(host: HostProgram, op: Op, places: list[Storage | None], made: list[Value]) -> None:
    buffers = iter(value for value in made if isinstance(value.type, Buffer))
    for result, place in zip(op.results, places, strict=True):
        type = result.type
        assert isinstance(type, Tensor | Scalar)
        if isinstance(type, Scalar):
            assert place is not None
            host.set_number(result, host.builder.make("read", place.buffer, host.dim(0), lanes=0))
            host.free(place)
            continue
        if place is None:
            layout = contiguous(type.dims, type.dtype.itemsize)
            nbytes = host.dim(_bytes(type))
            place = Storage(next(buffers), nbytes, -1, type.dtype, type.dims, layout)
        host.give(result, place)


def _bytes(type: Tensor) -> Dim:
    total: Dim = type.dtype.itemsize
    for dim in type.dims:
        total = total * dim
    return total
