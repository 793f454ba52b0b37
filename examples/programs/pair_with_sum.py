"""The pairs of numbers that have a given sum, found in one walk with a dict of what was seen."""

import numpy as np

import jitflow


@jitflow.function
def pair_with_sum(x, total):
    seen = {}
    pairs = []
    for i in range(len(x)):
        if total - x[i] in seen:
            pairs.append((seen[total - x[i]], i))
        seen[x[i]] = i
    return pairs


def example(size="small", seed=0):
    n = 20 if size == "small" else 300_000
    return np.random.default_rng(seed).integers(0, 10 * n, n), 10 * n


if __name__ == "__main__":
    pairs = pair_with_sum(*example("large"))
    print(f"{len(pairs)} pairs, the first {pairs[0]}")
