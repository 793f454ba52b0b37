"""Fusions without a loop: arithmetic on numbers that the host program does itself, and numbers that kernels take.

A fusion whose values all have rank 0 would be a kernel that computes one number. In a loop over elements that is all
there is, so it becomes arithmetic of the host program, which is native code too; so do elements that are read at a
position that is a number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jitflow.ir.core import Builder, Op, Region, Value, clone_op
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.types import Index, Scalar, Tensor, dims_of

if TYPE_CHECKING:
    from jitflow.passes.lower.host import HostLowering

__all__ = ["checked_position", "is_number_work", "lower_number_work", "with_numbers"]


def is_number_work(op: Op) -> bool:
    """Whether a fusion computes nothing but numbers, one of each."""
    return all(_is_number_op(inner) for inner in op.regions[0].body)


def _is_number_op(op: Op) -> bool:
    if "view" in op.definition.traits or op.name in ("constant", "size"):
        return not isinstance(op.result.type, Tensor) or op.name not in ("constant", "size")
    if "gather" in op.definition.traits:
        return not dims_of(op.result.type) and op.attributes.get("mode", "raise") == "raise"
    return "elementwise" in op.definition.traits and not any(dims_of(value.type) for value in (*op.operands, op.result))


def lower_number_work(host: HostLowering, op: Op) -> None:
    """The ops of a fusion as ops of the host program."""
    (region,) = op.regions
    for parameter, operand in zip(region.parameters, op.operands, strict=True):
        _same(host, parameter, operand)
    for inner in region.body:
        host.builder.loc = inner.loc
        if "view" in inner.definition.traits:
            host.view(inner)
        elif "gather" in inner.definition.traits:
            _read_element(host, inner)
        elif inner.name == "size":
            host.set_number(inner.result, host.dim(inner.attributes["dim"]))
        else:
            host.arithmetic(inner)
    host.builder.loc = op.loc
    for result, value in zip(op.results, region.yielded, strict=True):
        _same(host, result, value)


def _same(host: HostLowering, value: Value, other: Value) -> None:
    """Let one value be what another is."""
    if host.is_number(other):
        host.set_number(value, host.number(other))
    else:
        host.storage[value], host.layouts[value] = host.storage[other], host.layouts[other]


def _read_element(host: HostLowering, op: Op) -> None:
    source, *indices = op.operands
    storage, layout = host.storage[source], host.layouts[source]
    build, axis = host.builder.make, op.attributes["axis"]
    offset = host.dim(layout.offset)
    for number, index in enumerate(indices, axis):
        position = checked_position(host, host.number(index), number, dims_of(source.type)[number])
        offset = build("add", offset, build("multiply", position, host.dim(layout.strides[number])))
    host.set_number(op.result, build("read", storage.buffer, offset, lanes=0))


def checked_position(host: HostLowering, position: Value, axis: int, size: Dim) -> Value:
    """A position of an axis as an index from its start, after the check that there is one."""
    build = host.builder.make
    if not isinstance(position.type, Index):
        if position.type != Scalar(I64):
            position = build("cast", position, dtype=I64)
        position = build("to_index", position)
    length, zero = host.dim(size), host.dim(0)
    wrapped = build("select", build("less", position, zero), build("add", position, length), position)
    inside = build("logical_and", build("greater_equal", wrapped, zero), build("less", wrapped, length))
    message = f"index {{}} is out of bounds for axis {axis} with size {{}}"
    host.builder.add("check", inside, position, length, error="IndexError", message=message)
    return wrapped


def with_numbers(host: HostLowering, op: Op) -> Op:
    """The fusion with arrays that are nothing but a number taken as numbers."""
    (region,) = op.regions
    values: dict[Value, Value] = {}
    operands, parameters = list(op.operands), list(region.parameters)
    builder = Builder(loc=op.loc)
    looked_up = _looked_up(region)
    for place, (operand, parameter) in enumerate(zip(op.operands, region.parameters, strict=True)):
        kind = parameter.type
        if not isinstance(kind, Tensor) or not _is_known(host, operand):
            continue
        if parameter in looked_up and operand in host.storage:
            continue
        operands[place] = number = Value(Scalar(kind.dtype), operand.name)
        parameters[place] = Value(Scalar(kind.dtype), parameter.name)
        host.set_number(number, host.number(operand))
        values[parameter] = parameters[place]
        if kind.dims:
            values[parameter] = builder.make("broadcast", parameters[place], dims=kind.dims, axes=())
    if not values:
        return op
    body = Region(tuple(parameters), (*builder.ops, *(clone_op(inner, values) for inner in region.ops)))
    return replace(op, operands=tuple(operands), regions=(body,))


def _looked_up(region: Region) -> set[Value]:
    """What elements are looked up in, itself or as a view: that is memory, though it holds a single number."""
    found: set[Value] = set()
    for op in reversed(region.ops):
        if "gather" in op.definition.traits or ("view" in op.definition.traits and op.result in found):
            found.add(op.operands[0])
    return found


def _is_known(host: HostLowering, value: Value) -> bool:
    """Whether the host has the number that an array consists of."""
    return host.is_number(value) or (not dims_of(value.type) and host.scopes.number(value) is not None)
