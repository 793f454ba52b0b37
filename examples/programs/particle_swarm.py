"""The lowest point of a function with many valleys by a swarm (Kennedy and Eberhart, 1995)."""

import numpy as np

import jitflow


def depth(x):
    return (x**2 - 10.0 * np.cos(2.0 * np.pi * x)).sum(axis=1) + 10.0 * x.shape[1]


@jitflow.function
def particle_swarm(rng, particles, dimensions, rounds):
    x = rng.uniform(-5.12, 5.12, (particles, dimensions))
    v = np.zeros_like(x)
    own, own_depth = x.copy(), depth(x)
    best = own[np.argmin(own_depth)].copy()
    for _ in range(rounds):
        r, s = rng.random(x.shape), rng.random(x.shape)
        v = 0.7 * v + 1.5 * r * (own - x) + 1.5 * s * (best - x)
        x = x + v
        found = depth(x)
        better = found < own_depth
        own[better] = x[better]
        own_depth = np.where(better, found, own_depth)
        best = own[np.argmin(own_depth)].copy()
    return best, own_depth.min()


def example(size="small", seed=0):
    return np.random.default_rng(seed), *((5, 2, 5) if size == "small" else (200, 10, 300))


if __name__ == "__main__":
    print(f"the lowest point found is {particle_swarm(*example('large'))[1]:.4f}")
