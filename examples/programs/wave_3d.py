"""Sound in a box with walls that let no air through: p_t = -div v, v_t = -grad p on a staggered grid.

Pressure lives in the cells, velocity on the faces between them (Yee, 1966). Faces on the walls stay at rest, so the
sum of the pressure never changes.
"""

import numpy as np

import jitflow


@jitflow.function
def wave_3d(p, dt, steps):
    nx, ny, nz = p.shape
    vx = np.zeros((nx + 1, ny, nz))
    vy = np.zeros((nx, ny + 1, nz))
    vz = np.zeros((nx, ny, nz + 1))
    for _ in range(steps):
        vx[1:-1] -= dt * (p[1:] - p[:-1])
        vy[:, 1:-1] -= dt * (p[:, 1:] - p[:, :-1])
        vz[:, :, 1:-1] -= dt * (p[:, :, 1:] - p[:, :, :-1])
        p -= dt * (vx[1:] - vx[:-1])
        p -= dt * (vy[:, 1:] - vy[:, :-1])
        p -= dt * (vz[:, :, 1:] - vz[:, :, :-1])
    return vx, vy, vz


def example(size="small", seed=0):
    n, steps = (7, 4) if size == "small" else (48, 10)
    return np.random.default_rng(seed).normal(0.0, 1.0, (n, n + 1, n + 2)), 0.5, steps


if __name__ == "__main__":
    p, dt, steps = example("large")
    before = p.sum()
    wave_3d(p, dt, steps)
    print(f"pressure in the box: {before:.6f} in all before, {p.sum():.6f} after {steps} steps")
