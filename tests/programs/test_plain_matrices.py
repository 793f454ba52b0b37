"""Programs on matrices, as plain Python, against NumPy's and SciPy's own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.csgraph

from tests.gallery import example, plain


def test_cholesky() -> None:
    (A,) = example("cholesky")
    expected, upper = np.linalg.cholesky(A), np.triu(A, 1)
    plain("cholesky")(A)
    np.testing.assert_allclose(np.tril(A), expected)
    np.testing.assert_array_equal(np.triu(A, 1), upper)


def test_lu() -> None:
    (A,) = example("lu")
    rows, L, U = scipy.linalg.lu(A, p_indices=True)
    order = plain("lu")(A)
    np.testing.assert_allclose(A, L - np.eye(len(A)) + U, atol=1e-14)
    np.testing.assert_array_equal(np.argsort(order), rows)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        plain("lu")(np.ones((3, 3)))


def test_gram_schmidt() -> None:
    (A,) = example("gram_schmidt")
    original = A.copy()
    Q, R = plain("gram_schmidt")(A)
    np.testing.assert_allclose(Q @ R, original)
    np.testing.assert_allclose(Q.T @ Q, np.eye(len(R)), atol=1e-13)
    np.testing.assert_array_equal(np.tril(R, -1), 0.0)


def test_triangular_solve() -> None:
    L, x, b = example("triangular_solve")
    plain("triangular_solve")(L, x, b)
    np.testing.assert_allclose(x, scipy.linalg.solve_triangular(L, b, lower=True))


def test_durbin() -> None:
    (r,) = example("durbin")
    expected = scipy.linalg.solve_toeplitz(np.append(1.0, r[:-1]), -r)
    np.testing.assert_allclose(plain("durbin")(r), expected)


def test_levinson() -> None:
    t, b = example("levinson")
    n = len(b)
    expected = scipy.linalg.solve_toeplitz((t[n - 1 :], t[n - 1 :: -1]), b)
    np.testing.assert_allclose(plain("levinson")(t, b), expected)


def test_gauss_jordan() -> None:
    (A,) = example("gauss_jordan")
    np.testing.assert_allclose(plain("gauss_jordan")(A), np.linalg.inv(A))


def test_floyd_warshall() -> None:
    (path,) = example("floyd_warshall")
    graph = np.where(path < 9999, path, 0)
    expected = scipy.sparse.csgraph.shortest_path(graph)
    plain("floyd_warshall")(path)
    np.testing.assert_array_equal(np.where(path < 9999, path, np.inf), expected)


def test_covariance() -> None:
    (data,) = example("covariance")
    expected = np.cov(data, rowvar=False)
    np.testing.assert_allclose(plain("covariance")(data), expected)


def test_correlation() -> None:
    (data,) = example("correlation")
    varying = [0, 1, 3, 4]
    expected = np.corrcoef(data[:, varying], rowvar=False)
    got = plain("correlation")(data)
    np.testing.assert_allclose(got[np.ix_(varying, varying)], expected)
    np.testing.assert_allclose(got[2], np.eye(5)[2], atol=1e-15)
