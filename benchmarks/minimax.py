"""Derive the polynomials of the elementary functions.

Every polynomial in `jitflow/passes/expand` comes out of this script, which
fits p to f on an interval so that the largest |weight * (p - f)| is as small
as it can be. The weight turns the error of the polynomial into the relative
error of the function it serves. The method is Remez's exchange (Remez 1934;
Muller, *Elementary Functions*, chapter 3) in 50-digit arithmetic; the
coefficients are rounded to the target format at the very end, which costs
little because the leading terms of each function are written out exactly in
the code and are not part of the fit.

    python benchmarks/minimax.py                # all fits, with their errors
    python benchmarks/minimax.py log sin        # the fits whose names start so
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from mpmath import mp, mpf

mp.dps = 50

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """What to fit: `function` on `interval`, with errors scaled by `weight`."""

    function: Real
    weight: Real
    interval: tuple[object, object]
    degrees: dict[str, int]
    rounds_leading: bool = False
    """Whether the leading coefficient is rounded first, and the others are fitted to what that leaves. It pays where
    the interval is so long that the leading term does not dwarf the rounding errors of its coefficient."""


def fit_in_format(fit: Fit, dtype: str) -> tuple[list[mpf], mpf]:
    """Return the coefficients for a format, and the weighted error of the polynomial."""
    degree = fit.degrees[dtype]
    coefficients, error = fit_minimax(fit, degree)
    if not fit.rounds_leading:
        return coefficients, error
    leading = mpf(float(np.float32(float(coefficients[0])) if dtype == "f32" else coefficients[0]))
    rest = replace(fit, function=lambda z: (fit.function(z) - leading) / z, weight=lambda z: fit.weight(z) * z)
    coefficients, error = fit_minimax(rest, degree - 1)
    return [leading, *coefficients], error


def fit_minimax(fit: Fit, degree: int, rounds: int = 12) -> tuple[list[mpf], mpf]:
    """Return the coefficients, lowest power first, and the weighted error."""
    low, high = (mpf(end) for end in fit.interval)
    centre, radius = (low + high) / 2, (high - low) / 2
    grid_size = 24 * (degree + 2)
    # Half-integer Chebyshev points: dense at the ends, and never exactly the
    # centre, where a quotient such as (exp(x) - 1 - x) / x**2 has no value.
    grid = [centre - radius * mp.cos(mp.pi * (i + mpf(1) / 2) / grid_size) for i in range(grid_size)]
    values = [fit.function(x) for x in grid]
    weights = [fit.weight(x) for x in grid]
    points = [round(i * (grid_size - 1) / (degree + 1)) for i in range(degree + 2)]
    coefficients: list[mpf] = []
    for _ in range(rounds):
        system = mp.matrix(degree + 2, degree + 2)
        for row, point in enumerate(points):
            for power in range(degree + 1):
                system[row, power] = ((grid[point] - centre) / radius) ** power
            system[row, degree + 1] = (-1) ** row / weights[point]
        solution = mp.lu_solve(system, mp.matrix([values[point] for point in points]))
        coefficients = [solution[power] for power in range(degree + 1)]
        errors = [
            weight * (mp.polyval(coefficients[::-1], (x - centre) / radius) - value)
            for x, value, weight in zip(grid, values, weights, strict=True)
        ]
        exchanged = alternating_extrema(errors, degree + 2)
        if exchanged == points or len(exchanged) < degree + 2:
            break
        points = exchanged
    return shift_polynomial(coefficients, centre, radius), max(abs(error) for error in errors)


def alternating_extrema(errors: list[mpf], count: int) -> list[int]:
    """Pick `count` neighbouring extrema of alternating sign, the largest ones."""
    extrema: list[int] = []
    for i, error in enumerate(errors):
        if extrema and (error > 0) == (errors[extrema[-1]] > 0):
            if abs(error) > abs(errors[extrema[-1]]):
                extrema[-1] = i
        else:
            extrema.append(i)
    while len(extrema) > count:
        extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
    return extrema


def shift_polynomial(coefficients: list[mpf], centre: mpf, radius: mpf) -> list[mpf]:
    """Rewrite a polynomial in (x - centre) / radius as one in x."""
    result = [mpf(0)]
    for coefficient in reversed(coefficients):
        product = [mpf(0)] * (len(result) + 1)
        for power, term in enumerate(result):
            product[power + 1] += term / radius
            product[power] -= term * centre / radius
        product[0] += coefficient
        result = product
    return result[: len(coefficients)]


HALF_LN2 = mp.log(2) / 2 * mpf("1.0001")
ROOT = mp.sqrt(2)
QUARTER_PI_SQUARED = (mp.pi / 4 * mpf("1.01")) ** 2


def logarithm_tail(f: mpf) -> mpf:
    """The series of log(1 + f) after its first two terms, over f**3."""
    return (mp.log1p(f) - f + f * f / 2) / f**3


def logarithm_quotient_tail(z: mpf) -> mpf:
    """log((1 + s) / (1 - s)) without its first term, over s**3, z = s**2."""
    s = mp.sqrt(z)
    with mp.workdps(150):
        return 2 * (mp.atanh(s) - s) / s**3


def quotient_tail(z: mpf) -> mpf:
    """log2((1 + s) / (1 - s)) without its first two terms, over s**5, z = s**2."""
    s = mp.sqrt(z)
    with mp.workdps(150):
        whole = mp.log((1 + s) / (1 - s)) / mp.log(2)
        return (whole - 2 / mp.log(2) * (s + s**3 / 3)) / s**5


def fourth_root_of_erfc(x: mpf) -> mpf:
    return mp.erfc(x) ** (mpf(1) / 4)


def fourth_root_weight(x: mpf) -> mpf:
    """How an error of the root enters the fourth power."""
    return 4 * mp.erfc(x) ** (mpf(3) / 4)


def moved_back(t: mpf, centre: int) -> mpf:
    """The x of which t is (x - centre) / (x + centre)."""
    return centre * (1 + t) / (1 - t)


def scaled_erfc(x: mpf) -> mpf:
    return mp.exp(x * x) * mp.erfc(x)


LOG_INTERVAL = (1 / ROOT - 1, ROOT - 1)
FITS: dict[str, Fit] = {
    "exp": Fit(
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.exp(r), (-HALF_LN2, HALF_LN2), {"f32": 4, "f64": 9}
    ),
    "expm1": Fit(
        lambda r: (mp.expm1(r) - r - r**2 / 2) / r**3,
        lambda r: r**3 / mp.expm1(r),
        (-HALF_LN2, HALF_LN2),
        {"f32": 4, "f64": 9},
    ),
    "exp2": Fit(lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r / 2**r, (-0.5, 0.5), {"f32": 5, "f64": 10}),
    "log": Fit(logarithm_tail, lambda f: f**3 / mp.log1p(f), LOG_INTERVAL, {"f32": 7}),
    "log_quotient": Fit(
        logarithm_quotient_tail,
        lambda z: z * mp.sqrt(z) / (2 * mp.atanh(mp.sqrt(z))),
        (0, ((ROOT - 1) / (ROOT + 1)) ** 2),
        {"f64": 6},
    ),
    "power_f32_log2": Fit(
        lambda f: mp.log1p(f) / mp.log(2) / f, lambda f: mp.log(2) * f / mp.log1p(f), LOG_INTERVAL, {"f64": 12}
    ),
    "power_f32_exp2": Fit(lambda r: 2**r, lambda r: 2**-r, (-0.5, 0.5), {"f64": 6}),
    "power_f64_log2": Fit(quotient_tail, lambda z: z * z, (1e-30, (3 - 2 * ROOT) ** 2), {"f64": 7}),
    "sin": Fit(
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
        (0, QUARTER_PI_SQUARED),
        {"f32": 3, "f64": 6},
    ),
    "cos": Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2,
        (0, QUARTER_PI_SQUARED),
        {"f32": 2, "f64": 5},
    ),
    "tan": Fit(
        lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.tan(mp.sqrt(z)),
        (0, QUARTER_PI_SQUARED),
        {"f32": 6, "f64": 14},
    ),
    "arcsin": Fit(
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
        (0, 0.25),
        {"f32": 4, "f64": 11},
        rounds_leading=True,
    ),
    "arctan": Fit(
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
        (0, 1),
        {"f32": 8, "f64": 19},
        rounds_leading=True,
    ),
    "cbrt": Fit(lambda m: m ** (-mpf(1) / 3), lambda m: m ** (mpf(1) / 3), (1, 2), {"f32": 3, "f64": 5}),
    "sinh": Fit(
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)),
        (0, HALF_LN2**2),
        {"f32": 2, "f64": 5},
    ),
    "cosh": Fit(
        lambda z: (mp.cosh(mp.sqrt(z)) - 1 - z / 2) / z**2, lambda z: z**2, (0, HALF_LN2**2), {"f32": 1, "f64": 4}
    ),
    "tanh": Fit(
        lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)),
        (0, (HALF_LN2 * 31 / 16) ** 2),
        {"f32": 4, "f64": 11},
    ),
    "erf_small": Fit(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        (0, 1.125**2),
        {"f32": 6, "f64": 12},
    ),
    "erfc_root_f32": Fit(fourth_root_of_erfc, fourth_root_weight, (1.125, 4), {"f32": 8}),
    "erfc_factor_short": Fit(
        lambda t: (moved_back(t, 3) + 3) * scaled_erfc(moved_back(t, 3)),
        lambda t: 1 / ((moved_back(t, 3) + 3) * scaled_erfc(moved_back(t, 3))),
        (-1, (mpf("10.3") - 3) / (mpf("10.3") + 3)),
        {"f64": 9},
    ),
    "erfc_factor": Fit(
        lambda t: (1 + 2 * moved_back(t, 4)) * scaled_erfc(moved_back(t, 4)),
        lambda t: 1 / ((1 + 2 * moved_back(t, 4)) * scaled_erfc(moved_back(t, 4))),
        ((mpf("0.75") - 4) / (mpf("0.75") + 4), (mpf("27.3") - 4) / (mpf("27.3") + 4)),
        {"f64": 20},
    ),
    "erfc_root_f64": Fit(fourth_root_of_erfc, fourth_root_weight, (1.125, 6), {"f64": 20}),
}


def format_coefficients(coefficients: list[mpf], dtype: str) -> str:
    """Write the coefficients as the shortest decimals that read back exactly."""
    if dtype == "f32":
        return ", ".join(str(np.float32(float(c))) for c in coefficients)
    return ", ".join(repr(float(c)) for c in coefficients)


def main(prefixes: list[str]) -> None:
    for name, fit in FITS.items():
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        for dtype, degree in fit.degrees.items():
            coefficients, error = fit_in_format(fit, dtype)
            print(f"{name} {dtype}: degree {degree}, error 2**{float(mp.log(error, 2)):.1f}")
            print(f"    ({format_coefficients(coefficients, dtype)})")


if __name__ == "__main__":
    main(sys.argv[1:])
