"""The most valuable things that fit into a knapsack, each at most once, and which they are.

best[w] is the most value at weight w; taking a thing moves the table by its weight, which is one slice against
another that overlaps it, so the old table is read through a copy.
"""

import numpy as np

import jitflow


@jitflow.function
def knapsack(values, weights, capacity):
    n = len(values)
    best = np.zeros(capacity + 1, dtype=np.int64)
    taken = np.zeros((n, capacity + 1), dtype=np.bool_)
    for i in range(n):
        weight = weights[i]
        if weight > capacity:
            continue
        candidate = best[: capacity + 1 - weight] + values[i]
        better = candidate > best[weight:]
        best[weight:] = np.where(better, candidate, best[weight:])
        taken[i, weight:] = better
    chosen = np.zeros(n, dtype=np.bool_)
    left = capacity
    for i in range(n - 1, -1, -1):
        if taken[i, left]:
            chosen[i] = True
            left -= weights[i]
    return best[capacity], chosen


def example(size="small", seed=0):
    n, capacity = (8, 40) if size == "small" else (300, 10_000)
    random = np.random.default_rng(seed)
    return random.integers(1, 100, n), random.integers(1, capacity // 3, n), capacity


if __name__ == "__main__":
    values, weights, capacity = example("large")
    best, chosen = knapsack(values, weights, capacity)
    print(f"{chosen.sum()} things of {len(values)} are worth {best} and weigh {weights[chosen].sum()} of {capacity}")
