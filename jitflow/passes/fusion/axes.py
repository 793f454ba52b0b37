"""Which axes of which values are one loop.

Fusion and lowering both rest on this: an elementwise op relates every axis of its operands to the same axis of its
result, a transpose permutes them, a broadcast adds some, a reduction drops some. The classes of related axes in a
group of ops are the loops of its kernel. ``x - x.max(axis=1, keepdims=True)`` has two classes, rows and columns,
because the subtraction relates the broadcast maximum's columns to those of ``x``.

Axes of size 1 take no part: they have no loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from jitflow.ir.core import Op, Region, Value, walk
from jitflow.ir.types import Tensor, dims_of

__all__ = ["Axes", "is_axis_view", "related_axes", "reshaped_values"]

Axis = tuple[Value, int]


def is_axis_view(op: Op) -> bool:
    """Whether a view op only permutes axes, and adds or drops axes along which nothing varies."""
    if op.name in ("transpose", "broadcast"):
        return True
    return op.name == "reshape" and _long(dims_of(op.operands[0].type)) == _long(dims_of(op.result.type))


def reshaped_values(region: Region) -> set[Value]:
    """The values whose elements are read through a reshape that relies on C order, here, inside, or in a kernel."""
    shown: dict[Value, Value] = {}
    found: set[Value] = set()
    for op in walk(region):
        if op.name == "fusion":
            shown.update(zip(op.regions[0].parameters, op.operands, strict=True))
        elif "view" in op.definition.traits:
            shown[op.result] = value = op.operands[0]
            if op.name == "reshape" and not is_axis_view(op):
                while value in shown:
                    value = shown[value]
                found.add(value)
    return found


def related_axes(op: Op) -> Iterator[tuple[Axis, Axis]]:
    """Pairs (operand axis, result axis) that are one loop, for elementwise, reducing, gathering and axis-view ops."""
    if op.definition.traits & {"elementwise", "accumulation"}:
        for operand in op.operands:
            if isinstance(operand.type, Tensor):
                for axis in range(operand.type.rank):
                    yield (operand, axis), (op.result, axis)
    elif "reduction" in op.definition.traits:
        operand = op.operands[0]
        kept = [axis for axis in range(len(dims_of(operand.type))) if axis not in op.attributes["axes"]]
        for position, axis in enumerate(kept):
            yield (operand, axis), (op.result, position)
    elif op.name == "transpose":
        for position, axis in enumerate(op.attributes["axes"]):
            yield (op.operands[0], axis), (op.result, position)
    elif op.name == "broadcast":
        operand = op.operands[0]
        for axis, target in enumerate(op.attributes["axes"]):
            if dims_of(operand.type)[axis] != 1 or dims_of(op.result.type)[target] == 1:
                yield (operand, axis), (op.result, target)
    elif op.name == "reshape":
        operand = op.operands[0]
        before, after = dims_of(operand.type), dims_of(op.result.type)
        yield from zip(
            ((operand, axis) for axis, dim in enumerate(before) if dim != 1),
            ((op.result, axis) for axis, dim in enumerate(after) if dim != 1),
            strict=True,
        )
    elif op.name == "gather":
        start = op.attributes["axis"]
        for operand in op.operands[1:]:
            for axis in range(len(dims_of(operand.type))):
                yield (operand, axis), (op.result, start + axis)


class Axes:
    """A union-find over axes."""

    def __init__(self) -> None:
        self._parent: dict[Axis, Axis] = {}

    def find(self, axis: Axis) -> Axis:
        """The representative of an axis's class."""
        parent = self._parent
        while axis in parent:
            axis = parent[axis]
        return axis

    def relate(self, op: Op) -> None:
        """Join the axes that ``op`` relates."""
        for left, right in related_axes(op):
            self.join(left, right)

    def join(self, left: Axis, right: Axis) -> None:
        left, right = self.find(left), self.find(right)
        if left != right:
            self._parent[right] = left

    def classes(self, value: Value) -> tuple[Axis, ...]:
        """The classes of a value's axes that are longer than 1, in axis order."""
        return tuple(self.find((value, axis)) for axis, dim in enumerate(dims_of(value.type)) if dim != 1)


def _long(dims: tuple[object, ...]) -> list[object]:
    return [dim for dim in dims if dim != 1]
