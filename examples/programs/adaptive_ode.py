"""A chemical oscillator with a step size that follows the error (Bogacki and Shampine, 1989): van der Pol's equation.

Two formulas of third and second order share their slopes; a step whose error is too large is made again, smaller.
Accepted points go into arrays that are cut to length at the end.
"""

import numpy as np

import jitflow


def slope(y, mu):
    out = np.empty_like(y)
    out[0] = y[1]
    out[1] = mu * (1.0 - y[0] ** 2) * y[1] - y[0]
    return out


@jitflow.function
def adaptive_ode(y, mu, end, tolerance, limit):
    times = np.zeros(limit)
    states = np.zeros((limit, 2))
    states[0] = y
    t = 0.0
    h = 0.01
    count = 1
    rejected = 0
    k1 = slope(y, mu)
    while t < end and count < limit:
        h = min(h, end - t)
        k2 = slope(y + 0.5 * h * k1, mu)
        k3 = slope(y + 0.75 * h * k2, mu)
        new = y + h * (2.0 * k1 + 3.0 * k2 + 4.0 * k3) / 9.0
        k4 = slope(new, mu)
        error = np.abs(h * (-5.0 * k1 + 6.0 * k2 + 8.0 * k3 - 9.0 * k4) / 72.0).max()
        if error <= tolerance:
            t += h
            y = new
            k1 = k4
            times[count] = t
            states[count] = y
            count += 1
        else:
            rejected += 1
        h *= min(5.0, max(0.2, 0.9 * (tolerance / max(error, 1e-300)) ** (1.0 / 3.0)))
    return times[:count], states[:count], rejected


def example(size="small", seed=0):
    end, tolerance = (1.0, 1e-4) if size == "small" else (60.0, 1e-7)
    return np.random.default_rng(seed).normal([2.0, 0.0], 0.1), 5.0, end, tolerance, 50_000


if __name__ == "__main__":
    times, states, rejected = adaptive_ode(*example("large"))
    print(f"{len(times) - 1} steps of {np.diff(times).min():.5f} to {np.diff(times).max():.5f}, {rejected} made again")
