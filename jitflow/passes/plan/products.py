"""How matrices lie, for blocks of our own and for the library."""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim
from jitflow.ir.dtypes import F32, F64
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor
from jitflow.passes.schedule.products import Factors, has_blocks
from jitflow.passes.schedule.target import Processor

__all__ = ["as_it_lies", "factors_of", "multiplies_by_blocks"]


def factors_of(product: Op, layouts: Mapping[Value, Layout]) -> Factors:
    """The sizes of a product of two matrices, and how these lie."""
    left, right = product.operands
    assert isinstance(left.type, Tensor)
    assert isinstance(right.type, Tensor)
    if "group" in product.attributes:
        return Factors.of_groups(left.type, layouts[left], right.type, layouts[right])
    return Factors.of(left.type, layouts[left], right.type, layouts[right])


def multiplies_by_blocks(product: Op, layouts: Mapping[Value, Layout], processor: Processor | None) -> bool:
    """Whether products that nothing follows are made by blocks of our own, and not by the library."""
    if "group" in product.attributes:
        return True
    type = product.result.type
    return isinstance(type, Tensor) and type.dtype in (F32, F64) and has_blocks(factors_of(product, layouts), processor)


def as_it_lies(type: Tensor, layout: Layout) -> tuple[bool, Dim] | None:
    """How BLAS can take a matrix: whether transposed, and the stride between its rows (columns), in elements."""
    itemsize = type.dtype.itemsize
    row_stride, column_stride = layout.strides[-2:]
    rows, columns = type.dims[-2:]
    if column_stride == itemsize or columns == 1:
        leading = row_stride // itemsize if rows != 1 else columns
        if _is_multiple(row_stride, itemsize) or rows == 1:
            return False, leading
    if row_stride == itemsize or rows == 1:
        leading = column_stride // itemsize if columns != 1 else rows
        if _is_multiple(column_stride, itemsize) or columns == 1:
            return True, leading
    return None


def _is_multiple(stride: Dim, itemsize: int) -> bool:
    """Whether a stride is provably a positive whole number of elements (broadcast and reversed axes are not)."""
    if isinstance(stride, int):
        return stride > 0 and stride % itemsize == 0
    return all(coefficient > 0 and coefficient % itemsize == 0 for _, coefficient in stride.terms)
