"""Two substances that react and diffuse (Gray and Scott, 1983): spots and stripes out of noise.

u_t = Du lap(u) - u v^2 + F (1 - u) and v_t = Dv lap(v) + u v^2 - (F + k) v, periodic, explicit Euler; neighbours
across the border are reached by rolling the arrays.
"""

import numpy as np

import jitflow


def laplacian(x):
    return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1) - 4 * x


@jitflow.function
def gray_scott(u, v, du, dv, feed, kill, steps):
    for _ in range(steps):
        reaction = u * v * v
        u = u + du * laplacian(u) - reaction + feed * (1 - u)
        v = v + dv * laplacian(v) + reaction - (feed + kill) * v
    return u, v


def example(size="small", seed=0):
    n, steps = (8, 5) if size == "small" else (180, 25)
    random = np.random.default_rng(seed)
    u = np.ones((n, n + 1)) + random.uniform(-0.02, 0.02, (n, n + 1))
    v = np.zeros((n, n + 1))
    middle = slice(n // 3, 2 * n // 3)
    u[middle, middle], v[middle, middle] = 0.5, 0.25
    return u, v, 0.16, 0.08, 0.035, 0.065, steps


if __name__ == "__main__":
    u, v = gray_scott(*example("large"))
    print(f"the second substance covers {np.mean(v > 0.1):.1%} of the dish")
