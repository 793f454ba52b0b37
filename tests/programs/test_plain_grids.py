"""Programs on grids, as plain Python: discrete solutions in closed form, dense matrices, conserved sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from tests.gallery import example, plain


def mode(n: int, k: int) -> np.ndarray:
    """A sine that vanishes at both ends of n points: an eigenvector of the second difference."""
    return np.sin(np.pi * k * np.arange(n) / (n - 1))


def eigenvalue(n: int, k: int) -> float:
    return -4.0 * np.sin(np.pi * k / (2 * (n - 1))) ** 2


def second_difference(n: int) -> np.ndarray:
    return np.diag(np.full(n - 1, 1.0), -1) - 2.0 * np.eye(n) + np.diag(np.full(n - 1, 1.0), 1)


def test_heat_1d() -> None:
    u = mode(31, 3)
    expected = u * (1.0 + 0.3 * eigenvalue(31, 3)) ** 20
    assert plain("heat_1d")(u, 0.3, 20) == pytest.approx(expected.max())
    np.testing.assert_allclose(u, expected, atol=1e-14)


def test_heat_2d() -> None:
    u = np.outer(mode(12, 2), mode(15, 3))
    factor = 1.0 + 0.2 * (eigenvalue(12, 2) + eigenvalue(15, 3))
    np.testing.assert_allclose(plain("heat_2d")(u.copy(), 0.2, 9), u * factor**9, atol=1e-14)


def test_heat_3d() -> None:
    A = np.einsum("i,j,k->ijk", mode(8, 1), mode(9, 2), mode(10, 3))
    expected = A * (1.0 + 0.1 * (eigenvalue(8, 1) + eigenvalue(9, 2) + eigenvalue(10, 3))) ** 6
    plain("heat_3d")(A, A.copy(), 0.1, 3)
    np.testing.assert_allclose(A, expected, atol=1e-14)


def test_wave_1d() -> None:
    u, c = mode(40, 5), 0.8
    frequency = 2.0 * np.arcsin(c * np.sqrt(-eigenvalue(40, 5)) / 2.0)
    np.testing.assert_allclose(plain("wave_1d")(u, c, 30), u * np.cos(30 * frequency), atol=1e-12)


def test_wave_2d() -> None:
    u, c = np.outer(mode(14, 2), mode(11, 3)), 0.5
    frequency = 2.0 * np.arcsin(c * np.sqrt(-eigenvalue(14, 2) - eigenvalue(11, 3)) / 2.0)
    velocity = u * (1.0 - np.cos(frequency))
    now, largest = plain("wave_2d")(u, velocity, c, 0.0, 25)
    np.testing.assert_allclose(now, u * np.cos(25 * frequency), atol=1e-12)
    assert largest == np.abs(now).max()


def test_wave_3d() -> None:
    shape, modes = (6, 7, 8), (1, 2, 3)
    waves = [np.cos(np.pi * k * (np.arange(n) + 0.5) / n) for n, k in zip(shape, modes, strict=True)]
    p, dt = np.einsum("i,j,k->ijk", *waves), 0.4
    speeds = sum(np.sin(np.pi * k / (2 * n)) ** 2 for n, k in zip(shape, modes, strict=True))
    frequency = 2.0 * np.arcsin(dt * np.sqrt(speeds))
    expected = p * np.cos((12 + 0.5) * frequency) / np.cos(0.5 * frequency)  # at rest half a step before
    plain("wave_3d")(p, dt, 12)
    np.testing.assert_allclose(p, expected, atol=1e-12)


def test_cavity_flow() -> None:
    u, v, p, *numbers = example("cavity_flow")
    rho, nu, dx, dy, dt, _, sweeps = numbers
    n = len(u)
    cells = [(j, i) for j in range(1, n - 1) for i in range(1, n - 1)]
    eu, ev, ep = u.copy(), v.copy(), p.copy()
    for _ in range(3):
        b = np.zeros((n, n))
        for j, i in cells:
            ux, vy = (eu[j, i + 1] - eu[j, i - 1]) / (2 * dx), (ev[j + 1, i] - ev[j - 1, i]) / (2 * dy)
            uy, vx = (eu[j + 1, i] - eu[j - 1, i]) / (2 * dy), (ev[j, i + 1] - ev[j, i - 1]) / (2 * dx)
            b[j, i] = rho * ((ux + vy) / dt - ux * ux - 2 * uy * vx - vy * vy)
        for _ in range(sweeps):
            old = ep.copy()
            for j, i in cells:
                beside, above = old[j, i + 1] + old[j, i - 1], old[j + 1, i] + old[j - 1, i]
                ep[j, i] = (beside * dy**2 + above * dx**2 - b[j, i] * dx**2 * dy**2) / (2 * (dx**2 + dy**2))
            ep[:, -1], ep[:, 0] = ep[:, -2], ep[:, 1]
            ep[0], ep[-1] = ep[1], 0.0
        ou, ov = eu.copy(), ev.copy()
        for j, i in cells:
            for new, old, slope in (
                (eu, ou, (ep[j, i + 1] - ep[j, i - 1]) / (2 * rho * dx)),
                (ev, ov, (ep[j + 1, i] - ep[j - 1, i]) / (2 * rho * dy)),
            ):
                carried = ou[j, i] * (old[j, i] - old[j, i - 1]) / dx + ov[j, i] * (old[j, i] - old[j - 1, i]) / dy
                spread = (old[j, i + 1] - 2 * old[j, i] + old[j, i - 1]) / dx**2
                spread += (old[j + 1, i] - 2 * old[j, i] + old[j - 1, i]) / dy**2
                new[j, i] = old[j, i] + dt * (nu * spread - carried - slope)
        for one, lid in ((eu, 1.0), (ev, 0.0)):
            one[0] = one[:, 0] = one[:, -1] = 0.0
            one[-1] = lid
    plain("cavity_flow")(u, v, p, *numbers[:5], 3, sweeps)
    for got, expected in ((u, eu), (v, ev), (p, ep)):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_horizontal_diffusion() -> None:
    field, coefficient = example("horizontal_diffusion")

    def lap(i: int, j: int) -> np.ndarray:
        return 4 * field[i, j] - field[i + 1, j] - field[i - 1, j] - field[i, j + 1] - field[i, j - 1]

    def flux(i: int, j: int, di: int, dj: int) -> np.ndarray:
        flow = lap(i + di, j + dj) - lap(i, j)
        return np.where(flow * (field[i + di, j + dj] - field[i, j]) > 0, 0.0, flow)

    got = plain("horizontal_diffusion")(field, coefficient)
    for i, j in np.ndindex(got.shape[:2]):
        a, b = i + 2, j + 2
        net = flux(a, b, 1, 0) - flux(a - 1, b, 1, 0) + flux(a, b, 0, 1) - flux(a, b - 1, 0, 1)
        np.testing.assert_allclose(got[i, j], field[a, b] - coefficient[i, j] * net, atol=1e-14)
    ramp = np.broadcast_to(np.arange(9.0)[:, None, None], (9, 9, 2)).copy()
    np.testing.assert_array_equal(plain("horizontal_diffusion")(ramp, np.ones((5, 5, 2))), ramp[2:-2, 2:-2])


def test_vertical_advection() -> None:
    u, w, dt = example("vertical_advection")
    got = plain("vertical_advection")(u, w, dt)
    for i, j in np.ndindex(u.shape[:2]):
        column = w[i, j]
        transport = np.diag(0.5 * column, 1) - np.diag(0.5 * column, -1)
        transport += np.diag(0.5 * (np.append(0.0, column) - np.append(column, 0.0)))
        eye = np.eye(u.shape[2])
        expected = np.linalg.solve(eye + 0.5 * dt * transport, (eye - 0.5 * dt * transport) @ u[i, j])
        np.testing.assert_allclose(got[i, j], expected, rtol=1e-10)


def test_adi() -> None:
    u, alpha, dt, _ = example("adi")
    n, expected = len(u), u[1:-1, 1:-1] - 1.0  # a rim of one becomes a rim of zero
    r = 0.5 * alpha * dt * (n - 1) ** 2
    implicit = np.eye(n - 2) - r * second_difference(n - 2)
    explicit = np.eye(n - 2) + r * second_difference(n - 2)
    for _ in range(3):
        half = scipy.linalg.solve(implicit, expected @ explicit)
        expected = scipy.linalg.solve(implicit, (explicit @ half).T).T
    plain("adi")(u, alpha, dt, 3)
    np.testing.assert_allclose(u[1:-1, 1:-1], expected + 1.0, rtol=1e-12)
    assert u[0].tolist() == pytest.approx([1.0] * n, abs=0)
