"""Shocks: the equation of Burgers, u_t + (u^2 / 2)_x = 0, by the exact flux of Godunov (1959), periodic.

The flux between two cells depends on the signs of both: chosen by `np.where`. The time step follows the fastest wave.
"""

import numpy as np

import jitflow


def flux_between(left, right):
    rarefaction = np.where(left > 0, left**2 / 2, np.where(right < 0, right**2 / 2, 0.0))
    shock = np.maximum(left**2, right**2) / 2
    return np.where(left > right, shock, rarefaction)


@jitflow.function
def burgers(u, dx, end):
    time = 0.0
    while time < end:
        dt = 0.8 * dx / np.abs(u).max()
        if time + dt > end:
            dt = end - time
        flux = flux_between(u, np.roll(u, -1))
        u = u - dt / dx * (flux - np.roll(flux, 1))
        time += dt
    return u


def example(size="small", seed=0):
    n, end = (24, 0.2) if size == "small" else (2000, 0.05)
    x = np.arange(n) / n
    shift = np.random.default_rng(seed).uniform(0.0, 1.0)
    return 0.3 + np.sin(2 * np.pi * (x + shift)), 1.0 / n, end


if __name__ == "__main__":
    u, dx, end = example("large")
    after = burgers(u, dx, end)
    print(f"steepest slope: {np.abs(np.diff(u)).max() / dx:.2f} before, {np.abs(np.diff(after)).max() / dx:.2f} after")
