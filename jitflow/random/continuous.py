"""Continuous distributions: what becomes of random bits. Each draws in the shape that it is given.

A function gets the machine, the generator, the shape and the parameters as f64. Logarithms see uniform numbers at the
middle of ``2**52`` steps, which are never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitflow.random.functions import exp, expm1, log, sine_of_quarters
from jitflow.random.machine import Machine, machine
from jitflow.random.rejection import until_accepted

__all__ = ["beta", "cauchy", "chisquare", "dirichlet", "exponential", "fisher", "gamma", "general_normal", "gumbel",
           "inner", "laplace", "logistic", "lognormal", "normal", "pareto", "power", "rayleigh", "scaled_exponential",
           "scaled_gamma", "student", "triangular", "uniform", "uniform_of", "weibull"]  # fmt: skip


def inner(m: Machine, word: Any) -> Any:
    """A uniform number between 0 and 1, neither included."""
    return (m.cast(word >> np.uint64(12), np.float64) + 0.5) * 2.0**-52


def _signed(m: Machine, word: Any) -> Any:
    """A uniform number between -1 and 1, never 0."""
    return (m.cast(m.cast(word, np.int64) >> 11, np.float64) + 0.5) * 2.0**-52


def _require_scale(m: Machine, scale: Any) -> None:
    m.require(scale >= 0.0, "scale < 0")


# -- uniform ------------------------------------------------------------------------------------------------


def uniform_of(dtype: Any) -> Callable[..., Any]:
    """The draw of standard uniform numbers of a dtype: as many steps as it has digits."""
    digits = np.finfo(dtype).nmant + 1

    def draw(m: Machine, generator: Any, shape: tuple[Any, ...]) -> Any:
        low, _ = generator.words(shape)
        return m.cast(low >> np.uint64(64 - digits), np.float64) * 2.0**-digits

    return draw


def uniform(m: Machine, generator: Any, shape: tuple[Any, ...], low: Any, high: Any) -> Any:
    m.require(high >= low, "high - low < 0")
    return low + (high - low) * uniform_of(np.float64)(m, generator, shape)


def triangular(m: Machine, generator: Any, shape: tuple[Any, ...], left: Any, mode: Any, right: Any) -> Any:
    m.require(left <= mode, "left > mode")
    m.require(mode <= right, "mode > right")
    m.require(left < right, "left == right")
    u = uniform_of(np.float64)(m, generator, shape)
    width, rise, fall = right - left, mode - left, right - mode
    return np.where(u * width <= rise, left + np.sqrt(u * width * rise), right - np.sqrt((1.0 - u) * width * fall))


# -- normal -------------------------------------------------------------------------------------------------


def normal(m: Machine, generator: Any, shape: tuple[Any, ...]) -> Any:
    low, high = generator.words(shape)
    return _normal_of(m, low, high)


def _normal_of(m: Machine, low: Any, high: Any) -> Any:
    """One of the two coordinates of a normal vector: a Rayleigh length, and the sine of an angle of half a turn."""
    return np.sqrt(-2.0 * log(inner(m, low))) * sine_of_quarters(_signed(m, high))


def general_normal(m: Machine, generator: Any, shape: tuple[Any, ...], loc: Any, scale: Any) -> Any:
    _require_scale(m, scale)
    return loc + scale * normal(m, generator, shape)


def lognormal(m: Machine, generator: Any, shape: tuple[Any, ...], mean: Any, sigma: Any) -> Any:
    m.require(sigma >= 0.0, "sigma < 0")
    return exp(mean + sigma * normal(m, generator, shape))


def cauchy(m: Machine, generator: Any, shape: tuple[Any, ...]) -> Any:
    low, _ = generator.words(shape)
    t = _signed(m, low)
    return sine_of_quarters(t) / sine_of_quarters(1.0 - np.absolute(t))


# -- by inversion -------------------------------------------------------------------------------------------


def exponential(m: Machine, generator: Any, shape: tuple[Any, ...]) -> Any:
    low, _ = generator.words(shape)
    return -log(inner(m, low))


def scaled_exponential(m: Machine, generator: Any, shape: tuple[Any, ...], scale: Any) -> Any:
    _require_scale(m, scale)
    return scale * exponential(m, generator, shape)


def laplace(m: Machine, generator: Any, shape: tuple[Any, ...], loc: Any, scale: Any) -> Any:
    _require_scale(m, scale)
    low, high = generator.words(shape)
    length = scale * -log(inner(m, low))
    return loc + np.where((high & np.uint64(1)) == np.uint64(1), length, -length)


def logistic(m: Machine, generator: Any, shape: tuple[Any, ...], loc: Any, scale: Any) -> Any:
    _require_scale(m, scale)
    low, _ = generator.words(shape)
    u = inner(m, low)
    return loc + scale * (log(u) - log(1.0 - u))


def gumbel(m: Machine, generator: Any, shape: tuple[Any, ...], loc: Any, scale: Any) -> Any:
    _require_scale(m, scale)
    return loc - scale * log(exponential(m, generator, shape))


def rayleigh(m: Machine, generator: Any, shape: tuple[Any, ...], scale: Any) -> Any:
    _require_scale(m, scale)
    return scale * np.sqrt(2.0 * exponential(m, generator, shape))


def weibull(m: Machine, generator: Any, shape: tuple[Any, ...], a: Any) -> Any:
    m.require(a >= 0.0, "a < 0")
    return np.where(a == 0.0, 0.0, exp(log(exponential(m, generator, shape)) / np.where(a == 0.0, 1.0, a)))


def pareto(m: Machine, generator: Any, shape: tuple[Any, ...], a: Any) -> Any:
    m.require(a > 0.0, "a <= 0")
    return expm1(exponential(m, generator, shape) / a)


def power(m: Machine, generator: Any, shape: tuple[Any, ...], a: Any) -> Any:
    m.require(a > 0.0, "a <= 0")
    return exp(-exponential(m, generator, shape) / a)


# -- gamma, and what is made of it --------------------------------------------------------------------------


def _gamma_body(m: Machine, generator: Any, shape: tuple[Any, ...], alpha: Any) -> Any:
    """Gamma numbers for ``alpha`` of 1 or more.

    Marsaglia and Tsang's method: the cube of a normal number, accepted at least 19 times of 20.
    """

    def attempt(shape: tuple[Any, ...], alpha: Any) -> tuple[Any, Any]:
        d = alpha - 1.0 / 3.0
        c = 1.0 / np.sqrt(9.0 * d)
        low, high = generator.words(shape)
        uniform, _ = generator.words(shape)
        x = _normal_of(m, low, high)
        root = 1.0 + c * x
        cube = np.where(root > 0.0, root * root * root, 1.0)
        bound = 0.5 * x * x + d - d * cube + d * log(cube)
        return d * cube, (root > 0.0) & (log(inner(m, uniform)) < bound)

    return until_accepted(m, shape, alpha >= 1.0, (alpha,), attempt)


def _gamma_parts(m: Machine, generator: Any, shape: tuple[Any, ...], alpha: Any) -> tuple[Any, Any]:
    """A gamma number is ``product * exp(shift)``.

    Below 1 the distribution of ``alpha + 1`` is drawn, times a uniform number to the power ``1 / alpha``.
    """
    small = alpha < 1.0
    product = _gamma_body(m, generator, shape, np.where(small, alpha + 1.0, alpha))
    word, _ = generator.words(shape)
    return product, np.where(small, log(inner(m, word)) / alpha, 0.0)


def gamma(m: Machine, generator: Any, shape: tuple[Any, ...], alpha: Any) -> Any:
    m.require(alpha >= 0.0, "shape < 0")
    product, shift = _gamma_parts(m, generator, shape, np.where(alpha == 0.0, 1.0, alpha))
    return np.where(alpha == 0.0, 0.0, product * exp(shift))


def scaled_gamma(m: Machine, generator: Any, shape: tuple[Any, ...], alpha: Any, scale: Any) -> Any:
    _require_scale(m, scale)
    return scale * gamma(m, generator, shape, alpha)


def _log_gamma_number(m: Machine, generator: Any, shape: tuple[Any, ...], alpha: Any) -> Any:
    product, shift = _gamma_parts(m, generator, shape, alpha)
    return log(product) + shift


def beta(m: Machine, generator: Any, shape: tuple[Any, ...], a: Any, b: Any) -> Any:
    """``x / (x + y)`` of two gamma numbers, of their logarithms, because they may be too small for f64."""
    m.require(a > 0.0, "a <= 0")
    m.require(b > 0.0, "b <= 0")
    first, second = (_log_gamma_number(m, generator, shape, alpha) for alpha in (a, b))
    return 1.0 / (1.0 + exp(second - first))


def chisquare(m: Machine, generator: Any, shape: tuple[Any, ...], df: Any) -> Any:
    m.require(df > 0.0, "df <= 0")
    return 2.0 * gamma(m, generator, shape, 0.5 * df)


def student(m: Machine, generator: Any, shape: tuple[Any, ...], df: Any) -> Any:
    m.require(df > 0.0, "df <= 0")
    return normal(m, generator, shape) / np.sqrt(gamma(m, generator, shape, 0.5 * df) / (0.5 * df))


def fisher(m: Machine, generator: Any, shape: tuple[Any, ...], dfnum: Any, dfden: Any) -> Any:
    m.require(dfnum > 0.0, "dfnum <= 0")
    m.require(dfden > 0.0, "dfden <= 0")
    above = gamma(m, generator, shape, 0.5 * dfnum) / dfnum
    return above / (gamma(m, generator, shape, 0.5 * dfden) / dfden)


def dirichlet(generator: Any, alpha: Any, size: Any) -> Any:
    """Divided by the largest first, in logarithms, because gamma numbers may be too small for f64."""
    m = machine()
    alpha = m.number(m.array(alpha))
    m.require(alpha > 0.0, "alpha < 0")
    outer = () if size is None else m.shape(size)
    with np.errstate(all="ignore"):
        logarithms = _log_gamma_number(m, generator, (*outer, *m.shape(None, alpha)), alpha)
        parts = exp(logarithms - np.max(logarithms, axis=-1, keepdims=True))
        start = parts[..., 0] * 0.0  # one after the other: sums of NumPy and of compiled code differ in their last bits
        total = m.repeat(parts.shape[-1], lambda k, total: total + parts[..., k], start)
        return parts / total[..., np.newaxis]
