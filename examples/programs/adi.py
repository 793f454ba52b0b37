"""Heat on a square by alternating directions (Peaceman and Rachford, 1955): implicit in y, then implicit in x.

Each half step solves tridiagonal systems along one axis, all lines at once; the rim is held at one.
"""

import numpy as np

import jitflow


@jitflow.function
def adi(u, alpha, dt, steps):
    n = u.shape[0]
    r = 0.5 * alpha * dt * (n - 1) ** 2
    v = np.empty(u.shape)
    p = np.empty(u.shape)
    q = np.empty(u.shape)
    for _ in range(steps):
        v[0, :] = 1.0
        p[:, 0] = 0.0
        q[:, 0] = 1.0
        for j in range(1, n - 1):
            p[1:-1, j] = r / (1.0 + 2.0 * r - r * p[1:-1, j - 1])
            right = r * u[j, :-2] + (1.0 - 2.0 * r) * u[j, 1:-1] + r * u[j, 2:]
            q[1:-1, j] = (right + r * q[1:-1, j - 1]) / (1.0 + 2.0 * r - r * p[1:-1, j - 1])
        v[-1, :] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        v[:, 0] = 1.0
        v[:, -1] = 1.0
        u[:, 0] = 1.0
        for j in range(1, n - 1):
            p[1:-1, j] = r / (1.0 + 2.0 * r - r * p[1:-1, j - 1])
            right = r * v[:-2, j] + (1.0 - 2.0 * r) * v[1:-1, j] + r * v[2:, j]
            q[1:-1, j] = (right + r * q[1:-1, j - 1]) / (1.0 + 2.0 * r - r * p[1:-1, j - 1])
        u[:, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def example(size="small", seed=0):
    n, steps = (9, 4) if size == "small" else (150, 10)
    u = np.random.default_rng(seed).random((n, n))
    u[0] = u[-1] = u[:, 0] = u[:, -1] = 1.0
    return u, 1.0, 0.01, steps


if __name__ == "__main__":
    u, alpha, dt, steps = example("large")
    adi(u, alpha, dt, steps)
    print(f"the square has warmed up to {u.mean():.4f} on average, {u.min():.4f} at its coldest point")
