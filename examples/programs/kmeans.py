"""Clusters by Lloyd's algorithm (1982): assign each point to its nearest centre, move centres, until none changes.

A centre without points stays where it is.
"""

import numpy as np

import jitflow


@jitflow.function
def kmeans(points, centres, limit):
    centres = centres.copy()
    labels = np.full(len(points), -1)
    for rounds in range(limit):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argmin(squared, axis=1)
        if np.array_equal(nearest, labels):
            return centres, labels, rounds
        labels = nearest
        for k in range(len(centres)):
            mine = labels == k
            count = mine.sum()
            if count > 0:
                centres[k] = (points * mine[:, None]).sum(axis=0) / count
    return centres, labels, limit


def example(size="small", seed=0):
    n, k, d = (30, 3, 2) if size == "small" else (6000, 8, 3)
    random = np.random.default_rng(seed)
    true = random.normal(0.0, 5.0, (k, d))
    points = true[random.integers(0, k, n)] + random.normal(0.0, 1.0, (n, d))
    return points, points[:k].copy(), 20


if __name__ == "__main__":
    centres, labels, rounds = kmeans(*example("large"))
    print(f"after {rounds} rounds the clusters have {np.bincount(labels, minlength=len(centres)).tolist()} points")
