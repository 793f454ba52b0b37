"""The normal equations' product A^T (A x), row by row: each row of A is read once for both products."""

import numpy as np

import jitflow


@jitflow.function
def atax(A, x):
    y = np.zeros(A.shape[1])
    for row in A:
        y += row * np.dot(row, x)
    return y


def example(size="small", seed=0):
    m, n = (9, 12) if size == "small" else (1500, 1400)
    random = np.random.default_rng(seed)
    return random.random((m, n)), random.random(n)


if __name__ == "__main__":
    A, x = example("large")
    print(f"largest difference to two products: {np.abs(atax(A, x) / (A.T @ (A @ x)) - 1).max():.1e}")
