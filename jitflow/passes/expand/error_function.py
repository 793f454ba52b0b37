"""erf.

For |x| < 1, erf is x times a polynomial in x**2. Beyond, it is 1 - erfc, and
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
    """erf(x) / x - 1 in x**2, for x up to 1"""
    root: tuple[float, ...]
    """erfc(x)**(1/4) for x from 1 to `one`"""
    one: float
    """Above this, erf is 1."""


ERROR_FUNCTIONS = {
    "f32": ErrorFunction(
        small=(0.12837917, -0.37612626, 0.112835854, -0.026853811, 0.0051883277, -0.0008010196, 7.8538775e-05),
        root=(
            0.9998556,
            -0.2809558,
            -0.1232254,
            0.022929756,
            0.009438045,
            0.0063104467,
            -0.006110891,
            0.0017407973,
            -0.00022434705,
            1.1341284e-05,
        ),
        one=4.0,
    ),
    "f64": ErrorFunction(
        small=(
            0.1283791670955126,
            -0.3761263890318375,
            0.11283791670954857,
            -0.026866170645072882,
            0.005223977624780771,
            -0.0008548326978737141,
            0.00012055331036725262,
            -1.4925593502864818e-05,
            1.6460972754425743e-06,
            -1.6350024576650064e-07,
            1.4657875606221849e-08,
            -1.1365649995766196e-09,
            5.945235421723004e-11,
        ),
        root=(
            0.9999999377559122,
            -0.2820941304454686,
            -0.11936949230846271,
            0.015472359333581194,
            0.018604755633949716,
            -0.0011878108309694051,
            -0.001987257358261774,
            0.0002548165956978693,
            9.421407359693617e-05,
            -1.4094972024354174e-05,
            -5.979926203267708e-06,
            3.150730837387115e-06,
            -1.3638908335164765e-06,
            5.272244167718846e-07,
            -1.382308166885336e-07,
            2.2452006534950914e-08,
            -1.9607451678480943e-09,
            1.0717394321833758e-11,
            1.8553373004858748e-11,
            -2.1871155237369404e-12,
            1.1549960244196834e-13,
            -2.4874607422996513e-15,
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
    return copysign(select(magnitude < 1.0, small, large), x)
