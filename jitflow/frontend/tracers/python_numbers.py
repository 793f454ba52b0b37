"""Arithmetic of Python numbers: weak scalars among themselves.

Python's rules, not NumPy's: ``7 / 2`` is a float, a division by zero raises, an int never wraps (an overflow of 64 bits
raises), and comparisons of ints with floats are exact. Ops that may raise are marked ``checked``, and
`jitflow.ir.python_numbers` says what that means: among it, that where the *type* of Python's result would depend on a
value, as in ``2 ** n`` with a negative ``n``, the compiled code raises and says so.

Not as Python: the quotient of two ints of more than 53 bits is rounded twice.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from jitflow.errors import UserAttributeError, UserNotImplementedError, UserTypeError, UserZeroDivisionError
from jitflow.frontend.recording.trace import current_trace
from jitflow.frontend.recording.values import as_scalar, unless
from jitflow.frontend.tracers.base import Tracer, located
from jitflow.frontend.tracers.lifting import lift, wrap
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, C128, F64, I64, U64, DType
from jitflow.ir.python_numbers import INT_OVERFLOW
from jitflow.ir.types import Scalar

__all__ = ["apply", "as_weak", "check", "check_finite", "dtype_of_value", "emit", "number_attribute"]

_ORDER = (BOOL, I64, F64, C128)
_NAMES = {BOOL: "bool", I64: "int", F64: "float", C128: "complex"}
_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "divmod": "divmod()",
    "pow": "** or pow()", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^", "matmul": "@", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "pos": "+", "invert": "~", "abs": "abs()",
}  # fmt: skip
_ARITHMETIC = {"add": "add", "sub": "subtract", "mul": "multiply"}
_COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
_OPERATORS = {op: name for name, op in _COMPARISONS.items()}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_BITS = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}


def apply(name: str, *operands: Any) -> Any:
    """The result of the operator or rounding function ``name`` on weak numbers, as a tracer."""
    if len(operands) == 1 or name == "round":
        return _unary(name, *operands)
    left, right = operands
    if name in _COMPARISONS:
        if _is_beyond(left):
            name, left, right = _MIRRORED[name], right, left
        if _is_beyond(right):
            return _compare_with_beyond(name, lift(left), right)
        return _compare(name, lift(left), lift(right))
    if name == "divmod":
        return _quotient("floordiv", left, right), _quotient("mod", left, right)
    if name in _ARITHMETIC:
        first, second, dtype = _promote(lift(left), lift(right))
        return wrap(_overflowing(_ARITHMETIC[name], dtype, first, second))
    if name in ("truediv", "floordiv", "mod"):
        return _quotient(name, left, right)
    if name == "pow":
        return _power(left, right)
    if name in _BITS:
        return _bitwise(name, lift(left), lift(right))
    if name in ("lshift", "rshift"):
        return _shift(name, left, right)
    raise _unsupported(name, lift(left), lift(right))


# -- the words of this module ----------------------------------------------------------------------


def emit(name: str, *operands: Value, **attributes: Any) -> Value:
    """Append an op with one result."""
    return current_trace().make(name, *operands, **attributes)


def as_weak(value: Value, dtype: DType) -> Value:
    """The value as a Python number of ``dtype``."""
    if isinstance(value.type, Scalar) and value.type.weak and value.type.dtype == dtype:
        return value
    value = as_scalar(value)
    if dtype == I64 and isinstance(value.type, Scalar) and value.type.dtype == U64:
        largest = emit("constant", value=2**63 - 1, type=Scalar(U64))
        check(emit("less_equal", value, largest), OverflowError, INT_OVERFLOW)
    return emit("cast", value, dtype=dtype, weak=True)


def check(condition: Value, error: type[Exception], message: str) -> None:
    """Raise ``error`` at run time unless ``condition`` holds."""
    current_trace().add("check", condition, error=error.__name__, message=message)


def dtype_of_value(value: Value) -> DType:
    """The element type of a scalar."""
    assert isinstance(value.type, Scalar)
    return value.type.dtype


def number(constant: float | complex, dtype: DType) -> Value:
    """A constant Python number."""
    return emit("constant", value=constant, type=Scalar(dtype, True))


def _promote(left: Value, right: Value, lowest: DType = I64) -> tuple[Value, Value, DType]:
    kinds = (dtype_of_value(left), dtype_of_value(right), lowest)
    dtype = max(kinds, key=_ORDER.index)
    return as_weak(left, dtype), as_weak(right, dtype), dtype


def _overflowing(op: str, dtype: DType, *operands: Value) -> Value:
    """An op that raises OverflowError on ints that would wrap."""
    return emit(op, *operands, checked=True) if dtype == I64 else emit(op, *operands)


def _no(condition: Value) -> Value:
    return emit("logical_not", condition)


def _unsupported(name: str, *operands: Value) -> UserTypeError:
    kinds = [f"'{_NAMES[dtype_of_value(operand)]}'" for operand in operands]
    if len(kinds) == 1:
        found = UserTypeError(f"bad operand type for unary {_SYMBOLS[name]}: {kinds[0]}")
    elif name in _COMPARISONS:
        found = UserTypeError(f"'{_SYMBOLS[name]}' not supported between instances of {kinds[0]} and {kinds[1]}")
    else:
        found = UserTypeError(f"unsupported operand type(s) for {_SYMBOLS[name]}: {kinds[0]} and {kinds[1]}")
    located(found)
    return found


# -- operators with two operands -------------------------------------------------------------------


def _quotient(name: str, left: Any, right: Any) -> Any:
    divided, divisor = lift(left), lift(right)
    first, second, dtype = _promote(divided, divisor, F64 if name == "truediv" else I64)
    if dtype == C128 and name != "truediv":
        raise _unsupported(name, lift(left), lift(right))
    op = {"truediv": "divide", "floordiv": "floor_divide", "mod": "remainder"}[name]
    are_ints = {dtype_of_value(divided), dtype_of_value(divisor)} <= {BOOL, I64}
    if not isinstance(right, Tracer):
        if right == 0:
            kind = I64 if are_ints else dtype
            raise located(UserZeroDivisionError(division_words(getattr(operator, name), kind)))
        if right != -1:  # the smallest int divided by -1 does not fit
            return wrap(emit(op, first, second))
    if dtype == C128:
        check(emit("not_equal", second, number(0, C128)), ZeroDivisionError, division_words(operator.truediv, C128))
        return wrap(emit(op, first, second))
    if are_ints and dtype == F64:  # of which Python speaks otherwise than of a division of floats
        words = division_words(operator.truediv, I64)
        check(emit("not_equal", second, number(0.0, F64)), ZeroDivisionError, words)
        return wrap(emit(op, first, second))
    return wrap(emit(op, first, second, checked=True))


def division_words(function: Callable[..., Any], dtype: DType) -> str:
    """What Python says to a division by zero; it has said it differently from version to version."""
    try:
        function(*{I64: (1, 0), F64: (1.0, 0.0), C128: (1j, 0j)}[dtype])
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError(f"{function} does not raise for zero")


def _power(left: Any, right: Any) -> Any:
    first, second, dtype = _promote(lift(left), lift(right))
    if dtype == I64 and not isinstance(right, Tracer) and right < 0:
        first, second, dtype = as_weak(first, F64), as_weak(second, F64), F64  # a float, whatever the base
    return wrap(emit("power", first, second) if dtype == C128 else emit("power", first, second, checked=True))


def _bitwise(name: str, left: Value, right: Value) -> Any:
    lowest = I64 if {dtype_of_value(left), dtype_of_value(right)} != {BOOL} else BOOL
    first, second, dtype = _promote(left, right, lowest)
    if dtype not in (BOOL, I64):
        raise _unsupported(name, left, right)
    return wrap(emit(_BITS[name], first, second))


def _shift(name: str, left: Any, right: Any) -> Any:
    first, second, dtype = _promote(lift(left), lift(right))
    if dtype != I64:
        raise _unsupported(name, lift(left), lift(right))
    return wrap(emit("left_shift" if name == "lshift" else "right_shift", first, second, checked=True))


def _compare(name: str, left: Value, right: Value) -> Any:
    kinds = {dtype_of_value(left), dtype_of_value(right)}
    if C128 in kinds and name not in ("eq", "ne"):
        raise _unsupported(name, left, right)
    op = _COMPARISONS[name]
    if kinds == {I64, F64}:
        return wrap(_compare_exactly(op, left, right))
    first, second, _ = _promote(left, right, BOOL)
    return wrap(emit(op, first, second))


def _is_beyond(operand: Any) -> bool:
    """Whether this is an int of Python's that 64 bits do not hold: a bound that nothing reaches, as a rule."""
    return issubclass(type(operand), int) and not -(1 << 63) <= operand < 1 << 63


def _compare_with_beyond(name: str, left: Value, beyond: int) -> Any:
    """A number against such an int, which all ints are on one side of; floats meet it, or the float next to it."""
    kind = dtype_of_value(left)
    if kind == C128 and name not in ("eq", "ne"):
        raise _unsupported(name, left, number(0, I64))
    try:
        nearest = float(beyond)
    except OverflowError:
        nearest = math.inf if beyond > 0 else -math.inf
    if kind in (BOOL, I64) or (nearest != beyond and name in ("eq", "ne")):
        return wrap(number(getattr(operator, name)(0, beyond), BOOL))
    op = _COMPARISONS[name]
    if nearest != beyond:
        is_above = nearest > beyond
        op = {"l": "less" if is_above else "less_equal", "g": "greater_equal" if is_above else "greater"}[name[0]]
    return wrap(emit(op, left, number(nearest, kind)))


def _compare_exactly(op: str, left: Value, right: Value) -> Value:
    """An int against a float: rounding the int is harmless unless it meets the float, and then the float is whole.

    The largest ints meet 2.0**63, which is above them all.
    """
    first, second = as_weak(left, F64), as_weak(right, F64)
    number_is_left = dtype_of_value(left) == F64
    above = bool(getattr(operator, _OPERATORS[op])(number_is_left, not number_is_left))
    below = emit("less", first if number_is_left else second, number(2.0**63, F64))
    exact = emit("select", below, emit(op, as_weak(left, I64), as_weak(right, I64)), number(above, BOOL))
    return emit("select", emit("equal", first, second), exact, emit(op, first, second))


# -- one operand -----------------------------------------------------------------------------------


def _unary(name: str, operand: Any, digits: int | None = None) -> Any:
    value = lift(operand)
    dtype = dtype_of_value(value)
    if name in ("round", "floor", "ceil", "trunc"):
        return _round(name, operand, value, digits)
    if dtype == BOOL:
        value, dtype = as_weak(value, I64), I64
    if name == "pos":
        return wrap(value)
    if name == "neg":
        return wrap(_overflowing("negative", dtype, value))
    if name == "abs":
        return wrap(_overflowing("absolute", dtype, value))
    if name == "invert" and dtype == I64:
        return wrap(emit("bitwise_not", value))
    raise _unsupported(name, value)


def _round(name: str, operand: Any, value: Value, digits: int | None) -> Any:
    dtype = dtype_of_value(value)
    if digits is not None and (dtype not in (BOOL, I64) or digits < 0):
        return wrap(_round_to(value, dtype, digits))
    if dtype in (BOOL, I64):
        return wrap(as_weak(value, I64))
    if dtype == C128:
        raise located(UserTypeError(f"type complex doesn't define __{name}__ method"))
    # A conversion drops the fraction by itself, and no number within the limits has one that would lead beyond them.
    rounded = value if name == "trunc" and dtype == F64 else emit("rint" if name == "round" else name, value)
    large_enough = emit("greater_equal", rounded, number(-(2.0**63), F64))
    fits = emit("logical_and", large_enough, emit("less", rounded, number(2.0**63, F64)))

    def explain() -> None:
        check_finite(value)
        check(fits, OverflowError, INT_OVERFLOW)

    unless(fits, explain)
    return wrap(as_weak(rounded, I64))


def _round_to(value: Value, dtype: DType, digits: Any) -> Value:
    """``round(value, digits)``: Python rounds the exact decimal value, half to even, and takes the float next to it.

    Up to 10**22 powers of ten are exact, and of a number with more than 53 bits before the digit there is nothing to
    round, so the product or quotient is rounded as it is, and its error tells on which side of a half the number lies.
    """
    digits = operator.index(digits)
    if dtype == C128 or abs(digits) > (18 if dtype != F64 else 22):
        raise located(
            UserNotImplementedError(
                "round() of a traced number to digits that are too far away",
                expected="up to 22 digits of a float, 18 of an int",
                mend="use np.round",
            )
        )
    if dtype != F64:
        return lift(_whole_tens(wrap(as_weak(value, I64)), 10**-digits))
    ten = number(10.0 ** abs(digits), F64)
    scaled = emit("multiply" if digits >= 0 else "divide", value, ten)
    whole = emit("rint", scaled)
    if digits >= 0:
        beyond, rest, nothing = _error_of_product(value, ten, scaled), emit("subtract", scaled, whole), number(0.0, F64)
        for step, side in ((1.0, "greater"), (-1.0, "less")):
            is_beyond = emit("logical_and", emit("equal", rest, number(step / 2, F64)), emit(side, beyond, nothing))
            whole = emit("select", is_beyond, emit("add", whole, number(step, F64)), whole)
        found = emit("divide", whole, ten)
    else:
        product, half = emit("multiply", whole, ten), number(0.5 * 10.0**-digits, F64)
        rest = emit("subtract", emit("subtract", value, product), _error_of_product(whole, ten, product))
        odd = emit("not_equal", emit("remainder", whole, number(2.0, F64)), number(0.0, F64))
        for sign, side in ((1.0, "greater"), (-1.0, "less")):
            limit = half if sign > 0 else emit("negative", half)
            is_tie = emit("logical_and", emit("equal", rest, limit), odd)
            whole = emit("select", emit("logical_or", emit(side, rest, limit), is_tie),
                         emit("add", whole, number(sign, F64)), whole)  # fmt: skip
        found = emit("multiply", whole, ten)
    few_bits = emit("less", emit("absolute", scaled), number(2.0**53, F64))
    return emit("select", few_bits, found, value)


def _error_of_product(left: Value, right: Value, product: Value) -> Value:
    """What a product of floats lacks, by Dekker's method."""
    (high, low), (upper, lower) = _halves(left), _halves(right)
    found = emit("subtract", emit("multiply", high, upper), product)
    for pair in ((high, lower), (low, upper), (low, lower)):
        found = emit("add", found, emit("multiply", *pair))
    return found


def _halves(value: Value) -> tuple[Value, Value]:
    """Two floats of 26 bits that add up to one, by Veltkamp's method."""
    large = emit("multiply", value, number(2.0**27 + 1, F64))
    high = emit("subtract", large, emit("subtract", large, value))
    return high, emit("subtract", value, high)


def _whole_tens(whole: Any, tens: int) -> Any:
    """An int rounded to a multiple, half to even."""
    quotient = apply("floordiv", whole, tens)
    twice = apply("mul", apply("sub", whole, apply("mul", quotient, tens)), 2)
    is_tie = apply("and", apply("eq", twice, tens), apply("eq", apply("mod", quotient, 2), 1))
    return apply("mul", apply("add", quotient, apply("or", apply("gt", twice, tens), is_tie)), tens)


def check_finite(value: Value) -> None:
    """Raise what ``int()`` does of a float that is no number, or infinite."""
    check(_no(emit("isnan", value)), ValueError, "cannot convert float NaN to integer")
    check(_no(emit("isinf", value)), OverflowError, "cannot convert float infinity to integer")


# -- attributes ------------------------------------------------------------------------------------


def number_attribute(operand: Any, name: str) -> Any:
    """An attribute of a number of Python's or NumPy's. Raises `UserAttributeError` as Python does."""
    value = lift(operand)
    dtype = dtype_of_value(value)
    if isinstance(operand, Tracer) and not operand.is_python_number:
        if name == "numerator":
            return operand
        return (lambda: True) if name == "is_integer" and dtype.is_integer else number_attribute(operand.item(), name)
    attributes: dict[str, Callable[[], Any]] = {
        "real": lambda: wrap(emit("real", value)) if dtype == C128 else apply("pos", operand),
        "imag": lambda: wrap(emit("imag", value)) if dtype == C128 else wrap(number(0, dtype if dtype == F64 else I64)),
        "conjugate": lambda: lambda: wrap(emit("conjugate", value)) if dtype == C128 else apply("pos", operand),
    }
    if dtype == F64:
        attributes["is_integer"] = lambda: lambda: _is_integer(value)
    if dtype in (BOOL, I64):
        attributes["numerator"] = lambda: apply("pos", operand)
        attributes["denominator"] = lambda: 1
        attributes["bit_count"] = lambda: lambda: _bits_set(value)
        attributes["bit_length"] = lambda: lambda: _bits_set(value, filled=True)
    if name in attributes:
        return attributes[name]()
    kind = {BOOL: bool, I64: int, F64: float, C128: complex}[dtype]
    if hasattr(kind, name):
        raise located(UserNotImplementedError(f"{kind.__name__}.{name} of a traced number is not compiled"))
    raise located(UserAttributeError(f"'{kind.__name__}' object has no attribute '{name}'"))


def _bits_set(value: Value, *, filled: bool = False) -> Any:
    """How many bits of the magnitude are set, or would be if all below the highest were."""
    magnitude = emit("cast", emit("absolute", as_scalar(emit("cast", value, dtype=I64))), dtype=U64)
    for distance in (1, 2, 4, 8, 16, 32) if filled else ():
        shifted = emit("right_shift", magnitude, emit("constant", value=distance, type=magnitude.type))
        magnitude = emit("bitwise_or", magnitude, shifted)
    return wrap(as_weak(emit("cast", emit("bitwise_count", magnitude), dtype=I64), I64))


def _is_integer(value: Value) -> Any:
    whole = emit("equal", emit("floor", value), value)
    return wrap(emit("logical_and", whole, emit("isfinite", value)))


surface.install(arithmetic=apply, number_attribute=number_attribute)
