"""What is left after `expand`: the contract with the backends.

An elementwise op is a *primitive* for a dtype if every backend emits it itself, as an instruction or as a call of the
C library. `expand` turns everything else into primitives. `PRIMITIVES` names them by class of dtype:

=============  ==============================================================================================
class          dtypes
=============  ==============================================================================================
``bool``       ``bool``
``signed``     ``i8 i16 i32 i64``
``unsigned``   ``u8 u16 u32 u64``
``float``      ``f32 f64``
``half``       ``f16 bf16``: they are stored, selected and converted; arithmetic happens in f32
``index``      values of type `Index`, 64 bits, signed
=============  ==============================================================================================

What a backend may rely on:

1. All operands of an elementwise op have one shape: where one is a vector, all are, with equal lanes.
2. No value, buffer, parameter or attribute is complex.
3. Integers wrap around; amounts of shifts are in ``0 <= amount < width``; ``divide_truncated`` and
   ``remainder_truncated`` have a divisor that is not 0, nor -1 beside the smallest integer.
4. ``cast`` converts between integers, from integers to f32 and f64, between f32 and f64, f16 and f32 (rounding to
   nearest), from index to i64, and from f32 and f64 to integers that can hold the truncated value. A cast to a value's
   own dtype does nothing. There is none from or to bool and bf16.
5. ``fold_lanes`` combines with the ops of `FOLDS`.
6. Constants of expansions stand in front of everything else, each once.
7. ``maximum`` and ``minimum`` give nan if either operand is, ``fmax`` and ``fmin`` the number beside a nan.
"""

from __future__ import annotations

from jitflow.ir.dtypes import DTYPES
from jitflow.ir.types import Index, Scalar, Type, Vector

__all__ = ["FOLDS", "INDEX", "LIBRARY", "PRIMITIVES", "dtype_class", "dtype_name", "is_primitive"]

INDEX = "index"
"""The name that `Index` values go by where dtypes are strings."""

_EVERYWHERE = frozenset({"select", "bitcast"})
_COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})
_INTEGERS = _COMPARISONS | {
    "add", "subtract", "multiply", "negative", "cast", "divide_truncated", "remainder_truncated", "multiply_high",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "left_shift", "right_shift",
}  # fmt: skip

LIBRARY = frozenset({
    "fmod", "cbrt", "power", "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "erf", "erfc",
})  # fmt: skip
"""Functions of f32 and f64 that the C library has; `expand` leaves them of single numbers, ``fmod`` in rare lanes."""

PRIMITIVES: dict[str, frozenset[str]] = {
    "bool": _EVERYWHERE | {"logical_and", "logical_or", "logical_xor", "logical_not"},
    "signed": _EVERYWHERE | _INTEGERS | {"add_overflows", "subtract_overflows", "multiply_overflows"},
    "unsigned": _EVERYWHERE | _INTEGERS,
    "float": _EVERYWHERE | _COMPARISONS | LIBRARY | {
        "add", "subtract", "multiply", "divide", "negative", "absolute", "fma", "sqrt", "floor", "ceil", "trunc",
        "rint", "copysign", "maximum", "minimum", "fmax", "fmin", "isnan", "isinf", "isfinite", "signbit", "cast",
    },
    "half": _EVERYWHERE | {"cast"},
    INDEX: _COMPARISONS | {
        "select", "cast", "add", "subtract", "multiply", "maximum", "minimum", "divide_truncated",
        "remainder_truncated",
    },
}  # fmt: skip

_INTEGER_FOLDS = frozenset({
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or", "bitwise_xor",
})  # fmt: skip

FOLDS: dict[str, frozenset[str]] = {
    "bool": frozenset({"logical_and", "logical_or", "logical_xor"}),
    "signed": _INTEGER_FOLDS,
    "unsigned": _INTEGER_FOLDS,
    "float": frozenset({"add", "multiply", "maximum", "minimum", "fmax", "fmin"}),
}
"""What backends combine lanes with in ``fold_lanes``, primitive or not, by class of dtype."""

_CLASSES = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}
_CLASS_OF = {name: _CLASSES[dtype.kind] for name, dtype in DTYPES.items()}
_CLASS_OF.update({"f16": "half", "bf16": "half", INDEX: INDEX})


def dtype_class(dtype: str) -> str:
    """The class of a dtype by name."""
    return _CLASS_OF[dtype]


def dtype_name(type: Type) -> str:
    """The dtype of a number's type as a string; ``index`` for a size."""
    if isinstance(type, Index):
        return INDEX
    assert isinstance(type, Scalar | Vector), f"expected a number, got {type}"
    return type.dtype.name


def is_primitive(name: str, dtype: str) -> bool:
    """Whether backends emit the elementwise op ``name`` for operands of a dtype (the last one's, for ``select``)."""
    return name in PRIMITIVES.get(_CLASS_OF[dtype], ())
