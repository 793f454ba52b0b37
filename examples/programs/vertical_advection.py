"""Vertical advection of a weather model, implicit in time: one tridiagonal system for each column of air.

Crank-Nicolson for u_t + w u_z = 0 with centred differences on levels of unit distance; w is given between the levels.
The systems are solved for all columns at once by the algorithm of Thomas: down the levels and up again.
"""

import numpy as np

import jitflow


@jitflow.function
def vertical_advection(u, w, dt):
    nx, ny, nz = u.shape
    c = np.empty((nx, ny, nz))
    d = np.empty((nx, ny, nz))
    for k in range(nz):
        below = np.zeros((nx, ny))
        above = np.zeros((nx, ny))
        rate = np.zeros((nx, ny))
        if k > 0:
            below = -0.25 * dt * w[:, :, k - 1]
            rate += w[:, :, k - 1] * (u[:, :, k] - u[:, :, k - 1])
        if k < nz - 1:
            above = 0.25 * dt * w[:, :, k]
            rate += w[:, :, k] * (u[:, :, k + 1] - u[:, :, k])
        middle = 1.0 - below - above
        right = u[:, :, k] - 0.25 * dt * rate
        if k == 0:
            c[:, :, k] = above / middle
            d[:, :, k] = right / middle
        else:
            pivot = 1.0 / (middle - below * c[:, :, k - 1])
            c[:, :, k] = above * pivot
            d[:, :, k] = (right - below * d[:, :, k - 1]) * pivot
    out = np.empty_like(u)
    out[:, :, nz - 1] = d[:, :, nz - 1]
    for k in range(nz - 2, -1, -1):
        out[:, :, k] = d[:, :, k] - c[:, :, k] * out[:, :, k + 1]
    return out


def example(size="small", seed=0):
    nx, ny, nz = (4, 5, 8) if size == "small" else (48, 48, 60)
    random = np.random.default_rng(seed)
    return random.random((nx, ny, nz)), random.normal(0.0, 1.0, (nx, ny, nz - 1)), 0.5


if __name__ == "__main__":
    u, w, dt = example("large")
    print(f"the wind's mean square: {(u**2).mean():.5f} before, {(vertical_advection(u, w, dt) ** 2).mean():.5f} after")
