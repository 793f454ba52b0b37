"""Elementwise ops: one number in, one number out, the same on tensors, scalars and vectors of lanes.

All operands have one dtype (``cast`` is explicit) and one shape; a rank-0 operand may stand beside tensors. The
frontend turns NumPy's promotion and broadcasting into casts and ``broadcast`` before it gets here.

Three columns say the type rule: which kinds of dtype an op takes (``b i u f c``), and what its result is: ``same`` as
the operands, ``bool``, or ``real`` (the type of a complex number's parts).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from jitflow.ir import philox
from jitflow.ir.dtypes import BOOL, U64, DType
from jitflow.ir.records import Attributes, Effect, OpDef, TypeRuleError
from jitflow.ir.types import Container, Index, Scalar, Tensor, Type, Vector, with_dtype

__all__ = ["ELEMENTWISE_OPS", "shape_like"]

_SHAPED = (Tensor, Scalar, Vector)


def shape_like(name: str, operands: Sequence[Type]) -> Tensor | Scalar | Vector:
    """The operand type that gives an elementwise result its shape, after checking that all shapes meet."""
    shape: Tensor | Scalar | Vector | None = None
    for operand in operands:
        if not isinstance(operand, _SHAPED):
            raise TypeRuleError(f"{name}: expected tensors, scalars or vectors, got {operand}")
        if _rank(operand) == 0 and not isinstance(operand, Vector):
            continue
        if shape is not None and _extent(shape) != _extent(operand):
            raise TypeRuleError(f"{name}: expected operands of one shape, got {shape} and {operand}")
        shape = operand
    if shape is not None:
        return shape
    weak = all(isinstance(operand, Scalar) and operand.weak for operand in operands)
    first = operands[0]
    assert isinstance(first, Scalar | Tensor)
    return Scalar(first.dtype, weak)


def _rank(type: Type) -> int:
    return type.rank if isinstance(type, Tensor) else 0


def _extent(type: Type) -> object:
    return type.lanes if isinstance(type, Vector) else type.dims if isinstance(type, Tensor) else ()


def _rule(name: str, kinds: str, result: str) -> Callable[[Sequence[Type], Attributes], tuple[Type, ...]]:
    def infer(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
        if all(isinstance(operand, Index) for operand in operands) and name in _INDEX_ARITHMETIC:
            return (Scalar(BOOL) if result == "bool" else Index(),)
        shape = shape_like(name, operands)
        dtypes = {operand.dtype for operand in operands if isinstance(operand, _SHAPED)}
        if len(dtypes) != 1:
            raise TypeRuleError(f"{name}: expected operands of one dtype, got {', '.join(map(str, operands))}")
        (dtype,) = dtypes
        if dtype.kind not in kinds:
            raise TypeRuleError(f"{name}: expected a dtype of kind {'/'.join(kinds)}, got {dtype.name}")
        out: DType = BOOL if result == "bool" else dtype.real if result == "real" else dtype
        return (with_dtype(shape, out),)

    return infer


_INDEX_ARITHMETIC = frozenset(
    "add subtract multiply floor_divide remainder minimum maximum "
    "less less_equal greater greater_equal equal not_equal".split()
)


def _checked(attributes: Attributes) -> tuple[Effect, ...]:
    """Python's numbers raise where NumPy's wrap: an op marked ``checked`` may fail."""
    return (Effect("check"),) if attributes.get("checked") else ()


def _row(name: str, arity: int, kinds: str, result: str, evaluate: Callable[..., Any], doc: str) -> OpDef:
    def run(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
        with np.errstate(all="ignore"):
            return evaluate(*operands)

    commutative = {"commutative"} if name in _COMMUTATIVE else set()
    return OpDef(
        name, doc, "any", arity, _rule(name, kinds, result), run, _checked,
        frozenset({"elementwise"} | commutative), ("checked", "single"),
    )  # fmt: skip


_COMMUTATIVE = frozenset(
    "add multiply equal not_equal maximum minimum fmax fmin bitwise_and bitwise_or bitwise_xor "
    "logical_and logical_or logical_xor gcd lcm hypot".split()
)

_N = "iufc"  # numbers

_ROWS: list[tuple[str, int, str, str, Callable[..., Any], str]] = [
    # arithmetic
    ("add", 2, _N, "same", np.add, "a + b; integers wrap around"),
    ("subtract", 2, _N, "same", np.subtract, "a - b; integers wrap around"),
    ("multiply", 2, _N, "same", np.multiply, "a * b; integers wrap around"),
    ("divide", 2, "fc", "same", np.divide, "a / b of floats"),
    ("floor_divide", 2, "iuf", "same", np.floor_divide, "a // b, rounded down; integers give 0 for b == 0"),
    ("remainder", 2, "iuf", "same", np.remainder, "a % b with the sign of b; integers give 0 for b == 0"),
    ("fmod", 2, "iuf", "same", np.fmod, "C's remainder, with the sign of a"),
    ("power", 2, _N, "same", np.power, "a ** b; integer powers are never negative here"),
    (
        "power_modulo",
        3,
        "iu",
        "same",
        lambda a, b, c: _power_modulo(a, b, c),
        "a ** b % c, exactly, with the sign of c; 0 for c == 0; the bits of b count as unsigned",
    ),
    ("negative", 1, _N, "same", np.negative, "-a"),
    ("absolute", 1, _N, "real", np.absolute, "|a|; the magnitude of a complex number"),
    ("sign", 1, _N, "same", np.sign, "-1, 0 or 1; nan for nan; z / |z| for complex"),
    ("fma", 3, "f", "same", lambda a, b, c: _fma(a, b, c), "a * b + c rounded once (never made from user arithmetic)"),
    # rounding
    ("floor", 1, "f", "same", np.floor, "the largest integer not above a"),
    ("ceil", 1, "f", "same", np.ceil, "the smallest integer not below a"),
    ("trunc", 1, "f", "same", np.trunc, "a without its fraction"),
    ("rint", 1, "f", "same", np.rint, "the nearest integer, ties to even"),
    # roots, exponentials, logarithms
    ("sqrt", 1, "fc", "same", np.sqrt, "square root"),
    ("cbrt", 1, "f", "same", np.cbrt, "cube root"),
    ("exp", 1, "fc", "same", np.exp, "e ** a"),
    ("exp2", 1, "fc", "same", np.exp2, "2 ** a"),
    ("expm1", 1, "fc", "same", np.expm1, "exp(a) - 1 without cancellation"),
    ("log", 1, "fc", "same", np.log, "natural logarithm"),
    ("log1p", 1, "fc", "same", np.log1p, "log(1 + a) without cancellation"),
    ("log2", 1, "fc", "same", np.log2, "logarithm to base 2"),
    ("log10", 1, "fc", "same", np.log10, "logarithm to base 10"),
    ("logaddexp", 2, "f", "same", np.logaddexp, "log(exp(a) + exp(b))"),
    ("logaddexp2", 2, "f", "same", np.logaddexp2, "log2(2**a + 2**b)"),
    # trigonometric and hyperbolic
    ("sin", 1, "fc", "same", np.sin, "sine of radians"),
    ("cos", 1, "fc", "same", np.cos, "cosine of radians"),
    ("tan", 1, "fc", "same", np.tan, "tangent of radians"),
    ("arcsin", 1, "fc", "same", np.arcsin, "inverse sine, in radians"),
    ("arccos", 1, "fc", "same", np.arccos, "inverse cosine, in radians"),
    ("arctan", 1, "fc", "same", np.arctan, "inverse tangent, in radians"),
    ("arctan2", 2, "f", "same", np.arctan2, "angle of the point (b, a), in radians"),
    ("hypot", 2, "f", "same", np.hypot, "sqrt(a*a + b*b) without overflow"),
    ("sinh", 1, "fc", "same", np.sinh, "hyperbolic sine"),
    ("cosh", 1, "fc", "same", np.cosh, "hyperbolic cosine"),
    ("tanh", 1, "fc", "same", np.tanh, "hyperbolic tangent"),
    ("arcsinh", 1, "fc", "same", np.arcsinh, "inverse hyperbolic sine"),
    ("arccosh", 1, "fc", "same", np.arccosh, "inverse hyperbolic cosine"),
    ("arctanh", 1, "fc", "same", np.arctanh, "inverse hyperbolic tangent"),
    ("erf", 1, "f", "same", lambda a: _special("erf", a), "error function"),
    ("erfc", 1, "f", "same", lambda a: _special("erfc", a), "1 - erf(a) without cancellation"),
    # comparisons
    ("less", 2, "biufc", "bool", np.less, "a < b"),
    ("less_equal", 2, "biufc", "bool", np.less_equal, "a <= b"),
    ("greater", 2, "biufc", "bool", np.greater, "a > b"),
    ("greater_equal", 2, "biufc", "bool", np.greater_equal, "a >= b"),
    ("equal", 2, "biufc", "bool", np.equal, "a == b"),
    ("not_equal", 2, "biufc", "bool", np.not_equal, "a != b; true for nan"),
    ("maximum", 2, "biufc", "same", np.maximum, "the larger; nan if either is nan"),
    ("minimum", 2, "biufc", "same", np.minimum, "the smaller; nan if either is nan"),
    ("fmax", 2, "biufc", "same", np.fmax, "the larger; a number rather than nan"),
    ("fmin", 2, "biufc", "same", np.fmin, "the smaller; a number rather than nan"),
    # logic and bits
    ("logical_and", 2, "b", "bool", np.logical_and, "a and b of bools"),
    ("logical_or", 2, "b", "bool", np.logical_or, "a or b of bools"),
    ("logical_xor", 2, "b", "bool", np.logical_xor, "a != b of bools"),
    ("logical_not", 1, "b", "bool", np.logical_not, "not a of bools"),
    ("bitwise_and", 2, "biu", "same", np.bitwise_and, "a & b"),
    ("bitwise_or", 2, "biu", "same", np.bitwise_or, "a | b"),
    ("bitwise_xor", 2, "biu", "same", np.bitwise_xor, "a ^ b"),
    ("bitwise_not", 1, "biu", "same", np.invert, "~a"),
    ("left_shift", 2, "iu", "same", np.left_shift, "a << b; 0 where b is the width or more"),
    ("right_shift", 2, "iu", "same", np.right_shift, "a >> b; the sign where b is the width or more"),
    ("bitwise_count", 1, "iu", "same", lambda a: np.bitwise_count(a).astype(a.dtype), "bits set in |a|"),
    ("gcd", 2, "iu", "same", np.gcd, "greatest common divisor"),
    ("lcm", 2, "iu", "same", np.lcm, "least common multiple"),
    # properties of floats
    ("isnan", 1, "fc", "bool", np.isnan, "is not a number"),
    ("isinf", 1, "fc", "bool", np.isinf, "is infinite"),
    ("isfinite", 1, "fc", "bool", np.isfinite, "is neither infinite nor nan"),
    ("signbit", 1, "f", "bool", np.signbit, "has its sign bit set"),
    ("copysign", 2, "f", "same", np.copysign, "|a| with the sign of b"),
    ("nextafter", 2, "f", "same", np.nextafter, "the next float after a towards b"),
    ("spacing", 1, "f", "same", np.spacing, "distance to the next float away from zero"),
    ("flush", 1, "f", "same", lambda a: _flush(a), "a, or 0 where |a| is below the smallest normal number"),
    # complex numbers
    ("real", 1, "c", "real", np.real, "real part"),
    ("imag", 1, "c", "real", np.imag, "imaginary part"),
    ("conjugate", 1, "c", "same", np.conjugate, "complex conjugate"),
]


def _power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    dtype = np.result_type(base, exponent, modulus)
    bits, numbers = (1 << 8 * dtype.itemsize) - 1, np.broadcast_arrays(base, exponent, modulus)
    power = np.frompyfunc(lambda a, b, c: pow(a, b & bits, c) if c else 0, 3, 1)
    return np.asarray(power(*(number.astype(object) for number in numbers))).astype(dtype)[()]


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Rounded once."""
    if np.result_type(a, b, c) == np.float64:
        return _fma_of_f64(*np.broadcast_arrays(a, b, c))[()]
    return _sum_to_odd(np.asarray(a, np.float64) * b, np.asarray(c, np.float64)).astype(np.asarray(a).dtype)[()]


def _fma_of_f64(a: Any, b: Any, c: Any) -> Any:
    """The exact product has no type: it is two numbers (Dekker), added to the third as Boldo and Melquiond do.

    Where a part could overflow or be lost below the smallest number, fractions are taken, one number after the other.
    """
    with np.errstate(all="ignore"):
        product = a * b
        (high_a, low_a), (high_b, low_b) = _halves(a), _halves(b)
        rest = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
        addend, less = _two_sum(c, rest)
        total, lost = _two_sum(product, addend)
        found = total + _sum_to_odd(less, lost)
        found = np.where(found == 0, product + c, found)  # for the sign of zero
    usual = (np.abs(a) < _LARGE) & (np.abs(b) < _LARGE) & (np.abs(c) < _LARGE)
    usual &= (np.abs(product) > _SMALL) & ((np.abs(c) > _SMALL) | (c == 0))
    if not usual.all():
        found[~usual] = np.frompyfunc(_fma_by_fractions, 3, 1)(a[~usual], b[~usual], c[~usual]).astype(np.float64)
    return found


_LARGE, _SMALL = 2.0**500, 2.0**-900


def _halves(a: Any) -> tuple[Any, Any]:
    """A number as the sum of two of half as many bits."""
    wide = a * (2.0**27 + 1)
    high = wide - (wide - a)
    return high, a - high


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The sum, and what it lost (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _sum_to_odd(a: Any, b: Any) -> Any:
    """The sum, where what it lost makes an even last bit odd, so that a second rounding cannot err."""
    total, lost = _two_sum(a, b)
    odd = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
    inexact = np.isfinite(lost) & (lost != 0) & (np.asarray(total).view(np.int64) & 1 == 0)
    return np.where(inexact, odd, total)


def _fma_by_fractions(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return a * b + c  # for the sign of zero
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _flush(a: Any) -> Any:
    dtype = np.asarray(a).dtype
    smallest = np.finfo(dtype if dtype.kind == "f" else np.float32).smallest_normal  # of bf16 it is that of f32
    return np.where(np.abs(a) < smallest, np.zeros_like(a), a)[()]


def _special(name: str, a: Any) -> Any:
    import scipy.special

    result = getattr(scipy.special, name)(a)
    return np.asarray(result, dtype=np.asarray(a).dtype)[()]


# Ops whose types do not follow one row's rule.


def _infer_select(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    condition, yes, no = operands
    if not isinstance(condition, _SHAPED) or condition.dtype != BOOL:
        raise TypeRuleError(f"select: expected a bool condition, got {condition}")
    if isinstance(yes, Index) and isinstance(no, Index):
        return (Index(),)
    if not (isinstance(yes, _SHAPED) and isinstance(no, _SHAPED) and yes.dtype == no.dtype):
        raise TypeRuleError(f"select: expected two operands of one dtype, got {yes} and {no}")
    if isinstance(yes, Container) and yes == no:
        return (yes,)
    shape = shape_like("select", operands)
    if isinstance(shape, Scalar):
        return (Scalar(yes.dtype, all(isinstance(arm, Scalar) and arm.weak for arm in (yes, no))),)
    return (with_dtype(shape, yes.dtype),)


def _infer_copy(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    shape_like("copy", operands)
    return (operands[0],)  # of a 0-d array too: it is an array of its own, not the number in it


def _infer_cast(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dtype, (operand,) = attributes["dtype"], operands
    weak = bool(attributes.get("weak", False))
    if isinstance(operand, Index):
        return (Scalar(dtype, weak),)
    if not isinstance(operand, _SHAPED):
        raise TypeRuleError(f"cast: expected a tensor, scalar or vector, got {operand}")
    if isinstance(operand, Tensor) and operand.rank:
        return (Tensor(dtype, operand.dims),)
    return (Vector(dtype, operand.lanes) if isinstance(operand, Vector) else Scalar(dtype, weak),)


def _infer_bitcast(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    dtype, (operand,) = attributes["dtype"], operands
    if not isinstance(operand, _SHAPED) or operand.dtype.itemsize != dtype.itemsize:
        raise TypeRuleError(f"bitcast: expected an operand with elements as wide as {dtype.name}, got {operand}")
    return (with_dtype(operand, dtype),)


def _infer_complex(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    (shape,) = _rule("complex", "f", "same")(operands, attributes)
    assert isinstance(shape, _SHAPED)
    if shape.dtype.name not in ("f32", "f64"):
        raise TypeRuleError(f"complex: expected f32 or f64 parts, got {shape}")
    return (with_dtype(shape, shape.dtype.complex),)


def _infer_random(operands: Sequence[Type], attributes: Attributes) -> tuple[Type, ...]:
    shape = shape_like("random", operands)
    if any(not isinstance(operand, _SHAPED) or operand.dtype != U64 for operand in operands):
        raise TypeRuleError(f"random: expected operands of dtype u64, got {', '.join(map(str, operands))}")
    return (with_dtype(shape, U64),)


def _random(word: Callable[..., Any]) -> Callable[..., Any]:
    return lambda operands, attributes, types: word(*operands)[()]


def _cast(operands: Sequence[Any], attributes: Attributes, types: Sequence[Type]) -> Any:
    array, dtype = np.asarray(operands[0]), attributes["dtype"]
    if array.dtype.kind == "c" and dtype.kind not in "bc":
        array = array.real  # as astype does, which warns
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy)[()]


_SPECIAL = [
    OpDef(
        "copy", "the operand as an array of its own: what it shows never changes with the operand. ``order``: as a "
        "result it lies in C or F order, whatever it is computed from", "any", 1, _infer_copy,
        lambda operands, attributes, types: np.array(operands[0])[()], (), frozenset({"elementwise"}), ("order",),
    ),
    OpDef(
        "select", "b where a is true, else c", "any", 3, _infer_select,
        lambda operands, attributes, types: _choose(*operands), (), frozenset({"elementwise"}),
    ),
    OpDef(
        "cast", "conversion to ``dtype`` as astype does it; ``weak`` makes a Python number", "any", 1, _infer_cast,
        _cast, (), frozenset({"elementwise"}), ("dtype", "weak"),
    ),
    OpDef(
        "bitcast", "the same bits as another dtype of that width", "any", 1, _infer_bitcast,
        lambda operands, attributes, types: np.asarray(operands[0]).view(attributes["dtype"].numpy)[()], (),
        frozenset({"elementwise"}), ("dtype",),
    ),
    OpDef(
        "complex", "a + b*1j", "any", 2, _infer_complex,
        lambda operands, attributes, types: _make_complex(*operands), (), frozenset({"elementwise"}),
    ),
    OpDef(
        "random_low", "the low 64 of 128 random bits, a pure function of key, stream and counter (Philox 4x32-10)",
        "any", 3, _infer_random, _random(philox.random_low), (), frozenset({"elementwise"}),
    ),
    OpDef(
        "random_high", "the high 64 of the same bits", "any", 3, _infer_random, _random(philox.random_high), (),
        frozenset({"elementwise"}),
    ),
]  # fmt: skip


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no)[()]


def _make_complex(a: Any, b: Any) -> Any:
    real, imaginary = np.broadcast_arrays(a, b)
    result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imaginary
    return result[()] if result.ndim == 0 else result


ELEMENTWISE_OPS = [_row(*row) for row in _ROWS] + _SPECIAL
