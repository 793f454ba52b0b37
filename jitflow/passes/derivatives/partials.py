"""The partial derivatives of elementwise ops: one table for both modes.

A row gives for each operand the factor by which a small change of it arrives at the result: a value, 1 or -1, or None
where it does not arrive (integers, conditions, steps). Forward mode multiplies tangents by it, reverse mode cotangents
by its complex conjugate, so that the gradient of a real function of complex numbers points where it grows, as in
TensorFlow and PyTorch. An op that is no analytic function of its complex operands has a reverse rule of its own
(`transposes.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.notation import Notation

__all__ = ["CONSTANT", "PARTIALS", "Factor", "Partials"]

Factor = Value | int | None
Partials = Callable[[Notation, Op], tuple[Factor, ...]]


def _multiply(m: Notation, op: Op) -> tuple[Factor, ...]:
    a, b = op.operands
    return b, a


def _divide(m: Notation, op: Op) -> tuple[Factor, ...]:
    _, b = op.operands
    return m("divide", 1, b), m("negative", m("divide", op.result, b))


def _constant(*factors: Factor) -> Partials:
    return lambda m, op: factors


def _of_operand(rule: Callable[[Notation, Value], Value]) -> Partials:
    return lambda m, op: (rule(m, op.operands[0]),)


def _of_result(rule: Callable[[Notation, Value], Value]) -> Partials:
    return lambda m, op: (rule(m, op.result),)


PARTIALS: dict[str, Partials] = {
    "add": _constant(1, 1),
    "subtract": _constant(1, -1),
    "multiply": _multiply,
    "divide": _divide,
    "negative": _constant(-1),
    "sqrt": _of_result(lambda m, y: m("divide", 0.5, y)),
    "exp": _of_result(lambda m, y: y),
    "log": _of_operand(lambda m, x: m("divide", 1, x)),
    "sin": _of_operand(lambda m, x: m("cos", x)),
    "cos": _of_operand(lambda m, x: m("negative", m("sin", x))),
    "tanh": _of_result(lambda m, y: m("subtract", 1, m("multiply", y, y))),
    "copy": _constant(1),
}

CONSTANT = frozenset("floor ceil trunc rint sign stop_gradient spacing floor_divide".split())
"""Ops whose results do not change with small changes of their operands."""
