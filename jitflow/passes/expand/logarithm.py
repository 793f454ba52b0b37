"""log, log2, log10, log1p, and the sums in the logarithmic domain, logaddexp and logaddexp2.

An argument is written as x = 2**k (1 + f) with 1 + f between sqrt(1/2) and
sqrt(2). For f32, log(x) = k ln 2 + f - f**2 / 2 + f**3 P(f), with a polynomial
P over the whole interval. For f64 that takes 19 terms; in s = f / (2 + f), for
which log(1 + f) = f - s (f - s**2 Q(s**2)), it takes 7, and the division costs
less than the other twelve, since other units do it. Tables would need fewer
still, but a gather costs more than all of that.

What is not positive, finite and normal is rare, and looked at in a branch.

For log2 and log10 the product of f and 1 / ln(base) is kept with its rounding
error, and so powers of the base come out exact.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from jitflow.passes.expand.exponential import exp, exp2
from jitflow.passes.expand.formats import FORMATS, INFINITY, NAN
from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import (
    Operand,
    Term,
    add_exactly,
    fma,
    if_any,
    multiply_exactly,
    polynomial,
    select,
    settle,
)
from jitflow.records import dataclass

LOG_TAIL = (
    0.3333333,
    -0.2500082,
    0.20001225,
    -0.16623363,
    0.14201812,
    -0.13160183,
    0.12761213,
    -0.07634049,
)
"""(log(1 + f) - f + f**2 / 2) / f**3, precise enough for f32"""

LOG_QUOTIENT = (
    0.6666666666666734,
    0.3999999999941643,
    0.28571428741998184,
    0.22222198612915345,
    0.18183562278738294,
    0.15314102415871403,
    0.14795436321501043,
)
"""(log((1 + s) / (1 - s)) - 2 s) / s**3, a polynomial in s**2"""


@dataclass(frozen=True)
class Base:
    """A base of logarithms in one format, its constants split in two.

    The high part of log(2) has few bits, so that its products with exponents
    are exact.
    """

    unit_high: float
    unit_low: float
    """1 / ln(base)"""
    octave_high: float
    octave_low: float
    """log(2) in this base"""


NATURAL = {
    "f32": Base(1.0, 0.0, float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cf79abcap-20")),
    "f64": Base(1.0, 0.0, float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45")),
}
BINARY = {
    "f32": Base(float.fromhex("0x1.715476p+0"), float.fromhex("0x1.4ae0cp-26"), 1.0, 0.0),
    "f64": Base(float.fromhex("0x1.71547652b82fep+0"), float.fromhex("0x1.777d0ffda0d24p-56"), 1.0, 0.0),
}
DECIMAL = {
    "f32": Base(
        float.fromhex("0x1.bcb7b2p-2"),
        float.fromhex("-0x1.5b235ep-27"),
        float.fromhex("0x1.344p-2"),
        float.fromhex("0x1.3509f79fef312p-18"),
    ),
    "f64": Base(
        float.fromhex("0x1.bcb7b1526e50ep-2"),
        float.fromhex("0x1.95355baaafad3p-57"),
        float.fromhex("0x1.34413509f78p-2"),
        float.fromhex("0x1.fef311f12b358p-46"),
    ),
}


def split_octave(x: Term[V]) -> tuple[Term[V], Term[V], Term[V]]:
    """Return k as an integer, k's bits where an exponent is stored, and f.

    x is positive, finite and normal: x = 2**k (1 + f).
    """
    form = FORMATS[x.dtype]
    bits = x.bitcast(form.signed)
    octave = (bits - form.bits(0.5**0.5)) >> form.fraction_bits
    stored = octave << form.fraction_bits
    return octave, stored, (bits - stored).bitcast(x.dtype) - 1.0


def octave_as_float(octave: Term[V], dtype: str) -> Term[V]:
    """Convert an exponent.

    Few processors convert 64-bit integers in one instruction, and so the
    integer is added to the lowest bits of a float whose spacing is 1.
    """
    form = FORMATS[dtype]
    if dtype == "f32":
        return octave.cast(dtype)
    return (octave + form.bits(form.rounder)).bitcast(dtype) - form.rounder


def split_any_octave(x: Term[V]) -> tuple[Term[V], Term[V]]:
    """Return k as a float, and f, also for denormal x."""
    form = FORMATS[x.dtype]
    denormal = x < form.smallest_normal
    lift = form.fraction_bits + 1
    octave, _, f = split_octave(select(denormal, x * 2.0**lift, x))
    k = octave_as_float(octave, x.dtype)
    return select(denormal, k - float(lift), k), f


def log_tail(f: Term[V]) -> Term[V]:
    """What log(1 + f) is beyond f."""
    if f.dtype == "f32":
        return f * f * fma(f, polynomial(f, LOG_TAIL), -0.5)
    s = f / (f + 2.0)
    square = s * s
    return s * fma(square, polynomial(square, LOG_QUOTIENT), -f)


def assemble(k: Term[V], f: Term[V], tail: Term[V]) -> Term[V]:
    """The natural logarithm k ln 2 + f + tail, where the tail is small."""
    base = NATURAL[f.dtype]
    return fma(k, base.octave_high, f + fma(k, base.octave_low, tail))


def assemble_pair(k: Term[V], f: Term[V], tail: Term[V], base: Base) -> tuple[Term[V], Term[V]]:
    """The same logarithm to another base, as a large and a small part."""
    head, error = multiply_exactly(f, base.unit_high)
    rest = fma(f, base.unit_low, fma(tail, base.unit_high, error))
    total, lost = add_exactly(k * base.octave_high if base.octave_high != 1.0 else k, head)
    return total, (fma(k, base.octave_low, lost) if base.octave_low else lost) + rest


def sum_pair(pair: tuple[Term[V], Term[V]]) -> Term[V]:
    """The rounded sum of a pair."""
    return pair[0] + pair[1]


def settle_domain(x: Term[V], result: Term[V]) -> Term[V]:
    """The logarithm's values where it is not the formula's."""
    outside = select(x.equals(0.0), x.constant(-INFINITY), NAN)
    return select(x > 0.0, select(x.equals(INFINITY), x, result), outside)


def of_octaves(x: Term[V], formula: Callable[[Term[V], Term[V]], Term[V]]) -> Term[V]:
    """A logarithm that the formula makes of k and f."""
    rare = ~((x >= FORMATS[x.dtype].smallest_normal) & (x < INFINITY))
    octave, _, f = split_octave(x)
    k, f = if_any(rare, lambda: split_any_octave(x), (octave_as_float(octave, x.dtype), f))
    result = formula(k, f)
    return settle(rare, lambda: settle_domain(x, result), result)


def log(x: Term[V]) -> Term[V]:
    """The natural logarithm."""
    return of_octaves(x, lambda k, f: assemble(k, f, log_tail(f)))


def log2(x: Term[V]) -> Term[V]:
    """The logarithm to base 2, exact for powers of 2."""
    return of_octaves(x, lambda k, f: sum_pair(assemble_pair(k, f, log_tail(f), BINARY[x.dtype])))


def log10(x: Term[V]) -> Term[V]:
    """The logarithm to base 10."""
    return of_octaves(x, lambda k, f: sum_pair(assemble_pair(k, f, log_tail(f), DECIMAL[x.dtype])))


def split_octave_of_successor(x: Term[V], low: Operand[V] = 0.0) -> tuple[Term[V], Term[V], Term[V]]:
    """Return k as a float, f, and log(1 + f) - f of 1 + x + low for finite x > -1.

    `low` is at most the rounding error of x. 1 + x is rounded to 2**k (1 + f);
    what was lost, scaled as f is, is an argument too small for more than the
    first order, and enters the tail times 1 / (1 + f), about 1 - f.
    """
    form = FORMATS[x.dtype]
    total = x + 1.0
    part = total - x
    lost = (x - (total - part)) + (1.0 - part)
    if isinstance(low, Term):
        lost = lost + low
    octave, stored, f = split_octave(total)
    # Where 2**-k is no normal number x is so large that nothing was lost.
    scale = select(x < 2.0**100, (form.bits(1.0) - stored).bitcast(x.dtype), 0.0)
    scaled = lost * scale
    return octave_as_float(octave, x.dtype), f, log_tail(f) + fma(scaled, -f, scaled)


def log1p(x: Term[V]) -> Term[V]:
    """The natural logarithm of 1 + x."""
    result = assemble(*split_octave_of_successor(x))
    usual = (x > -1.0) & (x < INFINITY) & x.differs(0.0)
    return settle(~usual, lambda: settle_successor(x, result), result)


def settle_successor(x: Term[V], result: Term[V]) -> Term[V]:
    """The values of log1p where they are not the formula's."""
    outside = select(x.equals(-1.0), x.constant(-INFINITY), NAN)
    result = select(x > -1.0, select(x.equals(INFINITY), x, result), outside)
    return select(x.equals(0.0), x, result)


def distance_below(a: Term[V], b: Term[V]) -> tuple[Term[V], Term[V]]:
    """Return the larger operand, and the smaller one less the larger, also for infinities."""
    larger = select(a > b, a, b)
    return larger, select(a.equals(b), a.constant(0.0), -abs(a - b))


def add_logarithm(larger: Term[V], ratio: Term[V], bases: dict[str, Base]) -> Term[V]:
    """Return larger + log(1 + ratio), where the two terms may partly cancel."""
    high, low = assemble_pair(*split_octave_of_successor(ratio), bases[ratio.dtype])
    total = larger + high
    part = total - larger
    lost = (larger - (total - part)) + (high - part)
    # Where the larger one is infinite, what was lost has no value; ratio may be NaN there too.
    return select(abs(larger) < INFINITY, total + (low + lost), larger + ratio)


def logaddexp(a: Term[V], b: Term[V]) -> Term[V]:
    """log(exp(a) + exp(b)); as in NumPy, relative accuracy is lost where the result is near 0."""
    larger, distance = distance_below(a, b)
    return add_logarithm(larger, exp(distance), NATURAL)


def logaddexp2(a: Term[V], b: Term[V]) -> Term[V]:
    """log2(2**a + 2**b), with the same reservation."""
    larger, distance = distance_below(a, b)
    return add_logarithm(larger, exp2(distance), BINARY)
