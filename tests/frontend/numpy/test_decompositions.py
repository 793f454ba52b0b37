"""`numpy.linalg` against NumPy, which calls the same LAPACK: bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitflow
from tests.compare import ELEMENTARY, assert_same
from tests.frontend.numpy.both import check_both
from tests.frontend.numpy.oracle import check, check_sizes, sample

MATRIX, STACK, TALL = sample("f8", 4, 4), sample("f8", 2, 3, 3), sample("f8", 5, 3)
SYMMETRIC = MATRIX @ MATRIX.T + 4 * np.eye(4)
SINGULAR = np.ones((3, 3))


def f(program: Any, *arguments: Any) -> Any:
    return pytest.param(program, arguments)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        *[f(lambda x, g=g: g(x), item)
          for g in (np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.qr, np.linalg.svd, np.linalg.svdvals,
                    np.linalg.pinv, np.linalg.matrix_rank, np.linalg.cond, np.linalg.eigh, np.linalg.eigvalsh)
          for item in (MATRIX, STACK, TALL, SINGULAR, np.ones(3), np.ones((0, 0)), sample("f4", 3, 3),
                       sample("c16", 3, 3), sample("i4", 2, 2), sample("f2", 2, 2), MATRIX.T[::2, ::2])],
        *[f(lambda x, g=g: g(x), item)
          for g in (np.linalg.eig, np.linalg.eigvals) for item in (sample("c16", 3, 3), sample("c8", 2, 3, 3))],
        *[f(lambda x, upper=upper: np.linalg.cholesky(x, upper=upper), item)
          for upper in (False, True) for item in (SYMMETRIC, MATRIX, np.stack([SYMMETRIC] * 2))],
        *[f(lambda x, mode=mode: np.linalg.qr(x, mode), item)
          for mode in ("reduced", "complete", "r", "raw", "odd") for item in (TALL, TALL.T, STACK)],
        *[f(lambda x, full=full, uv=uv: np.linalg.svd(x, full, uv), item)
          for full in (True, False) for uv in (True, False) for item in (TALL, TALL.T)],
        f(lambda x: np.linalg.svd(x, hermitian=True), SYMMETRIC),
        f(lambda x: np.linalg.eigh(x, "U"), MATRIX),
        f(lambda x: np.linalg.eigh(x, UPLO="Q"), MATRIX),
        f(lambda x, y: np.linalg.solve(x, y), MATRIX, sample("f8", 4)),
        f(lambda x, y: np.linalg.solve(x, y), MATRIX, sample("f8", 4, 2)),
        f(lambda x, y: np.linalg.solve(x, y), STACK, sample("f8", 3)),
        f(lambda x, y: np.linalg.solve(x, y), STACK, sample("f4", 1, 3, 2)),
        f(lambda x, y: np.linalg.solve(x, y), SINGULAR, np.ones(3)),
        f(lambda x, y: np.linalg.lstsq(x, y), TALL, sample("f8", 5)),
        f(lambda x, y: np.linalg.lstsq(x, y, rcond=1e-3), TALL, sample("f8", 5, 2)),
        f(lambda x, y, r: np.linalg.lstsq(x, y, rcond=r), SINGULAR, np.ones(3), 1e-6),
        f(lambda x, r: np.linalg.pinv(x, r), TALL, 0.1),
        f(lambda x, r: np.linalg.pinv(x, rtol=r), TALL, 0.1),
        f(lambda x: np.linalg.pinv(x, hermitian=True), SYMMETRIC),
        f(lambda x, t: np.linalg.matrix_rank(x, t), TALL, 0.1),
        f(lambda x: np.linalg.matrix_rank(x, hermitian=True), SYMMETRIC),
        *[f(lambda x, p=p: np.linalg.cond(x, p), MATRIX) for p in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")],
        f(lambda x: np.linalg.tensorinv(x), sample("f8", 2, 3, 6)[:, :, :].reshape(2, 3, 3, 2)),
        f(lambda x: np.linalg.tensorinv(x, ind=1), sample("f8", 6, 2, 3)),
        f(lambda x, y: np.linalg.tensorsolve(x, y), sample("f8", 2, 3, 6), sample("f8", 2, 3)),
        f(lambda x, y: np.linalg.tensorsolve(x, y, axes=(1,)), sample("f8", 6, 2, 3), sample("f8", 6, 3)[:, 0]),
        f(lambda x: np.linalg.inv(x) @ x, MATRIX),
    ],
)  # fmt: skip
def test_linalg(program: Any, arguments: tuple[Any, ...]):
    check(program, *arguments, message="size " not in _said(program, arguments))


def _said(program: Any, arguments: tuple[Any, ...]) -> str:
    try:
        with np.errstate(all="ignore"):
            program(*arguments)
    except Exception as error:
        return str(error)
    return ""


def test_compiled():
    check_both(lambda x, y: np.linalg.solve(x, y) + 1, MATRIX, sample("f8", 4))
    check_both(lambda x, y: np.linalg.solve(x, y), SINGULAR, np.ones(3))
    check_both(lambda x: np.linalg.det(x) * np.linalg.inv(x), MATRIX)
    check_both(lambda x: np.linalg.qr(x).Q, TALL)
    check_both(lambda x: np.linalg.svd(x[::-1, ::2])[1], MATRIX, tolerance=ELEMENTARY)
    check_both(lambda x, y: np.linalg.lstsq(x, y), TALL, sample("f8", 5))
    check_both(lambda x, y: np.linalg.lstsq(x, y)[1].shape[0], SINGULAR, np.ones(3))


def test_many_sizes():
    check_sizes(lambda x, y: np.linalg.solve(x, y), lambda n: (sample("f8", n, n), sample("f8", n)), (3, 2, 5))


def test_named_results():
    @jitflow.function
    def parts(x):
        found = np.linalg.svd(x)
        return found, found.S

    found, values = parts(MATRIX)
    assert type(found) is type(np.linalg.svd(MATRIX))
    np.testing.assert_array_equal(values, np.linalg.svd(MATRIX).S)


def test_singular_matrices_raise_at_the_line():
    @jitflow.function
    def solved(x, y):
        doubled = y * 2
        return np.linalg.solve(x, doubled)

    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as caught:
        solved(SINGULAR, np.ones(3))
    assert caught.traceback[-1].lineno + 1 == solved.__wrapped__.__code__.co_firstlineno + 3


def test_eigenvalues_whose_dtype_the_run_decides() -> None:
    def program(a):
        found = np.linalg.eig(a)
        values, vectors = found
        place = np.argmax(abs(values))
        along = np.real(vectors[:, abs(np.real(values) - 1) < 1e-8])
        kind = "complex" if np.iscomplexobj(values) else values.dtype
        return (
            along,
            vectors[:, place] / vectors[:, place].sum(),
            vectors @ np.diag(values),
            kind,
            sorted(values.real),
            found,
        )

    compiled = jitflow.function(program)
    for matrix in (np.diag([1.0, 2.0, 3.0]), np.array([[0.0, 1.0], [-1.0, 0.0]]), MATRIX, np.eye(3, dtype="f4")):
        assert_same(compiled(matrix), program(matrix), tolerance=ELEMENTARY)
    assert compiled.cache_info().misses == 2


@pytest.mark.parametrize("function", [np.linalg.eig, np.linalg.eigvals])
def test_eigenvalues_of_real_matrices(function: Any) -> None:
    compiled = jitflow.function(lambda a: function(a))
    for matrix in (STACK, SYMMETRIC, np.ones((0, 0)), np.array([[0, 1], [-1, 0]], "f4"), np.array([[2, 1], [1, 2]])):
        assert_same(compiled(matrix), function(matrix))
    for matrix in (TALL, np.full((2, 2), np.nan)):
        with pytest.raises(np.linalg.LinAlgError) as expected:
            function(matrix)
        with pytest.raises(np.linalg.LinAlgError, match=str(expected.value)):
            compiled(matrix)
