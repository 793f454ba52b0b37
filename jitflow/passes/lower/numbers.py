"""Fusions without a loop: arithmetic on numbers that the host program does itself, and numbers that kernels take.

A fusion whose values all have rank 0 would be a kernel that computes one number. In a loop over elements that is all
there is, so it becomes arithmetic of the host program, which is native code too; so do elements that are read at a
position that is a number.
"""

from __future__ import annotations

from dataclasses import replace

from jitflow.ir.core import Builder, Op, Region, Value, clone_op
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import I64
from jitflow.ir.ops.indexing import axes_said
from jitflow.ir.types import Index, Scalar, Tensor, dims_of
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["checked_position", "lower_arithmetic", "lower_broadcast_dims", "lower_number_work",
           "lower_size", "lower_to_index", "with_numbers"]  # fmt: skip


def lower_arithmetic(host: OwningProgram, op: Op) -> None:
    """Arithmetic on numbers and checks: the host program does it itself."""
    operands = [host.number(operand) for operand in op.operands]
    types = [Scalar(type.dtype) if isinstance(type, Tensor) else type for type in (r.type for r in op.results)]
    name = "cast" if op.name == "copy" else op.name
    attributes = dict(op.attributes)
    if op.name == "copy":
        (type,) = types
        assert isinstance(type, Scalar)
        attributes["dtype"] = type.dtype
    results = host.builder.add(name, *operands, types=types, **attributes)
    for result, computed in zip(op.results, results, strict=True):
        host.set_number(result, computed)


def lower_size(host: OwningProgram, op: Op) -> None:
    """A dim as a number."""
    host.set_number(op.result, host.dim(op.attributes["dim"]))


def lower_to_index(host: OwningProgram, op: Op) -> None:
    """A number as a size, which it may bind."""
    index = host.builder.make("to_index", host.number(op.operands[0]), types=(Index(),))
    host.set_number(op.result, index)
    if "binds" in op.attributes:
        host.scopes.bind(op.attributes["binds"], index)


def lower_broadcast_dims(host: OwningProgram, op: Op) -> None:
    """Fold the sizes: 1 gives way, otherwise they must be equal."""
    build = host.builder.make
    sizes = [host.number(operand) for operand in op.operands]
    one = host.dim(1)
    common, *rest = sizes
    message = op.attributes.get("message") or "operands could not be broadcast together with sizes {} and {}"
    for size in rest:
        fits = build("logical_or", build("equal", common, size), build("equal", size, one))
        fits = build("logical_or", fits, build("equal", common, one))
        shown = sizes if message.count("{}") == len(sizes) else [common, size]
        host.builder.add("check", fits, *shown, error="ValueError", message=message)
        common = build("select", build("equal", common, one), size, common)
    host.set_number(op.result, common)
    host.scopes.bind(op.attributes["binds"], common)


def lower_number_work(host: OwningProgram, op: Op) -> None:
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
            lower_size(host, inner)
        else:
            lower_arithmetic(host, inner)
    host.builder.loc = op.loc
    for result, value in zip(op.results, region.yielded, strict=True):
        _same(host, result, value)


def _same(host: OwningProgram, value: Value, other: Value) -> None:
    """Let one value be what another is."""
    if host.is_number(other):
        host.set_number(value, host.number(other))
    else:
        host.storage[value] = host.storage[other]


def _read_element(host: OwningProgram, op: Op) -> None:
    source, *indices = op.operands
    storage, layout = host.storage[source], host.layouts[source]
    build, axis = host.builder.make, op.attributes["axis"]
    offset = host.dim(layout.offset)
    named = axes_said(op.attributes, len(indices))
    for number, index in enumerate(indices, axis):
        position = checked_position(host, host.number(index), named[number - axis], dims_of(source.type)[number])
        offset = build("add", offset, build("multiply", position, host.dim(layout.strides[number])))
    host.set_number(op.result, build("read", storage.buffer, offset, lanes=0))


def checked_position(host: OwningProgram, position: Value, axis: int, size: Dim) -> Value:
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


def with_numbers(host: OwningProgram, op: Op) -> Op:
    """The fusion with arrays that the plan takes for numbers taken as such."""
    places = host.plan.numbers.get(op, ())
    if not places:
        return op
    (region,) = op.regions
    values: dict[Value, Value] = {}
    operands, parameters = list(op.operands), list(region.parameters)
    builder = Builder(loc=op.loc)
    for place in places:
        operand, parameter = op.operands[place], region.parameters[place]
        kind = parameter.type
        assert isinstance(kind, Tensor)
        operands[place] = number = Value(Scalar(kind.dtype), operand.name)
        parameters[place] = Value(Scalar(kind.dtype), parameter.name)
        host.set_number(number, host.number(operand))
        values[parameter] = parameters[place]
        if kind.dims:
            values[parameter] = builder.make("broadcast", parameters[place], dims=kind.dims, axes=())
    body = Region(tuple(parameters), (*builder.ops, *(clone_op(inner, values) for inner in region.ops)))
    return replace(op, operands=tuple(operands), regions=(body,))
