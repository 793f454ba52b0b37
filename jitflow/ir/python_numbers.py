"""Arithmetic on Python numbers that raises as Python does, where NumPy's wraps around or gives inf.

Ops marked ``checked`` have this meaning. Python ints are 64 bits wide here, and overflow raises OverflowError. A power
whose *type* in Python would depend on its value (``2**-1``, ``(-8.0)**0.5``) raises ValueError.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["CHECKED_ARITHMETIC", "INT_OVERFLOW", "POWER_TYPE"]

INT_OVERFLOW = "the result does not fit into a 64-bit int"
POWER_TYPE = "the type of this power depends on its value"


def _exact(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*operands: Any) -> Any:
        result = function(*operands)
        if isinstance(result, int) and not -(1 << 63) <= result < 1 << 63:
            raise OverflowError(INT_OVERFLOW)
        return result

    return compute


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and abs(base) > 1 and exponent > 63:
        raise OverflowError(INT_OVERFLOW)  # without computing a number of that length
    result = base**exponent
    if type(result) is not type(base) and not isinstance(base, bool):
        raise ValueError(POWER_TYPE)
    return result


def _left_shift(value: int, count: int) -> int:
    if value and count > 64:
        raise OverflowError(INT_OVERFLOW)
    return value << count


CHECKED_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": _exact(operator.add),
    "subtract": _exact(operator.sub),
    "multiply": _exact(operator.mul),
    "divide": operator.truediv,
    "floor_divide": _exact(operator.floordiv),
    "remainder": operator.mod,
    "power": _exact(_power),
    "negative": _exact(operator.neg),
    "absolute": _exact(abs),
    "left_shift": _exact(_left_shift),
    "right_shift": operator.rshift,
}
"""The checked meaning of ops, by name; other ops mean the same with ``checked`` and without."""
