"""Horizontal diffusion of a weather model: a fourth-order Laplacian whose fluxes are limited.

A flux that would steepen the field is set to zero (Xue, 2000). Axes are longitude, latitude and height; the field
has a rim of two points in both horizontal directions.
"""

import numpy as np

import jitflow


@jitflow.function
def horizontal_diffusion(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, flux_x)
    flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, flux_y)
    out = np.empty_like(coefficient)
    out[:] = field[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
    return out


def example(size="small", seed=0):
    nx, ny, nz = (6, 7, 5) if size == "small" else (96, 96, 40)
    random = np.random.default_rng(seed)
    return random.random((nx + 4, ny + 4, nz)), random.uniform(0.0, 0.1, (nx, ny, nz))


if __name__ == "__main__":
    field, coefficient = example("large")
    smooth = horizontal_diffusion(field, coefficient)
    print(f"spread of the field: {field.std():.4f} before, {smooth.std():.4f} after one step of limited diffusion")
