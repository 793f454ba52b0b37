"""The Mandelbrot set with arrays that shrink: points that have escaped are dropped, so that work is done on the rest.

Indices of the points that are left go along with them; a round that leaves none ends the loop.
"""

import numpy as np

import jitflow


@jitflow.function
def mandelbrot_shrinking(xmin, xmax, ymin, ymax, width, height, limit, horizon):
    rows, columns = np.mgrid[0:height, 0:width]
    x = np.linspace(xmin, xmax, width)[columns]
    y = np.linspace(ymin, ymax, height)[rows]
    c = (x + 1j * y).ravel()
    rows = rows.ravel()
    columns = columns.ravel()
    count = np.zeros((height, width), dtype=np.int64)
    z = c.copy()
    for n in range(limit):
        if z.size == 0:
            break
        z = z * z + c
        escaped = np.abs(z) > horizon
        count[rows[escaped], columns[escaped]] = n + 1
        left = ~escaped
        rows, columns = rows[left], columns[left]
        z, c = z[left], c[left]
    return count


def example(size="small", seed=0):
    width, height, limit = (13, 10, 12) if size == "small" else (240, 200, 40)
    shift = float(np.random.default_rng(seed).uniform(-0.1, 0.1))
    return -2.0 + shift, 0.5 + shift, -1.25, 1.25, width, height, limit, 2.0


if __name__ == "__main__":
    count = mandelbrot_shrinking(*example("large"))
    print(f"{np.mean(count == 0):.2%} of the points have not escaped")
