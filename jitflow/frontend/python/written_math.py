"""Functions of `math` that CPython writes in C, in Python: programs are traced through these texts as through helpers.

They are plain Python, and give `math`'s values as such: the bits of its algorithms, its types, its exceptions. Ints
have 64 bits in a compiled program, where what is beyond is an OverflowError; so nothing here goes beyond on the way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["comb", "dist", "frexp", "fsum", "gamma", "isqrt", "ldexp", "lgamma", "modf", "perm", "prod", "ulp"]


# -- ints ------------------------------------------------------------------------------------------


def isqrt(n: int) -> int:
    """`math.isqrt`: the root of the nearest float is at most one off."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    if root > 0 and root > n // root:
        root -= 1
    if root + 1 <= n // (root + 1):
        root += 1
    return root


def comb(n: int, k: int) -> int:
    """`math.comb`: what divides is divided out first, so that no product is larger than the result."""
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    k = min(k, n - k)
    found = 1
    for i in range(k):
        common = math.gcd(found, i + 1)
        found = (found // common) * ((n - i) // ((i + 1) // common))
    return found


def perm(n: int, k: int) -> int:
    """`math.perm`."""
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    found = 1
    for i in range(k):
        found *= n - i
    return found


def prod(items: Any, start: Any = 1) -> Any:
    """`math.prod`."""
    found = start
    for item in items:
        found = found * item
    return found


# -- parts of floats -------------------------------------------------------------------------------


def frexp(x: float) -> tuple[float, int]:
    """`math.frexp`."""
    fraction, exponent = np.frexp(x)
    return float(fraction), int(exponent)


def modf(x: float) -> tuple[float, float]:
    """`math.modf`."""
    fraction, whole = np.modf(x)
    return float(fraction), float(whole)


def ldexp(x: float, exponent: int) -> float:
    """`math.ldexp`."""
    found = float(np.ldexp(x, np.int64(exponent)))
    if math.isinf(found) and not math.isinf(x):
        raise OverflowError("math range error")
    return found


def ulp(x: float) -> float:
    """`math.ulp`."""
    return abs(float(np.spacing(x))) if math.isfinite(x) else abs(x)


# -- sums ------------------------------------------------------------------------------------------


def fsum(items: Any) -> float:
    """`math.fsum`: Shewchuk's partial sums (1997), which do not overlap, so that there are at most 40 or so.

    What cancels is no partial sum any more, but has a derivative: ``nothing`` is 0 and has it.
    """
    partials = np.zeros(64)
    count = 0
    nothing, special = 0.0, 0.0
    for item in items:
        x = float(item)
        if math.isfinite(x):
            kept = 0
            for position in range(count):
                y = float(partials[position])
                larger = x if abs(x) >= abs(y) else y
                smaller = y if abs(x) >= abs(y) else x
                total = larger + smaller
                rest = smaller - (total - larger)
                if rest != 0.0:
                    partials[kept] = rest
                    kept += 1
                x = total
            if math.isinf(x):
                raise OverflowError("intermediate overflow in fsum")
            if x != 0.0:
                partials[kept] = x
                kept += 1
            else:
                nothing = nothing + x
            count = kept
        else:
            if math.isinf(x) and special == -x:
                raise ValueError("-inf + inf in fsum")
            special = special + x
    if special != 0.0:
        return special
    return _rounded_once(partials, count) + nothing


def _rounded_once(partials: Any, count: int) -> float:
    """The sum of partial sums, from the largest down; what is left decides where the last two make a tie."""
    if count == 0:
        return 0.0
    last = count - 1
    high = float(partials[last])
    low = 0.0
    while last > 0 and low == 0.0:
        last -= 1
        y = float(partials[last])
        total = high + y
        low = y - (total - high)
        high = total
    if last > 0 and ((low < 0.0 and partials[last - 1] < 0.0) or (low > 0.0 and partials[last - 1] > 0.0)):
        doubled = low * 2.0
        moved = high + doubled
        if doubled == moved - high:
            high = moved
    return high


def dist(p: Any, q: Any) -> float:
    """`math.dist` of arrays."""
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    largest = 0.0
    for i in range(len(p)):
        largest = max(largest, math.fabs(p[i] - q[i]))
    scale = 2.0**-600 if largest > 2.0**500 else (2.0**600 if largest < 2.0**-400 else 1.0)
    total, rest = 0.0, 0.0
    for i in range(len(p)):
        square, low = _square(float(p[i] - q[i]) * scale)
        added = total + square
        rest += low + (min(total, square) - (added - max(total, square)))
        total = added
    root = math.sqrt(total + rest)
    square, low = _square(root)
    if root > 0.0:
        root += ((total - square) + (rest - low)) / (2.0 * root)
    return math.inf if math.isinf(largest) else root / scale


def _square(x: float) -> tuple[float, float]:
    """The square and what it lacks (Dekker)."""
    large = x * 134217729.0
    high = large - (large - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2.0 * high * low) + low * low


# -- the gamma function ----------------------------------------------------------------------------

_G = 6.024680040776729583740234375
_G_LESS_HALF = 5.524680040776729583740234375
_LOG_PI = 1.144729885849400174143427351353058711647
_TERMS = (
    (23531376880.41076, 0.0), (42919803642.6491, 39916800.0), (35711959237.35567, 120543840.0),
    (17921034426.03721, 150917976.0), (6039542586.352028, 105258076.0), (1439720407.3117216, 45995730.0),
    (248874557.86205417, 13339535.0), (31426415.585400194, 2637558.0), (2876370.6289353725, 357423.0),
    (186056.26539522348, 32670.0), (8071.672002365816, 1925.0), (210.82427775157936, 66.0),
    (2.5066282746310002, 1.0),
)  # fmt: skip
"""Coefficients of the numerator and of the denominator, from that of 1 on."""


def _lanczos_sum(x: float) -> float:
    """Lanczos' approximation with 13 terms (1964), a quotient of polynomials in x, or in 1/x where x is large."""
    numerator, denominator = 0.0, 0.0
    if x < 5.0:
        for above, below in _TERMS[::-1]:
            numerator = numerator * x + above
            denominator = denominator * x + below
    else:
        for above, below in _TERMS:
            numerator = numerator / x + above
            denominator = denominator / x + below
    return numerator / denominator


def _sine_of_pi(x: float) -> float:
    """sin(pi * x) of a number that is not negative, near its zeros as exact as elsewhere."""
    rest = math.fmod(x, 2.0)
    quarter = np.floor(2.0 * rest + 0.5)
    angle: float = math.pi * (rest - 0.5 * quarter)
    found = math.cos(angle) if quarter == 1.0 or quarter == 3.0 else math.sin(angle)
    return -found if quarter == 2.0 or quarter == 3.0 else found


def gamma(x: float) -> float:
    """`math.gamma`."""
    if x == -math.inf or (x <= 0.0 and x == np.floor(x)):
        raise ValueError("math domain error")
    magnitude = abs(x)
    found = x
    if magnitude < 1e-20:
        found = 1.0 / x
    elif magnitude <= 200.0:
        found = _gamma(x, magnitude)
        whole = float(np.floor(x))
        if 1.0 <= x <= 23.0 and x == whole:  # 1.0 times a factorial, which has the derivative of the approximation
            found = found / _gamma(whole, whole) * _factorial(whole - 1.0)
    elif x < 0.0:
        found = 0.0 if math.fmod(np.floor(x), 2.0) == 0.0 else -0.0
    elif x < math.inf:
        found = math.inf
    if (found == math.inf and x < math.inf) or found == -math.inf:
        raise OverflowError("math range error")
    return found


def _factorial(x: float) -> float:
    """The factorial of a whole number up to 22, which is exact in a float."""
    found = 1.0
    while x > 1.0:
        found *= x
        x -= 1.0
    return found


def _gamma(x: float, magnitude: float) -> float:
    y = magnitude + _G_LESS_HALF
    lost = (y - magnitude) - _G_LESS_HALF if magnitude > _G_LESS_HALF else (y - _G_LESS_HALF) - magnitude
    lost = lost * _G / y
    series, exponential = _lanczos_sum(magnitude), math.exp(y)
    power: float = y ** (magnitude - 0.5 if magnitude < 140.0 else magnitude / 2.0 - 0.25)
    again = power if magnitude >= 140.0 else 1.0
    if x < 0.0:
        found = -math.pi / _sine_of_pi(magnitude) / magnitude * exponential / series
        found -= lost * found
        return found / power / again
    found = series / exponential
    found += lost * found
    return found * power * again


def lgamma(x: float) -> float:
    """`math.lgamma`."""
    if x <= 0.0 and x == np.floor(x) and x > -math.inf:
        raise ValueError("math domain error")
    magnitude = abs(x)
    found = magnitude
    if magnitude < 1e-20:
        found = -math.log(magnitude)
    elif magnitude < math.inf:
        found = _log_gamma(magnitude)
        if x == 1.0 or x == 2.0:  # 0.0 with the derivative of the approximation
            found -= _log_gamma(float(np.floor(x)))
        if x < 0.0:
            found = _LOG_PI - math.log(abs(_sine_of_pi(magnitude))) - math.log(magnitude) - found
        if found == math.inf:
            raise OverflowError("math range error")
    return found


def _log_gamma(x: float) -> float:
    found = math.log(_lanczos_sum(x)) - _G
    return found + (x - 0.5) * (math.log(x + _G - 0.5) - 1.0)
