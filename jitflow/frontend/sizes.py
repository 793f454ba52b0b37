"""Arithmetic of sizes: exact, symbolic, without ops; comparisons are decisions that are recorded as facts."""

from __future__ import annotations

from typing import Any

from jitflow.errors import UserZeroDivisionError
from jitflow.frontend.trace import current_trace
from jitflow.frontend.tracers import SizeTracer, dim_of, located, size_of
from jitflow.ir.dims import Dim

__all__ = ["size_operation", "size_unary"]

_LARGEST_POWER = 8
_DECISION = "a decision on a size"


def size_operation(name: str, left: Any, right: Any) -> Any:
    """``left name right`` for sizes and ints, at least one of them a `SizeTracer`.

    ``NotImplemented`` for operators whose result is no size (true division, negative powers, bits): those are
    computed on numbers.
    """
    first, second = dim_of(left), dim_of(right)
    if name == "add":
        return size_of(first + second)
    if name == "sub":
        return size_of(first - second)
    if name == "mul":
        return size_of(first * second)
    if name in ("floordiv", "mod", "divmod"):
        return _divide(name, first, second)
    if name == "pow" and isinstance(second, int) and 0 <= second <= _LARGEST_POWER:
        power: Dim = 1
        for _ in range(second):
            power = power * first
        return size_of(power)
    return _compare(name, first, second)


def size_unary(name: str, operand: SizeTracer) -> Any:
    """``-n  +n  ~n  abs(n)`` of a size."""
    dim = dim_of(operand)
    if name == "neg":
        return size_of(-dim)
    if name == "invert":
        return size_of(-dim - 1)
    if name == "abs" and not current_trace().decide(dim, ">=", 0, "abs() of a size"):
        return size_of(-dim)
    return operand


def _divide(name: str, first: Dim, second: Dim) -> Any:
    trace = current_trace()
    if trace.decide(second, "==", 0, "the division by a size"):
        words = "integer modulo by zero" if name == "mod" else "integer division or modulo by zero"
        raise located(UserZeroDivisionError(words))
    if name == "floordiv":
        return size_of(first // second)
    if name == "mod":
        return size_of(first % second)
    return size_of(first // second), size_of(first % second)


def _compare(name: str, first: Dim, second: Dim) -> Any:
    decide = current_trace().decide
    if name == "eq":
        return decide(first, "==", second, _DECISION)
    if name == "ne":
        return decide(first, "!=", second, _DECISION)
    if name == "lt":
        return decide(first, "<", second, _DECISION)
    if name == "ge":
        return decide(first, ">=", second, _DECISION)
    if name == "gt":
        return decide(second, "<", first, _DECISION)
    if name == "le":
        return decide(second, ">=", first, _DECISION)
    return NotImplemented
