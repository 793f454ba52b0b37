"""A drum: u_tt = c^2 (u_xx + u_yy) on a square with a fixed rim, with a little friction.

Damped leapfrog: (1 + k) u(t + dt) = 2 u(t) - (1 - k) u(t - dt) + c^2 times the five-point Laplacian.
"""

import numpy as np

import jitflow


@jitflow.function
def wave_2d(u, velocity, courant, friction, steps):
    past = u - velocity
    now = u.copy()
    future = np.zeros(u.shape)
    c2 = courant * courant
    for _ in range(steps):
        lap = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
        future[1:-1, 1:-1] = 2.0 * now[1:-1, 1:-1] - (1.0 - friction) * past[1:-1, 1:-1] + c2 * lap
        future[1:-1, 1:-1] /= 1.0 + friction
        future[0, :] = 0.0
        future[-1, :] = 0.0
        future[:, 0] = 0.0
        future[:, -1] = 0.0
        past, now, future = now, future, past
    return now, np.abs(now).max()


def example(size="small", seed=0):
    n, steps = (16, 6) if size == "small" else (300, 20)
    x, y = np.linspace(-1, 1, n), np.linspace(-1, 1, n + 1)
    centre = np.random.default_rng(seed).uniform(-0.3, 0.3, 2)
    bump = np.exp(-((x[:, None] - centre[0]) ** 2 + (y[None, :] - centre[1]) ** 2) * 40.0)
    return bump, np.zeros_like(bump), 0.5, 0.01, steps


if __name__ == "__main__":
    arguments = example("large")
    print(f"height of the bump on the drum: {arguments[0].max():.4f} before, {wave_2d(*arguments)[1]:.4f} after")
