"""Flow in a square cavity under a moving lid: incompressible Navier-Stokes by the projection of Chorin (1968).

Upwind differences carry the velocity, centred ones diffuse it. A Poisson equation for the pressure is relaxed by a
fixed number of Jacobi sweeps in each step. Rows are y, columns x; the lid is the last row.
"""

import numpy as np

import jitflow


def divergence_source(b, rho, dt, u, v, dx, dy):
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)


def relax_pressure(p, b, dx, dy, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2
            + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
            - b[1:-1, 1:-1] * dx**2 * dy**2
        ) / (2 * (dx**2 + dy**2))
        p[:, -1] = p[:, -2]  # no flow through the walls
        p[:, 0] = p[:, 1]
        p[0, :] = p[1, :]
        p[-1, :] = 0  # the lid sets the level of the pressure


@jitflow.function
def cavity_flow(u, v, p, rho, nu, dx, dy, dt, steps, sweeps):
    b = np.zeros_like(p)
    for _ in range(steps):
        un = u.copy()
        vn = v.copy()
        divergence_source(b, rho, dt, u, v, dx, dy)
        relax_pressure(p, b, dx, dy, sweeps)
        here = un[1:-1, 1:-1]
        u[1:-1, 1:-1] = (
            here
            - here * dt / dx * (here - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (here - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * here + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * here + un[:-2, 1:-1])
        )
        here = vn[1:-1, 1:-1]
        v[1:-1, 1:-1] = (
            here
            - un[1:-1, 1:-1] * dt / dx * (here - vn[1:-1, :-2])
            - here * dt / dy * (here - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * here + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * here + vn[:-2, 1:-1])
        )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1  # the lid
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0


def example(size="small", seed=0):
    n, steps, sweeps = (11, 4, 5) if size == "small" else (101, 8, 20)
    p = np.random.default_rng(seed).normal(0.0, 1e-3, (n, n))
    return np.zeros((n, n)), np.zeros((n, n)), p, 1.0, 0.1, 2 / (n - 1), 2 / (n - 1), 0.2 / (n - 1) ** 2, steps, sweeps


if __name__ == "__main__":
    arguments = example("large")
    cavity_flow(*arguments)
    u, v = arguments[:2]
    print(f"under the lid the fluid moves at up to {u[:-1].max():.4f}, up and down at {np.abs(v).max():.4f}")
