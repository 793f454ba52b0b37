"""A symmetric rank-k update, C <- beta C + alpha A A^T, in the lower triangle alone, row by row.

Each row of C takes in the columns of A one by one; a slice that grows with the row keeps to the triangle.
"""

import numpy as np

import jitflow


@jitflow.function
def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]


def example(size="small", seed=0):
    n, m = (8, 6) if size == "small" else (150, 100)
    random = np.random.default_rng(seed)
    return 1.5, 1.2, random.random((n, n)), random.random((n, m))


if __name__ == "__main__":
    alpha, beta, C, A = example("large")
    expected = beta * C + alpha * A @ A.T
    syrk(alpha, beta, C, A)
    print(f"largest error in the triangle: {np.abs(np.tril(C - expected)).max():.1e}")
