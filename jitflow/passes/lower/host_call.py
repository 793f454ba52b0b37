"""Calls of routines from the host program: operands are memory as it lies, numbers go through memory too.

A result that binds sizes comes with memory that the routine's caller has taken from the pool, and so does every array
that comes of a call outside of loops: the caller takes over the memory in which NumPy has put it, where that is of the
pool. In loops, and for a routine whose work compiled code does, memory is allocated here, like every other.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, symbols
from jitflow.ir.dtypes import DType
from jitflow.ir.inner_loops import inner_loop
from jitflow.ir.layout import contiguous
from jitflow.ir.routine_table import row_of
from jitflow.ir.routines import comes_with_memory
from jitflow.ir.types import Buffer, Scalar, Tensor, dims_of
from jitflow.passes.lower.owning import OwningProgram
from jitflow.passes.lower.program import HostProgram, Storage

__all__ = ["lower_host_call"]


def lower_host_call(host: OwningProgram, op: Op) -> None:
    """Call the routine, and bind its results and sizes."""
    overwritten, count = _overwritten(host, op), len(op.operands) - op.attributes.get("held", 0)
    operands, takes, passing = _taken(host, (*overwritten, *op.operands[len(overwritten) : count]))
    fresh: dict[Dim, int] = {}
    gives = [
        (result.type.dtype, tuple(_number(host, dim, fresh) for dim in dims_of(result.type)))
        for result in op.results if isinstance(result.type, Tensor | Scalar)
    ]  # fmt: skip
    attributes = {name: op.attributes[name] for name in ("routine", "keywords", "options")}
    attributes |= {"takes": tuple(takes), "gives": tuple(gives)}
    if not (overwritten or host.target.distributed or host.is_in_loop(op) or inner_loop(attributes)):
        attributes["makes"] = True
    places: list[Storage | None] = []
    for result, (dtype, numbers) in zip(op.results, gives, strict=True):
        if overwritten and not places:
            places.append(host.storage[overwritten[0]])
        else:
            comes = comes_with_memory(attributes, numbers)
            places.append(None if comes else host.allocate(dtype, dims_of(result.type)))
        operands += [place.buffer for place in places[-1:] if place is not None]
        operands += [host.dim(dim) for dim, number in zip(dims_of(result.type), numbers, strict=True) if number < 0]
    if "on_failure" in op.attributes:
        held, taken, through = _taken(host, op.operands[count:])
        operands, passing = [*operands, *held], [*passing, *through]
        following = {"routine": op.attributes["on_failure"], "keywords": (), "options": ()}
        attributes["on_failure"] = (*following.items(), ("takes", tuple(taken)), ("gives", ()))
    made = list(host.builder.add("invoke", *operands, **attributes))
    for dim, number in fresh.items():
        host.scopes.bind(str(dim), made[len(made) - len(fresh) + number])
    for place in passing:
        host.free(place)
    _give(host, op, places, made)


def _taken(
    host: OwningProgram, given: Sequence[Value]
) -> tuple[list[Value], list[tuple[DType, int | str]], list[Storage]]:
    """What describes the operands, what they are, and the memory through which numbers go."""
    operands: list[Value] = []
    takes: list[tuple[DType, int | str]] = []
    passing: list[Storage] = []
    for operand in given:
        type = operand.type
        assert isinstance(type, Tensor | Scalar)
        if operand in host.storage:
            takes.append((type.dtype, len(dims_of(type))))
            operands += _described(host, operand)
        else:
            takes.append((type.dtype, 0 if isinstance(type, Tensor) else "python" if type.weak else "numpy"))
            place = host.allocate(type.dtype, ())
            host.builder.add("write", place.buffer, host.dim(0), host.number(operand))
            operands.append(place.buffer)
            passing.append(place)
    return operands, takes, passing


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
