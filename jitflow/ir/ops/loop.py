"""Loop ops: what a kernel does beyond arithmetic and control flow, which it shares with the other layers.

Offsets are in bytes. A memory op with ``lanes`` 0 moves one number, otherwise a vector; an optional last mask operand
says which lanes are touched (others load as 0). Vectors of bool are masks in registers and bytes in memory.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jitflow.ir.ops.memory as memory
import jitflow.ir.ops.products as products
from jitflow.ir.dims import symbol
from jitflow.ir.dtypes import BOOL
from jitflow.ir.ops.elementwise import shape_like
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Buffer, Index, Scalar, Type, Vector, with_dtype

__all__ = ["LOOP_OPS"]

_READS, _WRITES = (Effect("reads", 0),), (Effect("writes", 0),)


def _element(buffer: Type, attributes: Attributes) -> Scalar | Vector:
    if not isinstance(buffer, Buffer):
        raise TypeRuleError(f"expected a buffer, got {buffer}")
    lanes = attributes.get("lanes", 0)
    return Vector(buffer.dtype, lanes) if lanes else Scalar(buffer.dtype)


def _infer_read(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    element = _element(operands[0], attributes)
    _check_lanes((*operands, element))
    return (element,)


def _infer_read_pair(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return _infer_read(operands, attributes) * 2


def _infer_write(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    _check_lanes(operands)
    return ()


def _check_lanes(types: Sequence[Type]) -> None:
    """Values, offsets and masks have as many lanes."""
    lanes = {type.lanes for type in types if isinstance(type, Vector)}
    if len(lanes) > 1:
        raise TypeRuleError(f"expected as many lanes everywhere, got {', '.join(map(str, types))}")


def _infer_local(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Buffer(attributes["dtype"]),)


def _infer_splat(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (operand,) = operands
    if not isinstance(operand, Scalar):
        raise TypeRuleError(f"splat: expected a scalar, got {operand}")
    return (Vector(operand.dtype, attributes["lanes"]),)


def _vector(name: str, type: Type) -> Vector:
    if not isinstance(type, Vector):
        raise TypeRuleError(f"{name}: expected a vector, got {type}")
    return type


def _infer_lane_index(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Vector(attributes["dtype"], attributes["lanes"]),)


def _infer_scalar_of(name: str) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    return lambda operands, attributes: (Scalar(_vector(name, operands[0]).dtype),)


def _infer_to_index(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (operand,) = operands
    if not isinstance(operand, Scalar) or operand.dtype.kind not in "biu":
        raise TypeRuleError(f"to_index: expected an integer scalar, got {operand}")
    return (Index(symbol(attributes["binds"])) if "binds" in attributes else Index(),)


def _infer_integers(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    a, b = operands
    if isinstance(a, Index) and isinstance(b, Index):
        return (Index(),)
    if a != b or not isinstance(a, Scalar | Vector) or not a.dtype.is_integer:
        raise TypeRuleError(f"expected two integers of one type, got {a} and {b}")
    return (a,)


def _infer_mask(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (Vector(BOOL, attributes["lanes"]),)


def _divide_truncated(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    a, b = operands
    return (a - np.fmod(a, b)) // b


def _remainder_truncated(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    return np.fmod(*operands)


LOOP_OPS = [
    OpDef("read", "buffer, offset [, mask]: contiguous lanes; what lies ``ahead`` bytes further is brought near", "any",
          None, _infer_read, memory.read, _READS, frozenset(), ("lanes", "ahead")),
    OpDef("read_strided", "buffer, offset, stride [, mask]: lanes ``stride`` bytes apart", "loop", None, _infer_read,
          memory.read_strided, _READS, frozenset(), ("lanes",)),
    OpDef("read_at", "buffer, vector of i64 offsets [, mask]: lanes anywhere", "loop", None, _infer_read,
          memory.read_at, _READS, frozenset(), ("lanes",)),
    OpDef("read_pair", "buffer, offset [, mask]: lanes of (first, second) interleaved, as complex numbers lie",
          "any", None, _infer_read_pair, memory.read_pair, _READS, frozenset(), ("lanes",)),
    OpDef("write", "buffer, offset, value [, mask]; ``streaming`` bypasses the caches", "any", None, _infer_write,
          memory.write, _WRITES, frozenset(), ("streaming",)),
    OpDef("write_strided", "buffer, offset, stride, value [, mask]", "loop", None, _infer_write,
          memory.write_strided, _WRITES),
    OpDef("write_pair", "buffer, offset, first, second [, mask], interleaved", "any", None, _infer_write,
          memory.write_pair, _WRITES, frozenset(), ("streaming",)),
    OpDef("multiply_block", "block, offset, row stride, left, offset, row stride, step, right, offset, step, then how "
          "many rows, columns and steps, how many steps there were before, and how far ahead the right and the left "
          "one are read: at most so many ``rows`` of a product, in blocks of ``columns``, added to what the steps "
          "before gave; addends are rounded once, with a sum so far. ``few`` are ways for up to so many rows, of "
          "so many vectors. Of ``dtype`` i32, an element is four bytes, and a product the sum of theirs, u8 by i8",
          "loop", 16,
          _infer_write, products.multiply_block,
          (Effect("writes", 0), Effect("reads", 0), Effect("reads", 3), Effect("reads", 7)), frozenset(),
          ("rows", "columns", "lanes", "few", "dtype")),
    OpDef("multiply_along", "block, offset, row stride, column stride, left, offset, row stride, right, offset, column "
          "stride, then as multiply_block, up to how far ahead the right one is read: all steps lie side by side, and "
          "each of ``lanes`` has a sum of its own", "loop", 15, _infer_write, products.multiply_along,
          (Effect("writes", 0), Effect("reads", 0), Effect("reads", 4), Effect("reads", 7)), frozenset(),
          ("rows", "columns", "lanes", "short", "dtype")),
    OpDef("overlap_block", "block, offset, row stride, left, offset, row stride, step, right, offset, step, steps, "
          "then start and stop: as multiply_block, of whole blocks; between its steps the region takes each row from "
          "start to stop, and each of ``lanes`` columns of a block", "loop", 13, _infer_write, None,
          (Effect("writes", 0), Effect("reads", 3), Effect("reads", 7)), frozenset(),
          ("ahead", "rows", "columns", "dtype", "lanes"), regions=1),
    OpDef("local", "memory for ``count`` numbers of ``dtype`` in the kernel's frame, with whatever is there", "loop", 0,
          _infer_local, memory.local, (Effect("allocates"),), frozenset(), ("dtype", "count")),
    OpDef("multiply_tile", "left, offset, row stride, step stride, right, offset, step stride, column stride, then how "
          "many rows, columns and steps there are, and the row and column where a tile begins: a team of ``threads`` "
          "warps of a GPU multiplies ``tile`` of each, ``steps`` at a time, and the region takes the row, the column "
          "and the number of each element, in f32. ``form`` is the arithmetic (fma f16 bf16 tf32), ``along`` says "
          "which factors lie without gaps along steps, ``room`` the bytes on the chip, through which go rows that "
          "are ``pitch`` numbers apart", "loop", 13, _infer_write, None,
          (Effect("reads", 0), Effect("reads", 4)), frozenset(),
          ("dtype", "form", "tile", "steps", "along", "threads", "room", "pitch"), regions=1),
    OpDef("attend", "left, right, third and result, each with an offset and the stride of its rows (of the right one "
          "of its columns), then how many rows, columns, steps and values there are, and the row where a tile begins: "
          "a team of ``threads`` warps of a GPU makes ``tile`` rows of softmax(scores) @ third. The first region takes "
          "the row, the column and the number of each element of left @ right, in f32, and gives the score; the second "
          "is exp. Rows have at most ``width`` elements, in ``room`` bytes on the chip", "loop", 17, _infer_write, None,
          (Effect("reads", 0), Effect("reads", 3), Effect("reads", 6), Effect("writes", 9)), frozenset(),
          ("dtype", "out", "form", "tile", "width", "threads", "room"), regions=2),
    OpDef("on_chip", "operand: bytes (index); so much memory for numbers of ``dtype`` near the processor, which a "
          "worker of a GPU has for itself", "loop", 1, _infer_local, memory.on_chip, (Effect("allocates"),),
          frozenset(), ("dtype",)),
    OpDef("stage", "target, source, offset, bytes: copies bytes of the source, from the offset on, to where the target "
          "begins, for all threads of a worker", "loop", 4, _infer_write, memory.stage,
          (Effect("writes", 0), Effect("reads", 1))),
    OpDef("share", "count, work (index): the region runs on spans of the positions below ``count``, several at the "
          "same time: it takes the first position, the one behind the last, both multiples of ``step`` but for the "
          "end, and the number of the thread, below ``threads``; a thread's while is worth ``worth``, of which each "
          "position is ``work``", "any", 2, _infer_write, None, (), frozenset(), ("step", "threads", "worth"),
          regions=1),
    OpDef("gather_panel", "panel, offset, source, offset, steps, offset, columns, offset, number of steps, of columns: "
          "a panel of the elements that lie at the sum of an offset in ``steps`` and one in ``columns``, which are "
          "whole multiples of 64 bytes; those that are not there are anything. Columns in so many ``vectors`` of "
          "``vector_bytes`` stand together, and their steps one behind the other", "loop", 10, _infer_write,
          memory.gather_panel, (Effect("writes", 0), Effect("reads", 2), Effect("reads", 4), Effect("reads", 6)),
          frozenset(), ("dtype", "vector_bytes", "vectors")),
    OpDef("is_finite_panel", "panel, offset, number of steps, of columns: whether none of its elements is infinite or "
          "nan, nor of those that are anything", "loop", 4,
          lambda operands, attributes: (Scalar(BOOL),), memory.is_finite_panel,
          (Effect("reads", 0),), frozenset(), ("dtype", "vector_bytes")),
    OpDef("multiply_gathered", "sums, offset, left, offset, rows, offset, steps, offset, lines, offset, panel, offset, "
          "number of rows, of steps, of columns, of steps before, of steps of the panel: the products of rows with "
          "steps of a panel, added to sums if there were steps before; addends are rounded once, with a sum so far. "
          "An element of what is left lies at the sum of an offset in ``rows`` and one in ``steps``, and ``lines`` "
          "has the number of the step in the panel. So many ``rows`` of ``vectors`` are worked on at a time, and "
          "lines of the panel are asked for so many steps ``ahead``", "loop", 17,
          _infer_write, memory.multiply_gathered,
          (Effect("writes", 0), Effect("reads", 0), Effect("reads", 2), Effect("reads", 4), Effect("reads", 6),
           Effect("reads", 8), Effect("reads", 10)), frozenset(),
          ("ahead", "dtype", "rows", "vector_bytes", "vectors")),
    OpDef("scatter_sums", "target, offset, rows, offset, columns, offset, sums, offset, number of rows, of columns: "
          "writes each sum to the sum of an offset in ``rows`` and one in ``columns``", "loop", 10, _infer_write,
          memory.scatter_sums, (Effect("writes", 0), Effect("reads", 2), Effect("reads", 4), Effect("reads", 6)),
          frozenset(), ("dtype", "vector_bytes")),
    OpDef("pack_panels", "panels, offset, matrix, offset, step, column stride, how far panels are apart, then how many "
          "columns and steps: panels have so many ``columns`` each, those of a step side by side; ``turned`` where the "
          "steps lie side by side, else the columns do, and so many rows ``ahead`` are brought near", "loop", 9,
          _infer_write, products.pack_panels,
          (Effect("writes", 0), Effect("reads", 2)), frozenset(),
          ("ahead", "columns", "lanes", "dtype", "turned")),
    OpDef("bring_near", "matrix, offset, how far rows are apart: so many ``rows`` of so many ``bytes`` are asked for, "
          "into the second cache, whether they are there or not; a hint, which changes nothing", "loop", 3,
          _infer_write, memory.bring_near, (Effect("reads", 0),), frozenset(), ("bytes", "rows")),
    OpDef("splat", "a scalar in every lane", "loop", 1, _infer_splat, memory.splat, (), frozenset(), ("lanes",)),
    OpDef("lane_index", "0, 1, 2...: each lane's number", "loop", 0, _infer_lane_index, memory.lane_index, (),
          frozenset(), ("dtype", "lanes")),
    OpDef("lanes_below", "operand: index; a mask of the lanes whose number is below it, which ``mostly`` are all",
          "loop", 1, _infer_mask, memory.lanes_below, (), frozenset(), ("lanes", "mostly")),
    OpDef("fold_lanes", "folds the lanes with the op ``combine``, halves onto each other", "loop", 1,
          _infer_scalar_of("fold_lanes"), memory.fold_lanes, (), frozenset(), ("combine",)),
    OpDef("shift_lanes", "each lane has what is ``count`` lanes before it, and the first ones their own", "loop", 1,
          lambda operands, attributes: (_vector("shift_lanes", operands[0]),), memory.shift_lanes, (), frozenset(),
          ("count",)),
    OpDef("any_lane", "whether any lane of a mask is set", "loop", 1, lambda operands, attributes: (Scalar(BOOL),),
          memory.any_lane),
    OpDef("first_lane", "the number of the first set lane; the lane count if none", "loop", 1,
          lambda operands, attributes: (Index(),), memory.first_lane),
    OpDef("extract_lane", "vector, index: one lane", "loop", 2, _infer_scalar_of("extract_lane"),
          memory.extract_lane),
    OpDef("to_index", "an integer scalar as an index; ``binds`` names the size that it becomes", "any", 1,
          _infer_to_index, lambda operands, attributes, types: int(operands[0]), (), frozenset(), ("binds",)),
    OpDef("multiply_high", "upper half of the double-width product of unsigned integers", "any", 2,
          lambda operands, attributes: (operands[0],), memory.multiply_high),
    *(
        OpDef(f"{name}_overflows", f"whether {name} of signed integers wraps around", "any", 2,
              lambda operands, attributes: (with_dtype(shape_like("overflows", operands), BOOL),),
              memory.overflows(exact))
        for name, exact in (("add", operator.add), ("subtract", operator.sub), ("multiply", operator.mul))
    ),
    OpDef("divide_truncated", "a / b of integers, rounded towards zero: one instruction. Operands are guarded: b is "
          "not 0, nor -1 beside the smallest integer", "any", 2, _infer_integers, _divide_truncated),
    OpDef("remainder_truncated", "a - b * divide_truncated(a, b), under the same guard", "any", 2, _infer_integers,
          _remainder_truncated),
]  # fmt: skip
