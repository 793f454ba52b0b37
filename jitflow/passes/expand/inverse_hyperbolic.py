"""arcsinh, arccosh and arctanh: logarithms of 1 + y, where y has to be known beyond its last place.

    arcsinh(x) = log(1 + y),  y = x + x**2 / (1 + sqrt(1 + x**2))
    arccosh(x) = log(1 + y),  y = d + sqrt(d (d + 2)),  d = x - 1
    arctanh(x) = log(1 + y) / 2,  y = 2 x / (1 - x)

y is computed as a pair of a float and its rounding error, which the logarithm
takes in. Written so, nothing cancels where x is small, or close to 1.
"""

from __future__ import annotations

from jitflow.passes.expand.formats import FORMATS, INFINITY, NAN
from jitflow.passes.expand.logarithm import assemble, split_octave_of_successor
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import (
    Term,
    add_exactly,
    copysign,
    fma,
    minimum,
    multiply_exactly,
    select,
    settle,
)

LARGE = 2.0**60
"""From here on, sqrt(x**2 + 1), sqrt(x**2 - 1) and 1 + x are x."""


def root_of_pair(high: Term[V], low: Term[V]) -> tuple[Term[V], Term[V]]:
    """The square root of high + low as a pair; high is positive."""
    root = high.sqrt()
    return root, (fma(-root, root, high) + low) * (0.5 / root)


def log_of_successor(y: Term[V], low: Term[V], large: Term[V]) -> Term[V]:
    """log(1 + y + low), or log(2 y) where that is large."""
    k, f, tail = split_octave_of_successor(y, low)
    return assemble(select(large, k + 1.0, k), f, tail)


def arcsinh(x: Term[V]) -> Term[V]:
    """The inverse of sinh."""
    magnitude = abs(x)
    large = magnitude > LARGE
    a = minimum(magnitude, LARGE)
    square, square_low = multiply_exactly(a, a)
    # The larger of 1 and the square comes first.
    big, small = select(square > 1.0, square, 1.0), select(square > 1.0, square.constant(1.0), square)
    total, lost = add_exactly(big, small)
    root, root_low = root_of_pair(total, lost + square_low)
    divisor, lost = add_exactly(root, root.constant(1.0))
    divisor_low = lost + root_low
    reciprocal = 1.0 / divisor
    quotient = square * reciprocal
    residual = fma(-quotient, divisor, square) + fma(-quotient, divisor_low, square_low)
    y, lost = add_exactly(a, quotient)
    low = fma(residual, reciprocal, lost)
    result = log_of_successor(select(large, magnitude, y), select(large, 0.0, low), large)
    signed = copysign(result, x)
    rare = ~((magnitude >= FORMATS[x.dtype].smallest_normal) & (magnitude < INFINITY))
    return settle(rare, lambda: select(rare, x, signed), signed)


def arccosh(x: Term[V]) -> Term[V]:
    """The inverse of cosh, for x from 1 on."""
    large = x > LARGE
    bounded = minimum(x, LARGE)
    d, d_low = add_exactly(bounded, bounded.constant(-1.0))
    # d (d + 2) = d**2 + 2 d, where 2 d is the larger term up to d = 2.
    square, square_low = multiply_exactly(d, d)
    twice = d + d
    big, small = select(d > 2.0, square, twice), select(d > 2.0, twice, square)
    total, lost = add_exactly(big, small)
    root, root_low = root_of_pair(total, lost + fma(2.0 * d_low, d + 1.0, square_low))
    y, lost = add_exactly(root, d)
    low = lost + (root_low + d_low)
    result = log_of_successor(select(large, x, y), select(large, 0.0, low), large)
    result = select(x > 1.0, result, select(x.equals(1.0), x.constant(0.0), NAN))
    return select(x.equals(INFINITY), x, result)


def arctanh(x: Term[V]) -> Term[V]:
    """The inverse of tanh."""
    magnitude = abs(x)
    divisor, lost = add_exactly(1.0, -magnitude)
    reciprocal = 1.0 / divisor
    twice = magnitude + magnitude
    y = twice * reciprocal
    low = reciprocal * fma(-y, lost, fma(-y, divisor, twice))
    result = 0.5 * assemble(*split_octave_of_successor(y, low))
    usual = (magnitude < 1.0) & (magnitude >= FORMATS[x.dtype].smallest_normal)
    return settle(~usual, lambda: _settled_arctanh(x, result), copysign(result, x))


def _settled_arctanh(x: Term[V], result: Term[V]) -> Term[V]:
    magnitude = abs(x)
    edge = select(magnitude.equals(1.0), x.constant(INFINITY), NAN)
    result = copysign(select(magnitude < 1.0, result, edge), x)
    return select(magnitude < FORMATS[x.dtype].smallest_normal, x, result)
