"""Many trajectories of Lorenz's equations (1963) by the classical method of Runge and Kutta, of fourth order.

The state is (3, n): x, y, z of n trajectories. A helper gives the slope; the path of the first one is kept.
"""

import numpy as np

import jitflow


def lorenz(state, sigma, rho, beta):
    x, y, z = state
    return np.stack((sigma * (y - x), x * (rho - z) - y, x * y - beta * z))


@jitflow.function
def rk4(state, dt, steps, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    path = np.empty((steps + 1, 3))
    path[0] = state[:, 0]
    for i in range(steps):
        k1 = lorenz(state, sigma, rho, beta)
        k2 = lorenz(state + 0.5 * dt * k1, sigma, rho, beta)
        k3 = lorenz(state + 0.5 * dt * k2, sigma, rho, beta)
        k4 = lorenz(state + dt * k3, sigma, rho, beta)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path[i + 1] = state[:, 0]
    return state, path


def example(size="small", seed=0):
    n, steps = (5, 8) if size == "small" else (5000, 50)
    return np.random.default_rng(seed).normal(1.0, 0.5, (3, n)), 0.01, steps


if __name__ == "__main__":
    state, path = rk4(*example("large"))
    print(
        f"{state.shape[1]} trajectories have spread to {state.std(axis=1).round(3).tolist()} in {len(path) - 1} steps"
    )
