"""Light in two dimensions by finite differences in time (Yee, 1966): fields Ex, Ey and Hz on a staggered grid.

A source sets Ey along the first row to the given value at each time; a loop over a one-dimensional array drives it.
"""

import numpy as np

import jitflow


@jitflow.function
def fdtd_2d(ex, ey, hz, source):
    for value in source:
        ey[0, :] = value
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def example(size="small", seed=0):
    nx, ny, steps = (9, 12, 6) if size == "small" else (200, 220, 40)
    random = np.random.default_rng(seed)
    ex, ey, hz = random.normal(0.0, 1.0, (3, nx, ny))
    return ex, ey, hz, np.sin(np.arange(steps) / 5)


if __name__ == "__main__":
    ex, ey, hz, source = example("large")
    fdtd_2d(ex, ey, hz, source)
    print(f"strongest magnetic field after {len(source)} steps: {np.abs(hz).max():.4f}")
