"""A string fixed at both ends: u_tt = c^2 u_xx by the leapfrog scheme, the string at rest at first.

The first step uses u(-dt) = u(dt). Three buffers hold past, present and future, and change their roles each step.
"""

import numpy as np

import jitflow


@jitflow.function
def wave_1d(u, courant, steps):
    c2 = courant**2
    past = u.copy()
    now = u.copy()
    now[1:-1] += 0.5 * c2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    future = np.zeros_like(u)
    for _ in range(1, steps):
        future[1:-1] = 2.0 * now[1:-1] - past[1:-1] + c2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        past, now, future = now, future, past
    return now


def example(size="small", seed=0):
    n, steps = (33, 9) if size == "small" else (100_000, 100)
    x = np.linspace(0.0, 1.0, n)
    pluck = np.random.default_rng(seed).uniform(0.2, 0.8)
    return np.minimum(x / pluck, (1.0 - x) / (1.0 - pluck)), 0.9, steps


if __name__ == "__main__":
    u, courant, steps = example("large")
    moved = np.abs(wave_1d(u, courant, steps) - u).max()
    print(f"the plucked string moved by up to {moved:.6f} in {steps} steps")
