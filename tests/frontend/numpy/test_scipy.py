"""SciPy's functions in compiled programs: its values, dtypes and errors, and gradients beside central differences."""

from __future__ import annotations

import numpy as np
import pytest

import jitflow
from tests.compare import assert_same

special = pytest.importorskip("scipy.special")
linalg = pytest.importorskip("scipy.linalg")
X = np.random.default_rng(21).normal(size=(3, 4))
NAMES = ["gammaln", "gamma", "rgamma", "psi", "i0", "i1", "j0", "j1", "log_ndtr"]
"""Functions of positive numbers with a slope; erfinv, erfcinv and ndtri take others."""


def elementwise(x, n, k):
    total = 0.0
    for i in range(x.shape[1]):
        total += special.gammaln(x[0, i]) + special.ndtri(0.3)
    return (
        total, special.gammaln(x), special.gamma(x), special.digamma(x), special.erfinv(x / 9), special.i1(x),
        special.beta(np.abs(x), 2.5), special.zeta(2.0, np.abs(x) + 1), special.binom(n, k), special.gammaln(k),
        special.i0(x.astype(np.float32)),
    )  # fmt: skip


def sums(x):
    found = []
    for axis in (None, 0, -1):
        found += [special.logsumexp(x, axis=axis), special.softmax(x, axis), special.log_softmax(x, axis=axis)]
    return (*found, special.logsumexp(x, b=x * x, keepdims=True), special.logsumexp([x[0, 0], 1.0]))


def systems(x, lower, trans):
    a = x @ x.T + 3 * np.eye(3)
    factor = linalg.cho_factor(a, lower)
    return (
        linalg.solve_triangular(a, x, trans, lower), linalg.solve_triangular(a, x[:, 0], unit_diagonal=True),
        factor[0], factor[1], linalg.cho_solve(factor, x), linalg.cho_solve((a, True), x[:, 1]),
    )  # fmt: skip


def close(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def test_special_functions():
    arguments = X, 5, np.arange(1, 5)
    for found, expected in zip(jitflow.function(elementwise)(*arguments), elementwise(*arguments), strict=True):
        assert_same(found, expected)


def test_sums_of_exponentials():
    compiled = jitflow.function(sums)
    with np.errstate(all="ignore"):
        for x in (X, np.array([[np.inf, -np.inf, 1.0], [0.0, -np.inf, np.nan]])):
            close(compiled(x), sums(x))


@pytest.mark.parametrize(("lower", "trans"), [(False, 0), (True, "T")])
def test_systems(lower, trans):
    compiled = jitflow.function(systems, static=("lower", "trans"))
    close(compiled(X, lower, trans), systems(X, lower, trans))


def test_what_has_no_solution():
    with pytest.raises(np.linalg.LinAlgError, match="leading minor"):
        jitflow.function(lambda a: linalg.cho_factor(a)[0])(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="resolution failed at diagonal"):
        jitflow.function(lambda a: linalg.solve_triangular(a, a[0]))(np.zeros((2, 2)))


# -- gradients


def of_special_functions(x):
    y, total = np.abs(x) + 0.3, 0.0
    for name in NAMES:
        total = total + np.sum(getattr(special, name)(y) * x)
    return total + np.sum(special.erfinv(y / 9) + special.erfcinv(y / 9) + special.ndtri(y / 9))


def of_sums(x):
    return special.logsumexp(x) + np.sum(special.softmax(x, axis=1)[:, 0]) + np.sum(special.log_softmax(x, axis=0)[1])


def of_systems(x):
    a = x @ x.T + 3 * np.eye(3)
    t = x[:, :3] + 3 * np.eye(3)
    solved = linalg.cho_solve(linalg.cho_factor(a), x[:, 0]), linalg.cho_solve(linalg.cho_factor(a, True), x)
    factor = linalg.cho_factor(a, lower=True)[0] * np.arange(9).reshape(3, 3)
    turned = linalg.solve_triangular(t, x, trans=1, lower=True) ** 2
    ones = linalg.solve_triangular(t, x[:, 3], unit_diagonal=True) ** 3
    return np.sum(solved[0] ** 2) + np.sum(solved[1] ** 2) + np.sum(factor) + np.sum(turned) + np.sum(ones)


@pytest.mark.parametrize("program", [of_special_functions, of_sums, of_systems])
def test_gradients(program):
    step, gradient = 1e-6, np.zeros_like(X)
    for place in np.ndindex(X.shape):
        shift = np.zeros_like(X)
        shift[place] = step
        gradient[place] = (program(X + shift) - program(X - shift)) / (2 * step)
    np.testing.assert_allclose(jitflow.grad(program)(X), gradient, rtol=1e-5, atol=1e-7)
    direction = np.cos(np.arange(12.0)).reshape(3, 4)
    _, slope = jitflow.jvp(program, (X,), (direction,))
    np.testing.assert_allclose(slope, np.sum(gradient * direction), rtol=1e-5)
