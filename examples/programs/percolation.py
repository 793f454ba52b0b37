"""When a grid whose cells open one by one lets water through (Broadbent and Hammersley, 1957): union and find."""

import numpy as np

import jitflow


def root(parent, k):
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@jitflow.function
def percolation(order, n):
    top, bottom = n * n, n * n + 1
    parent = np.arange(n * n + 2)
    is_open = np.zeros(n * n, dtype=np.bool_)
    for count in range(n * n):
        cell = order[count]
        is_open[cell] = True
        i, j = cell // n, cell % n
        if i == 0:
            parent[root(parent, cell)] = root(parent, top)
        if i == n - 1:
            parent[root(parent, cell)] = root(parent, bottom)
        for di, dj in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            a, b = i + di, j + dj
            if 0 <= a < n and 0 <= b < n and is_open[a * n + b]:
                parent[root(parent, cell)] = root(parent, a * n + b)
        if root(parent, top) == root(parent, bottom):
            return (count + 1) / (n * n)
    return 1.0


def example(size="small", seed=0):
    n = 5 if size == "small" else 300
    return np.random.default_rng(seed).permutation(n * n), n


if __name__ == "__main__":
    print(f"water comes through at {percolation(*example('large')):.3f}")
