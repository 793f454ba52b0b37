"""Products of matrices and vectors in many forms, as plain Python, against one expression each."""

from __future__ import annotations

import numpy as np

from tests.gallery import example, plain


def test_syrk() -> None:
    alpha, beta, C, A = example("syrk")
    expected = np.tril(beta * C + alpha * A @ A.T) + np.triu(C, 1)
    plain("syrk")(alpha, beta, C, A)
    np.testing.assert_allclose(C, expected)


def test_syr2k() -> None:
    alpha, beta, C, A, B = example("syr2k")
    expected = np.tril(beta * C + alpha * (A @ B.T + B @ A.T)) + np.triu(C, 1)
    plain("syr2k")(alpha, beta, C, A, B)
    np.testing.assert_allclose(C, expected)


def test_trmm() -> None:
    alpha, A, B = example("trmm")
    expected = alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B
    plain("trmm")(alpha, A, B)
    np.testing.assert_allclose(B, expected)


def test_symm() -> None:
    alpha, beta, C, A, B = example("symm")
    expected = beta * C + alpha * (np.tril(A) + np.tril(A, -1).T) @ B
    plain("symm")(alpha, beta, C, A, B)
    np.testing.assert_allclose(C, expected)


def test_gemver() -> None:
    alpha, beta, A, u1, v1, u2, v2, w, x, y, z = example("gemver")
    expected = A + u1[:, None] * v1 + u2[:, None] * v2
    plain("gemver")(alpha, beta, A, u1, v1, u2, v2, w, x, y, z)
    np.testing.assert_allclose(A, expected)
    np.testing.assert_allclose(x, beta * expected.T @ y + z)
    np.testing.assert_allclose(w, alpha * expected @ x)


def test_gesummv() -> None:
    alpha, beta, A, B, x = example("gesummv")
    np.testing.assert_allclose(plain("gesummv")(alpha, beta, A, B, x), (alpha * A + beta * B) @ x)


def test_mvt() -> None:
    x1, x2, y1, y2, A = example("mvt")
    expected = x1 + np.einsum("ij,j", A, y1), x2 + np.einsum("ij,i", A, y2)
    plain("mvt")(x1, x2, y1, y2, A)
    np.testing.assert_allclose((x1, x2), expected)


def test_atax() -> None:
    A, x = example("atax")
    np.testing.assert_allclose(plain("atax")(A, x), A.T @ A @ x)


def test_bicg() -> None:
    A, p, r = example("bicg")
    s, q = plain("bicg")(A, p, r)
    np.testing.assert_allclose(s, A.T @ r)
    np.testing.assert_allclose(q, A @ p)


def test_doitgen() -> None:
    A, C = example("doitgen")
    expected = np.einsum("rqs,sp->rqp", A, C)
    plain("doitgen")(A, C)
    np.testing.assert_allclose(A, expected)
