"""The partial derivatives of elementwise ops against numerical differentiation, and where there is a choice to make."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitflow
from tests.passes.derivatives.numerical import check_rules

ANY = (-2.3, -0.7, 0.31, 1.2)
POSITIVE = (0.2, 0.7, 1.6, 9.5)
SMALL = (-0.96, -0.3, 0.2, 0.88)
PLANE = (0.3 + 0.4j, -1.2 + 0.7j, 0.6 - 1.9j, -0.5 - 0.2j)

ONE = {
    "negative absolute sin cos tan sinh cosh tanh exp exp2 expm1 arctan arcsinh cbrt square sign floor": ANY,
    "sqrt log log2 log10 log1p reciprocal": POSITIVE,
    "arcsin arccos arctanh": SMALL,
    "arccosh": (1.01, 1.7, 3.0, 20.0),
}
TWO = "add subtract multiply divide power maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign"
ROUNDED = "remainder fmod floor_divide"
COMPLEX = """negative conjugate real imag absolute sign sin cos tan sinh cosh tanh exp exp2 expm1 sqrt
log log2 log10 log1p arcsin arccos arctan arcsinh arccosh arctanh square reciprocal"""
COMPLEX_TWO = "add subtract multiply divide power"

DIGITS = {"f4": 5, "f8": 9, "c8": 4, "c16": 9}
FIRST = np.array([0.7, 1.3, 2.9, 0.05])
SECOND = np.array([1.9, 0.4, 2.2, 0.6])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", [name for names in ONE for name in names.split()])
def test_functions_of_one_real_number(name: str, dtype: str) -> None:
    points = next(points for names, points in ONE.items() if name in names.split())
    check_rules(getattr(np, name), np.array(points, dtype), digits=DIGITS[dtype])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", [*TWO.split(), *ROUNDED.split()])
def test_functions_of_two_real_numbers(name: str, dtype: str) -> None:
    check_rules(getattr(np, name), FIRST.astype(dtype), SECOND.astype(dtype), digits=DIGITS[dtype])
    if name not in ("power",):
        check_rules(getattr(np, name), -FIRST.astype(dtype), SECOND.astype(dtype), digits=DIGITS[dtype])


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("name", COMPLEX.split())
def test_functions_of_one_complex_number(name: str, dtype: str) -> None:
    check_rules(getattr(np, name), np.array(PLANE, dtype), digits=DIGITS[dtype])


@pytest.mark.parametrize("name", COMPLEX_TWO.split())
def test_functions_of_two_complex_numbers(name: str) -> None:
    check_rules(getattr(np, name), np.array(PLANE), np.array(PLANE)[::-1] * 1.1, digits=8)


def test_complex_numbers_from_real_ones() -> None:
    check_rules(lambda x, y: np.exp(x + 1j * y) * x, FIRST, SECOND, digits=9)
    check_rules(lambda z: np.angle(z), np.array(PLANE), digits=9)
    check_rules(lambda z: np.abs(z) ** 2 * z.real, np.array(PLANE), digits=9)


@pytest.mark.parametrize("function", [math.erf, math.erfc, math.exp, math.hypot, math.fmod, math.log])
def test_numbers(function: Any) -> None:
    arguments = (0.7, 0.4) if function in (math.hypot, math.fmod) else (0.7,)
    step = 1e-5

    def along(x: float) -> Any:
        return function(x, *arguments[1:])

    found = jitflow.grad(lambda *given: function(*given))(*arguments)
    assert abs(found - (along(0.7 + step) - along(0.7 - step)) / (2 * step)) < 1e-8


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (np.abs, 0.0, 0.0),
        (np.sqrt, 0.0, np.inf),
        (np.log, 0.0, np.inf),
        (np.cbrt, 0.0, np.inf),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**0.5, 0.0, np.inf),
        (lambda x: np.power(x, 0.0), 0.0, 0.0),
        (lambda x: np.power(0.0, x), 2.0, 0.0),
        (lambda x: np.maximum(x, 0), 0.0, 0.5),
        (lambda x: np.minimum(0, x), 0.0, 0.5),
        (lambda x: np.maximum(x, x), 3.0, 1.0),
        (lambda x: np.fmax(x, np.nan), 3.0, 1.0),
        (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
        (lambda x: np.arctan2(x, 0.0), 0.0, 0.0),
        (lambda x: np.hypot(x, 1e-200), 1e-200, math.sqrt(0.5)),
        (lambda x: np.arctan2(x, 1e-200) * 1e-200, 1e-200, 0.5),
        (lambda x: np.logaddexp(x, -np.inf), 2.0, 1.0),
        (lambda x: np.logaddexp(x, 2.0), -np.inf, 0.0),
        (lambda x: np.logaddexp(x, -np.inf), -np.inf, 0.5),
        (lambda x: np.logaddexp(x, 0.0), np.inf, 1.0),
        (np.arcsinh, 1e300, 1e-300),
        (np.arccosh, 1e300, 1e-300),
        (np.expm1, -60.0, math.exp(-60.0)),
        (lambda x: np.remainder(x, np.pi), 3.0, 1.0),
        (lambda x: np.remainder(-1e-20, x), 1.0, 1.0),
        (lambda x: np.copysign(x, -1.0), 2.0, -1.0),
    ],
)
def test_edges(function: Any, x: float, expected: float) -> None:
    found = jitflow.grad(function)(x)
    assert found == pytest.approx(expected, rel=1e-14, nan_ok=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 0, np.log(x), 0),
        lambda x: np.where(x > 0, np.sqrt(x), 0),
        lambda x: np.where(x > 0, 1 / x, 0),
        lambda x: np.where(x > 0, x / x, 0),
        lambda x: np.where(x > 0, x**0.5, 0),
        lambda x: np.where(x > 0, x**x, 0),
        lambda x: np.where(x > 0, np.exp(np.log(x) * 2), x),
        lambda x: np.where(np.isfinite(np.log(x)), np.log(x), x),
        lambda x: np.where(x > 0, np.arccosh(1 + x), 0),
        lambda x: np.where(x > 0, np.sqrt(x), -np.sqrt(-x)) * np.where(x == 0, 0, 1),
        lambda x: np.log(np.maximum(x, 1e-3)),
        lambda x: np.sqrt(np.where(x > 0, x, 1)),
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_nothing_leaks_from_what_was_not_chosen(function: Any, order: int) -> None:
    points = np.array([-1.5, 0.0, 0.4, 2.0])

    def once(x: Any) -> Any:
        return jitflow.grad(lambda x: np.sum(function(x)))(x) if order == 2 else function(x)

    found = jitflow.grad(lambda x: np.sum(once(x)))(points)
    assert np.isfinite(found).all()
    loss = jitflow.function(lambda x: np.sum(once(x)))
    inside = points[2:]
    expected = [(loss(np.array([x + 1e-5])) - loss(np.array([x - 1e-5]))) / 2e-5 for x in inside]
    assert np.allclose(found[2:], expected, rtol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sqrt(np.sum(x * x)),
        np.linalg.norm,
        np.std,
        lambda x: np.sum(np.std(x, axis=0)),
        lambda x: np.sum((x**2) ** 0.5),
        lambda x: np.sum(np.sqrt(x**2 + x**4)),
        lambda x: np.sum(np.sqrt(np.abs(x) ** 2)),
        lambda x: np.linalg.norm(x @ x.T),
        lambda x: np.sum(np.abs(x) ** 3) ** (1 / 3),
        lambda x: np.sum(0 * np.abs(x) ** 0.3),
    ],
)
def test_what_does_not_move_has_no_slope(function: Any) -> None:
    """As for the magnitude of 0: norms and deviations of nothing."""
    nothing = np.zeros((3, 2))
    assert (jitflow.grad(lambda x: function(x))(nothing) == 0).all()
    assert jitflow.jvp(lambda x: function(x), (nothing,), (nothing + 1,))[1] == 0


def test_bits_have_none() -> None:
    x = np.array([0.3, 1.7, 5.0])
    with pytest.raises(NotImplementedError, match="made of the bits of another one"):
        jitflow.grad(lambda x: np.sum(np.frexp(x)[0]))(x)
    instead = jitflow.grad(lambda x: np.sum(np.ldexp(x, -np.frexp(jitflow.stop_gradient(x))[1])))(x)
    assert instead.tolist() == [2.0, 0.5, 0.125]
    assert jitflow.grad(lambda x: np.sum(x * np.frexp(x)[1]))(x).tolist() == [-1.0, 1.0, 3.0]


@pytest.mark.parametrize("name", "arcsin arccos arctan arcsinh arccosh arctanh sqrt log".split())
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_along_cuts_the_side_is_that_of_the_function(name: str, zero: float) -> None:
    """The derivative along the cut, which the function's values on the same side of it give."""
    cut = {"arctan": 2j, "arcsinh": 2j, "arccosh": -2, "sqrt": -2, "log": -2}.get(name, 2)
    function = getattr(np, name)
    for sign in (1, -1):
        at = complex(zero, sign * 2) if isinstance(cut, complex) else complex(sign * 2, zero)
        step = 1e-5j if isinstance(cut, complex) else 1e-5
        ends = [complex(at.real + (way * step).real, at.imag + (way * step).imag) for way in (1, -1)]
        ends = [complex(zero, end.imag) if isinstance(cut, complex) else complex(end.real, zero) for end in ends]
        slope = (function(ends[0]) - function(ends[1])) / (2 * step)
        found = jitflow.grad(lambda z: np.real(function(z)))(at)
        assert found == pytest.approx(np.conj(slope), rel=1e-8, abs=1e-8), (at, found, np.conj(slope))


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3), ()), ((), (5,)), ((3, 4), (3, 1))])
def test_broadcasting(shapes: Any) -> None:
    random = np.random.default_rng(1)
    first, second = (random.uniform(0.5, 2, shape) for shape in shapes)
    for function in (np.multiply, np.power, np.maximum, np.arctan2):
        check_rules(function, np.asarray(first), np.asarray(second), digits=9)
