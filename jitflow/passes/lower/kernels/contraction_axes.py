"""The axes of a contraction: those of both operands that are kept (a batch), rows, columns, and its steps."""

from __future__ import annotations

from collections.abc import Sequence

from jitflow.ir.core import Op
from jitflow.ir.dims import Dim, product
from jitflow.ir.layout import Layout, windows_layout
from jitflow.ir.ops.linear import shown_dims
from jitflow.ir.types import dims_of
from jitflow.passes.lower.kernels.offset_tables import Axis
from jitflow.passes.lower.kernels.slid_rows import Slide

__all__ = ["ContractionAxes", "count_of"]


class ContractionAxes:
    """The axes, with those joined through which one stride leads, but for those that windows slide along.

    Strides are those of the left and the right array and of the result, as far as these have an axis, and of what lies
    ``beside`` the result, along the axes of it. ``offsets`` are where all these begin.
    """

    def __init__(self, op: Op, layouts: Sequence[Layout], beside: Sequence[Layout] = ()) -> None:
        left, right, result = layouts
        if "axes" in op.attributes:
            left = windows_layout(op.attributes, left)
        self.offsets = tuple(layout.offset for layout in (left, right, result, *beside))
        self._find(op, (left, right, result), beside)
        self.slides = self._find_slides(op)

    def _find(self, op: Op, layouts: tuple[Layout, Layout, Layout], beside: Sequence[Layout]) -> None:
        labels = [op.attributes[name] for name in ("left", "right", "kept")]
        left, right = (dims_of(operand.type) for operand in op.operands)
        shapes = (shown_dims(left, op.attributes), right, dims_of(op.result.type))
        sizes: dict[int, Dim] = {}
        for own, shape in zip(labels, shapes, strict=True):
            sizes.update(zip(own, shape, strict=True))
        slid: dict[int, int] = {}
        for number, axis in enumerate(op.attributes.get("axes", ())):
            slid |= {labels[0][axis]: axis, labels[0][len(left) + number]: axis}
        found: dict[tuple[bool, ...], list[Axis]] = {}
        lying = [*zip(labels, layouts, strict=True), *((labels[2], layout) for layout in beside)]
        for label in dict.fromkeys((*labels[2], *labels[0])):
            has = tuple(label in own for own in labels)
            strides = tuple(layout.strides[own.index(label)] for own, layout in lying if label in own)
            if sizes[label] != 1 or label in slid:  # a single window may reach beyond its array as well
                _join(found.setdefault(has, []), Axis(sizes[label], strides, slid.get(label)))
        self.batch = found.get((True, True, True), [])
        self.rows, self.columns = found.get((True, False, True), []), found.get((False, True, True), [])
        self.steps = found.get((True, True, False), [])

    def _find_slides(self, op: Op) -> list[Slide]:
        """What is one axis of the left array is one of rows and one of steps."""
        found, array = [], dims_of(op.operands[0].type)
        rows, steps = ({axis.slid: number for number, axis in enumerate(axes)} for axes in (self.rows, self.steps))
        names = ("axes", "steps", "dilations", "before")
        for axis, place_pace, tap_pace, before in zip(*(op.attributes.get(name, ()) for name in names), strict=True):
            row, step = rows.get(axis), steps.get(axis)
            if row is not None and step is not None:
                places_are_rows = op.attributes["left"][axis] in op.attributes["kept"]
                paces = (place_pace, tap_pace) if places_are_rows else (tap_pace, place_pace)
                found.append(Slide(row, step, *paces, before, array[axis]))
        return found


def count_of(axes: Sequence[Axis]) -> Dim:
    """How many positions some axes have."""
    return product([axis.dim for axis in axes])


def _join(axes: list[Axis], axis: Axis) -> None:
    """Add an axis, as one with the last where a step of that is as far as all of this one."""
    alone = axis.slid is not None or (axes and axes[-1].slid is not None)
    if axes and not alone and axes[-1].strides == tuple(stride * axis.dim for stride in axis.strides):
        axes[-1] = Axis(axes[-1].dim * axis.dim, axis.strides)
    else:
        axes.append(axis)
