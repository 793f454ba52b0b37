"""Outer products, then products with vectors: A <- A + u1 v1^T + u2 v2^T, x <- x + beta A^T y + z, w <- alpha A x.

A matrix that is updated and read three times.
"""

import numpy as np

import jitflow


@jitflow.function
def gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.outer(u1, v1) + np.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


def example(size="small", seed=0):
    n = 9 if size == "small" else 1000
    random = np.random.default_rng(seed)
    A = random.random((n, n))
    u1, v1, u2, v2, y, z = random.random((6, n))
    return 1.5, 1.2, A, u1, v1, u2, v2, np.zeros(n), np.zeros(n), y, z


if __name__ == "__main__":
    arguments = example("large")
    gemver(*arguments)
    print(f"the sum of the last product is {arguments[7].sum():.6e}")
