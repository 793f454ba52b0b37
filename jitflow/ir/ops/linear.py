"""Contractions that a library or a register-blocked kernel computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.records import Attributes, OpDef, TypeRuleError
from jitflow.ir.types import Tensor, Type

__all__ = ["LINEAR_OPS"]


def _infer_matmul(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    left, right = operands
    if not (isinstance(left, Tensor) and isinstance(right, Tensor) and left.rank == right.rank >= 2):
        raise TypeRuleError(f"matmul: expected two tensors of one rank (2 or more), got {left} and {right}")
    if left.dtype != right.dtype:
        raise TypeRuleError(f"matmul: expected operands of one dtype, got {left} and {right}")
    if left.dims[:-2] != right.dims[:-2] or left.dims[-1] != right.dims[-2]:
        raise TypeRuleError(f"matmul: expected [..., m, k] and [..., k, n], got {left} and {right}")
    return (Tensor(left.dtype, (*left.dims[:-1], right.dims[-1])),)


def _matmul(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(*operands)


LINEAR_OPS = [
    OpDef(
        "matmul", "matrix product over the last two axes, batched over the others, which are equal", "tensor", 2,
        _infer_matmul, _matmul, (), frozenset({"contraction"}),
    ),
]  # fmt: skip
