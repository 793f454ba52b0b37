"""The partial derivatives of elementwise ops: one table for both modes.

A row gives for each operand the factor (`factors.py`) by which a small change of it arrives at the result. Forward mode
multiplies tangents by it, reverse mode cotangents by its complex conjugate, so that the gradient of a real function of
complex numbers points where it grows, as in TensorFlow and PyTorch. An op that is no analytic function of its complex
operands has rules of its own (`complex_numbers.py`).

Where there is no derivative, a rule gives what is most useful:

- ``maximum`` and its kin give each of two equal operands half, as in JAX and PyTorch: that is what central differences
  give, and it depends on no order.
- ``absolute``, ``hypot`` and ``arctan2`` give 0 at 0.
- ``power`` by its exponent gives 0 for the base 0, and by its base 0 for the exponent 0.
- ``sqrt``, ``log`` and their kin are infinite where their slope is.
- ``remainder`` is differentiated beside its jumps, and so is everything that rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.factors import Factor, Over, Share, difference, settled, where
from jitflow.passes.derivatives.notation import Notation, dtype_of

__all__ = ["CONSTANT", "PARTIALS", "Partials", "is_constant"]

Partials = Callable[[Notation, Op], tuple[Factor, ...]]


def _constant(*factors: Factor) -> Partials:
    return lambda m, op: factors


def _of_operand(rule: Callable[[Notation, Value], Factor]) -> Partials:
    return lambda m, op: (rule(m, op.operands[0]),)


def _of_result(rule: Callable[[Notation, Value], Factor]) -> Partials:
    return lambda m, op: (rule(m, op.result),)


def _multiply(m: Notation, op: Op) -> tuple[Factor, ...]:
    a, b = op.operands
    return b, a


def _fma(m: Notation, op: Op) -> tuple[Factor, ...]:
    a, b, _ = op.operands
    return b, a, 1


def _divide(m: Notation, op: Op) -> tuple[Factor, ...]:
    b = op.operands[1]
    return Over(b, regular=True), m("negative", m("divide", op.result, b))


def _remainder(m: Notation, op: Op) -> tuple[Factor, ...]:
    """By the divisor it is minus the whole number of times that it was taken away, which rounding cannot miss."""
    a, b = op.operands
    return 1, m("rint", m("divide", m("subtract", op.result, a), b))


def _power(m: Notation, op: Op) -> tuple[Factor, ...]:
    base, exponent = op.operands
    slope = m("multiply", exponent, m("power", base, m("subtract", exponent, 1)))
    growth = m("multiply", m("log", base), op.result)
    return (
        settled(m, slope, (exponent,)),
        where(m, m("equal", base, 0), 0, growth),
    )


def _logaddexp(exponential: str) -> Partials:
    """The softmax of the two; equal operands share equally, two infinite ones too.

    A power that overflows is an infinity that was chosen, whose derivative is 0.
    """

    def partials(m: Notation, op: Op) -> tuple[Factor, ...]:
        a, b = op.operands
        ahead = difference(m, a, b)
        powers = [m(exponential, exponent) for exponent in (m("negative", ahead), ahead)]
        bounded = [where(m, m("isinf", power), math.inf, power) for power in powers]
        return tuple(Over(m("add", 1, power), regular=True) for power in bounded)

    return partials


def _chosen(m: Notation, op: Op) -> tuple[Factor, ...]:
    """The operands that the result is: both where they are equal, none where it is nan."""
    first, second = (m("equal", operand, op.result) for operand in op.operands)
    return Share(first, second), Share(second, first)


def _copysign(m: Notation, op: Op) -> tuple[Factor, ...]:
    a, b = op.operands
    return m("multiply", m("sign", a), m("copysign", 1, b)), None


# -- inverse functions, by the derivative of what they invert -------------------------------------------------
#
# Their complex forms have cuts, along which the sign of a zero says on which side a number lies. So sums of a number
# and 1 are made of its parts: 1 - z of z = x + 0j is (1 - x) - 0j.


def _shifted(m: Notation, z: Value, real: int, sign: int, turned: bool = False) -> Value:
    """``real + sign * z``, or ``real + sign * 1j * z`` if ``turned``."""
    if not dtype_of(z).is_complex:
        return m("add" if sign > 0 else "subtract", real, z)
    x, y = m("real", z), m("imag", z)
    if turned:
        x, y = m("negative", y), x
    if sign < 0:
        x, y = m("negative", x), m("negative", y)
    return m("complex", m("add", real, x), y)


def _roots(m: Notation, first: Value, second: Value) -> Value:
    """``sqrt(first) * sqrt(second)``: each has its own cut."""
    return m("multiply", m("sqrt", first), m("sqrt", second))


def _arcsin(m: Notation, x: Value) -> Factor:
    below, above = _shifted(m, x, 1, -1), _shifted(m, x, 1, 1)
    if dtype_of(x).is_complex:
        return Over(_roots(m, below, above))
    return Over(m("sqrt", m("multiply", below, above)))


def _arccos(m: Notation, x: Value) -> Factor:
    slope = _arcsin(m, x)
    assert isinstance(slope, Over)
    return Over(m("negative", slope.value))


def _arctan(m: Notation, x: Value) -> Factor:
    if dtype_of(x).is_complex:
        return Over(m("multiply", _shifted(m, x, 1, 1, turned=True), _shifted(m, x, 1, -1, turned=True)))
    return Over(m("add", 1, m("multiply", x, x)), regular=True)


def _arcsinh(m: Notation, x: Value) -> Factor:
    if dtype_of(x).is_complex:
        return Over(_roots(m, _shifted(m, x, 1, 1, turned=True), _shifted(m, x, 1, -1, turned=True)))
    return Over(m("hypot", x, 1), regular=True)


def _arccosh(m: Notation, x: Value) -> Factor:
    return Over(_roots(m, _shifted(m, x, -1, 1), _shifted(m, x, 1, 1)))


def _arctanh(m: Notation, x: Value) -> Factor:
    return Over(m("multiply", _shifted(m, x, 1, -1), _shifted(m, x, 1, 1)))


def _arctan2(m: Notation, op: Op) -> tuple[Factor, ...]:
    a, b = op.operands
    radius = m("hypot", a, b)
    away = m("not_equal", radius, 0)
    return tuple(
        where(m, away, m("divide", m("divide", part, radius), radius), 0) for part in (b, m("negative", a))
    )  # fmt: skip


def _hypot(m: Notation, op: Op) -> tuple[Factor, ...]:
    away = m("not_equal", op.result, 0)
    return tuple(where(m, away, m("divide", part, op.result), 0) for part in op.operands)


def _bell(sign: int) -> Partials:
    """The slope of the error function."""
    return _of_operand(lambda m, x: m("multiply", sign * 2 / math.sqrt(math.pi), m("exp", _minus_square(m, x))))


def _minus_square(m: Notation, x: Value) -> Value:
    return m("negative", m("multiply", x, x))


PARTIALS: dict[str, Partials] = {
    "add": _constant(1, 1),
    "subtract": _constant(1, -1),
    "multiply": _multiply,
    "fma": _fma,
    "divide": _divide,
    "remainder": _remainder,
    "fmod": _remainder,
    "negative": _constant(-1),
    "copy": _constant(1),
    "flush": _constant(1),
    "power": _power,
    "sqrt": _of_result(lambda m, y: Over(m("multiply", 2, y))),
    "cbrt": _of_result(lambda m, y: Over(m("multiply", 3, m("multiply", y, y)))),
    "exp": _of_result(lambda m, y: y),
    "exp2": _of_result(lambda m, y: m("multiply", math.log(2), y)),
    "expm1": _of_operand(lambda m, x: m("exp", x)),
    "log": _of_operand(lambda m, x: Over(x)),
    "log1p": _of_operand(lambda m, x: Over(m("add", 1, x))),
    "log2": _of_operand(lambda m, x: Over(m("multiply", math.log(2), x))),
    "log10": _of_operand(lambda m, x: Over(m("multiply", math.log(10), x))),
    "logaddexp": _logaddexp("exp"),
    "logaddexp2": _logaddexp("exp2"),
    "sin": _of_operand(lambda m, x: m("cos", x)),
    "cos": _of_operand(lambda m, x: m("negative", m("sin", x))),
    "tan": _of_result(lambda m, y: m("add", 1, m("multiply", y, y))),
    "arcsin": _of_operand(_arcsin),
    "arccos": _of_operand(_arccos),
    "arctan": _of_operand(_arctan),
    "arctan2": _arctan2,
    "hypot": _hypot,
    "sinh": _of_operand(lambda m, x: m("cosh", x)),
    "cosh": _of_operand(lambda m, x: m("sinh", x)),
    "tanh": _of_result(lambda m, y: m("subtract", 1, m("multiply", y, y))),
    "arcsinh": _of_operand(_arcsinh),
    "arccosh": _of_operand(_arccosh),
    "arctanh": _of_operand(_arctanh),
    "erf": _bell(1),
    "erfc": _bell(-1),
    "maximum": _chosen,
    "minimum": _chosen,
    "fmax": _chosen,
    "fmin": _chosen,
    "copysign": _copysign,
    "nextafter": _constant(1, None),
}

_REASONS: dict[str, str] = {
    "floor ceil trunc rint floor_divide": "steps",
    "sign": "a step; of complex numbers see `complex_numbers.py`",
    "spacing": "a step at every power of two",
    "less less_equal greater greater_equal equal not_equal isnan isinf isfinite signbit": "a bool",
    "logical_and logical_or logical_xor logical_not": "of bools",
    "bitwise_and bitwise_or bitwise_xor bitwise_not left_shift right_shift bitwise_count gcd lcm "
    "power_modulo": "of integers",
    "bitcast": "bits",
    "random_low random_high": "random bits",
    "reduce_logical_and reduce_logical_or reduce_logical_xor": "of bools",
    "reduce_bitwise_and reduce_bitwise_or reduce_bitwise_xor": "of integers",
    "reduce_argmax reduce_argmin": "a position",
    "constant empty iota size broadcast_dims": "of nothing, or of sizes",
    "stop_gradient": "what it is for",
}

CONSTANT: dict[str, str] = {name: reason for names, reason in _REASONS.items() for name in names.split()}
"""Ops whose results do not change with small changes of their operands, and why."""


def is_constant(op: Op) -> bool:
    """Whether an op's results do not change with small changes of its operands."""
    return op.name in CONSTANT and not (op.name == "sign" and dtype_of(op.operands[0]).is_complex)
