"""What the loop and host ops mean: moving numbers between bytes and lanes, in NumPy.

Every access names the byte offsets of its lanes and is checked against the buffer's ends, which is what makes the
reference interpreter find a lowering that reads or writes too far.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitflow.errors import CompilerBug
from jitflow.ir.draws import DRAWS, draw
from jitflow.ir.dtypes import I64, DType
from jitflow.ir.ops.elementwise import ELEMENTWISE_OPS
from jitflow.ir.records import Attributes
from jitflow.ir.types import Scalar, Type, Vector
from jitflow.records import dataclass

__all__ = ["Memory"]

Array = np.ndarray[Any, Any]
_ELEMENTWISE = {definition.name: definition for definition in ELEMENTWISE_OPS}


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """Bytes, seen from ``start`` on: a strided array's first element may lie behind its lowest byte."""

    content: Array
    start: int = 0

    @staticmethod
    def of_array(array: Array) -> Memory:
        """The memory of an array, which must outlive it."""
        low, high = byte_bounds(array)
        content = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))
        return Memory(content, array.ctypes.data - low)

    @staticmethod
    def new(size: int) -> Memory:
        """New memory, filled with what makes bytes that were never written stand out."""
        return Memory(np.full(size, 0xCD, np.uint8))

    def array(self, dtype: DType, count: int) -> Array:
        """``count`` numbers from the start on, shared."""
        return self.content[self.start : self.start + count * dtype.itemsize].view(dtype.numpy)

    def bytes_at(self, offsets: Array, itemsize: int) -> Array:
        """The positions of the bytes of elements at ``offsets``, one row an element."""
        positions: Array = (self.start + offsets)[:, None] + np.arange(itemsize)
        if positions.size and (positions.min() < 0 or positions.max() >= self.content.size):
            raise CompilerBug(f"expected offsets within {self.content.size} bytes, got {offsets.tolist()}")
        return positions

    def read(self, offsets: Array, dtype: DType, mask: Array) -> Array:
        """The numbers at byte offsets; 0 where the mask is not set."""
        result = np.zeros(offsets.size, dtype.numpy)
        picked = self.content[self.bytes_at(offsets[mask], dtype.itemsize)]
        result[mask] = np.ascontiguousarray(picked).view(dtype.numpy).reshape(-1)
        return result

    def write(self, offsets: Array, values: Array, mask: Array) -> None:
        """Put numbers at byte offsets where the mask is set."""
        picked = np.ascontiguousarray(values[mask])
        positions = self.bytes_at(offsets[mask], values.dtype.itemsize)
        self.content[positions] = picked.view(np.uint8).reshape(positions.shape)


def _mask(operands: Sequence[Any], position: int, count: int) -> Array:
    """The mask that is operand ``position``, or all lanes."""
    return np.broadcast_to(np.asarray(operands[position] if len(operands) > position else True), count)


def _line(offset: int, stride: int, count: int) -> Array:
    return offset + stride * np.arange(count, dtype=np.int64)


def _shaped(type: Type, lanes: Array) -> Any:
    """Lanes as the result's type wants them: one number or a vector."""
    return lanes if isinstance(type, Vector) else lanes[0]


def _element(type: Type) -> tuple[DType, int]:
    assert isinstance(type, Scalar | Vector)
    return type.dtype, type.lanes if isinstance(type, Vector) else 1


def read(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset [, mask]."""
    dtype, count = _element(types[0])
    offsets = _line(operands[1], dtype.itemsize, count)
    return _shaped(types[0], operands[0].read(offsets, dtype, _mask(operands, 2, count)))


def read_strided(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset, stride [, mask]."""
    dtype, count = _element(types[0])
    offsets = _line(operands[1], operands[2], count)
    return _shaped(types[0], operands[0].read(offsets, dtype, _mask(operands, 3, count)))


def read_at(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offsets [, mask]."""
    dtype, count = _element(types[0])
    offsets = np.atleast_1d(np.asarray(operands[1]))
    return _shaped(types[0], operands[0].read(offsets, dtype, _mask(operands, 2, count)))


def read_pair(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset [, mask]: two results."""
    dtype, count = _element(types[0])
    offsets, mask = _line(operands[1], 2 * dtype.itemsize, count), _mask(operands, 2, count)
    first = operands[0].read(offsets, dtype, mask)
    return _shaped(types[0], first), _shaped(types[1], operands[0].read(offsets + dtype.itemsize, dtype, mask))


def write(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset, value [, mask]."""
    values = np.atleast_1d(operands[2])
    offsets = _line(operands[1], values.itemsize, values.size)
    operands[0].write(offsets, values, _mask(operands, 3, values.size))
    return ()


def write_strided(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset, stride, value [, mask]."""
    values = np.atleast_1d(operands[3])
    operands[0].write(_line(operands[1], operands[2], values.size), values, _mask(operands, 4, values.size))
    return ()


def write_pair(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """buffer, offset, first, second [, mask]."""
    first, second = np.atleast_1d(operands[2]), np.atleast_1d(operands[3])
    offsets, mask = _line(operands[1], 2 * first.itemsize, first.size), _mask(operands, 4, first.size)
    operands[0].write(offsets, first, mask)
    operands[0].write(offsets + first.itemsize, second, mask)
    return ()


def splat(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The number in every lane."""
    dtype, count = _element(types[0])
    return np.full(count, operands[0], dtype.numpy)


def lane_index(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """0, 1, 2..."""
    dtype, count = _element(types[0])
    return np.arange(count).astype(dtype.numpy)


def lanes_below(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The mask of lanes whose number is below the operand."""
    return np.arange(attributes["lanes"]) < operands[0]


def fold_lanes(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The upper half onto the lower half until one lane is left: the order that decides the bits."""
    combine = _ELEMENTWISE[attributes["combine"]].evaluate
    assert combine is not None
    lanes = operands[0]
    while lanes.size > 1:
        half = lanes.size // 2
        lanes = combine([lanes[:half], lanes[half:]], {}, types)
    return lanes[0]


def shift_lanes(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The first lanes, and behind them all but the last."""
    lanes, count = operands[0], attributes["count"]
    return np.concatenate([lanes[:count], lanes[: lanes.size - count]])


def any_lane(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Whether a lane of the mask is set."""
    return np.any(operands[0])


def first_lane(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The number of the first set lane, the lane count if none is."""
    mask = operands[0]
    return int(np.argmax(mask)) if mask.any() else mask.size


def extract_lane(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """One lane."""
    return operands[0][operands[1]]


def multiply_high(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The upper half of the product, computed in Python's ints."""
    dtype = np.asarray(operands[0]).dtype
    exact = np.asarray(operands[0]).astype(object) * np.asarray(operands[1]).astype(object)
    return np.asarray(exact >> (8 * dtype.itemsize)).astype(dtype)[()]


def overflows(exact: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Whether what Python's ints come to does not fit."""

    def evaluate(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
        limits = np.iinfo(np.asarray(operands[0]).dtype)
        result = exact(*(np.asarray(operand).astype(object) for operand in operands))
        return np.asarray((result < limits.min) | (result > limits.max), np.bool_)[()]

    return evaluate


def alloc(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """New memory of so many bytes."""
    return Memory.new(operands[0])


def local(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """New memory for so many numbers."""
    return Memory.new(attributes["count"] * attributes["dtype"].itemsize)


def on_chip(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """New memory of so many bytes."""
    return Memory.new(operands[0])


def stage(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """target, source, offset, bytes."""
    target, source, start, count = operands
    return transfer((target, offset((source, start), attributes, types), count), attributes, types)


def bring_near(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Nothing: a hint."""
    return ()


def offset(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """The same memory from so many bytes on."""
    return Memory(operands[0].content, operands[0].start + operands[1])


def transfer(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """target, source, bytes."""
    target, source, count = operands
    if min(memory.content.size - memory.start for memory in (target, source)) < count:
        raise CompilerBug(f"transfer: expected {count} bytes on both sides")
    target.content[target.start : target.start + count] = source.content[source.start : source.start + count]
    return ()


def extend(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Room at the end of a tape."""
    tape, size = operands
    tape.append(Memory.new(size))
    return tape[-1]


def fill_draws(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """generator, count, target, parameters."""
    generator, count, target, *parameters = operands
    row = DRAWS[attributes["method"]]
    given = [
        parameter.array(dtype, count) if place in attributes["arrays"] else parameter
        for place, (dtype, parameter) in enumerate(zip(row.parameters, parameters, strict=True))
    ]
    target.array(row.result, count)[...] = draw(attributes["method"], generator, given, (count,))
    return ()


def clear(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Nothing is left on the tape."""
    operands[0].clear()
    return ()


def gather_panel(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """panel, offset, source, offset, steps, offset, columns, offset, how many steps, how many columns."""
    panel, panel_at, source, source_at, steps, steps_at, columns, columns_at, depth, count = operands
    dtype = attributes["dtype"]
    along, across = _offsets(steps, steps_at, depth), _offsets(columns, columns_at, count)
    pitch = _pitch(attributes, count)
    packed = np.zeros((depth, pitch), dtype.numpy)
    places = (source_at + along[:, None] + across).reshape(-1)
    packed[:, :count] = source.read(places, dtype, np.ones(places.size, np.bool_)).reshape(depth, count)
    at = _line(panel_at, dtype.itemsize, packed.size)
    for first, last in _pieces(attributes, pitch):
        piece = packed[:, first:last].reshape(-1)
        panel.write(at[depth * first : depth * last], piece, np.ones(piece.size, np.bool_))
    return ()


def is_finite_panel(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """panel, offset, how many steps, how many columns."""
    panel, panel_at, depth, count = operands
    dtype, size = attributes["dtype"], depth * _pitch(attributes, count)
    found = panel.read(_line(panel_at, dtype.itemsize, size), dtype, np.ones(size, np.bool_))
    return np.bool_(np.isfinite(found).all())


def multiply_gathered(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """Pairs of memory and offset: sums, left, rows, steps, lines, panel; then rows, steps, columns, before, depth."""
    add_product = _ELEMENTWISE["fma"].evaluate
    assert add_product is not None
    (sums, sums_at, left, left_at, rows, rows_at, steps, steps_at, lines, lines_at, panel, panel_at,
     high, some, count, before, depth) = operands  # fmt: skip
    dtype, pitch = attributes["dtype"], _pitch(attributes, count)
    along, down, numbers = (
        _offsets(*table) for table in ((steps, steps_at, some), (rows, rows_at, high), (lines, lines_at, some))
    )
    everywhere, at = np.ones(pitch, np.bool_), _line(panel_at, dtype.itemsize, depth * pitch)
    packed = np.zeros((depth, pitch), dtype.numpy)
    for first, last in _pieces(attributes, pitch):
        places = at[depth * first : depth * last]
        packed[:, first:last] = panel.read(places, dtype, np.ones(places.size, np.bool_)).reshape(depth, last - first)
    for row in range(high):
        places = _line(sums_at + row * pitch * dtype.itemsize, dtype.itemsize, pitch)
        total = sums.read(places, dtype, everywhere) if before else np.zeros(pitch, dtype.numpy)
        for step, number in zip(along, numbers, strict=True):
            factor = left.read(np.array([left_at + down[row] + step]), dtype, everywhere[:1])
            total = add_product([np.full(pitch, factor[0]), packed[number], total], {}, types)
        sums.write(places, total, everywhere)
    return ()


def scatter_sums(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    """target, offset, rows, offset, columns, offset, sums, offset, how many rows, how many columns."""
    target, target_at, rows, rows_at, columns, columns_at, sums, sums_at, high, count = operands
    dtype, pitch = attributes["dtype"], _pitch(attributes, count)
    down, across = _offsets(rows, rows_at, high), _offsets(columns, columns_at, count)
    whole = sums.read(_line(sums_at, dtype.itemsize, high * pitch), dtype, np.ones(high * pitch, np.bool_))
    places = (target_at + down[:, None] + across).reshape(-1)
    target.write(places, whole.reshape(high, pitch)[:, :count].reshape(-1), np.ones(places.size, np.bool_))
    return ()


PANEL_BYTES = 64
"""Rows of panels, and of sums, are whole multiples of so many bytes, as far as there are columns."""
TABLE_ROOM = PANEL_BYTES // 2
"""So many entries behind the last one of a table of offsets may be read, and are of no importance."""


def _pitch(attributes: Attributes, count: int) -> int:
    """How many elements a row of a panel with so many columns has."""
    lanes = PANEL_BYTES // int(attributes["dtype"].itemsize)
    return -(-count // lanes) * lanes


def _pieces(attributes: Attributes, pitch: int) -> Iterator[tuple[int, int]]:
    """The columns of a panel that stand together: from the first one on, and up to where."""
    width = attributes["vectors"] * attributes["vector_bytes"] // attributes["dtype"].itemsize
    return ((first, min(first + width, pitch)) for first in range(0, pitch, width))


def _offsets(table: Memory, at: int, count: int) -> Array:
    return table.read(_line(at, 8, count), I64, np.ones(count, np.bool_))
