"""Simplification: every op in its normal form, and what computes nothing gone.

Two tables. `ALGEBRA` holds the laws that are true of NumPy's numbers, bit for bit: each says for which kinds of dtype
it holds, since ``x - x`` is not 0 for a nan and ``x + 0`` is not ``x`` for -0.0. `STRUCTURE` holds what needs a look at
shapes, dtypes or attributes (`rules/`). Constants are folded in the same sweep (`fold`), because each makes room for
the other.

    %0: f32[n] = multiply %x, %one              %y: f32[n] = sqrt %x
    %1: f32[n] = power %0, %half        ->      yield %y
    yield %1

Relies on nothing but a verified function of any layer. Powers: NumPy computes ``array ** scalar`` for the exponents -1,
0, 0.5, 1 and 2 as the rules here do; the cube is two products, which stay within 2 ulp. What rounds otherwise is in
`fastmath`. Ops that a rule leaves without a use are for `dce`.
"""

from __future__ import annotations

from jitflow.ir.core import Function
from jitflow.passes.rules.algebra import algebraic
from jitflow.passes.rules.branches import BRANCH_RULES
from jitflow.passes.rules.control import CONTROL_RULES
from jitflow.passes.rules.numbers import NUMBER_RULES
from jitflow.passes.rules.rewrite import RuleTable, rewrite
from jitflow.passes.rules.shapes import SHAPE_RULES
from jitflow.passes.values.fold import FOLDING

__all__ = ["ALGEBRA", "SIMPLIFICATION", "simplify"]

_INTEGER, _REAL, _BITS = "iu", "iuf", "biu"

ALGEBRA = (
    # additive identities: -0.0 + 0.0 is 0.0, so only -0.0 may be added to a float
    algebraic("add_zero", "add(x, 0) -> x", _INTEGER),
    algebraic("add_negative_zero", "add(x, -0.0) -> x", "f"),
    algebraic("subtract_zero", "subtract(x, 0) -> x", _REAL),
    algebraic("zero_minus", "subtract(0, x) -> negative(x)", _INTEGER),
    algebraic("negative_zero_minus", "subtract(-0.0, x) -> negative(x)", "f"),
    algebraic("subtract_itself", "subtract(x, x) -> 0", _INTEGER),
    algebraic("add_negative", "add(x, negative(y)) -> subtract(x, y)", _REAL),
    algebraic("subtract_negative", "subtract(x, negative(y)) -> add(x, y)", _REAL),
    algebraic("negative_negative", "negative(negative(x)) -> x"),
    # multiplicative identities
    algebraic("multiply_one", "multiply(x, 1) -> x", _REAL),
    algebraic("multiply_zero", "multiply(x, 0) -> 0", _INTEGER),
    algebraic("multiply_minus_one", "multiply(x, -1) -> negative(x)", _REAL),
    algebraic("multiply_negatives", "multiply(negative(x), negative(y)) -> multiply(x, y)", _REAL),
    algebraic("divide_one", "divide(x, 1) -> x", "f"),
    algebraic("divide_minus_one", "divide(x, -1) -> negative(x)", "f"),
    algebraic("divide_negatives", "divide(negative(x), negative(y)) -> divide(x, y)", "f"),
    algebraic("floor_divide_one", "floor_divide(x, 1) -> x", _INTEGER),
    algebraic("remainder_one", "remainder(x, 1) -> 0", _INTEGER),
    # powers
    algebraic("power_zero", "power(x, 0) -> 1", _REAL),
    algebraic("power_one", "power(x, 1) -> x", _REAL),
    algebraic("power_two", "power(x, 2) -> multiply(x, x)", _REAL),
    algebraic("power_three", "power(x, 3) -> multiply(multiply(x, x), x)", _REAL),
    algebraic("power_minus_one", "power(x, -1) -> divide(1, x)", "f"),
    # signs and rounding
    algebraic("absolute_absolute", "absolute(absolute(x)) -> absolute(x)", _REAL),
    algebraic("absolute_negative", "absolute(negative(x)) -> absolute(x)", "f"),
    algebraic("absolute_unsigned", "absolute(x) -> x", "u"),
    algebraic("copysign_itself", "copysign(x, x) -> x", "f"),
    algebraic("floor_floor", "floor(floor(x)) -> floor(x)"),
    algebraic("ceil_ceil", "ceil(ceil(x)) -> ceil(x)"),
    algebraic("trunc_trunc", "trunc(trunc(x)) -> trunc(x)"),
    algebraic("rint_rint", "rint(rint(x)) -> rint(x)"),
    algebraic("conjugate_conjugate", "conjugate(conjugate(x)) -> x"),
    algebraic("real_complex", "real(complex(x, y)) -> x"),
    algebraic("imag_complex", "imag(complex(x, y)) -> y"),
    # extrema
    algebraic("maximum_itself", "maximum(x, x) -> x"),
    algebraic("minimum_itself", "minimum(x, x) -> x"),
    algebraic("fmax_itself", "fmax(x, x) -> x"),
    algebraic("fmin_itself", "fmin(x, x) -> x"),
    # comparisons: those with a nan are false, except not_equal
    algebraic("equal_itself", "equal(x, x) -> True", _BITS),
    algebraic("not_equal_itself", "not_equal(x, x) -> False", _BITS),
    algebraic("less_itself", "less(x, x) -> False", "biuf"),
    algebraic("greater_itself", "greater(x, x) -> False", "biuf"),
    algebraic("less_equal_itself", "less_equal(x, x) -> True", _BITS),
    algebraic("greater_equal_itself", "greater_equal(x, x) -> True", _BITS),
    # logic
    algebraic("not_not", "logical_not(logical_not(x)) -> x"),
    algebraic("and_itself", "logical_and(x, x) -> x"),
    algebraic("or_itself", "logical_or(x, x) -> x"),
    algebraic("xor_itself", "logical_xor(x, x) -> False"),
    algebraic("and_true", "logical_and(x, True) -> x"),
    algebraic("and_false", "logical_and(x, False) -> False"),
    algebraic("or_true", "logical_or(x, True) -> True"),
    algebraic("or_false", "logical_or(x, False) -> x"),
    algebraic("xor_true", "logical_xor(x, True) -> logical_not(x)"),
    algebraic("xor_false", "logical_xor(x, False) -> x"),
    algebraic("not_equal_from_not", "logical_not(equal(x, y)) -> not_equal(x, y)"),
    algebraic("equal_from_not", "logical_not(not_equal(x, y)) -> equal(x, y)"),
    # bits
    algebraic("bits_not_not", "bitwise_not(bitwise_not(x)) -> x"),
    algebraic("bits_and_itself", "bitwise_and(x, x) -> x"),
    algebraic("bits_or_itself", "bitwise_or(x, x) -> x"),
    algebraic("bits_xor_itself", "bitwise_xor(x, x) -> 0", _INTEGER),
    algebraic("bits_and_zero", "bitwise_and(x, 0) -> 0", _INTEGER),
    algebraic("bits_or_zero", "bitwise_or(x, 0) -> x", _INTEGER),
    algebraic("bits_xor_zero", "bitwise_xor(x, 0) -> x", _INTEGER),
    algebraic("left_shift_zero", "left_shift(x, 0) -> x"),
    algebraic("right_shift_zero", "right_shift(x, 0) -> x"),
    # selection
    algebraic("select_same", "select(c, x, x) -> x"),
    algebraic("select_true", "select(True, x, y) -> x"),
    algebraic("select_false", "select(False, x, y) -> y"),
    algebraic("select_condition", "select(c, True, False) -> c"),
    algebraic("select_inverse", "select(c, False, True) -> logical_not(c)"),
    algebraic("select_or", "select(c, c, x) -> logical_or(c, x)"),
    algebraic("select_and", "select(c, x, c) -> logical_and(c, x)"),
    algebraic("select_not", "select(logical_not(c), x, y) -> select(c, y, x)"),
)  # fmt: skip

STRUCTURE = (*NUMBER_RULES, *SHAPE_RULES, *CONTROL_RULES, *BRANCH_RULES)

SIMPLIFICATION = (*FOLDING, *ALGEBRA, *STRUCTURE)
"""All rules of this pass. The table is exact: `tests/passes` runs each rule on random numbers, nan and limits."""

_TABLE = RuleTable(SIMPLIFICATION)


def simplify(function: Function) -> Function:
    """Apply `SIMPLIFICATION` to a fixpoint."""
    return rewrite(function, _TABLE)
