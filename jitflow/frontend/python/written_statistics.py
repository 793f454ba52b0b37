"""What `statistics` computes with fractions, in floats that give the same bits."""

from __future__ import annotations

import math
from statistics import StatisticsError
from typing import Any

__all__ = ["mean"]


def mean(data: Any) -> Any:
    """`statistics.mean`: of integers one of them, if it is one."""
    n = len(data)
    if n < 1:
        raise StatisticsError("mean requires at least one data point")
    total = sum(data)
    if isinstance(total, int):
        return total // n if total % n == 0 else total / n
    return _nearest(data, n)


def _nearest(data: Any, n: int) -> float:
    """The float next to the exact mean. A sum and a quotient that are rounded are at most one off."""
    found = math.fsum(data) / n
    if not -1e290 < found < 1e290:
        return found
    left = _left(data, n, found)
    if left == 0:
        return found
    other = math.nextafter(found, math.inf if left > 0 else -math.inf)
    beyond = abs(_left(data, n, other)) - abs(left)
    if beyond == 0:  # in the middle, where the even one is meant
        return other if found / math.ulp(found) % 2 != 0 else found
    return found if beyond > 0 else other


def _left(data: Any, n: int, number: float) -> float:
    """The sum less ``n * number``, rounded once: both halves of the number have exact products."""
    scaled = 134217729.0 * number
    high = scaled - (scaled - number)
    parts = list(data)
    parts.append(-n * high)
    parts.append(-n * (number - high))
    return math.fsum(parts)
