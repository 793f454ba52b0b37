"""Text of the running program: a list of the numbers of its characters (`jitflow.ir.types.TEXT`).

A text is made by these ops, and by appending to one that nobody else has yet. From there on it stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _takes(name: str, texts: int) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    """The rule of an op on so many texts, and on numbers."""

    def infer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        _require_texts(name, operands[:texts])
        for number in operands[texts:]:
            if not isinstance(number, Scalar) or number.dtype != I64:
                raise TypeRuleError(f"{name}: expected a number of i64, got {number}")
        return ()

    return infer


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


def _insert(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    text, position, count, number = operands
    text.rows[int(position) : int(position)] = [(number,)] * int(count)
    return ()


def _number(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    text, number = operands
    digits = np.base_repr(int(number), attributes["base"])
    text.rows += [(ord(digit),) for digit in (digits if attributes.get("capitals") else digits.lower())]
    return ()


TEXT_OPS = [
    OpDef("text_constant", "a text of known ``characters``, by their numbers", "any", None, _infer_constant, _constant,
          (Effect("allocates"),), frozenset(), ("characters",)),
    OpDef("compare_texts", "two texts: -1 if the first comes before the second, 0 if they are equal, 1 if behind",
          "any", 2, _infer_comparison, _compare, (Effect("reads", 0), Effect("reads", 1))),
    OpDef("extend_text", "text, another text, positions: appends the characters from one position to another, which "
          "are there", "any", 4, _takes("extend_text", 2), _extend,
          (Effect("reads", 1), Effect("reads", 0), Effect("writes", 0))),
    OpDef("insert_characters", "text, position, count, number: so many times one character in front of a position",
          "any", 4, _takes("insert_characters", 1), _insert, (Effect("reads", 0), Effect("writes", 0))),
    OpDef("append_number", "text, number: its digits in a ``base``, letters as ``capitals`` or not", "any", 2,
          _takes("append_number", 1), _number, (Effect("reads", 0), Effect("writes", 0)), frozenset(),
          ("base", "capitals")),
]  # fmt: skip
