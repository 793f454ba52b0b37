"""A product with a symmetric matrix, C <- beta C + alpha A B, where only the lower triangle of A is read.

Each row of A acts twice: as a row on what is above, as a column on what is below.
"""

import numpy as np

import jitflow


@jitflow.function
def symm(alpha, beta, C, A, B):
    rows, columns = C.shape
    upper = np.empty(columns)
    C *= beta
    for i in range(rows):
        for j in range(columns):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            upper[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * upper


def example(size="small", seed=0):
    n, m = (7, 8) if size == "small" else (110, 120)
    random = np.random.default_rng(seed)
    return 1.5, 1.2, random.random((n, m)), random.random((n, n)), random.random((n, m))


if __name__ == "__main__":
    alpha, beta, C, A, B = example("large")
    expected = beta * C + alpha * (np.tril(A) + np.tril(A, -1).T) @ B
    symm(alpha, beta, C, A, B)
    print(f"largest error of the product: {np.abs(C - expected).max():.1e}")
