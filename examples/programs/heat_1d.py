"""Heat along a rod: u_t = alpha u_xx, forward in time, centred in space, ends held at their temperature.

One step adds alpha dt / dx^2 times the second difference; the scheme is stable up to 1/2 (Courant, Friedrichs and
Lewy, 1928). The rod is updated in place.
"""

import numpy as np

import jitflow


@jitflow.function
def heat_1d(u, alpha, steps):
    for _ in range(steps):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u.max()


def example(size="small", seed=0):
    n, steps = (40, 7) if size == "small" else (100_000, 100)
    random = np.random.default_rng(seed)
    return random.uniform(0.0, 100.0, n), 0.25, steps


if __name__ == "__main__":
    u, alpha, steps = example("large")
    before = u.max()
    print(f"hottest point of the rod: {before:.2f} degrees before, {heat_1d(u, alpha, steps):.2f} after {steps} steps")
