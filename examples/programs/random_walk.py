"""Particles in a double well that random kicks move about (Langevin): how many cross over, and how far all get.

Kicks come in as an array (steps, particles); results are a histogram, the number of crossings and a mean square.
"""

import numpy as np

import jitflow


@jitflow.function
def random_walk(x, kicks, dt, noise):
    start = x.copy()
    side = x > 0
    crossings = np.zeros(len(x), dtype=np.int64)
    spread = np.zeros(len(kicks))
    for t, kick in enumerate(kicks):
        x += dt * (x - x**3) + noise * np.sqrt(dt) * kick
        now = x > 0
        crossings += now != side
        side = now
        spread[t] = np.mean((x - start) ** 2)
    counts, edges = np.histogram(x, bins=8, range=(-2.0, 2.0))
    return crossings, spread, counts, edges


def example(size="small", seed=0):
    steps, n = (10, 20) if size == "small" else (100, 5000)
    random = np.random.default_rng(seed)
    return random.choice([-1.0, 1.0], n), random.normal(0.0, 1.0, (steps, n)), 0.05, 0.7


if __name__ == "__main__":
    crossings, spread, counts, _ = random_walk(*example("large"))
    print(f"{np.mean(crossings > 0):.1%} of the particles crossed over; they have moved by {spread[-1] ** 0.5:.4f}")
