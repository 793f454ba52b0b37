"""Elementary functions in plain arithmetic, so that draws have the same bits wherever they are computed.

Arrays of NumPy and compiled code agree bit for bit on additions, products, quotients and square roots, but each has a
logarithm of its own. These are made of what they agree on. Errors stay near one unit in the last place; `log` is
that of FreeBSD's msun (Sun Microsystems, 1993), the others are series.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitflow.random.machine import machine

__all__ = ["exp", "expm1", "log", "log1p", "log_gamma", "sine_of_quarters"]

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG_SERIES = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
_SQRT_HALF = np.uint64(0x3FE6A09E667F3BCD)
_ONE = np.uint64(0x3FF0000000000000)
_MANTISSA = np.uint64(0xFFFFFFFFFFFFF)
_EXP_SERIES = tuple(1 / math.factorial(power) for power in range(14))
_SINE_SERIES = tuple((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12))
_STIRLING = (
    8.333333333333333e-02, -2.777777777777778e-03, 7.936507936507937e-04, -5.952380952380952e-04,
    8.417508417508418e-04, -1.917526917526918e-03, 6.410256410256410e-03, -2.955065359477124e-02,
)  # fmt: skip


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    total = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total = total * x + coefficient
    return total


def log(x: Any) -> Any:
    """The natural logarithm of positive normal f64."""
    m = machine()
    shifted = m.bits(x) + (_ONE - _SQRT_HALF)
    exponent = m.cast(shifted >> np.uint64(52), np.float64) - 1023.0
    fraction = m.float_of((shifted & _MANTISSA) + _SQRT_HALF) - 1.0  # of [sqrt(1/2), sqrt(2)), less 1
    s = fraction / (fraction + 2.0)
    z = s * s
    series = z * _polynomial(z, _LOG_SERIES)
    half = fraction * fraction * 0.5
    return exponent * _LN2_HIGH - ((half - (s * (half + series) + exponent * _LN2_LOW)) - fraction)


def log1p(x: Any) -> Any:
    """``log(1 + x)`` for x above -1, without cancellation (Kahan): the rounding of ``1 + x`` is divided out."""
    whole = x + 1.0
    rounded = whole - 1.0
    return np.where(rounded == 0.0, x, log(whole) * (x / np.where(rounded == 0.0, 1.0, rounded)))


def exp(x: Any) -> Any:
    """E ** x of f64."""
    m = machine()
    x = np.minimum(np.maximum(x, -746.0), 711.0)
    power = np.rint(x * (1 / math.log(2)))
    rest = (x - power * _LN2_HIGH) - power * _LN2_LOW
    half = np.floor(power * 0.5)  # two factors, so that each is a normal number
    return _polynomial(rest, _EXP_SERIES) * _power_of_two(m, half) * _power_of_two(m, power - half)


def _power_of_two(m: Any, exponent: Any) -> Any:
    return m.float_of(m.cast(exponent + 1023.0, np.uint64) << np.uint64(52))


def expm1(x: Any) -> Any:
    """``exp(x) - 1`` for x from 0, without cancellation (Kahan)."""
    power = exp(x)
    near = np.where((power == 1.0) | (power > 4.0), 2.0, power)
    small = np.where(power == 1.0, x, (near - 1.0) * (x / log(near)))
    return np.where(power > 4.0, power - 1.0, small)


def sine_of_quarters(t: Any) -> Any:
    """``sin(pi / 2 * t)`` for t from -1 to 1."""
    return t * _polynomial(t * t, _SINE_SERIES)


def log_gamma(x: Any) -> Any:
    """The logarithm of the gamma function for x from 1: Stirling's series, where it is good, 7 steps above x."""
    steps = x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0) * (x + 6.0)
    far = x > 1e30  # there 7 steps change nothing, and their product overflows
    above = np.where(far, x, x + 7.0)
    inverse = 1.0 / above
    series = inverse * _polynomial(inverse * inverse, _STIRLING)
    value = (above - 0.5) * log(above) - above + 0.5 * math.log(2 * math.pi) + series
    return value - np.where(far, 0.0, log(np.where(far, 1.0, steps)))
