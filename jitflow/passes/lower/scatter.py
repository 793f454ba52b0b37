"""``scatter``: writes at positions that the program computes, one after the other.

The host program does it element by element, in the order of the positions, so that the last of equal positions wins
and sums accumulate. All positions are checked before anything is written, as NumPy does it, unless the op brings them
into range. Loops like these, which launch nothing, become kernels like the user's own (`outline.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, minimum, product
from jitflow.ir.layout import Layout
from jitflow.ir.ops.indexing import axes_said
from jitflow.ir.types import Index, Place, Variable, dims_of
from jitflow.passes.lower.numbers import checked_position
from jitflow.passes.lower.owning import OwningProgram

__all__ = ["lower_scatter"]


def lower_scatter(host: OwningProgram, op: Op) -> None:
    """Check the positions of each axis, then write."""
    _Scatter(host, op).lower()


class _Scatter:
    def __init__(self, host: OwningProgram, op: Op) -> None:
        self.host = host
        self.place, *self.indices, self.value = op.operands
        kind = self.place.type
        assert isinstance(kind, Variable | Place)
        self.kind = kind
        self.axis: int = op.attributes["axis"]
        self.named = axes_said(op.attributes, len(self.indices))
        self.adds = op.attributes.get("combine") == "add"
        self.clips = op.attributes.get("mode") == "clip"
        self.shape: tuple[Dim, ...] = next((dims_of(i.type) for i in self.indices if dims_of(i.type)), ())

    def lower(self) -> None:
        axis = self.axis
        numbers: dict[Value, Value] = {}
        for number, index in enumerate(self.indices, axis):
            size, named = self.kind.dims[number], self.named[number - axis]
            if self.clips:
                continue
            if dims_of(index.type):
                self.loops(self.shape, lambda at, i=index, n=named, s=size: self.position(i, at, n, s))  # type: ignore[misc]
            else:
                numbers[index] = self.position(index, (), named, size)
        before, after = self.kind.dims[:axis], self.kind.dims[axis + len(self.indices) :]

        def write(at: Sequence[Value]) -> None:
            first, middle, last = at[:axis], at[axis : axis + len(self.shape)], at[axis + len(self.shape) :]
            positions = [
                numbers[index] if index in numbers else self.wrapped(index, middle, number)
                for number, index in enumerate(self.indices, axis)
            ]
            self.write((*first, *positions, *last), at)

        shape = self.shape
        if self.clips:  # nothing can be brought into range where there is nothing
            room = product(self.kind.dims[axis : axis + len(self.indices)])
            shape = (minimum(shape[0], shape[0] * room), *shape[1:])
        self.loops((*before, *shape, *after), write)

    # Loops

    def loops(self, dims: Sequence[Dim], body: Callable[[Sequence[Value]], object], at: tuple[Value, ...] = ()) -> None:
        """Run ``body(positions)`` for all positions of an array with these dims, in C order."""
        host = self.host
        if not dims:
            body(at)
            return
        bounds = [host.dim(0), host.dim(dims[0]), host.dim(1)]
        position = Value(Index(), "i")
        host.scopes.enter(host.builder.loc)
        self.loops(dims[1:], body, (*at, position))
        region = host.scopes.leave().builder.region((position,), ())
        host.builder.add("for", *bounds, types=(), regions=(region,))

    # Elements

    def offset(self, layout: Layout, at: Sequence[Value]) -> Value:
        host = self.host
        total = host.dim(layout.offset)
        for position, stride in zip(at, layout.strides, strict=True):
            share = host.builder.make("multiply", position, host.dim(stride))
            total = host.builder.make("add", total, share)
        return total

    def element(self, value: Value, at: Sequence[Value]) -> Value:
        """The number that an operand has at a position."""
        host = self.host
        if host.is_number(value) or not dims_of(value.type):
            return host.number(value)
        offset = self.offset(host.layouts[value], at)
        return host.builder.make("read", host.storage[value].buffer, offset, lanes=0)

    def position(self, index: Value, at: Sequence[Value], axis: int, size: Dim) -> Value:
        return checked_position(self.host, self.element(index, at), axis, size)

    def wrapped(self, index: Value, at: Sequence[Value], axis: int) -> Value:
        """A position that was checked before, or is brought into range."""
        build = self.host.builder.make
        position = build("to_index", self.element(index, at))
        length = self.host.dim(self.kind.dims[axis])
        if self.clips:
            return build(
                "maximum", build("minimum", position, self.host.dim(self.kind.dims[axis] - 1)), self.host.dim(0)
            )
        return build("select", build("less", position, self.host.dim(0)), build("add", position, length), position)

    def write(self, place: Sequence[Value], at: Sequence[Value]) -> None:
        host = self.host
        build = host.builder.make
        buffer, offset = host.storage[self.place].buffer, self.offset(host.layouts[self.place], place)
        value = self.element(self.value, at)
        if self.adds:
            name = "logical_or" if self.kind.dtype.kind == "b" else "add"
            value = build(name, build("read", buffer, offset, lanes=0), value)
        host.builder.add("write", buffer, offset, value)
