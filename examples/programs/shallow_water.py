"""Waves in a basin: the shallow water equations in conservation form by the scheme of Lax and Friedrichs (1954).

h_t + (hu)_x + (hv)_y = 0 and the two equations of momentum; walls reflect. The time step follows the fastest wave,
so each round begins with a maximum over the basin.
"""

import numpy as np

import jitflow


def reflect(h, hu, hv):
    for field, sign_x, sign_y in ((h, 1.0, 1.0), (hu, -1.0, 1.0), (hv, 1.0, -1.0)):
        field[0, :] = sign_x * field[1, :]
        field[-1, :] = sign_x * field[-2, :]
        field[:, 0] = sign_y * field[:, 1]
        field[:, -1] = sign_y * field[:, -2]


def around(q):
    return 0.25 * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2])


def slope(f, g, ratio):
    return 0.5 * ratio * (f[2:, 1:-1] - f[:-2, 1:-1] + g[1:-1, 2:] - g[1:-1, :-2])


@jitflow.function
def shallow_water(h, hu, hv, gravity, dx, end):
    time = 0.0
    steps = 0
    while time < end:
        reflect(h, hu, hv)
        u = hu / h
        v = hv / h
        fastest = (np.maximum(np.abs(u), np.abs(v)) + np.sqrt(gravity * h)).max()
        dt = min(0.4 * dx / fastest, end - time)
        pressure = 0.5 * gravity * h * h
        new_h = around(h) - slope(hu, hv, dt / dx)
        new_hu = around(hu) - slope(hu * u + pressure, hu * v, dt / dx)
        new_hv = around(hv) - slope(hv * u, hv * v + pressure, dt / dx)
        h[1:-1, 1:-1] = new_h
        hu[1:-1, 1:-1] = new_hu
        hv[1:-1, 1:-1] = new_hv
        time += dt
        steps += 1
    return steps


def example(size="small", seed=0):
    n, end = (10, 0.05) if size == "small" else (120, 0.05)
    x = (np.arange(n + 2) - 0.5) / n
    centre = np.random.default_rng(seed).uniform(0.3, 0.7, 2)
    h = 1.0 + 0.3 * np.exp(-60.0 * ((x[:, None] - centre[0]) ** 2 + (x - centre[1]) ** 2))
    return h, np.zeros_like(h), np.zeros_like(h), 9.81, 1.0 / n, end


if __name__ == "__main__":
    h, *others = example("large")
    volume = h[1:-1, 1:-1].mean()
    steps = shallow_water(h, *others)
    print(f"after {steps} steps the basin holds {h[1:-1, 1:-1].mean() / volume:.12%} of its water")
