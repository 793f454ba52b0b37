"""Which root of z^3 = 1 Newton's method finds from each point of the complex plane, and after how many steps.

Steps go on as long as some point moves: a `while` on what the data says, with a limit.
"""

import numpy as np

import jitflow


@jitflow.function
def newton_fractal(z, tolerance, limit):
    roots = np.exp(2j * np.pi * np.arange(3) / 3)
    steps = np.zeros(z.shape, dtype=np.int32)
    moving = np.ones(z.shape, dtype=bool)
    round_ = 0
    while moving.any() and round_ < limit:
        change = (z**3 - 1) / (3 * z**2)
        z = np.where(moving, z - change, z)
        steps[moving] += 1
        moving &= np.abs(change) > tolerance
        round_ += 1
    nearest = np.argmin(np.abs(z[..., None] - roots), axis=-1)
    return nearest, steps


def example(size="small", seed=0):
    n = 12 if size == "small" else 200
    shift = np.random.default_rng(seed).uniform(0.01, 0.02)
    x = np.linspace(-1.5, 1.5, n) + shift
    return x + 1j * x[:, None], 1e-6, 40


if __name__ == "__main__":
    nearest, steps = newton_fractal(*example("large"))
    shares = ", ".join(f"{share:.1%}" for share in np.bincount(nearest.ravel()) / nearest.size)
    print(f"the three roots attract {shares} of the points, in {steps.mean():.2f} steps on average")
