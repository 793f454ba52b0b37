"""Pi by chance: how many of random points in a square lie in the circle, one by one."""

import numpy as np

import jitflow


@jitflow.function
def pi_by_chance(n, seed):
    rng = np.random.default_rng(seed)
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / n


def example(size="small", seed=0):
    return 100 if size == "small" else 1_000_000, seed


if __name__ == "__main__":
    print(f"pi is about {pi_by_chance(*example('large'))}")
