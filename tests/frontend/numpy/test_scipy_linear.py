"""Functions of `scipy.linalg`: SciPy's values, dtypes and errors, also behind stores to an object."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import jitflow
from jitflow.errors import UserNotImplementedError

S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
W = np.arange(6.0).reshape(3, 2) + np.eye(3, 2)
B = np.array([1.0, 2.0, 3.0])

CALLS = {
    "inv": lambda s, w, b: scipy.linalg.inv(s),
    "det": lambda s, w, b: scipy.linalg.det(s),
    "expm": lambda s, w, b: scipy.linalg.expm(s),
    "cholesky": lambda s, w, b: (scipy.linalg.cholesky(s), scipy.linalg.cholesky(s, lower=True)),
    "solve": lambda s, w, b: (scipy.linalg.solve(s, b), scipy.linalg.solve(s, w, assume_a="pos")),
    "lu_factor": lambda s, w, b: scipy.linalg.lu_solve(scipy.linalg.lu_factor(s), b),
    "lu": lambda s, w, b: scipy.linalg.lu(w),
    "eigh": lambda s, w, b: (scipy.linalg.eigh(s), scipy.linalg.eigh(s, eigvals_only=True), scipy.linalg.eigvalsh(s)),
    "eig": lambda s, w, b: (scipy.linalg.eig(s), scipy.linalg.eigvals(s)),
    "svd": lambda s, w, b: (scipy.linalg.svd(w), scipy.linalg.svd(w, full_matrices=False), scipy.linalg.svdvals(w)),
    "qr": lambda s, w, b: (scipy.linalg.qr(w), scipy.linalg.qr(w, mode="economic")),
    "pinv": lambda s, w, b: scipy.linalg.pinv(w),
    "schur": lambda s, w, b: scipy.linalg.schur(s),
    "lyapunov": lambda s, w, b: scipy.linalg.solve_continuous_lyapunov(s, s),
    "riccati": lambda s, w, b: scipy.linalg.solve_continuous_are(s, w, s, np.eye(2)),
    "integers": lambda s, w, b: scipy.linalg.inv((s * 8).astype(int)),
    "toeplitz": lambda s, w, b: scipy.linalg.toeplitz(b),
}


def shown(thing):
    if isinstance(thing, tuple):
        return [shown(one) for one in thing]
    return type(thing).__name__, thing.dtype.str, thing.shape, thing.tolist()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_dtypes_are_those_of_scipy(name, dtype):
    arguments = [array.astype(dtype) for array in (S, W, B)]
    assert shown(jitflow.function(CALLS[name])(*arguments)) == shown(CALLS[name](*arguments))


class Filter:
    def __init__(self, noise):
        self.x, self.p, self.noise, self.steps = np.zeros(3), S.copy(), noise, 0

    def update(self, z):
        self.steps += 1
        self.p = self.p + 0.1 * np.eye(3)
        gain = self.p @ scipy.linalg.inv(self.p + self.noise)
        lower = scipy.linalg.cholesky(self.p + self.noise, lower=True)
        self.x = self.x + gain @ (z - self.x) + scipy.linalg.solve(lower, z)
        self.p = self.p - gain @ self.p


def updated(model, rows):
    history = []
    for z in rows:
        model.update(z)
        history.append(model.x.copy())
    return np.array(history)


def test_an_object_has_what_was_stored_before_a_call_that_fails():
    rows = np.arange(12.0).reshape(4, 3)
    compiled, ours, theirs = jitflow.function(updated), Filter(S), Filter(S)
    np.testing.assert_allclose(compiled(ours, rows), updated(theirs, rows), rtol=1e-12)
    np.testing.assert_allclose(ours.p, theirs.p, rtol=1e-12)
    ours, theirs = Filter(-S - 0.1 * np.eye(3)), Filter(-S - 0.1 * np.eye(3))
    for function, model in ((compiled, ours), (updated, theirs)):
        with pytest.raises(np.linalg.LinAlgError):
            function(model, rows)
    assert (ours.steps, ours.p.tolist(), ours.x.tolist()) == (theirs.steps, theirs.p.tolist(), theirs.x.tolist())


def test_what_scipy_refuses_is_its_error_and_what_is_no_matrix_is_refused():
    with pytest.raises(ValueError, match="square"):
        jitflow.function(lambda w: scipy.linalg.inv(w))(W)
    with pytest.raises(UserNotImplementedError, match="subset_by_index"):
        jitflow.function(lambda s: scipy.linalg.eigh(s, subset_by_index=[0, 1]))(S)
    with pytest.raises(UserNotImplementedError, match="stacks"):
        jitflow.function(lambda s: scipy.linalg.svdvals(s))(np.stack([S, S]))
