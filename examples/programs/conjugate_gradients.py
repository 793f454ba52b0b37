"""The method of conjugate gradients (Hestenes and Stiefel, 1952) for Poisson's equation on a square.

The matrix is never built: a helper applies it by slices. The loop ends when the residual is small.
"""

import numpy as np

import jitflow


def apply_laplacian(x):
    y = 4.0 * x
    y[1:, :] -= x[:-1, :]
    y[:-1, :] -= x[1:, :]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


@jitflow.function
def conjugate_gradients(b, tolerance, limit):
    x = np.zeros_like(b)
    r = b - apply_laplacian(x)
    p = r.copy()
    rho = np.sum(r * r)
    steps = 0
    while np.sqrt(rho) > tolerance and steps < limit:
        q = apply_laplacian(p)
        alpha = rho / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        rho_new = np.sum(r * r)
        p = r + rho_new / rho * p
        rho = rho_new
        steps += 1
    return x, steps


def example(size="small", seed=0):
    n, tolerance = (8, 1e-3) if size == "small" else (120, 1e-2)
    return np.random.default_rng(seed).normal(0.0, 1.0, (n, n + 1)), tolerance, 1000


if __name__ == "__main__":
    b, tolerance, limit = example("large")
    x, steps = conjugate_gradients(b, tolerance, limit)
    residual = np.linalg.norm(b - apply_laplacian(x))
    print(f"{steps} steps brought the residual from {np.linalg.norm(b):.2f} to {residual:.4f}")
