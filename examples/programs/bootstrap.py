"""How far the mean of a sample may lie from the truth: the means of samples drawn from it (Efron, 1979)."""

import numpy as np

import jitflow


@jitflow.function
def bootstrap(rng, x, rounds):
    means = np.empty(rounds)
    for k in range(rounds):
        means[k] = x[rng.integers(0, len(x), len(x))].mean()
    means.sort()
    return means[rounds // 40], means[rounds - 1 - rounds // 40]


def example(size="small", seed=0):
    random = np.random.default_rng(seed)
    return random, random.exponential(size=20 if size == "small" else 1_000), 40 if size == "small" else 2_000


if __name__ == "__main__":
    low, high = bootstrap(*example("large"))
    print(f"the mean lies between {low:.3f} and {high:.3f}")
