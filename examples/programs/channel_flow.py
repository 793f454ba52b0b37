"""Flow along a channel driven by a constant force, periodic along it, until it changes no more.

Navier-Stokes for u alone on a rectangle: diffusion and the force in the middle, the ends joined by their own
formulas, walls at rest. Steady state is the parabola of Poiseuille, when the change of the sum falls below a limit.
"""

import numpy as np

import jitflow


def step(u, un, nu, dx, dy, dt, force):
    u[1:-1, 1:-1] = (
        un[1:-1, 1:-1]
        + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
        + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        + force * dt
    )
    for here, left, right in ((0, -1, 1), (-1, -2, 0)):  # the two ends are neighbours
        u[1:-1, here] = (
            un[1:-1, here]
            + nu * dt / dx**2 * (un[1:-1, right] - 2 * un[1:-1, here] + un[1:-1, left])
            + nu * dt / dy**2 * (un[2:, here] - 2 * un[1:-1, here] + un[:-2, here])
            + force * dt
        )


@jitflow.function
def channel_flow(u, nu, dx, dy, dt, force, limit):
    change = 1.0
    count = 0
    while change > limit:
        un = u.copy()
        step(u, un, nu, dx, dy, dt, force)
        u[0, :] = 0
        u[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        count += 1
    return count


def example(size="small", seed=0):
    n, limit = (9, 1e-2) if size == "small" else (101, 3e-3)
    u = np.random.default_rng(seed).uniform(0.0, 1e-3, (n, n + 5))
    u[0] = u[-1] = 0.0
    spacing = 2 / (n - 1)
    return u, 0.1, spacing, spacing, 2 * spacing**2, 1.0, limit


if __name__ == "__main__":
    u, *numbers = example("large")
    count = channel_flow(u, *numbers)
    print(f"after {count} steps the fluid moves at {u.max():.4f} in the middle of the channel")
