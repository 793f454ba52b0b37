"""Functions of one number, as the C library and Python compute them.

Numbers are Python's: `math.exp` is the C library's function, to the last bit. So elementary functions of single numbers
are left to it, where elements of arrays have expansions, whose error is as small but whose bits are others. What the C
library does not have is written with what it has, as NumPy and CPython do.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from jitflow.passes.expand.notation import Number, apply
from jitflow.passes.expand.primitives import LIBRARY
from jitflow.passes.expand.term import fma, select

__all__ = ["LIBRARY_FUNCTIONS", "OF_SINGLE_NUMBERS", "PYTHON_FUNCTIONS", "SINGLE_FUNCTIONS"]

LIBRARY_FUNCTIONS = LIBRARY - {"fmod"}
"""What the C library computes of a single f32 or f64; ``fmod`` is exact either way."""


def logaddexp(a: Number, b: Number) -> Number:
    """``npy_logaddexp``; the sum stands for nan."""
    return _logarithm_of_sum(a, b, "exp", "log1p", math.log(2.0), None)


def logaddexp2(a: Number, b: Number) -> Number:
    """``npy_logaddexp2``, whose ``log2_1p`` is a product."""
    return _logarithm_of_sum(a, b, "exp2", "log1p", 1.0, math.log2(math.e))


def _logarithm_of_sum(a: Number, b: Number, power: str, logarithm: str, twice: float, factor: float | None) -> Number:
    distance = abs(a - b)
    rest = apply(logarithm, apply(power, -distance))
    if factor is not None:
        rest = rest * factor
    larger = select(a > b, a, b)
    found = select(a.equals(b), a + twice, larger + rest)
    return select(distance.equals(distance) | a.equals(b), found, a + b)


def hypot(x: Number, y: Number) -> Number:
    """`math.hypot`, in the way of CPython's ``vector_norm``: the root, corrected by what its square is off by.

    The squares are exact, each in two parts, and so is their sum but for its last part.
    """
    large, small = select(abs(x) < abs(y), abs(y), abs(x)), select(abs(x) < abs(y), abs(x), abs(y))
    down, up = large > 2.0**500, large < 2.0**-400
    scale = select(down, large.constant(2.0**-600), select(up, large.constant(2.0**600), 1.0))
    back = select(down, large.constant(2.0**600), select(up, large.constant(2.0**-600), 1.0))
    a, b = large * scale, small * scale
    first, second = a * a, b * b
    total = first + second
    rest = (second - (total - first)) + (fma(a, a, -first) + fma(b, b, -second))
    root = (total + rest).sqrt()
    square = root * root
    excess = (total - square) + (rest - fma(root, root, -square))
    found = select(root > 0, root + excess / (root * 2.0), root) * back
    infinite = abs(x).equals(math.inf) | abs(y).equals(math.inf)
    return select(infinite, math.inf, select(large + small < math.inf, found, large + small))


SINGLE_FUNCTIONS: dict[str, Callable[..., Number]] = {"logaddexp": logaddexp, "logaddexp2": logaddexp2}
"""What is made of functions of the C library."""

PYTHON_FUNCTIONS: dict[str, Callable[..., Number]] = {"hypot": hypot}
"""What Python computes of its own numbers in its own way."""

OF_SINGLE_NUMBERS = LIBRARY_FUNCTIONS.union(SINGLE_FUNCTIONS, PYTHON_FUNCTIONS)
"""All that has other bits of a single number than of an element."""
