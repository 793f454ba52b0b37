"""What blocks of matrix products mean, to the bit: each product is rounded once, with a sum so far.

Those of i32 are of bytes: an element is four of them, those of the left matrix without a sign, and sums wrap around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.dtypes import I32, DType
from jitflow.ir.ops.elementwise import ELEMENTWISE_OPS
from jitflow.ir.ops.memory import Memory
from jitflow.ir.records import Attributes
from jitflow.ir.types import Type

__all__ = ["multiply_along", "multiply_block", "pack_panels"]

Array = np.ndarray[Any, Any]
_FMA = next(definition for definition in ELEMENTWISE_OPS if definition.name == "fma").evaluate
_BLOCK_BYTES = 16
"""Of the numbers that a sum has lanes for, so many bytes are added up one after the other, then halves."""


def multiply_block(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """block, offset, pitch, left, offset, row stride, step, right, offset, step, rows, ..., before, ..."""
    block, at, pitch, left, left_at, row_stride, left_step, right, right_at, right_step, *counts = operands
    rows, columns, steps, before, *_ = counts
    dtype = attributes["dtype"]
    places = _places(at, min(rows, attributes["rows"]), pitch, columns, dtype.itemsize)
    factors = _read(left, dtype, _places(left_at, places.shape[0], row_stride, steps, left_step))
    lines = _read(right, dtype, _places(right_at, steps, right_step, places.shape[1], dtype.itemsize))
    sums = np.zeros(places.shape, dtype.numpy)
    if dtype == I32:
        factors, lines = factors.astype("<i4"), lines.astype("<i4")
        levels = factors.view(np.uint8).reshape(*factors.shape, dtype.itemsize)
        weights = lines.view(np.int8).reshape(*lines.shape, dtype.itemsize)
        sums = np.einsum("msb,snb->mn", levels, weights, dtype=np.int32)
    for step in range(0 if dtype == I32 else steps):
        sums = _added(factors[:, step, None], lines[None, step], sums)
    _store(block, dtype, places, sums, before)
    return ()


def multiply_along(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """block, offset, pitch, column pitch, left, offset, row stride, right, offset, stride, rows, ..., before, ahead."""
    block, at, pitch, column_pitch, left, left_at, row_stride, right, right_at, column_stride, *counts = operands
    rows, columns, steps, before, _ahead = counts
    dtype, lanes = attributes["dtype"], attributes["lanes"]
    places = _places(at, min(rows, attributes["rows"]), pitch, min(columns, attributes["columns"]), column_pitch)
    factors = _read(left, dtype, _places(left_at, places.shape[0], row_stride, steps, dtype.itemsize))
    lines = _read(right, dtype, _places(right_at, places.shape[1], column_stride, steps, dtype.itemsize))
    parts = np.zeros((*places.shape, lanes), dtype.numpy)
    missing = (-steps) % lanes if steps % lanes else lanes  # the last step is under a mask, if of no lane
    factors, lines = (np.pad(values, ((0, 0), (0, missing))) for values in (factors, lines))
    for first in range(0, steps + missing, lanes):
        some = slice(first, first + lanes)
        parts = _added(factors[:, None, some], lines[None, :, some], parts)
    _store(block, dtype, places, _summed(parts, _BLOCK_BYTES // dtype.itemsize), before)
    return ()


def pack_panels(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """panels, offset, matrix, offset, step, column stride, pitch, columns, steps."""
    panels, at, matrix, matrix_at, step, column_stride, pitch, columns, steps = operands
    dtype, width = attributes["dtype"], attributes["columns"]
    for panel, first in enumerate(range(0, columns, width)):
        start = matrix_at + first * column_stride
        numbers = _read(matrix, dtype, _places(start, steps, step, min(columns - first, width), column_stride))
        places = _places(at + panel * pitch, steps, width * dtype.itemsize, numbers.shape[1], dtype.itemsize)
        panels.write(places.reshape(-1), numbers.reshape(-1), np.ones(numbers.size, np.bool_))
    return ()


def _places(start: int, rows: int, pitch: int, columns: int, stride: int) -> Array:
    """The byte offsets of the elements of a matrix."""
    found: Array = start + np.arange(rows)[:, None] * pitch + np.arange(columns) * stride
    return found


def _read(memory: Memory, dtype: DType, places: Array) -> Array:
    return memory.read(places.reshape(-1), dtype, np.ones(places.size, np.bool_)).reshape(places.shape)


def _added(left: Array, right: Array, sums: Array) -> Array:
    assert _FMA is not None
    left, right, sums = np.broadcast_arrays(left, right, sums)
    found: Array = np.asarray(_FMA([left.reshape(-1), right.reshape(-1), sums.reshape(-1)], {}, ()))
    return found.reshape(sums.shape)


def _summed(parts: Array, block: int) -> Array:
    """The sums over the last axis."""
    blocks = parts.reshape(*parts.shape[:-1], -1, block)
    total = blocks[..., 0]
    for lane in range(1, block):
        total = total + blocks[..., lane]
    while total.shape[-1] > 1:
        half = total.shape[-1] // 2
        total = total[..., :half] + total[..., half:]
    found: Array = total[..., 0]
    return found


def _store(block: Memory, dtype: DType, places: Array, sums: Array, before: int) -> None:
    if before:
        sums = sums + _read(block, dtype, places)
    block.write(places.reshape(-1), np.ascontiguousarray(sums).reshape(-1), np.ones(sums.size, np.bool_))
