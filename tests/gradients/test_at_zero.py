"""Second derivatives where something is exactly 0, of which the rules of first derivatives make a choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import jitflow
import jitflow.nn

Program = Callable[[Any], Any]

SLOPES: dict[str, tuple[Program, float, float]] = {
    "sinc": (lambda x: np.sinc(x), 0.0, -(np.pi**2) / 3),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), 0.5, 0.25),
    "logaddexp2": (lambda x: np.logaddexp2(x, 0.0), 0.5, np.log(2) / 4),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(np.stack([x, 0 * x])), 0.5, 0.25),
    "logaddexp.accumulate": (lambda x: np.logaddexp.accumulate(np.stack([x, 0 * x]))[1], 0.5, 0.25),
    "silu": (lambda x: jitflow.nn.silu(x), 0.5, 0.5),
    "gelu": (lambda x: jitflow.nn.gelu(x), 0.5, np.sqrt(2 / np.pi)),
    "sqrt": (lambda x: np.sqrt(x * x + 1), 0.0, 1.0),
    "norm": (lambda x: np.linalg.norm(np.stack([x, 0 * x + 2])), 0.0, 0.5),
    "log_expit": (lambda x: scipy.special.log_expit(x), 0.5, -0.25),
    "xlogy": (lambda x: scipy.special.xlogy(x, 2 + x), np.log(2), 1.0),
    "xlog1py": (lambda x: scipy.special.xlog1py(x, 1 + x), np.log(2), 1.0),
    "power": (lambda x: np.power(2.0, x) + np.power(x + 3, x), np.log(6), np.log(2) ** 2 + np.log(3) ** 2 + 2 / 3),
    "chosen": (lambda x: np.where(x > 1, x, x * np.sqrt(x + 1)), 1.0, 1.0),
}


@pytest.mark.parametrize("name", SLOPES)
def test_first_and_second_derivatives_at_0(name: str) -> None:
    program, first, second = SLOPES[name]
    gradient = jitflow.grad(program)
    np.testing.assert_allclose(gradient(0.0), first, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(jitflow.grad(gradient)(0.0), second, rtol=1e-13)
    np.testing.assert_allclose(jitflow.jvp(gradient, (0.0,), (1.0,))[1], second, rtol=1e-13)


def test_third_derivatives_at_0() -> None:
    third = jitflow.grad(jitflow.grad(jitflow.grad(lambda x: np.sqrt(1 + x) * np.where(x < 1, x, 0.0))))
    np.testing.assert_allclose(third(0.0), -0.75, rtol=1e-13)


@pytest.mark.parametrize("x", [1e-12, -1e-7, 1e-4, 0.1, 0.2, 3.0])
def test_derivatives_of_sinc_do_not_cancel(x: float) -> None:
    import mpmath

    gradient = jitflow.grad(lambda x: np.sinc(x))
    for order, function in ((1, gradient), (2, jitflow.grad(gradient))):
        with mpmath.workdps(60):
            expected = float(mpmath.diff(mpmath.sincpi, mpmath.mpf(x), order))
        np.testing.assert_allclose(function(x), expected, rtol=1e-12)


def test_powers_that_overflow_have_second_derivatives() -> None:
    second = jitflow.grad(jitflow.grad(lambda x: np.logaddexp(x, 0.0)))
    assert (second(800.0), second(-800.0)) == (0.0, 0.0)


def test_turned_vectors_at_a_diagonal_matrix() -> None:
    """The second derivative of an eigenvalue is by the turn of its vectors, which is 0 there."""

    def largest(x: Any) -> Any:
        return np.linalg.eigh(np.stack([np.stack([x * 0 + 1.0, x]), np.stack([x, x * 0 + 3.0])]))[0][1]

    np.testing.assert_allclose(jitflow.grad(jitflow.grad(largest))(0.0), 1.0, rtol=1e-13)
