"""erf.

For |x| < 9/8, erf is x times a polynomial in x**2. Beyond, it is 1 - erfc, and
what has to be fitted is a function that falls steeply to nothing; its fourth
root is nearly straight and needs half the degree, and a fourth power is two
multiplications. No exponential is needed.

The coefficients come from `benchmarks/minimax.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from jitflow.passes.expand.machine import V
from jitflow.passes.expand.term import Term, copysign, fma, minimum, polynomial, select


@dataclass(frozen=True)
class ErrorFunction:
    """The constants of one format."""

    small: tuple[float, ...]
    """erf(x) / x - 1 in x**2, for x up to 9/8"""
    root: tuple[float, ...]
    """erfc(x)**(1/4) for x from 9/8 to `one`"""
    one: float
    """Above this, erf is 1."""


ERROR_FUNCTIONS = {
    "f32": ErrorFunction(
        small=(0.12837917, -0.3761259, 0.11283177, -0.026837105, 0.0051575024, -0.00077485485, 7.021957e-05),
        root=(
            1.0039349,
            -0.30152175,
            -0.07793705,
            -0.03420907,
            0.0549302,
            -0.017380167,
            0.0019551248,
            1.0066356e-05,
            -1.20411705e-05,
        ),
        one=4.0,
    ),
    "f64": ErrorFunction(
        small=(
            0.12837916709551256,
            -0.37612638903183676,
            0.11283791670951868,
            -0.02686617064457266,
            0.005223977620449613,
            -0.0008548326757058585,
            0.00012055323828870749,
            -1.4925438861330521e-05,
            1.645875372890647e-06,
            -1.6328933405248586e-07,
            1.4530362829202693e-08,
            -1.0921371519854269e-09,
            5.2657412656471144e-11,
        ),
        root=(
            0.9999996593547336,
            -0.28209136730626144,
            -0.11938238744386538,
            0.01550998754125713,
            0.018527746645326297,
            -0.0010702857006053,
            -0.002126075803477201,
            0.0003848261470048889,
            -3.89134285376629e-06,
            4.6186501115941014e-05,
            -3.6335533416744996e-05,
            1.571617438222891e-05,
            -5.6394167077839505e-06,
            1.7193779833564356e-06,
            -4.088707721688979e-07,
            7.194700612413767e-08,
            -9.135998857401287e-09,
            8.15555205215479e-10,
            -4.8741241162167315e-11,
            1.757468469795355e-12,
            -2.899861887986276e-14,
        ),
        one=6.0,
    ),
}


def erf(x: Term[V]) -> Term[V]:
    """The error function."""
    constants = ERROR_FUNCTIONS[x.dtype]
    magnitude = abs(x)
    z = x * x
    small = fma(magnitude, polynomial(z, constants.small), magnitude)
    root = polynomial(minimum(magnitude, constants.one), constants.root)
    square = root * root
    large = fma(-square, square, 1.0)
    return copysign(select(magnitude < 1.125, small, large), x)
