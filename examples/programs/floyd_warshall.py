"""Shortest paths between all pairs of nodes (Floyd, 1962; Warshall, 1962), in place in the matrix of distances.

Through each node k in turn: a path from i to j may go from i to k and from k to j.
"""

import numpy as np

import jitflow


@jitflow.function
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))


def example(size="small", seed=0):
    n = 11 if size == "small" else 180
    random = np.random.default_rng(seed)
    path = random.integers(1, 100, (n, n)).astype(np.int64)
    path[random.random((n, n)) < 0.7] = 9999
    np.fill_diagonal(path, 0)
    return (path,)


if __name__ == "__main__":
    (path,) = example("large")
    floyd_warshall(path)
    print(f"longest of the shortest paths between {len(path)} nodes: {path[path < 9999].max()}")
