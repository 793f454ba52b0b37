"""Text of the running program: a list of the numbers of its characters (`jitflow.ir.types.TEXT`).

A text is made by these ops, and by appending to one that nobody else has yet. From there on it stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitflow.ir.dtypes import I64
from jitflow.ir.ops.containers import Entries
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import TEXT, Scalar, Type

__all__ = ["TEXT_OPS"]


def _infer_constant(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    return (TEXT,)


def _infer_comparison(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    _require_texts("compare_texts", operands)
    return (Scalar(I64),)


def _infer_extension(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    _require_texts("extend_text", operands[:2])
    for bound in operands[2:]:
        if not isinstance(bound, Scalar) or bound.dtype != I64:
            raise TypeRuleError(f"extend_text: expected a number of i64, got {bound}")
    return ()


def _require_texts(name: str, operands: Sequence[Type]) -> None:
    for operand in operands:
        if operand != TEXT:
            raise TypeRuleError(f"{name}: expected {TEXT}, got {operand}")


def _constant(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    made = Entries(TEXT)
    made.rows = [(number,) for number in attributes["characters"]]
    return made


def _compare(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    one, other = (text.characters() for text in operands)
    return np.int64((one > other) - (one < other))


def _extend(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    text, source, start, stop = operands
    text.rows += source.rows[int(start) : int(stop)]
    return ()


TEXT_OPS = [
    OpDef("text_constant", "a text of known ``characters``, by their numbers", "any", None, _infer_constant, _constant,
          (Effect("allocates"),), frozenset(), ("characters",)),
    OpDef("compare_texts", "two texts: -1 if the first comes before the second, 0 if they are equal, 1 if behind",
          "any", 2, _infer_comparison, _compare, (Effect("reads", 0), Effect("reads", 1))),
    OpDef("extend_text", "text, another text, positions: appends the characters from one position to another, which are "
          "there", "any", 4, _infer_extension, _extend, (Effect("reads", 1), Effect("reads", 0), Effect("writes", 0))),
]  # fmt: skip
