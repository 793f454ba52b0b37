"""Distributions of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.errors import UserTypeError, UserValueError
from jitflow.random.continuous import exponential, gamma, inner
from jitflow.random.functions import exp, log, log1p, log_gamma
from jitflow.random.machine import Machine, machine
from jitflow.random.rejection import until_accepted

__all__ = ["binomial", "geometric", "integers", "multinomial", "negative_binomial", "poisson"]

_WORD, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BY_INVERSION = 10.0
"""The mean below which counts are found one after the other."""
_MOST_COUNTED = 110.0
"""No count of a mean below 10 comes near it: the probability is below ``2**-200``."""


# -- uniform integers ---------------------------------------------------------------------------------------


def integers(generator: Any, low: Any, high: Any, size: Any, dtype: np.dtype[Any], endpoint: bool) -> Any:
    """Uniform integers of a dtype."""
    m = machine()
    if dtype.kind not in "biu":
        raise UserTypeError(f"Unsupported dtype {dtype!r} for integers")
    first, width = _range(m, low, high, dtype, endpoint)
    shape = m.shape(size, first, width)
    word, _ = generator.words(shape)
    with np.errstate(over="ignore"):
        drawn = m.cast(np.where(width == np.uint64(0), word, _multiply_high(word, width)) + first, dtype)
    return drawn if shape or size is not None else drawn[()]


def _range(m: Machine, low: Any, high: Any, dtype: np.dtype[Any], endpoint: bool) -> tuple[Any, Any]:
    """The smallest number and how many there are, as u64; 0 stands for ``2**64``."""
    if _is_known(low) and _is_known(high):
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        first, last = int(low), int(high) - (not endpoint)
        if last < first:
            raise UserValueError("high <= 0" if first == 0 and not endpoint else "low >= high")
        for name, number, allowed in (("low", first, first >= limits[0]), ("high", last, last <= limits[1])):
            if not allowed:
                raise UserValueError(f"{name} is out of bounds for {dtype}", found=str(number))
        return np.uint64(first & (1 << 64) - 1), np.uint64((last - first + 1) & (1 << 64) - 1)
    first, last = m.integer(m.array(low)), m.integer(m.array(high))
    m.require(first <= last if endpoint else first < last, "low > high" if endpoint else "low >= high")
    width = m.cast(last - first, np.uint64)
    return m.cast(first, np.uint64), width + np.uint64(1) if endpoint else width


def _is_known(bound: Any) -> bool:
    return type(bound) in (bool, int) or (isinstance(bound, np.integer) and not hasattr(bound, "_trace"))


def _multiply_high(a: Any, b: Any) -> Any:
    """The upper 64 of the 128 bits of a product, from products of 32-bit halves."""
    low_a, high_a, low_b, high_b = a & _WORD, a >> _HALF, b & _WORD, b >> _HALF
    middle = high_a * low_b + (low_a * low_b >> _HALF)
    other = low_a * high_b + (middle & _WORD)
    return high_a * high_b + (middle >> _HALF) + (other >> _HALF)


# -- counts -------------------------------------------------------------------------------------------------


def poisson(m: Machine, generator: Any, shape: tuple[Any, ...], lam: Any) -> Any:
    m.require((lam >= 0.0) & (lam <= 9.2e18), "lam < 0 or lam is NaN or too large")
    few = lam < _BY_INVERSION
    low = np.where(few, lam, 0.0)
    word, _ = generator.words(shape)
    counted = _counted(m, word, exp(-low), lambda k: low / k)

    def attempt(shape: tuple[Any, ...], lam: Any) -> tuple[Any, Any]:
        b = 0.931 + 2.53 * np.sqrt(lam)
        return _attempt(
            m, generator, shape, -0.059 + 0.02483 * b, b, lam + 0.43,
            1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0),
            lambda k: (k >= 0.0, k * log(lam) - lam - log_gamma(np.maximum(k, 0.0) + 1.0)),
        )  # fmt: skip

    found = until_accepted(m, shape, ~few, (np.where(few, _BY_INVERSION, lam),), attempt)
    return m.cast(np.where(few, counted, found), np.int64)


def binomial(m: Machine, generator: Any, shape: tuple[Any, ...], n: Any, p: Any) -> Any:
    m.require(n >= 0.0, "n < 0")
    m.require((p >= 0.0) & (p <= 1.0), "p < 0, p > 1 or p is NaN")
    n = np.floor(n)
    flipped = p > 0.5
    p = np.where(flipped, 1.0 - p, p)
    few = n * p < _BY_INVERSION
    word, _ = generator.words(shape)
    odds = p / (1.0 - p)
    counted = _counted(m, word, exp(n * log1p(-np.where(few, p, 0.0))), lambda k: (n - k + 1.0) / k * odds)

    def attempt(shape: tuple[Any, ...], n: Any, p: Any) -> tuple[Any, Any]:
        spread = np.sqrt(n * p * (1.0 - p))
        b = 1.15 + 2.53 * spread
        log_odds = log(p / (1.0 - p))
        mode = np.floor((n + 1.0) * p)
        top = log_gamma(mode + 1.0) + log_gamma(n - mode + 1.0)

        def weight(k: Any) -> tuple[Any, Any]:
            inside = np.minimum(np.maximum(k, 0.0), n)
            height = top - log_gamma(inside + 1.0) - log_gamma(n - inside + 1.0) + (inside - mode) * log_odds
            return (k >= 0.0) & (k <= n), height

        return _attempt(
            m, generator, shape, -0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5,
            (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b, weight,
        )  # fmt: skip

    found = until_accepted(m, shape, ~few, (np.where(few, 40.0, n), np.where(few, 0.5, p)), attempt)
    successes = np.where(few, counted, found)
    return m.cast(np.where(flipped, n - successes, successes), np.int64)


def _counted(m: Machine, word: Any, first: Any, ratio: Any) -> Any:
    """Inversion: the first count whose cumulated probability reaches a uniform number.

    ``first`` is the probability of 0, ``ratio(k)`` that of k over that of the one before.
    """
    u = inner(m, word)

    def step(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        count, found, probability, total = carry
        count = count + 1.0
        probability = probability * ratio(count)
        above = u > total
        return count, np.where(above, count, found), probability, total + probability

    zero = u * 0.0
    start = (zero, zero, zero + first, zero + first)
    return m.repeat_while(lambda carry: (u > carry[3]) & (carry[0] < _MOST_COUNTED), step, start)[1]


def _attempt(
    m: Machine, generator: Any, shape: tuple[Any, ...], a: Any, b: Any, centre: Any, scale: Any, certain: Any,
    weight: Callable[[Any], tuple[Any, Any]],
) -> tuple[Any, Any]:  # fmt: skip
    """Counts, and which of them are accepted: Hörmann's transformed rejection with squeeze (*The transformed rejection
    method for generating Poisson random variables*, Insurance: Mathematics and Economics 12, 1993).

    ``weight`` gives whether a count is possible, and the logarithm of its probability.
    """  # noqa: D205
    low, high = generator.words(shape)
    u, v = inner(m, low) - 0.5, inner(m, high)
    distance = 0.5 - np.absolute(u)
    k = np.floor((2.0 * a / distance + b) * u + centre)
    possible, height = weight(k)
    quick = (distance >= 0.07) & (v <= certain)
    refused = (distance < 0.013) & (v > distance)
    exact = log(v * scale / (a / (distance * distance) + b)) <= height
    return k, possible & (quick | (~refused & exact))


def geometric(m: Machine, generator: Any, shape: tuple[Any, ...], p: Any) -> Any:
    m.require((p > 0.0) & (p <= 1.0), "p <= 0, p > 1 or p contains NaNs")
    some = np.where(p == 1.0, 0.5, p)
    trials = np.ceil(exponential(m, generator, shape) / -log1p(-some))
    return m.cast(np.where(p == 1.0, 1.0, np.minimum(trials, 9.2e18)), np.int64)


def negative_binomial(m: Machine, generator: Any, shape: tuple[Any, ...], n: Any, p: Any) -> Any:
    m.require(n > 0.0, "n <= 0")
    m.require((p > 0.0) & (p <= 1.0), "p <= 0, p > 1 or p is NaN")
    return poisson(m, generator, shape, gamma(m, generator, shape, n) * ((1.0 - p) / p))


def multinomial(generator: Any, n: Any, pvals: Any, size: Any) -> Any:
    """Outcome after outcome, a binomial number of the trials that are left."""
    m = machine()
    chances, trials = m.number(m.array(pvals)), m.number(n)
    shape = m.shape(size, trials)
    last = chances.shape[0] - 1
    counts = m.counters(shape, chances.shape[0])

    def step(outcome: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        left, rest = carry
        chance = chances[outcome]
        share = np.where(rest > 0.0, np.minimum(chance / np.where(rest > 0.0, rest, 1.0), 1.0), 0.0)
        found = binomial(m, generator, shape, left, m.number(share))
        counts[..., outcome] = found
        return left - found, rest - chance

    with np.errstate(all="ignore"):
        m.require(np.sum(chances) <= 1.0 + 1e-12, "sum(pvals[:-1]) > 1.0")
        start = trials + m.cast(m.indices(shape) * np.uint64(0), np.float64)
        left, _ = m.repeat(last, step, (start, m.number(1.0)))
        counts[..., last] = m.cast(left, np.int64)
    return counts
