"""`math`, `cmath`, `max` and `min` on traced numbers, with the exceptions that Python raises.

What is one op, or a few, is written here; the other functions of `math` are texts (`written_math.py`).
"""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import Any

from jitflow.errors import UserNotImplementedError, UserTypeError, UserValueError
from jitflow.frontend.python import written_math
from jitflow.frontend.tracers import ArrayTracer, SizeTracer, Tracer, dim_of, lift, located, size_of, wrap
from jitflow.frontend.tracers.python_numbers import apply, as_weak, check, dtype_of_value, emit, number
from jitflow.frontend.tracers.surface import surface
from jitflow.ir.core import Value
from jitflow.ir.dims import maximum, minimum
from jitflow.ir.dtypes import BOOL, C128, F64, I64, DType
from jitflow.ir.python_numbers import INT_OVERFLOW
from jitflow.ir.types import Index, Scalar

__all__ = ["OF_ITEMS", "extremum", "isclose", "math_function", "of_items"]

_DOMAIN, _RANGE = "math domain error", "math range error"

# What the function is in the table of ops, and the operands that it refuses: (op, comparison, bound).
_UNARY: dict[str, tuple[str, str | None, float]] = {
    "sqrt": ("sqrt", "less", 0.0),
    "cbrt": ("cbrt", None, 0.0),
    "exp": ("exp", None, 0.0),
    "exp2": ("exp2", None, 0.0),
    "expm1": ("expm1", None, 0.0),
    "log": ("log", "less_equal", 0.0),
    "log1p": ("log1p", "less_equal", -1.0),
    "log2": ("log2", "less_equal", 0.0),
    "log10": ("log10", "less_equal", 0.0),
    "sin": ("sin", "isinf", 0.0),
    "cos": ("cos", "isinf", 0.0),
    "tan": ("tan", "isinf", 0.0),
    "asin": ("arcsin", "beyond", 1.0),
    "acos": ("arccos", "beyond", 1.0),
    "atan": ("arctan", None, 0.0),
    "sinh": ("sinh", None, 0.0),
    "cosh": ("cosh", None, 0.0),
    "tanh": ("tanh", None, 0.0),
    "asinh": ("arcsinh", None, 0.0),
    "acosh": ("arccosh", "less", 1.0),
    "atanh": ("arctanh", "reaches", 1.0),
    "erf": ("erf", None, 0.0),
    "erfc": ("erfc", None, 0.0),
    "fabs": ("absolute", None, 0.0),
}
_OVERFLOWING = frozenset({"exp", "exp2", "expm1", "sinh", "cosh"})
_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite"}
_BINARY = {"atan2": "arctan2", "hypot": "hypot", "copysign": "copysign", "nextafter": "nextafter"}
_WRITTEN: dict[str, tuple[DType, ...]] = {
    "isqrt": (I64,), "comb": (I64, I64), "perm": (I64, I64), "gamma": (F64,), "lgamma": (F64,), "frexp": (F64,),
    "modf": (F64,), "ulp": (F64,), "ldexp": (F64, I64),
}  # fmt: skip
"""Texts, and what they take."""
OF_ITEMS = frozenset({"dist", "fsum", "prod"})
"""Texts that take lists, tuples or arrays."""
_COMPLEX = {
    name: _UNARY[name][0]
    for name in ["sqrt", "exp", "log", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
                 "asinh", "acosh", "atanh"]
}  # fmt: skip
_TURNED = frozenset({"sin", "cos", "tan", "atan"})
"""What is the function of ``1j * z`` that is called so with an h behind."""


def math_function(module: str, name: str, operands: tuple[Any, ...]) -> Any:
    """``math.name(*operands)`` of which at least one is traced; a Python number."""
    if module == "cmath":
        found = _of_complex(name, [_weak_operand(operand, C128) for operand in operands])
        if found is None:
            raise _uncompiled(module, name)
        return found
    if name in ("floor", "ceil", "trunc") and len(operands) == 1:
        return apply(name, wrap(_weak_operand(operands[0], None)))
    if name in ("gcd", "lcm"):
        first, *others = [_weak_operand(operand, I64) for operand in operands]
        found = wrap(reduce(partial(emit, name), others, first))
        return found if others else apply("abs", found)
    if name == "perm" and len(operands) == 2 and operands[1] is None:
        name, operands = "factorial", operands[:1]
    if name == "factorial" or (name == "perm" and len(operands) == 1):
        return wrap(_factorial(_weak_operand(operands[0], I64)))
    if name == "ldexp" and len(operands) == 2 and not _is_python_int(operands[1]):
        raise located(UserTypeError("Expected an int as second argument to ldexp."))
    if name in _WRITTEN and len(operands) == len(_WRITTEN[name]):
        taken = zip(operands, _WRITTEN[name], strict=True)
        return surface.written(getattr(written_math, name))(*(wrap(_weak_operand(*each)) for each in taken))
    values = [_weak_operand(operand, F64) for operand in operands]
    if name in _UNARY and len(values) == 1:
        return wrap(_unary(name, values[0]))
    if name in _TESTS and len(values) == 1:
        return wrap(emit(_TESTS[name], values[0]))
    if name in _BINARY and len(values) == 2:
        return wrap(emit(_BINARY[name], *values))
    if name == "hypot":
        return wrap(_norm(values))
    if name == "log" and len(values) == 2:
        return apply("truediv", wrap(_unary("log", values[0])), wrap(_unary("log", values[1])))
    if name == "pow" and len(values) == 2:
        return apply("pow", wrap(values[0]), wrap(values[1]))
    if name == "fmod" and len(values) == 2:
        return _fmod(*values)
    if name == "remainder" and len(values) == 2:
        return _remainder(*values)
    if name in ("degrees", "radians") and len(values) == 1:
        factor = 180.0 / math.pi if name == "degrees" else math.pi / 180.0
        return wrap(emit("multiply", values[0], number(factor, F64)))
    raise _uncompiled(module, name)


def _of_complex(name: str, operands: list[Value]) -> Any:
    """``cmath.name(*operands)``; None if it is not compiled."""
    if name == "log" and len(operands) == 2:
        logarithm, base = emit("log", operands[0]), _complex_function(name, operands[1])  # of which CPython asks
        check(emit("not_equal", base, number(0.0, C128)), ValueError, _DOMAIN)
        return apply("truediv", wrap(logarithm), wrap(base))
    if len(operands) != 1:
        return None
    (value,) = operands
    if name in _TESTS:
        real, imag = (emit(_TESTS[name], emit(part, value)) for part in ("real", "imag"))
        return wrap(emit("logical_and" if name == "isfinite" else "logical_or", real, imag))
    if name in ("phase", "polar"):
        angle = wrap(emit("arctan2", emit("imag", value), emit("real", value)))
        return angle if name == "phase" else (apply("abs", wrap(value)), angle)
    return wrap(_complex_function(name, value)) if name in _COMPLEX else None


def _complex_function(name: str, value: Value) -> Value:
    """One that CPython's ``cmath`` computes, and raises where it has no answer."""
    real, imag = emit("real", value), emit("imag", value)
    along, around = (imag, real) if name in _TURNED else (real, imag)
    kind = f"{name}h" if name in _TURNED else name
    refused = None
    if kind in ("log", "log10"):
        refused = emit("equal", value, number(0.0, C128))
    elif kind == "atanh":
        refused = emit("logical_and", emit("equal", emit("absolute", along), number(1.0, F64)),
                       emit("equal", around, number(0.0, F64)))  # fmt: skip
    elif kind in ("exp", "tanh", "sinh", "cosh"):
        told = {"exp": emit("greater", along, number(-math.inf, F64)), "tanh": emit("isfinite", along)}
        known = told.get(kind, emit("logical_not", emit("isnan", along)))
        refused = emit("logical_and", emit("isinf", around), known)
    if refused is not None:
        check(emit("logical_not", refused), ValueError, _DOMAIN)
    result = emit(_COMPLEX[name], value)
    if kind in _OVERFLOWING:
        finite = emit("logical_and", emit("isfinite", real), emit("isfinite", imag))
        infinite = emit("logical_or", *(emit("isinf", emit(part, result)) for part in ("real", "imag")))
        check(emit("logical_not", emit("logical_and", finite, infinite)), OverflowError, _RANGE)
    return result


def of_items(name: str, *args: Any, **keywords: Any) -> Any:
    """A function of `math` that goes through lists, arrays or what else has items."""
    if all(_is_known(argument) for argument in (*args, *keywords.values())):
        return getattr(math, name)(*args, **keywords)
    found = _dist(*args) if name == "dist" and len(args) == 2 else None
    return surface.written(getattr(written_math, name))(*args, **keywords) if found is None else found


def _is_known(thing: Any) -> bool:
    if type(thing) in (list, tuple):
        return all(map(_is_known, thing))
    return not isinstance(thing, Tracer) and isinstance(thing, int | float | complex | str | None)


def _unary(name: str, value: Value) -> Value:
    op, refused, bound = _UNARY[name]
    if refused is not None:
        check(emit("logical_not", _is_refused(refused, value, bound)), ValueError, _DOMAIN)
    result = emit(op, value)
    if name in _OVERFLOWING:
        overflow = emit("logical_and", emit("isfinite", value), emit("isinf", result))
        check(emit("logical_not", overflow), OverflowError, _RANGE)
    return result


def _is_refused(refused: str, value: Value, bound: float) -> Value:
    if refused == "isinf":
        return emit("isinf", value)
    if refused in ("beyond", "reaches"):
        comparison = "greater" if refused == "beyond" else "greater_equal"
        return emit(comparison, emit("absolute", value), number(bound, F64))
    return emit(refused, value, number(bound, F64))


def _norm(sides: list[Value]) -> Value:
    """The root of the sum of squares, corrected by what its own square is off by, as CPython's ``vector_norm`` is.

    Squares are exact in two parts, and so is each sum of two.
    """
    sides = [emit("absolute", side) for side in sides]
    largest = reduce(partial(emit, "fmax"), sides, number(0.0, F64))
    down, up = emit("greater", largest, number(2.0**500, F64)), emit("less", largest, number(2.0**-400, F64))

    def power(exponent: int) -> Value:
        scaled = emit("select", up, number(2.0**exponent, F64), number(1.0, F64))
        return emit("select", down, number(2.0**-exponent, F64), scaled)

    scale = power(600)
    total, rest = number(0.0, F64), number(0.0, F64)
    for side in sides:
        square, low = _square(emit("multiply", side, scale))
        added = emit("add", total, square)
        larger, smaller = emit("maximum", total, square), emit("minimum", total, square)
        rest = emit("add", rest, emit("add", low, emit("subtract", smaller, emit("subtract", added, larger))))
        total = added
    root = emit("sqrt", emit("add", total, rest))
    square, low = _square(root)
    excess = emit("add", emit("subtract", total, square), emit("subtract", rest, low))
    corrected = emit("add", root, emit("divide", excess, emit("multiply", number(2.0, F64), root)))
    found = emit("multiply", emit("select", emit("greater", root, number(0.0, F64)), corrected, root), power(-600))
    return emit("select", emit("isinf", largest), largest, found)


def _square(value: Value) -> tuple[Value, Value]:
    """The square and what it lacks."""
    square = emit("multiply", value, value)
    return square, emit("fma", value, value, emit("negative", square))


def _dist(first: Any, second: Any) -> Any:
    """`math.dist` of points with known numbers of coordinates, None of others."""
    if not all(type(point) in (list, tuple) for point in (first, second)):
        return None
    if len(first) != len(second):
        raise located(UserValueError("both points must have the same number of dimensions"))
    pairs = ([_weak_operand(item, F64) for item in pair] for pair in zip(first, second, strict=True))
    return wrap(_norm([emit("subtract", *pair) for pair in pairs]))


def _fmod(first: Value, second: Value) -> Any:
    refused = emit("logical_or", emit("isinf", first), emit("equal", second, number(0.0, F64)))
    known = emit("logical_or", emit("isnan", first), emit("isnan", second))
    check(emit("logical_or", emit("logical_not", refused), known), ValueError, _DOMAIN)
    return wrap(emit("fmod", first, second))


def _remainder(first: Value, second: Value) -> Any:
    """What is left of a division by the nearest whole number, the even one of two, as Python computes it."""
    one, other = emit("absolute", first), emit("absolute", second)
    known = emit("logical_not", emit("logical_or", emit("isnan", first), emit("isnan", second)))
    refused = emit("logical_or", emit("isinf", first), emit("equal", second, number(0.0, F64)))
    check(emit("logical_not", emit("logical_and", known, refused)), ValueError, _DOMAIN)
    rest = emit("fmod", one, other)
    beyond = emit("subtract", other, rest)
    half = emit("multiply", number(0.5, F64), emit("subtract", one, rest))
    tie = emit("subtract", rest, emit("multiply", number(2.0, F64), emit("fmod", half, other)))
    upper = emit("select", emit("greater", rest, beyond), emit("negative", beyond), tie)
    found = emit("select", emit("less", rest, beyond), rest, upper)
    signed = emit("multiply", emit("copysign", number(1.0, F64), first), found)
    return wrap(emit("select", emit("logical_and", known, emit("isinf", second)), first, signed))


def _factorial(value: Value) -> Value:
    """``n!``, which fits up to 20."""
    check(emit("greater_equal", value, number(0, I64)), ValueError, "factorial() not defined for negative values")
    check(emit("less_equal", value, number(20, I64)), OverflowError, INT_OVERFLOW)
    found = number(math.factorial(20), I64)
    for lower in range(19, -1, -1):
        known = number(math.factorial(lower), I64)
        found = emit("select", emit("less_equal", value, number(lower, I64)), known, found)
    return found


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """``math.isclose``."""
    first, second, relative, absolute = (_weak_operand(item, F64) for item in (a, b, rel_tol, abs_tol))
    zero = number(0.0, F64)
    positive = emit("logical_and", emit("greater_equal", relative, zero), emit("greater_equal", absolute, zero))
    check(positive, ValueError, "tolerances must be non-negative")
    infinite = emit("logical_or", emit("isinf", first), emit("isinf", second))
    distance = emit("absolute", emit("subtract", second, first))
    limits = [emit("absolute", emit("multiply", relative, item)) for item in (first, second)]
    within = [emit("less_equal", distance, limit) for limit in (*limits, absolute)]
    near = emit("logical_or", emit("logical_or", within[0], within[1]), within[2])
    near = emit("logical_and", near, emit("logical_not", infinite))
    return wrap(emit("logical_or", emit("equal", first, second), near))


def _weak_operand(operand: Any, dtype: Any) -> Value:
    """The operand as Python's own number, as ``float(x)`` makes it; of ``dtype`` if one is given."""
    if isinstance(operand, ArrayTracer) and operand.ndim:
        raise located(UserTypeError("only 0-dimensional arrays can be converted to Python scalars"))
    value = lift(operand)
    kind = value.type
    found = kind.dtype if isinstance(kind, Scalar) else operand.type.dtype
    own = {"b": BOOL, "i": I64, "u": I64, "f": F64, "c": C128}[found.kind]
    if dtype is not None and own == C128 and dtype != C128:
        raise located(UserTypeError("must be real number, not complex"))
    if dtype == I64 and own == F64:
        raise located(UserTypeError("'float' object cannot be interpreted as an integer"))
    return as_weak(value, dtype or own)


def _is_python_int(operand: Any) -> bool:
    kind = lift(operand).type
    return isinstance(kind, Index) or (isinstance(kind, Scalar) and kind.weak and kind.dtype in (BOOL, I64))


def _uncompiled(module: str, name: str) -> UserNotImplementedError:
    found = UserNotImplementedError(
        f"{module}.{name} of a traced number is not compiled", mend="use the NumPy function of that meaning"
    )
    located(found)
    return found


def extremum(name: str, items: list[Any]) -> Any:
    """``max(items)`` or ``min(items)`` of sizes and Python numbers: the first of the best, as Python chooses."""
    if all(isinstance(item, SizeTracer) or type(item) is int for item in items):
        return size_of((maximum if name == "max" else minimum)(*(dim_of(item) for item in items)))
    kinds = {dtype_of_value(lift(item)) for item in items}
    if len(kinds) != 1:
        names = sorted(item.__class__.__name__ for item in items)
        raise located(
            UserTypeError(
                f"the type of {name}() would depend on the values: {', '.join(dict.fromkeys(names))}",
                expected="numbers of one type",
                mend="write numbers of one type, as in max(x, 0.0) for a float x",
            )
        )
    best = items[0]
    for item in items[1:]:
        better = apply("gt" if name == "max" else "lt", item, best)
        best = wrap(emit("select", lift(better), lift(item), lift(best)))
    return best
