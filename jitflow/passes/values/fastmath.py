"""Rules that change rounding, the sign of zeros, or what becomes of nan and infinity: only for who asks for it.

``jitflow.function(fastmath=True)`` puts this pass before `simplify`. Each line assumes real arithmetic on finite
numbers; results stay within a few ulp of NumPy's where nothing cancels or overflows.
"""

from __future__ import annotations

from jitflow.ir.core import Function
from jitflow.passes.rules.algebra import algebraic
from jitflow.passes.rules.numbers import divide_by_constant
from jitflow.passes.rules.rewrite import RuleTable, rewrite

__all__ = ["FASTMATH", "fastmath"]

FASTMATH = (
    algebraic("fast_add_zero", "add(x, 0) -> x", "f"),
    algebraic("fast_zero_minus", "subtract(0, x) -> negative(x)", "f"),
    algebraic("fast_subtract_itself", "subtract(x, x) -> 0", "f"),
    algebraic("fast_multiply_zero", "multiply(x, 0) -> 0", "f"),
    algebraic("fast_divide_itself", "divide(x, x) -> 1", "f"),
    algebraic("fast_negative_subtract", "negative(subtract(x, y)) -> subtract(y, x)", "f"),
    algebraic("fast_power_four", "power(x, 4) -> multiply(multiply(x, x), multiply(x, x))", "f"),
    algebraic("fast_power_minus_two", "power(x, -2) -> divide(1, multiply(x, x))", "f"),
    algebraic("fast_sqrt_square", "multiply(sqrt(x), sqrt(x)) -> x", "f"),
    algebraic("fast_square_root", "sqrt(multiply(x, x)) -> absolute(x)", "f"),
    algebraic("fast_exp_log", "exp(log(x)) -> x", "f"),
    algebraic("fast_log_exp", "log(exp(x)) -> x", "f"),
    algebraic("fast_exp_product", "multiply(exp(x), exp(y)) -> exp(add(x, y))", "f"),
    divide_by_constant("fast_divide_constant", exact=False),
)

_TABLE = RuleTable(FASTMATH)


def fastmath(function: Function) -> Function:
    """Apply `FASTMATH` to a fixpoint."""
    return rewrite(function, _TABLE)
