"""A triangular matrix product in place, B <- alpha A^T B, with A lower triangular and of unit diagonal.

Row i of the product needs rows i and below of B, which are still old when the rows are done from the top.
"""

import numpy as np

import jitflow


@jitflow.function
def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


def example(size="small", seed=0):
    n, m = (7, 6) if size == "small" else (130, 120)
    random = np.random.default_rng(seed)
    return 1.5, random.random((n, n)), random.random((n, m))


if __name__ == "__main__":
    alpha, A, B = example("large")
    expected = alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B
    trmm(alpha, A, B)
    print(f"largest error of the product: {np.abs(B - expected).max():.1e}")
