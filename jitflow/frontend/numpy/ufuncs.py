"""The ufuncs: which IR op, or which composite, is the loop of each.

NumPy's promotion has chosen the loop before; a rule here sees values of that loop's dtypes whose shapes meet.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jitflow.frontend.arrays.operands import refuse
from jitflow.frontend.numpy import composites
from jitflow.frontend.numpy.composites import Rule
from jitflow.frontend.numpy.scipy_calls import called_ufunc
from jitflow.frontend.recording import values
from jitflow.frontend.recording.values import constant_like, dtype_of_value, emit
from jitflow.ir.core import Value
from jitflow.ir.dtypes import BOOL, F64

__all__ = ["LOOPS", "SPECIAL_LOOPS", "loop_of"]


def _op(name: str, **by_kind: Rule) -> Rule:
    """The IR op ``name``, or another rule for some kinds of dtype (``b i u f c``)."""

    def rule(*operands: Value) -> Any:
        special = by_kind.get(dtype_of_value(operands[0]).kind)
        return special(*operands) if special else emit(name, *operands)

    return rule


def _beside_nan(name: str) -> Rule:
    """``fmax`` or ``fmin``. Of two zeros NumPy takes the first one where there is no array, but a pair of f64."""

    def rule(a: Value, b: Value) -> Value:
        is_pair = dtype_of_value(a) == F64 and not values.rank(a) and not values.rank(b)
        return emit(name, b, a) if is_pair else emit(name, a, b)

    return rule


def _of_reals(name: str, rule: Rule) -> Rule:
    """A rule that complex numbers have none of."""

    def checked(x: Value) -> Any:
        if dtype_of_value(x).is_complex:
            raise refuse(f"{name} of complex numbers", "compute it outside the compiled function: jitflow.callback")
        return rule(x)

    return checked


def _same(x: Value) -> Value:
    return x


def _logical(name: str) -> Rule:
    """An op on truth values: numbers other than 0 are true, nan among them."""
    return lambda *operands: emit(name, *(values.cast(operand, BOOL) for operand in operands))


def _always(flag: bool) -> Rule:
    return lambda x: composites.flag_like(x, flag)


def _comparison(name: str) -> Rule:
    def rule(a: Value, b: Value) -> Value:
        if dtype_of_value(a) != dtype_of_value(b):
            return composites.mixed_comparison(name, a, b)
        return emit(name, a, b)

    return rule


def _whole(name: str) -> Rule:
    """Rounding: integers and bools are whole already."""
    return _op(name, b=_same, i=_same, u=_same)


def _property(name: str, of_integers: bool) -> Rule:
    """A property of floats that all integers have, or none."""
    return _op(name, b=_always(of_integers), i=_always(of_integers), u=_always(of_integers))


def _power(base: Value, exponent: Value) -> Value:
    if dtype_of_value(base).kind == "i":
        _refuse_negative(exponent)
    return emit("power", base, exponent)


def _refuse_negative(exponent: Value) -> None:
    """Integers to negative powers raise, as in NumPy: the type of the result would depend on the value."""
    fits = emit("greater_equal", exponent, constant_like(0, exponent))
    if values.rank(fits):
        fits = emit("reduce_logical_and", fits, axes=tuple(range(values.rank(fits))))
    values.check(fits, ValueError, "Integers to negative integer powers are not allowed.")


LOOPS: Mapping[np.ufunc, Rule] = MappingProxyType(
    {
        # arithmetic
        np.add: _op("add", b=_op("logical_or")),
        np.subtract: _op("subtract"),
        np.multiply: _op("multiply", b=_op("logical_and")),
        np.divide: _op("divide"),
        np.floor_divide: _op("floor_divide"),
        np.remainder: _op("remainder"),
        np.fmod: _op("fmod"),
        np.divmod: composites.divmod_,
        np.power: _power,
        np.float_power: _op("power"),
        np.negative: _op("negative"),
        np.positive: _same,
        np.absolute: _op("absolute", b=_same, u=_same),
        np.fabs: composites.fabs,
        np.sign: _op("sign"),
        np.square: lambda x: emit("multiply", x, x),
        np.reciprocal: composites.reciprocal,
        np.gcd: _op("gcd"),
        np.lcm: _op("lcm"),
        np.heaviside: composites.heaviside,
        # rounding
        np.floor: _whole("floor"),
        np.ceil: _whole("ceil"),
        np.trunc: _whole("trunc"),
        np.rint: _op("rint", c=lambda z: emit("complex", emit("rint", emit("real", z)), emit("rint", emit("imag", z)))),
        np.modf: composites.modf,
        np.frexp: composites.frexp,
        np.ldexp: composites.ldexp,
        # roots, exponentials, logarithms
        np.sqrt: _op("sqrt"),
        np.cbrt: _op("cbrt"),
        np.exp: _op("exp"),
        np.exp2: _op("exp2"),
        np.expm1: _op("expm1"),
        np.log: _op("log"),
        np.log1p: _op("log1p"),
        np.log2: _op("log2"),
        np.log10: _op("log10"),
        np.logaddexp: _op("logaddexp"),
        np.logaddexp2: _op("logaddexp2"),
        # trigonometric and hyperbolic
        np.sin: _op("sin"),
        np.cos: _op("cos"),
        np.tan: _op("tan"),
        np.arcsin: _op("arcsin"),
        np.arccos: _op("arccos"),
        np.arctan: _op("arctan"),
        np.arctan2: _op("arctan2"),
        np.hypot: _op("hypot"),
        np.sinh: _op("sinh"),
        np.cosh: _op("cosh"),
        np.tanh: _op("tanh"),
        np.arcsinh: _op("arcsinh"),
        np.arccosh: _op("arccosh"),
        np.arctanh: _op("arctanh"),
        np.deg2rad: composites.deg2rad,
        np.radians: composites.deg2rad,
        np.rad2deg: composites.rad2deg,
        np.degrees: composites.rad2deg,
        # comparisons
        np.less: _comparison("less"),
        np.less_equal: _comparison("less_equal"),
        np.greater: _comparison("greater"),
        np.greater_equal: _comparison("greater_equal"),
        np.equal: _comparison("equal"),
        np.not_equal: _comparison("not_equal"),
        np.maximum: _op("maximum"),
        np.minimum: _op("minimum"),
        np.fmax: _beside_nan("fmax"),
        np.fmin: _beside_nan("fmin"),
        np._core.umath.clip: composites.clip,  # type: ignore[attr-defined]
        # logic and bits
        np.logical_and: _logical("logical_and"),
        np.logical_or: _logical("logical_or"),
        np.logical_xor: _logical("logical_xor"),
        np.logical_not: _logical("logical_not"),
        np.bitwise_and: _op("bitwise_and"),
        np.bitwise_or: _op("bitwise_or"),
        np.bitwise_xor: _op("bitwise_xor"),
        np.invert: _op("bitwise_not", b=_op("logical_not")),
        np.left_shift: _op("left_shift"),
        np.right_shift: _op("right_shift"),
        np.bitwise_count: composites.bitwise_count,
        # properties of floats
        np.isnan: _property("isnan", of_integers=False),
        np.isinf: _property("isinf", of_integers=False),
        np.isfinite: _property("isfinite", of_integers=True),
        np.signbit: _op("signbit"),
        np.copysign: _op("copysign"),
        np.nextafter: _op("nextafter"),
        np.spacing: _op("spacing"),
        # complex numbers
        np.conjugate: _op("conjugate", b=_same, i=_same, u=_same, f=_same),
    }
)

SPECIAL_LOOPS: Mapping[str, Rule] = MappingProxyType(
    {
        "erf": _of_reals("erf", composites.through_f32(_op("erf"))),
        "erfc": _of_reals("erfc", composites.through_f32(_op("erfc"))),
        "ndtr": _of_reals("ndtr", composites.ndtr),
        "expit": composites.expit,
        "logit": composites.logit,
        "log_expit": composites.log_expit,
        "xlogy": composites.xlogy,
        "xlog1py": composites.xlog1py,
        "entr": composites.entr,
        "rel_entr": composites.rel_entr,
        "exp2": _op("exp2"),
        "expm1": _op("expm1"),
        "log1p": _op("log1p"),
        "cbrt": _op("cbrt"),
    }
)
"""Ufuncs of ``scipy.special`` by name, so that SciPy is not imported before the user does."""


def loop_of(ufunc: np.ufunc) -> Rule:
    """The rule of a ufunc. Raises `UserNotImplementedError` for one that is not compiled."""
    rule = LOOPS.get(ufunc)
    if rule is not None:
        return rule
    for module in ("scipy.special", "scipy.special._ufuncs"):
        if getattr(sys.modules.get(module), ufunc.__name__, None) is ufunc:
            return SPECIAL_LOOPS.get(ufunc.__name__) or called_ufunc(ufunc, f"{module}.{ufunc.__name__}")
    raise refuse(f"the ufunc {ufunc.__name__}", "write it with NumPy's own ufuncs, or those of scipy.special")
