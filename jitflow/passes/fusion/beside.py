"""What an elementwise kernel reads beside a product, as it lies along the axes of the product.

A bias lies along one axis, and is the same along all others: its strides there are 0. Of a product that is computed by
rows and columns, an epilogue may read what is one number for each row or for each column as the product is finished
(`lower/contraction.py`); what is as large as the product is read in another order than it lies in.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Region, Value
from jitflow.ir.layout import Layout, contiguous, view_layout
from jitflow.ir.types import Scalar, Tensor, dims_of

__all__ = ["arrays_beside", "axes_varied", "in_c_order"]


def in_c_order(region: Region) -> dict[Value, Layout]:
    """Layouts for the arrays that a region is given, when nothing is known of them."""
    return {
        value: contiguous(value.type.dims, value.type.dtype.itemsize)
        for value in region.parameters if isinstance(value.type, Tensor)
    }  # fmt: skip


def arrays_beside(region: Region, product: Value, layouts: Mapping[Value, Layout]) -> dict[Value, Layout] | None:
    """How each array that the region computes with, beside a product, lies along the axes of the product.

    None for a region that does more than compute, element by element, with such arrays, and numbers. ``layouts`` are
    those of its parameters.
    """
    shown, found, dims = dict(layouts), dict[Value, Layout](), dims_of(product.type)
    shown.pop(product, None)
    for op in region.body:
        if "view" in op.definition.traits:
            (source,) = op.operands
            if isinstance(source.type, Tensor):
                layout = view_layout(op, shown[source], source.type.dtype.itemsize) if source in shown else None
                if layout is None:
                    return None
                shown[op.result] = layout
        elif op.name == "constant":
            if not isinstance(op.result.type, Scalar):
                return None
        elif "elementwise" not in op.definition.traits or dims_of(op.result.type) != dims:
            return None
        else:
            found.update((operand, shown[operand]) for operand in op.operands if operand in shown)
    whole = [*found, *region.yielded]
    return found if all(dims_of(value.type) == dims for value in whole) else None


def axes_varied(value: Value, layout: Layout) -> set[int]:
    """The axes along which an array has more than one number."""
    pairs = zip(dims_of(value.type), layout.strides, strict=True)
    return {axis for axis, (dim, stride) in enumerate(pairs) if dim != 1 and stride != 0}
