"""Comparisons of numbers, and which of them hold where another one does not."""

from __future__ import annotations

__all__ = ["COMPARISONS", "OPPOSITE"]

COMPARISONS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
OPPOSITE = {
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "equal": "not_equal",
    "not_equal": "equal",
}
