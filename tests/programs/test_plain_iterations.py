"""Linear algebra that iterates, as plain Python, against direct methods."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tests.gallery import example, plain


def test_conjugate_gradients() -> None:
    b, _, limit = example("conjugate_gradients")
    n, m = b.shape
    line = [np.diag(np.full(k - 1, -1.0), 1) for k in (n, m)]
    matrix = 4 * np.eye(n * m) + np.kron(line[0] + line[0].T, np.eye(m)) + np.kron(np.eye(n), line[1] + line[1].T)
    x, steps = plain("conjugate_gradients")(b, 1e-10, limit)
    assert steps < limit
    np.testing.assert_allclose(x.ravel(), np.linalg.solve(matrix, b.ravel()), rtol=1e-8)


def test_power_iteration() -> None:
    A, start, count, tolerance, limit = example("power_iteration")
    values, vectors = plain("power_iteration")(A, start, count, tolerance, limit)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[::-1][:count], rtol=1e-9)
    np.testing.assert_allclose(A @ vectors.T, vectors.T * values, atol=1e-4)


def test_pagerank() -> None:
    source, target, n, damping, tolerance = example("pagerank")
    matrix = np.zeros((n, n))
    for one, other in zip(source, target, strict=True):
        matrix[other, one] += 1.0
    matrix[:, matrix.sum(axis=0) == 0] = 1.0
    matrix /= matrix.sum(axis=0)
    assert np.unique(source).size < n  # some pages have no links
    expected = np.linalg.solve(np.eye(n) - damping * matrix, np.full(n, (1 - damping) / n))
    rank, rounds = plain("pagerank")(source, target, n, damping, tolerance)
    assert rounds > 5
    np.testing.assert_allclose(rank, expected, atol=1e-7)


def test_matrix_exponential() -> None:
    (A,) = example("matrix_exponential")
    for matrix in (A, 0.01 * A, 10 * A):
        np.testing.assert_allclose(plain("matrix_exponential")(matrix), scipy.linalg.expm(matrix), rtol=1e-8)


def test_contour_integral() -> None:
    coefficients, probe, points, radius = example("contour_integral")
    moments = plain("contour_integral")(coefficients, probe, points, radius)
    for order, moment in enumerate(moments):
        expected = np.zeros_like(moment)
        for angle in 2 * np.pi * (np.arange(points) + 0.5) / points:
            z = radius * np.exp(1j * angle)
            expected += z ** (order + 1) * np.linalg.inv(np.polyval(coefficients[::-1], z)) @ probe / points
        np.testing.assert_allclose(moment, expected)
    line = np.array([-np.diag([0.3, 2.0]), np.eye(2)]) + 0j  # z - A, of which one eigenvalue is inside
    _, moment1 = plain("contour_integral")(line, np.eye(2) + 0j, 200, 1.0)
    np.testing.assert_allclose(moment1, np.diag([0.3, 0.0]), atol=1e-12)


def test_scattering_self_energies() -> None:
    neighbour, dH, G, D, sigma = example("scattering_self_energies")
    expected = np.zeros_like(sigma)
    for q, w in np.ndindex(D.shape[:2]):
        shifted = np.roll(G, (q, w), (0, 1))[:, w:]
        gathered = shifted[:, :, neighbour]
        expected[:, w:] += np.einsum("ab,abij,keabjl,ablm->keaim", D[q, w], dH, gathered, dH)
    plain("scattering_self_energies")(neighbour, dH, G, D, sigma)
    np.testing.assert_allclose(sigma, expected)


def test_kalman() -> None:
    measurements, F, H, Q, R, x, P = example("kalman")
    track, after = plain("kalman")(measurements, F, H, Q, R, x, P)
    steps, size = len(measurements), len(x)
    # all states and measurements are one Gaussian: the last state given all measurements
    states = [F @ P @ F.T + Q]
    for _ in range(steps - 1):
        states.append(F @ states[-1] @ F.T + Q)
    joint = np.zeros((steps * size, steps * size))
    for i in range(steps):
        for j in range(i + 1):
            block = np.linalg.matrix_power(F, i - j) @ states[j]
            joint[i * size : (i + 1) * size, j * size : (j + 1) * size] = block
            joint[j * size : (j + 1) * size, i * size : (i + 1) * size] = block.T
    seen = np.kron(np.eye(steps), H)
    covariance = seen @ joint @ seen.T + np.kron(np.eye(steps), R)
    gain = np.linalg.solve(covariance, seen @ joint).T[-size:]
    np.testing.assert_allclose(track[-1], gain @ measurements.ravel(), rtol=1e-8)
    np.testing.assert_allclose(
        after, (joint - joint @ seen.T @ np.linalg.solve(covariance, seen @ joint))[-size:, -size:]
    )
    assert track.shape == (steps, size)
    assert np.all(np.linalg.eigvalsh(after) > 0)
    assert after[0, 0] < R[0, 0]
