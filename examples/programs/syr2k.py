"""A symmetric rank-2k update, C <- beta C + alpha (A B^T + B A^T), in the lower triangle alone, row by row."""

import numpy as np

import jitflow


@jitflow.function
def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]


def example(size="small", seed=0):
    n, m = (8, 5) if size == "small" else (140, 90)
    random = np.random.default_rng(seed)
    return 1.5, 1.2, random.random((n, n)), random.random((n, m)), random.random((n, m))


if __name__ == "__main__":
    alpha, beta, C, A, B = example("large")
    expected = beta * C + alpha * (A @ B.T + B @ A.T)
    syr2k(alpha, beta, C, A, B)
    print(f"largest error in the triangle: {np.abs(np.tril(C - expected)).max():.1e}")
