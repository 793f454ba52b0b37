"""Smoothing by Gauss and Seidel: each point becomes the mean of its nine neighbours, the new ones where they are known.

Rows above are already new, so the order of the two element loops is part of the result.
"""

import numpy as np

import jitflow


@jitflow.function
def seidel_2d(A, sweeps):
    n, m = A.shape
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                A[i, j] = (above + A[i, j - 1] + A[i, j] + A[i, j + 1] + below) / 9.0


def example(size="small", seed=0):
    n, sweeps = (9, 3) if size == "small" else (250, 5)
    return np.random.default_rng(seed).random((n, n + 2)), sweeps


if __name__ == "__main__":
    A, sweeps = example("large")
    before = A.std()
    seidel_2d(A, sweeps)
    print(f"roughness: {before:.4f} before, {A.std():.4f} after {sweeps} sweeps")
