"""Numbers that Python asked for while a function was traced, computed again of what a call passes.

How such a number is computed is data, so that files can hold it: ``("less", ("input", 0), ("known", 4))``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["OPERATIONS", "Formula", "number_of"]

Formula = tuple[Any, ...]
"""An operation and its operands, which are formulas, the place of an input, or a known number."""

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "floor_divide": operator.floordiv,
    "remainder": operator.mod, "divide": operator.truediv, "equal": operator.eq, "not_equal": operator.ne,
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "logical_and": operator.and_, "logical_or": operator.or_, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "negative": operator.neg, "absolute": abs,
    "logical_not": operator.not_, "minimum": min, "maximum": max, "bool": bool, "int": int, "float": float,
    "log2": math.log2, "rint": round, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip


def number_of(formula: Formula, inputs: Sequence[Any], *found: Any) -> Any:
    """The number, where these inputs are ``found``. Raises KeyError, ArithmeticError or ValueError where it is none."""
    return _number(formula, dict(zip(inputs, found, strict=True)))


def _number(formula: Formula, found: Mapping[Any, Any]) -> Any:
    name, *operands = formula
    match name:
        case "input":
            number = found[operands[0]]
            return number if type(number) in (bool, int, float, complex) else number.item()
        case "known":
            return operands[0]
        case "select":
            condition, chosen, other = operands
            return _number(chosen if _number(condition, found) else other, found)
    return OPERATIONS[name](*(_number(operand, found) for operand in operands))
