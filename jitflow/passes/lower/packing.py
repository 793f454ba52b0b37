"""Operands that are worth copying into another order before a nest reads them.

In ``((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)`` every row of ``b`` meets every row of ``a``. Along the reduced
loop both are contiguous, but each output would need a fold of its lanes. With ``b`` transposed, lanes can be
neighbouring outputs, which need none. The copy is read once for each row of ``a``, so it pays.
"""

from __future__ import annotations

from jitflow.ir.layout import Layout, contiguous
from jitflow.ir.types import Tensor
from jitflow.passes.fusion.nest import Access, Loop, Nest

__all__ = ["packed_layouts"]


def packed_layouts(nest: Nest) -> dict[int, Layout]:
    """For each operand (by position) of a kernel that should be copied first, the layout to copy it to."""
    outer = [loop for loop in nest.order if not loop.reduced]
    if len(outer) < 2 or len(outer) == len(nest.order):
        return {}
    lane, inner = outer[-1], nest.order[-1]
    packed: dict[int, Layout] = {}
    for value in dict.fromkeys(operand for o in nest.computed for operand in o.operands if operand in nest.layouts):
        access = nest.access(value)
        if access.strides.get(lane, 0) == 0:
            continue
        if access.strides[lane] == access.dtype.itemsize:
            continue
        position = nest.region.parameters.index(access.buffer)
        layout = _lane_last(nest, access, lane, inner)
        if layout is None or not _is_reused(access, outer) or packed.get(position, layout) != layout:
            return {}
        packed[position] = layout
    return packed


def _is_reused(access: Access, outer: list[Loop]) -> bool:
    return any(access.strides.get(loop, 0) == 0 for loop in outer)


def _lane_last(nest: Nest, access: Access, lane: Loop, inner: Loop) -> Layout | None:
    """Contiguous memory with the axis of ``lane`` innermost, for an operand that is contiguous along ``inner``."""
    parameter = access.buffer
    assert isinstance(parameter.type, Tensor)
    if access.strides.get(inner, 0) != access.dtype.itemsize:
        return None
    strides = nest.layouts[parameter].strides
    axes = [axis for axis, stride in enumerate(strides) if stride == access.strides[lane]]
    if len(axes) != 1:
        return None
    rest = [axis for axis in range(parameter.type.rank) if axis != axes[0]]
    return contiguous(parameter.type.dims, access.dtype.itemsize, (*rest, axes[0]))
