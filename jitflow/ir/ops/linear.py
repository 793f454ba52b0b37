"""Contractions that a library or a register-blocked kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.dims import Dim
from jitflow.ir.ops.shape import show_windows
from jitflow.ir.records import Attributes, OpDef, TypeRuleError
from jitflow.ir.types import Tensor, Type

__all__ = ["LINEAR_OPS", "shown_dims"]


def _infer_matmul(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    left, right = operands
    if "group" in attributes:
        return _infer_grouped(left, right, attributes)
    if not (isinstance(left, Tensor) and isinstance(right, Tensor) and left.rank == right.rank >= 2):
        raise TypeRuleError(f"matmul: expected two tensors of one rank (2 or more), got {left} and {right}")
    if left.dtype != right.dtype:
        raise TypeRuleError(f"matmul: expected operands of one dtype, got {left} and {right}")
    if left.dims[:-2] != right.dims[:-2] or left.dims[-1] != right.dims[-2]:
        raise TypeRuleError(f"matmul: expected [..., m, k] and [..., k, n], got {left} and {right}")
    return (Tensor(attributes.get("dtype", left.dtype), (*left.dims[:-1], right.dims[-1])),)


def _infer_grouped(left: Type, right: Type, attributes: Attributes) -> tuple[Type, ...]:
    group, dtype = attributes["group"], attributes["dtype"]
    if not (isinstance(left, Tensor) and isinstance(right, Tensor) and left.rank == right.rank == 2):
        raise TypeRuleError(f"matmul: expected two matrices, got {left} and {right}")
    if (left.dtype.name, right.dtype.name, dtype.name) != ("u8", "i32", "i32") or group != dtype.itemsize:
        raise TypeRuleError(f"matmul: expected u8, i32 and sums of i32, got {left}, {right} and {dtype.name}")
    if left.dims[1] != right.dims[0] * group:
        raise TypeRuleError(f"matmul: expected [m, {group} * k] and [k, n], got {left} and {right}")
    return (Tensor(dtype, (left.dims[0], right.dims[1])),)


def _matmul(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    if "group" in attributes:
        left, right = operands
        steps = np.ascontiguousarray(right).astype("<i4").view(np.int8).reshape(*right.shape, attributes["group"])
        operands = left, steps.transpose(0, 2, 1).reshape(left.shape[1], right.shape[1])
    if "dtype" in attributes:
        operands = [operand.astype(attributes["dtype"].numpy) for operand in operands]
    with np.errstate(all="ignore"):
        return np.matmul(*operands)


def _infer_contract(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    left, right = operands
    if not (isinstance(left, Tensor) and isinstance(right, Tensor) and left.dtype == right.dtype):
        raise TypeRuleError(f"contract: expected two tensors of one dtype, got {left} and {right}")
    labels, shapes = (attributes["left"], attributes["right"]), (shown_dims(left.dims, attributes), right.dims)
    if any(len(own) != len(dims) or len(set(own)) != len(own) for own, dims in zip(labels, shapes, strict=True)):
        raise TypeRuleError(f"contract: expected a label per axis, all different, got {labels[0]} and {labels[1]}")
    sizes = dict(zip(labels[0], shapes[0], strict=True))
    for label, dim in zip(labels[1], right.dims, strict=True):
        if sizes.setdefault(label, dim) != dim:
            raise TypeRuleError(f"contract: expected {sizes[label]} along axis {label} of {right}, got {dim}")
    kept = attributes["kept"]
    alone = set(labels[0]) ^ set(labels[1])
    if len(set(kept)) != len(kept) or not alone <= set(kept) <= sizes.keys():
        raise TypeRuleError(f"contract: expected the labels {sorted(alone)} among those that are kept, got {kept}")
    return (Tensor(left.dtype, tuple(sizes[label] for label in kept)),)


def shown_dims(dims: Sequence[Dim], attributes: Attributes) -> tuple[Dim, ...]:
    """The dims of what a contraction shows of its left operand: those of windows, if it reads it through some."""
    shown = list(dims)
    for axis, count in zip(attributes.get("axes", ()), attributes.get("counts", ()), strict=True):
        shown[axis] = count
    return (*shown, *attributes.get("sizes", ()))


def _contract(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    (left, right), kept = operands, list(attributes["kept"])
    if "axes" in attributes:
        left = _among_zeros(left, attributes)
    with np.errstate(all="ignore"):
        found = np.einsum(left, list(attributes["left"]), right, list(attributes["right"]), kept, optimize=True)
    return np.asarray(found)


def _among_zeros(operand: Any, attributes: Attributes) -> Any:
    """Windows that reach beyond an array, where they show zeros."""
    around = [(0, 0)] * operand.ndim
    names = ("axes", "counts", "sizes", "steps", "dilations", "before")
    for axis, count, size, step, dilation, before in zip(*(attributes[name] for name in names), strict=True):
        span = max(count - 1, 0) * step + max(size - 1, 0) * dilation + 1
        around[axis] = (before, max(span - before - operand.shape[axis], 0))
    return show_windows(np.pad(operand, around), attributes)


LINEAR_OPS = [
    OpDef(
        "matmul", "matrix product over the last two axes, batched over the others, which are equal; of numbers as "
        "wide as ``dtype``, if there is one. With ``group`` an element of the right one is so many steps of a "
        "column, in bytes, the first one lowest", "tensor", 2,
        _infer_matmul, _matmul, (), frozenset({"contraction"}), ("dtype", "group"),
    ),
    OpDef(
        "contract", "the sum of products over the labels that are not ``kept``: ``left`` and ``right`` label the axes "
        "of the operands, and a label that is not kept is one of both. It may be windows that it reads. With ``axes`` "
        "and what else a ``window`` says, it reads those of the left operand, which stands among zeros: so many "
        "``before`` it", "tensor", 2,
        _infer_contract, _contract, (), frozenset({"contraction"}),
        ("left", "right", "kept", "axes", "counts", "sizes", "steps", "dilations", "before"),
    ),
]  # fmt: skip
