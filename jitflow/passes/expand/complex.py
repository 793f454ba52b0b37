"""Complex numbers as pairs of reals (under construction)."""

from __future__ import annotations

from jitflow.ir.core import Function

__all__ = ["has_complex", "split_complex"]


def has_complex(function: Function) -> bool:
    return False


def split_complex(function: Function) -> Function:
    return function
