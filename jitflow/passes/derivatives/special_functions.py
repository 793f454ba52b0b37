"""The derivatives of SciPy's special functions, element by element: a row for each, with a slope for each operand.

A slope is a function of the result and of the operands. Where it divides by a number that may be 0, the limit stands
there. None: by this operand there is no formula in functions of SciPy, as by the shape of an incomplete gamma function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from jitflow.ir.core import Op, Value
from jitflow.passes.derivatives.factors import settled, where
from jitflow.passes.derivatives.notation import Notation, dtype_of, rank
from jitflow.passes.derivatives.rules import Arriving, Change, Part, Refused, Tangent, Transpose, given, no_rule, total

__all__ = ["TANGENTS", "TRANSPOSES"]

Slope = Callable[..., Value]
"""The derivative by one operand: of the notation, the result and the operands."""


def _call(m: Notation, name: str, *operands: Value | float) -> Value:
    """A special function of numbers and arrays of one shape."""
    like = next(operand for operand in operands if isinstance(operand, Value))
    values = [item if isinstance(item, Value) else m.number(item, dtype_of(like)) for item in operands]
    kind = next((value.type for value in values if rank(value)), values[-1].type)
    (found,) = m.add(
        "host_call", *values, types=(kind,), routine=f"scipy.special.{name}", keywords=(), options=(), effect="none"
    )
    return found


def _over(m: Notation, numerator: Value, x: Value, limit: Value | float) -> Value:
    """``numerator / x``, and its limit at 0."""
    at_zero = m("equal", x, 0)
    return where(m, at_zero, limit, m("divide", numerator, where(m, at_zero, 1, x)))


def _minus(m: Notation, first: Value | float, second: Value | float) -> Value:
    return m("subtract", first, second)


def _times(m: Notation, first: Value | float, second: Value) -> Value:
    return m("multiply", first, second)


def _square(m: Notation, x: Value) -> Value:
    return m("multiply", x, x)


def _exp(m: Notation, x: Value) -> Value:
    return m("exp", x)


def _growing(factor: float, half: float) -> Slope:
    """Of an inverse whose own slope falls as exp(-half * y**2)."""
    return lambda m, y, x: _times(m, factor, _exp(m, _times(m, half, _square(m, y))))


def _psi(m: Notation, y: Value, x: Value) -> Value:
    return _call(m, "psi", x)


def _by_psi(m: Notation, y: Value, a: Value, b: Value, *, own: int, factor: bool) -> Value:
    """Of a beta function or its logarithm, by one of its two operands."""
    slope = _minus(m, _call(m, "psi", (a, b)[own]), _call(m, "psi", m("add", a, b)))
    return _times(m, y, slope) if factor else slope


def _of_order(name: str, below: float, above: float) -> Slope:
    """Of Bessel functions, by the argument: of those of the orders below and above."""

    def slope(m: Notation, y: Value, order: Value, x: Value) -> Value:
        lower, upper = (_call(m, name, _minus(m, order, step), x) for step in (1, -1))
        return m("add", _times(m, below, lower), _times(m, above, upper))

    return slope


def _log_power(m: Notation, logarithm: str, x: Value, exponent: Value) -> Value:
    """The logarithm of a power of one less than ``exponent``: of 0 ** 0 it is 0."""
    less = _minus(m, exponent, 1)
    return settled(m, _times(m, less, m(logarithm, x)), (less,))


def _of_gamma(sign: int) -> Slope:
    def slope(m: Notation, y: Value, a: Value, x: Value) -> Value:
        power = _minus(m, _log_power(m, "log", x, a), x)
        return _times(m, sign, _exp(m, _minus(m, power, _call(m, "gammaln", a))))

    return slope


def _of_beta(m: Notation, y: Value, a: Value, b: Value, x: Value) -> Value:
    powers = m("add", _log_power(m, "log", x, a), _log_power(m, "log1p", m("negative", x), b))
    return _exp(m, _minus(m, powers, _call(m, "betaln", a, b)))


def _hypergeometric(name: str, above: int) -> Slope:
    """Of a hypergeometric function, by the argument: it with larger parameters, so many of which stand ``above``."""

    def slope(m: Notation, y: Value, *operands: Value) -> Value:
        *parameters, x = operands
        found = _call(m, name, *(m("add", one, 1) for one in parameters), x)
        for number, one in enumerate(parameters):
            found = m("multiply" if number < above else "divide", found, one)
        return found

    return slope


def _huber_by_bound(m: Notation, y: Value, bound: Value, x: Value) -> Value:
    beyond = _minus(m, m("absolute", x), bound)
    return where(m, m("greater", beyond, 0), beyond, 0)


def _huber(m: Notation, y: Value, bound: Value, x: Value) -> Value:
    outside = m("greater", m("absolute", x), bound)
    return where(m, outside, _times(m, bound, m("sign", x)), x)


def _pseudo_huber(m: Notation, y: Value, bound: Value, x: Value) -> Value:
    return m("divide", x, m("hypot", m("divide", x, bound), 1))


def _spence(m: Notation, y: Value, x: Value) -> Value:
    beyond = _minus(m, x, 1)
    return m("negative", _over(m, m("log", x), beyond, _minus(m, 1, _times(m, 0.5, beyond))))


_NORMAL = math.log(2 * math.pi) / 2

_SLOPES: dict[str, tuple[Slope | None, ...]] = {
    "gammaln": (_psi,),
    "loggamma": (_psi,),
    "gamma": (lambda m, y, x: _times(m, y, _psi(m, y, x)),),
    "rgamma": (lambda m, y, x: m("negative", _times(m, y, _psi(m, y, x))),),
    "psi": (lambda m, y, x: _call(m, "_ufuncs._zeta", 2.0, x),),
    "_ufuncs._zeta": (
        None,
        lambda m, y, s, x: m("negative", _times(m, s, _call(m, "_ufuncs._zeta", m("add", s, 1), x))),
    ),
    "betaln": tuple(partial(_by_psi, own=own, factor=False) for own in (0, 1)),
    "beta": tuple(partial(_by_psi, own=own, factor=True) for own in (0, 1)),
    "gammainc": (None, _of_gamma(1)),
    "gammaincc": (None, _of_gamma(-1)),
    "betainc": (None, None, _of_beta),
    "erfinv": (_growing(math.sqrt(math.pi) / 2, 1.0),),
    "erfcinv": (_growing(-math.sqrt(math.pi) / 2, 1.0),),
    "ndtri": (_growing(math.sqrt(2 * math.pi), 0.5),),
    "log_ndtr": (lambda m, y, x: _exp(m, _minus(m, _times(m, -0.5, _square(m, x)), m("add", y, _NORMAL))),),
    "erfcx": (lambda m, y, x: _minus(m, _times(m, 2, _times(m, x, y)), 2 / math.sqrt(math.pi)),),
    "erfi": (lambda m, y, x: _times(m, 2 / math.sqrt(math.pi), _exp(m, _square(m, x))),),
    "dawsn": (lambda m, y, x: _minus(m, 1, _times(m, 2, _times(m, x, y))),),
    "exp1": (lambda m, y, x: m("negative", m("divide", _exp(m, m("negative", x)), x)),),
    "expi": (lambda m, y, x: m("divide", _exp(m, x), x),),
    "exp10": (lambda m, y, x: _times(m, math.log(10), y),),
    "spence": (_spence,),
    "cosm1": (lambda m, y, x: m("negative", m("sin", x)),),
    "i0": (lambda m, y, x: _call(m, "i1", x),),
    "i1": (lambda m, y, x: _minus(m, _call(m, "i0", x), _over(m, y, x, 0.5)),),
    "i0e": (lambda m, y, x: _minus(m, _call(m, "i1e", x), _times(m, y, m("sign", x))),),
    "i1e": (
        lambda m, y, x: _minus(
            m, _minus(m, _call(m, "i0e", x), _over(m, y, x, 0.5)), _times(m, y, m("sign", x))
        ),
    ),
    "j0": (lambda m, y, x: m("negative", _call(m, "j1", x)),),
    "j1": (lambda m, y, x: _minus(m, _call(m, "j0", x), _over(m, y, x, 0.5)),),
    "y0": (lambda m, y, x: m("negative", _call(m, "y1", x)),),
    "y1": (lambda m, y, x: _minus(m, _call(m, "y0", x), m("divide", y, x)),),
    "k0": (lambda m, y, x: m("negative", _call(m, "k1", x)),),
    "k1": (lambda m, y, x: m("negative", m("add", _call(m, "k0", x), m("divide", y, x))),),
    "k0e": (lambda m, y, x: _minus(m, y, _call(m, "k1e", x)),),
    "k1e": (lambda m, y, x: _minus(m, _minus(m, y, _call(m, "k0e", x)), m("divide", y, x)),),
    "jv": (None, _of_order("jv", 0.5, -0.5)),
    "yv": (None, _of_order("yv", 0.5, -0.5)),
    "iv": (None, _of_order("iv", 0.5, 0.5)),
    "kv": (None, _of_order("kv", -0.5, -0.5)),
    "hyp1f1": (None, None, _hypergeometric("hyp1f1", 1)),
    "hyp2f1": (None, None, None, _hypergeometric("hyp2f1", 2)),
    "kl_div": (
        lambda m, y, p, q: m("log", m("divide", p, q)),
        lambda m, y, p, q: _minus(m, 1, m("divide", p, q)),
    ),
    "huber": (_huber_by_bound, _huber),
    "pseudo_huber": (None, _pseudo_huber),
    "boxcox": (lambda m, y, x, power: m("power", x, _minus(m, power, 1)), None),
    "boxcox1p": (lambda m, y, x, power: m("power", m("add", x, 1), _minus(m, power, 1)), None),
    "inv_boxcox": (lambda m, y, x, power: m("power", y, _minus(m, 1, power)), None),
}  # fmt: skip
"""By the name of the function in `scipy.special`."""


def _moved(m: Notation, op: Op, change: Value, slope: Slope) -> Value:
    """A change times a slope; what does not move has no slope, though that be infinite."""
    return settled(m, _times(m, change, slope(m, op.results[0], *op.operands)), (change,))


def _transposed(slopes: Sequence[Slope | None]) -> Transpose:
    def rule(m: Notation, op: Op, cotangents: Sequence[Change]) -> Sequence[Arriving]:
        def refuse(m: Notation, place: Value) -> None:
            raise no_rule(op)

        cotangent = given(cotangents)
        return [Part(refuse) if slope is None else _moved(m, op, cotangent, slope) for slope in slopes]

    return rule


def _tangent(slopes: Sequence[Slope | None]) -> Tangent:
    def rule(m: Notation, op: Op, tangents: Sequence[Change]) -> Sequence[Change | Refused]:
        moving = [(tangent, slope) for tangent, slope in zip(tangents, slopes, strict=True) if tangent is not None]
        if any(slope is None for _, slope in moving):
            return (Refused(),)
        return (total(m, [_moved(m, op, tangent, slope) for tangent, slope in moving if slope is not None]),)

    return rule


TRANSPOSES: dict[str, Transpose] = {f"scipy.special.{name}": _transposed(slopes) for name, slopes in _SLOPES.items()}
TANGENTS: dict[str, Tangent] = {f"scipy.special.{name}": _tangent(slopes) for name, slopes in _SLOPES.items()}
