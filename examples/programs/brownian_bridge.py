"""Paths of Brownian motion that end where they began, and how far they get: NumPy's own normal draws."""

import numpy as np

import jitflow


@jitflow.function
def brownian_bridge(rng, paths, steps):
    increments = rng.normal(0.0, 1.0 / np.sqrt(steps), (paths, steps))
    walks = np.cumsum(increments, axis=1)
    bridges = walks - walks[:, -1:] * np.arange(1, steps + 1) / steps
    return np.abs(bridges).max(axis=1).mean()


def example(size="small", seed=0):
    return np.random.default_rng(seed), *((5, 10) if size == "small" else (2_000, 500))


if __name__ == "__main__":
    print(f"{brownian_bridge(*example('large')):.4f}, where the limit is {np.sqrt(np.pi / 2) * np.log(2):.4f}")
