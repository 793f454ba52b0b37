"""The Mandelbrot set, all points at once: those that have not escaped yet are iterated through a boolean mask.

Counts say when a point escaped; z stays where it was when it did.
"""

import numpy as np

import jitflow


@jitflow.function
def mandelbrot_masked(xmin, xmax, ymin, ymax, width, height, limit, horizon):
    x = np.linspace(xmin, xmax, width)
    y = np.linspace(ymin, ymax, height)
    c = x + y[:, None] * 1j
    count = np.zeros(c.shape, dtype=np.int64)
    z = np.zeros(c.shape, dtype=np.complex128)
    for n in range(limit):
        inside = np.less(abs(z), horizon)
        count[inside] = n + 1
        z[inside] = z[inside] ** 2 + c[inside]
    count[count == limit] = 0
    return z, count


def example(size="small", seed=0):
    width, height, limit = (14, 11, 12) if size == "small" else (240, 200, 40)
    shift = float(np.random.default_rng(seed).uniform(-0.1, 0.1))
    return -2.0 + shift, 0.5 + shift, -1.25, 1.25, width, height, limit, 2.0


if __name__ == "__main__":
    _, count = mandelbrot_masked(*example("large"))
    for row in count[::12, ::4]:
        print("".join(" .:-=+*#%@"[min(9, n // 2)] if n else "@" for n in row))
