"""How many parts a graph has, edge by edge (Galler and Fischer, 1964): a forest in a list, with paths halved."""

import numpy as np

import jitflow


@jitflow.function
def union_find(n, edges):
    parent = list(range(n))
    size = [1] * n
    parts = n
    for k in range(len(edges)):
        a, b = edges[k, 0], edges[k, 1]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            if size[a] < size[b]:
                a, b = b, a
            parent[b] = a
            size[a] += size[b]
            parts -= 1
    return parts, max(size)


def example(size="small", seed=0):
    n, m = (20, 12) if size == "small" else (200_000, 250_000)
    return n, np.random.default_rng(seed).integers(0, n, (m, 2))


if __name__ == "__main__":
    parts, largest = union_find(*example("large"))
    print(f"{parts} parts, the largest of {largest} nodes")
