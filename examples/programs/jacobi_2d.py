"""Laplace's equation on a rectangle by Jacobi's method, until no point moves by more than a tolerance.

Every sweep makes a new array; the number of sweeps is found by the data.
"""

import numpy as np

import jitflow


@jitflow.function
def jacobi_2d(u, tolerance, limit):
    sweeps = 0
    change = np.inf
    while change > tolerance and sweeps < limit:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.max(np.abs(new - u))
        u = new
        sweeps += 1
    return u, sweeps


def example(size="small", seed=0):
    n, tolerance = (10, 1e-3) if size == "small" else (200, 3e-3)
    u = np.zeros((n, n + 2))
    u[0, :] = 1.0
    u[:, 0] = np.random.default_rng(seed).uniform(0.0, 1.0, n)
    return u, tolerance, 500


if __name__ == "__main__":
    u, tolerance, limit = example("large")
    solution, sweeps = jacobi_2d(u, tolerance, limit)
    print(f"after {sweeps} sweeps no point moves by more than {tolerance}; the mean is {solution.mean():.4f}")
