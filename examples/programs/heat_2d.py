"""Heat on a plate: u_t = alpha (u_xx + u_yy), explicit Euler with the five-point stencil, the rim held.

Two buffers change places after each step; the plate that holds the last step is returned.
"""

import numpy as np

import jitflow


def laplacian(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


@jitflow.function
def heat_2d(u, alpha, steps):
    new = u.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + alpha * laplacian(u)
        u, new = new, u
    return u


def example(size="small", seed=0):
    n, steps = (17, 5) if size == "small" else (400, 20)
    random = np.random.default_rng(seed)
    return random.uniform(0.0, 1.0, (n, n + 3)), 0.2, steps


if __name__ == "__main__":
    u, alpha, steps = example("large")
    print(f"roughness of the plate: {u.std():.4f} before, {heat_2d(u, alpha, steps).std():.4f} after {steps} steps")
