"""A matrix times a vector and its transpose times another, each added to a vector in place."""

import numpy as np

import jitflow


@jitflow.function
def mvt(x1, x2, y1, y2, A):
    x1 += A @ y1
    x2 += y2 @ A


def example(size="small", seed=0):
    n = 12 if size == "small" else 1500
    random = np.random.default_rng(seed)
    x1, x2, y1, y2 = random.random((4, n))
    return x1, x2, y1, y2, random.random((n, n))


if __name__ == "__main__":
    x1, x2, y1, y2, A = example("large")
    mvt(x1, x2, y1, y2, A)
    print(f"sums of the two vectors: {x1.sum():.3f} and {x2.sum():.3f}")
