"""Python's numbers raise where NumPy's wrap around: ops marked ``checked`` become the op and a ``check``.

The words are CPython's, of the version that is running: they are asked for by making the same mistake. What CPython has
no words for (an int beyond 64 bits, a power of another type) is said in those of `jitflow.ir.python_numbers`.

A check stands before its op where the op needs it (a zero divisor) and after it where it looks at the result. On
vectors it fails where any lane does.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from jitflow.ir.python_numbers import INT_OVERFLOW, POWER_TYPE
from jitflow.passes.expand.notation import Number, apply, machine_of, repeat_while, unsigned
from jitflow.passes.expand.primitives import dtype_class
from jitflow.passes.expand.term import select

__all__ = ["expand_checked", "python_words"]

_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def expand_checked(name: str, operands: tuple[Number, ...], known: Sequence[Any]) -> Number:
    """The op on Python's numbers, with the checks that raise what Python raises.

    ``known`` are the operands as numbers, None where only the running program has one.
    """
    kind = "float" if dtype_class(operands[0].dtype) in ("float", "half") else "integer"
    if name == "power" and (kind, known[1]) in _SHORT_POWERS:
        return _SHORT_POWERS[kind, known[1]](operands[0])
    if kind == "integer" and name in _LIMITED:
        limited = _with_constant(name, operands, known)
        if limited is not None:
            return limited
    rule = _RULES.get((name, kind))
    return rule(*operands) if rule else apply(name, *operands)


@functools.lru_cache(maxsize=None, typed=True)
def python_words(function: Callable[..., Any], *operands: complex) -> str:
    """The message of the error that Python raises for this call."""
    try:
        function(*operands)
    except ArithmeticError as error:
        return str(error)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"expected {function} to raise for {operands}")


def _check(failing: Number, error: str, message: str) -> None:
    machine_of(failing).check(failing.value, error, message)


def _check_overflow(failing: Number) -> None:
    _check(failing, "OverflowError", INT_OVERFLOW)


# -- ints ------------------------------------------------------------------------------------------


_LIMITED = ("add", "subtract", "multiply")


def _with_constant(name: str, operands: tuple[Number, ...], known: Sequence[Any]) -> Number | None:
    """A sum, difference or product with a constant: between which numbers the other operand must lie is known."""
    left, right = known
    if (left is None) == (right is None):
        return None
    x, number = (operands[1], left) if right is None else (operands[0], right)
    if name == "multiply":
        if number == 0:
            return apply(name, *operands)
        ends = sorted((_SMALLEST / Fraction(number), _LARGEST / Fraction(number)))
    elif name == "subtract" and right is None:
        ends = [Fraction(number - _LARGEST), Fraction(number - _SMALLEST)]
    else:
        shift = number if name == "add" else -number
        ends = [Fraction(_SMALLEST - shift), Fraction(_LARGEST - shift)]
    lowest, highest = math.ceil(ends[0]), math.floor(ends[1])
    if lowest > _SMALLEST:
        _check_overflow(x < lowest)
    if highest < _LARGEST:
        _check_overflow(x > highest)
    return apply(name, *operands)


def _exact(name: str) -> Callable[[Number, Number], Number]:
    """Whether it overflows is asked first: an instruction that says so gives the result with it."""

    def compute(a: Number, b: Number) -> Number:
        wrong = apply(f"{name}_overflows", a, b)
        result = apply(name, a, b)
        _check_overflow(wrong)
        return result

    return compute


def _negative(a: Number) -> Number:
    _check_overflow(a.equals(_SMALLEST))
    return -a


def _absolute(a: Number) -> Number:
    _check_overflow(a.equals(_SMALLEST))
    return apply("absolute", a)


def _floor_divide(a: Number, b: Number) -> Number:
    _check(b.equals(0), "ZeroDivisionError", python_words(operator.floordiv, 1, 0))
    _check_overflow(b.equals(-1) & a.equals(_SMALLEST))
    return apply("floor_divide", a, b)


def _remainder(a: Number, b: Number) -> Number:
    _check(b.equals(0), "ZeroDivisionError", python_words(operator.mod, 1, 0))
    return apply("remainder", a, b)


def _power(base: Number, exponent: Number) -> Number:
    """Repeated squaring; a square that overflows matters only if a later product takes it."""
    _check(base.equals(0) & (exponent < 0), "ZeroDivisionError", python_words(operator.pow, 0, -1))
    _check(exponent < 0, "ValueError", POWER_TYPE)

    def step(result: Number, square: Number, rest: Number, wrong: Number) -> tuple[Number, ...]:
        odd, product, following = (rest & 1).differs(0), result * square, square * square
        wrong = wrong | (odd & apply("multiply_overflows", result, square))
        wrong = wrong | ((rest > 1) & apply("multiply_overflows", square, square))
        return select(odd, product, result), following, rest >> 1, wrong

    one = base.constant(1)
    result, _, _, wrong = repeat_while(
        lambda _, __, rest, ___: rest.differs(0), step, one, base, unsigned(exponent), base.differs(base)
    )
    _check_overflow(wrong)
    return result


def _left_shift(x: Number, amount: Number) -> Number:
    _check(amount < 0, "ValueError", python_words(operator.lshift, 1, -1))
    shifted = apply("left_shift", x, amount)
    _check_overflow(apply("right_shift", shifted, amount).differs(x))
    return shifted


def _right_shift(x: Number, amount: Number) -> Number:
    _check(amount < 0, "ValueError", python_words(operator.rshift, 1, -1))
    return apply("right_shift", x, amount)


# -- floats ----------------------------------------------------------------------------------------


def _guarded_division(name: str, function: Callable[..., Any]) -> Callable[..., Number]:
    def divide(a: Number, b: Number) -> Number:
        _check(b.equals(0), "ZeroDivisionError", python_words(function, 1.0, 0.0))
        return apply(name, a, b)

    return divide


def _float_power(base: Number, exponent: Number) -> Number:
    """Python refuses 0.0 ** -1.0 and what overflows, and makes (-8.0) ** 0.5 complex, which no type can foretell."""
    _check(base.equals(0) & (exponent < 0), "ZeroDivisionError", python_words(operator.pow, 0.0, -1.0))
    result = apply("power", base, exponent)
    finite = (abs(base) < math.inf) & (abs(exponent) < math.inf)
    _check(finite & result.differs(result), "ValueError", POWER_TYPE)
    _check(finite & abs(result).equals(math.inf), "OverflowError", python_words(operator.pow, 1e300, 2.0))
    return result


def _square(x: Number) -> Number:
    """x**2: C's ``pow`` rounds it as a product is rounded, but for one number in a thousand."""
    result = x * x
    _check((result >= math.inf) & (abs(x) < math.inf), "OverflowError", python_words(operator.pow, 1e300, 2.0))
    return result


def _root(x: Number) -> Number:
    """x**0.5, which knows no -0.0 and has a root of -inf."""
    _check((x < 0) & (x > -math.inf), "ValueError", POWER_TYPE)
    return select(x.equals(-math.inf), math.inf, apply("sqrt", x + 0.0))


_SHORT_POWERS: dict[tuple[str, Any], Callable[[Number], Number]] = {
    ("integer", 2): lambda x: _exact("multiply")(x, x),
    ("float", 2.0): _square,
    ("float", 0.5): _root,
}
"""Powers to numbers that are known, for which no power need be computed."""

_RULES: dict[tuple[str, str], Callable[..., Number]] = {
    ("add", "integer"): _exact("add"),
    ("subtract", "integer"): _exact("subtract"),
    ("multiply", "integer"): _exact("multiply"),
    ("negative", "integer"): _negative,
    ("absolute", "integer"): _absolute,
    ("floor_divide", "integer"): _floor_divide,
    ("remainder", "integer"): _remainder,
    ("power", "integer"): _power,
    ("left_shift", "integer"): _left_shift,
    ("right_shift", "integer"): _right_shift,
    ("divide", "float"): _guarded_division("divide", operator.truediv),
    ("floor_divide", "float"): _guarded_division("floor_divide", operator.floordiv),
    ("remainder", "float"): _guarded_division("remainder", operator.mod),
    ("power", "float"): _float_power,
}
