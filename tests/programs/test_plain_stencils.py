"""Stencils, waves and pictures, as plain Python, against other ways to compute the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal

from tests.gallery import example, plain


def test_fdtd_2d() -> None:
    ex, ey, hz, source = example("fdtd_2d")
    expected_x, expected_y, expected_z = ex.copy(), ey.copy(), hz.copy()
    nx, ny = ex.shape
    for value in source:
        for i, j in np.ndindex(nx, ny):
            expected_y[i, j] = value if i == 0 else expected_y[i, j] - 0.5 * (expected_z[i, j] - expected_z[i - 1, j])
        for i, j in np.ndindex(nx, ny - 1):
            expected_x[i, j + 1] -= 0.5 * (expected_z[i, j + 1] - expected_z[i, j])
        for i, j in np.ndindex(nx - 1, ny - 1):
            curl = expected_x[i, j + 1] - expected_x[i, j] + expected_y[i + 1, j] - expected_y[i, j]
            expected_z[i, j] -= 0.7 * curl
    plain("fdtd_2d")(ex, ey, hz, source)
    for got, expected in ((ex, expected_x), (ey, expected_y), (hz, expected_z)):
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_jacobi_1d() -> None:
    A, B, _ = example("jacobi_1d")
    expected = A.copy()
    for ends in (B, A, B, A):
        expected[1:-1] = 0.33333 * np.convolve(expected, np.ones(3), "valid")
        expected[[0, -1]] = ends[[0, -1]]
    plain("jacobi_1d")(A, B, 3)
    np.testing.assert_allclose(A, expected)


def test_jacobi_2d() -> None:
    u, tolerance, limit = example("jacobi_2d")
    solution, sweeps = plain("jacobi_2d")(u, 1e-9, 5000)
    inner = solution[1:-1, 1:-1]
    around = solution[:-2, 1:-1] + solution[2:, 1:-1] + solution[1:-1, :-2] + solution[1:-1, 2:]
    np.testing.assert_allclose(4 * inner, around, atol=1e-8)
    assert 100 < sweeps < 5000
    assert plain("jacobi_2d")(u, tolerance, limit)[1] < sweeps
    assert plain("jacobi_2d")(u, tolerance, 7)[1] == 7


def test_seidel_2d() -> None:
    A, _ = example("seidel_2d")
    n, m = A.shape
    inside = [(i, j) for i in range(1, n - 1) for j in range(1, m - 1)]
    expected = A.copy()
    for i, j in inside:
        expected[i, j] = expected[i - 1 : i + 2, j - 1 : j + 2].mean()
    plain("seidel_2d")(A, 1)
    np.testing.assert_allclose(A, expected)


def test_channel_flow() -> None:
    u, nu, dx, dy, dt, force, _ = example("channel_flow")
    assert plain("channel_flow")(u, nu, dx, dy, dt, force, 1e-9) > 100
    y = np.arange(len(u)) * dy
    parabola = force / (2 * nu) * y * (y[-1] - y)  # Poiseuille's, which the scheme meets exactly
    np.testing.assert_allclose(u, np.broadcast_to(parabola[:, None], u.shape), rtol=1e-5, atol=1e-12)


def test_gray_scott() -> None:
    u, v, du, dv, feed, kill, steps = example("gray_scott")
    stencil = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    eu, ev = u, v
    for _ in range(steps):
        lu, lv = (scipy.ndimage.convolve(x, stencil, mode="wrap") for x in (eu, ev))
        eu, ev = eu + du * lu - eu * ev**2 + feed * (1 - eu), ev + dv * lv + eu * ev**2 - (feed + kill) * ev
    got_u, got_v = plain("gray_scott")(u, v, du, dv, feed, kill, steps)
    np.testing.assert_allclose(got_u, eu)
    np.testing.assert_allclose(got_v, ev, atol=1e-15)


def test_shallow_water() -> None:
    h, hu, hv, gravity, dx, end = example("shallow_water")
    volume = h[1:-1, 1:-1].sum()
    assert plain("shallow_water")(h, hu, hv, gravity, dx, end) > 3
    assert h[1:-1, 1:-1].sum() == pytest.approx(volume, rel=1e-2)
    x = (np.arange(82) - 0.5) / 80
    dam = np.where(x < 0.5, 2.0, 1.0)[:, None] * np.ones(4)
    still = [np.zeros_like(dam), np.zeros_like(dam)]
    plain("shallow_water")(dam, *still, 1.0, 1.0 / 80, 0.05)
    middle = dam[41, 1]  # behind the shock of a breaking dam the height is between both (Stoker, 1957)
    assert 1.3 < middle < 1.6
    np.testing.assert_allclose(still[1][1:-1, 1:-1], 0.0, atol=1e-12)


def test_burgers() -> None:
    u, dx, end = example("burgers")
    after = plain("burgers")(u, dx, end)
    assert after.sum() == pytest.approx(u.sum())
    assert u.min() <= after.min()
    assert after.max() <= u.max()
    n = 400
    x = np.arange(n) / n
    step = np.where((x > 0.2) & (x < 0.6), 1.0, 0.0)
    after = plain("burgers")(step, 1.0 / n, 0.3)
    expected = np.where(x < 0.2, 0.0, np.where(x < 0.5, (x - 0.2) / 0.3, np.where(x < 0.75, 1.0, 0.0)))
    assert np.abs(after - expected).mean() < 0.01  # a fan behind, a shock of speed 1/2 in front


def test_life() -> None:
    board, generations = example("life")
    expected = board.copy()
    for _ in range(generations):
        count = scipy.signal.convolve2d(expected, np.ones((3, 3), int), "same") - expected
        expected = ((count == 3) | ((count == 2) & (expected == 1))).astype(board.dtype)
        expected[[0, -1]] = expected[:, [0, -1]] = 0
    assert plain("life")(board, generations) == expected.sum()
    np.testing.assert_array_equal(board, expected)


def test_sobel() -> None:
    (picture,) = example("sobel")
    floats = picture.astype(float)
    strength = np.hypot(*(scipy.ndimage.sobel(floats, axis, mode="nearest") for axis in (0, 1)))
    expected = strength * 255 / strength.max()
    got = plain("sobel")(picture)
    assert got.dtype == np.uint8
    assert np.abs(got - np.floor(expected)).max() <= 1
