"""Which products are made by tiles of our own, and what the library can take as it lies.

The choice depends on the shape alone, so the bits do too.
"""

from __future__ import annotations

from collections.abc import Mapping

from jitflow.ir.core import Op, Value
from jitflow.ir.dims import Dim, minimum
from jitflow.ir.layout import Layout
from jitflow.ir.types import Tensor, dims_of

__all__ = ["as_it_lies", "prefers_tiles"]

_MOST_WORK = 6 << 26
"""Multiplications, times the bytes of an element, up to which tiles are worth it: about a millisecond of one thread.
They are faster beyond, too, but the library may use several threads where the rest of the program has one."""
_LONGEST_SUM = 2048
"""Addends from which on one sum after the other would round more often than the library, which adds up blocks."""
_LARGEST_RIGHT = 1 << 20
"""Bytes of a right matrix from which on walking down it costs more than copying it into another order."""


def prefers_tiles(product: Op, layouts: Mapping[Value, Layout], tile: tuple[int, int] | None) -> Dim:
    """1 where tiles of so many rows and bytes are faster, else 0, as an expression over sizes.

    The right matrix must have its rows without gaps. A factor that the library cannot take as it lies is copied for it,
    which must not happen in a branch.
    """
    left, right = product.operands
    assert isinstance(left.type, Tensor)
    assert isinstance(right.type, Tensor)
    itemsize = left.type.dtype.itemsize
    if tile is None or layouts[right].strides[1] != itemsize:
        return 0
    if as_it_lies(left.type, layouts[left]) is None or as_it_lies(right.type, layouts[right]) is None:
        return 0
    rows, inner = dims_of(left.type)
    columns = dims_of(right.type)[1]
    height, _ = tile
    right_bytes = inner * columns * itemsize
    little = 1 - minimum(rows * right_bytes // _MOST_WORK, 1)
    near = 1 - minimum(right_bytes // _LARGEST_RIGHT, 1)
    short = 1 - minimum(inner // (_LONGEST_SUM + 1), 1)
    return minimum(rows // height, 1) * little * near * short


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
